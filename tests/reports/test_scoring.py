import pytest

from reports.conftest import row_of
from reports.echo import Echo
from saccade.reports.scoring import learned, mean, measured
from saccade.tasks.translate.data.corpus import Pair


def test_what_is_measured_has_error_and_what_that_is_from():
    pairs = [Pair("x", "1999-03-15" if place % 4 else "2000-01-01", "") for place in range(40)]
    found = measured(Echo("1999-03-15", "dates"), None, pairs, 1)
    assert (found["sentences"], found["metric"], found["score"], found["signature"]) == (40, "exact_match", 0.75, None)
    assert len(found["replicates"]) == 10 and 0 < found["error"] < 0.2


def test_shared_sentences_are_not_in_the_difference():
    one, other = (
        mean([row_of(name, score, seed=seed) for seed in (1, 2)]) for name, score in (("a", 30.0), ("b", 29.0))
    )
    assert (one - other).found.error < 1e-9 and (one - other).found.beyond() == 1 and (other - one).found.beyond() == -1
    turned = row_of("b", 29.0)
    turned["replicates"] = turned["replicates"][::-1]
    apart = one - mean([{**turned, "seed": seed} for seed in (1, 2)])
    assert apart.found.error == pytest.approx(1.0) and apart.found.beyond() == 0  # twice 0.5, fully against one another


def test_a_score_varies_with_sentences_and_with_seeds():
    found = mean([row_of("a", score, seed=seed) for seed, score in enumerate((10.0, 12.0), 1)]).found
    seeds, sentences = found.parts
    assert found.value == 11.0 and seeds.error == pytest.approx(1.0) and seeds.freedom == 1
    assert sentences.error == pytest.approx(0.5) and sentences.freedom == 9 and sentences.count == 100
    assert sentences.of(400).freedom == 9 and sentences.of(400).error == pytest.approx(0.25)


def test_scores_of_the_same_models_share_their_seeds():
    ways = [[row_of("a", score + less, seed=seed) for seed, score in ((1, 10.0), (2, 20.0))] for less in (0.0, -1.0)]
    same = mean(ways[0]) - mean(ways[1])
    assert same.found.error < 1e-9 and same.found.beyond() == 1
    other = mean(ways[0]) - mean([{**row, "model": "b"} for row in ways[1]])
    assert other.found.error > 5 and other.found.beyond() == 0


def test_a_single_sentence_or_seed_has_no_error():
    alone = mean([{**row_of("a", 1.0), "replicates": [], "sentences": 1}])
    assert alone.text(2) == "1.00" and not alone.found.is_known
    one = mean([row_of("a", 10.0)])
    assert learned(one) and one.found.beyond() == 0 and one.text(2) == "10.00 ± 1.13"
