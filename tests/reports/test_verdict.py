import pytest

from saccade.reports.slope import Slope
from saccade.reports.verdict import decide


@pytest.mark.parametrize(
    ("attention", "none", "result", "words"),
    [
        ((0.0, 0.05), (-1.0, 0.05), "reproduced", "not with it"),
        ((-0.3, 0.05), (-1.0, 0.05), "reproduced in part", "less steeply"),
        ((-1.0, 0.05), (-1.0, 0.05), "not reproduced", "with attention not less"),
        ((-1.0, 0.05), (0.2, 0.05), "not reproduced", "does not fall"),
        ((0.0, 0.6), (-1.0, 0.4), "not reproduced", "with attention not less"),
        (None, (-1.0, 0.1), "not reproduced", "too few"),
        ((0.0, 0.1), None, "not reproduced", "too few"),
    ],
)
def test_the_numbers_decide(attention, none, result, words):
    verdict = decide(*(Slope(*values, 30.0) if values else None for values in (attention, none)))
    assert verdict.result == result and words in verdict.reason
