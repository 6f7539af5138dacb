from reports.echo import Echo
from saccade.reports.scoring import Score, mean, measured, sign
from saccade.tasks.translate.data.corpus import Pair


def test_what_is_measured_has_an_error_and_what_that_is_from():
    pairs = [Pair("x", "1999-03-15" if place % 4 else "2000-01-01", "") for place in range(40)]
    found = measured(Echo("1999-03-15", "dates"), None, pairs, 1)
    assert (found["sentences"], found["metric"], found["score"], found["signature"]) == (40, "exact_match", 0.75, None)
    assert len(found["replicates"]) == 10 and 0 < found["error"] < 0.2


def test_what_two_owe_to_the_same_sentences_is_not_in_their_difference():
    one, other = (Score(value, 0.5, [value + place / 10 for place in range(10)]) for value in (30.0, 29.0))
    assert (one - other).error < 1e-9 and sign(one - other) == 1 and sign(other - one) == -1
    turned = Score(29.0, 0.5, other.replicates[::-1])
    assert (one - turned).error > 0.5 and sign(one - turned) == 0


def test_seeds_are_averaged_but_not_their_errors():
    rows = [{"score": score, "error": 0.5, "replicates": [score] * 10} for score in (10.0, 12.0)]
    found = mean(rows)
    assert (found.value, found.error, found.replicates) == (11.0, 0.5, [11.0] * 10)
    assert mean([{"score": 1.0, "error": None, "replicates": []}]).error is None


def test_numbers_are_written_with_twice_their_error():
    assert Score(-0.001, 0.004, []).text(2, signed=True) == "+0.00 ± 0.01"
    assert Score(12.5, None, []).text(2) == "12.50"
