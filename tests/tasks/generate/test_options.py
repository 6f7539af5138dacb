import math

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.generate.options import Options, check_length_penalty
from tiers import every


@every(
    ("name", "value"),
    [
        ("beam_size", 0),
        ("beam_size", 10_001),
        ("length_penalty", math.nan),
        ("length_penalty", math.inf),
        ("length_penalty", -1e6),
        ("label_smoothing", 1.0),
        ("label_smoothing", -0.1),
        ("label_smoothing", math.nan),
    ],
)
def test_what_means_nothing_is_refused_by_name(name, value):
    with pytest.raises(ArgumentError, match=f"^--{name.replace('_', '-')}: expected ") as error:
        Options(**{name: value})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("alpha", [-10, 0, 0.6, 10])
def test_a_length_penalty_has_room_in_a_float(alpha):
    check_length_penalty(alpha)
    assert math.isfinite(float(((6 + 100_000) / 6) ** alpha))
