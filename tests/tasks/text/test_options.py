import pytest

from saccade.errors import ArgumentError
from saccade.tasks.text.options import TextOptions


@pytest.mark.parametrize("name", ["batch_tokens", "vocabulary_size", "max_length"])
def test_a_number_below_its_range_is_named(name):
    with pytest.raises(ArgumentError, match=f"--{name.replace('_', '-')}: expected"):
        TextOptions(**{name: 0})


def test_names_of_splits_are_checked_too():
    with pytest.raises(ArgumentError, match="--test-split: expected a name"):
        TextOptions(test_split="")
