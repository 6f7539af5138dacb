"""Options of runs that speak of images: what means nothing is refused, naming the option as it is typed."""

from dataclasses import dataclass

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.image.options import VisualOptions
from tiers import every


@dataclass(frozen=True, kw_only=True)
class Own(VisualOptions):
    """A task's, with a default of its own."""

    least: int = 4


@every(
    ("given", "said"),
    [
        ({"batch_size": 0}, "--batch-size: expected"),
        ({"vocabulary_size": 4}, "--vocabulary-size: expected"),
        ({"min_count": 0}, "--min-count: expected"),
        ({"max_length": 0}, "--max-length: expected"),
        ({"shift": -1}, "--shift: expected"),
        ({"size": 4}, "--size: expected"),
        ({"size": 64, "features": "store"}, "--size: expected none with --features, got 64"),
        ({"train_split": ""}, "--train-split: expected a name"),
    ],
)
def test_what_means_nothing_is_refused(given, said):
    with pytest.raises(ArgumentError, match=said):
        VisualOptions(**given)


def test_an_option_is_given_if_not_the_tasks_default():
    Own().refuse_given(["least", "most"], "only with --data scenes")
    VisualOptions().refuse_given(["least"], "only with --data scenes")
    with pytest.raises(ArgumentError, match="--least: expected only with --data scenes, got 1"):
        Own(least=1).refuse_given(["least"], "only with --data scenes")
