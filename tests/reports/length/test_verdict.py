from saccade.reports.length.verdict import decide
from saccade.reports.resampling import Cell
from saccade.reports.scoring import Score
from tiers import every

TOLD = dict.fromkeys(("attention", "none", "gain"), "")


def slope(name, value, error, seeds=9):
    """A slope whose chance is that of seeds, with that error of their mean."""
    spread = [value + error * seeds**0.5 * step for step in (-1.0, 0.0, 1.0)] * (seeds // 3)
    return Score((Cell(name, [[one, one] for one in spread]),))


@every(
    ("attention", "none", "result", "words"),
    [
        ((0.0, 0.05), (-1.0, 0.05), "reproduced", "or not at all: reproduced"),
        ((-0.3, 0.05), (-1.0, 0.05), "reproduced", "or not at all: reproduced"),  # it falls, by less than half
        ((-0.3, 0.2), (-1.0, 0.05), "not decided", "or not at all: not decided"),  # half as much is not excluded
        ((0.1, 0.2), (-1.0, 0.05), "reproduced", "or not at all: reproduced"),
        ((-1.0, 0.05), (-1.0, 0.05), "contradicted", "or not at all: contradicted"),
        ((0.0, 0.05), (0.3, 0.05), "contradicted", "without attention the score falls: contradicted"),
        ((0.0, 0.05), (0.05, 0.05), "not decided", "without attention the score falls: not decided"),
        (None, (-1.0, 0.1), "not decided", "too few"),
        ((0.0, 0.1), None, "not decided", "too few"),
    ],
)
def test_the_numbers_decide(attention, none, result, words):
    slopes = [slope(name, *own) if own else None for name, own in (("attention", attention), ("none", none))]
    verdict = decide(*slopes, TOLD)
    assert verdict.result == result and words in verdict.reason


def test_what_would_decide_is_said():
    assert (
        " seeds would decide a difference as large"
        in decide(slope("a", -0.3, 0.2), slope("n", -1.0, 0.05), TOLD).reason
    )
    one = decide(slope("a", 0.0, 0.0, 3), Score((Cell("n", [[-1.0, -1.0]]),)), TOLD)
    assert one.result == "not decided" and "one seed says nothing" in one.reason
