"""What a corpus of labelled texts is, and the one that is read from files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from saccade.tasks.dataset import Dataset
from saccade.tasks.text.files import Splits

__all__ = ["Corpus", "Example", "Files"]


class Example(NamedTuple):
    """A text, its label, and the group that it is measured in beside its class, "" if none.

    >>> Example("a fine film", "positive", "").label
    'positive'
    """

    text: str
    label: str
    group: str


class Corpus(Dataset[Example], Protocol):
    """Labelled texts in three splits."""

    @property
    def labels(self) -> Sequence[str]:
        """All labels, sorted."""


@dataclass(frozen=True)
class Files(Splits):
    """A corpus that is read from files as it is asked for.

    Args:
        labels: all of them, sorted.
    """

    labels: tuple[str, ...]

    def example(self, split: str, index: int) -> Example:
        """Return one example of a split; its group is "".

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        return Example(*self.row(split, index), "")
