import math

import pytest

from saccade.tasks.translate.data.corpus import Pair
from studies.frame.scores import _standard_error, in_place, learned, mean, measured, replicates
from study_rows import Echo, row_of


def test_a_score_has_its_error_and_replicates():
    pairs = [Pair("x", "1999-03-15" if place % 4 else "2000-01-01", "") for place in range(40)]
    found = measured(Echo("1999-03-15", "dates"), None, pairs, 1)
    assert (found["sentences"], found["metric"], found["score"], found["signature"]) == (40, "exact_match", 0.75, None)
    assert len(found["replicates"]) == 10 and 0 < found["error"] < 0.2


def test_the_words_at_their_places():
    assert in_place(["a b c", "x"], ["a c b", "x"]) == 0.5
    assert in_place(["a b c d"], ["a b"]) == 1 and in_place([""], ["a b"]) == 0 and in_place([], []) == 0


def test_shared_sentences_are_not_in_the_difference():
    one, other = (
        mean([row_of(name, score, seed=seed) for seed in (1, 2)]) for name, score in (("a", 30.0), ("b", 29.0))
    )
    assert (
        (one - other).number.error < 1e-9 and (one - other).number.beyond() == 1 and (other - one).number.beyond() == -1
    )
    turned = row_of("b", 29.0)
    turned["replicates"] = turned["replicates"][::-1]
    apart = one - mean([{**turned, "seed": seed} for seed in (1, 2)])
    assert apart.number.error == pytest.approx(1.0) and apart.number.beyond() == 0  # 0.5 against 0.5


def test_a_score_varies_with_sentences_and_with_seeds():
    found = mean([row_of("a", score, seed=seed) for seed, score in enumerate((10.0, 12.0), 1)]).number
    seeds, sentences = found.sources
    assert found.value == 11.0 and seeds.error == pytest.approx(1.0) and seeds.freedom == 1
    assert sentences.error == pytest.approx(0.5) and sentences.freedom == 9 and sentences.count == 100
    assert sentences.of(400).freedom == 9 and sentences.of(400).error == pytest.approx(0.25)


def test_scores_of_the_same_models_share_their_seeds():
    ways = [[row_of("a", score + less, seed=seed) for seed, score in ((1, 10.0), (2, 20.0))] for less in (0.0, -1.0)]
    same = mean(ways[0]) - mean(ways[1])
    assert same.number.error < 1e-9 and same.number.beyond() == 1
    other = mean(ways[0]) - mean([{**row, "model": "b"} for row in ways[1]])
    assert other.number.error > 5 and other.number.beyond() == 0


def test_a_single_sentence_or_seed_has_no_error():
    alone = mean([{**row_of("a", 1.0), "replicates": [], "sentences": 1}])
    assert alone.text(2) == "1.00" and not alone.number.is_known
    one = mean([row_of("a", 10.0)])
    assert learned(one) and one.number.beyond() == 0 and one.text(2) == "10.00 ± 1.13"


def test_the_jackknife_of_a_mean_is_its__standard_error():
    hits = [place % 3 == 0 for place in range(300)]
    share = sum(hits) / 300

    def share_of(places):
        return sum(hits[place] for place in places) / len(places)

    error = _standard_error(replicates(share_of, 300))
    assert error < 3 * math.sqrt(share * (1 - share) / 300)
    exact = _standard_error(replicates(share_of, 10))
    assert exact == pytest.approx(math.sqrt(0.4 * 0.6 / 9), rel=0.2)
    assert _standard_error(replicates(lambda places: 1.0, 1)) is None


def test_periodic_sentences_are_in_all_groups():
    """Every tenth sentence is right: with every tenth in a group the error would be ten times as large."""
    hits = [place % 10 == 0 for place in range(1000)]
    error = _standard_error(replicates(lambda places: sum(hits[place] for place in places) / len(places), 1000))
    assert error == pytest.approx(math.sqrt(0.1 * 0.9 / 1000), rel=0.7)


def test_groups_are_of_equal_sizes_and_the_same_each_time():
    kept = [replicates(lambda places: float(sum(places)), 95) for _ in range(2)]
    sizes = replicates(len, 95)
    assert kept[0] == kept[1] and sorted(set(sizes)) == [85, 86]
