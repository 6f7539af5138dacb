import pytest

from reports.objects.conftest import IMAGES, holds, made_up
from saccade.reports.difference import unpacked
from saccade.reports.objects.findings import ATTENTION, EXACT, FIXED, NAMED, Findings, summary
from tiers import every

TOLD, EVERY = FIXED


def test_scores_and_slopes_are_those_of_the_images():
    found = Findings(holds())
    assert found.groups == [1, 2, 3, 4] and found.images(3) == IMAGES
    assert found.score(ATTENTION, NAMED, 4).value == pytest.approx(0.95, abs=0.01)
    assert found.score(TOLD, EXACT, 3).value == pytest.approx(0.55**3, abs=0.04)
    slope = found.slope(NAMED, ATTENTION, TOLD)
    assert slope.value == pytest.approx(0.15, abs=0.02) and 0 < slope.error < 0.02
    row = found.rows[TOLD][0]
    whole = found.rates(TOLD, EXACT)[0]
    assert whole == unpacked(row["right"], row["images"]) and len(found.rates(TOLD, EXACT, 2)[0]) == IMAGES


def test_a_slope_is_that_of_least_squares_over_images():
    found = Findings(holds(seeds=1))
    right, things = found.rates(EVERY, EXACT)[0], found.things
    middle = sum(things) / len(things)
    spread = sum((count - middle) ** 2 for count in things)
    expected = sum((count - middle) * one for count, one in zip(things, right, strict=True)) / spread
    slope = found.slope(EXACT, EVERY)
    assert (
        slope.value == pytest.approx(expected)
        and [part.freedom > 0 for part in slope.parts] == [False, True]
        and slope.parts[1].error > 0
    )


def test_a_model_that_counts_nothing_concludes_nothing():
    """It names more of many things than of one by chance, so that attention gains less with each."""
    found = Findings(made_up([lambda count: 0.95, lambda count: 0.03 * count, lambda count: 1 - 0.1 * count]))
    by_model = {text: result for text, _, result in found.claimed()[1:]}
    assert [result for text, result in by_model.items() if TOLD in text] == ["nothing learned"] * 3
    assert [result for text, result in by_model.items() if EVERY in text] == ["reproduced"] * 3
    assert found.verdict.result == "not decided" and f"nothing is concluded beside {TOLD}: " in found.verdict.reason


def test_without_a_fixed_vector_nothing_is_concluded():
    verdict = Findings(made_up([lambda count: 0.95] + 2 * [lambda count: 0.03 * count])).verdict
    assert verdict.result == "not decided" and f"beside {TOLD} and {EVERY}: " in verdict.reason


@every(
    ("content", "result"),
    [
        (holds(), "reproduced"),
        (holds(seeds=1), "not decided"),
        (made_up([lambda count: 1 - 0.15 * count] + 2 * [lambda count: 0.9]), "contradicted"),
        (made_up(3 * [lambda count: 0.9 if count < 4 else 0.8]), "not decided"),
        (made_up(3 * [lambda count: 0.0]), "not decided"),
        # sentences of more things are right more rarely, though each thing is as hard: that alone is no gain
        (made_up([lambda count: 0.9, lambda count: 0.6, lambda count: 0.6]), "not decided"),
    ],
)
def test_verdicts(content, result):
    assert Findings(content).verdict.result == result


def test_a_gain_in_sentences_is_not_one_in_things():
    found = Findings(made_up([lambda count: 0.9, lambda count: 0.6, lambda count: 0.6]))
    by_claim = {text: result for text, _, result in found.claimed()[1:]}
    assert by_claim[f"attention gains more {NAMED} over {TOLD}"] == "not decided"
    assert by_claim[f"{TOLD} gets fewer sentences right"] == "reproduced"


def test_table_has_a_row_a_number_of_things_and_the_slopes():
    header, first, *_, last = Findings(holds()).table(EXACT)
    assert header == ["things", "images", ATTENTION, *FIXED, f"attention − {TOLD}", f"attention − {EVERY}"]
    assert first[:2] == ["1", str(IMAGES)] and len(first) == len(last) == len(header)
    assert last[0] == "with one thing more" and last[5].startswith("+") and last[3].startswith("-")
    text = summary(holds())
    assert (
        f"{NAMED} on test in percent\n" in text
        and "± of a score is its standard deviation over seeds" in text
        and "\nreproduced: with one thing more" in text
    )
