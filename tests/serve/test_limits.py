import pytest

from saccade.errors import ArgumentError
from saccade.serve import Limits


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"batch": 0}, "--batch: expected a number from 1 to 100000, got 0"),
        ({"wait_ms": -1.0}, "--wait-ms: expected a number from 0 to 600000, got -1.0"),
        ({"max_mb": 2000}, "--max-mb: expected a number from 1 to 1024, got 2000"),
        ({"queue": 0}, "--queue: expected"),
        ({"max_inputs": 0}, "--max-inputs: expected"),
    ],
)
def test_limits_outside_their_range_are_refused(limits, words):
    with pytest.raises(ArgumentError) as error:
        Limits(**limits)
    assert words in str(error.value)
