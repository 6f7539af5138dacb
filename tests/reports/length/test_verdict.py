import math

import pytest

from saccade.reports.length.verdict import decide
from saccade.reports.slope import Slope


@pytest.mark.parametrize(
    ("attention", "none", "result", "words"),
    [
        ((0.0, 0.05), (-1.0, 0.05), "reproduced", "a fall of half as much is excluded"),
        ((-0.3, 0.05), (-1.0, 0.05), "contradicted", "though less steeply"),
        ((-0.2, 0.2), (-1.0, 0.05), "not decided", "a fall of half as much or more is not excluded"),
        ((0.1, 0.2), (-1.0, 0.05), "reproduced", "a fall of half as much is excluded"),
        ((-1.0, 0.05), (-1.0, 0.05), "contradicted", "not less steeply"),
        ((0.0, 0.05), (0.2, 0.05), "contradicted", "rises"),
        ((0.0, 0.05), (0.05, 0.05), "not decided", "does not fall"),
        ((0.0, 0.6), (-1.0, 0.4), "not decided", "with attention not less"),
        (None, (-1.0, 0.1), "not decided", "too few"),
        ((0.0, 0.1), None, "not decided", "too few"),
    ],
)
def test_the_numbers_decide(attention, none, result, words):
    slopes = [Slope(*values, 30.0) if values else None for values in (attention, none)]
    known = all(slopes)  # the difference of two on sentences of their own
    gain = Slope(slopes[0].value - slopes[1].value, math.hypot(*(s.error for s in slopes)), 0.0) if known else None
    verdict = decide(*slopes, gain)
    assert verdict.result == result and words in verdict.reason


def test_a_difference_on_the_same_sentences_has_an_error_of_its_own():
    uncertain = Slope(0.1, 0.2, 30.0), Slope(-0.8, 0.3, 30.0)
    assert decide(*uncertain, Slope(0.9, 0.5, 0.0)).result == "not decided"
    assert decide(*uncertain, Slope(0.9, 0.1, 0.0)).result == "reproduced"
