"""What a corpus of labelled texts is, and the one that is read from files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from saccade.tasks.dataset import Dataset
from saccade.tasks.text.files import Splits
from saccade.tasks.text.markup import without_markup

__all__ = ["Corpus", "Example", "Files", "WithoutMarkup"]


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


@dataclass(frozen=True)
class WithoutMarkup:
    """A corpus whose texts are HTML, taken out of them.

    Args:
        corpus: the texts as they are.
    """

    corpus: Corpus

    def example(self, split: str, index: int) -> Example:
        """Return one example of a split."""
        found = self.corpus.example(split, index)
        return found._replace(text=without_markup(found.text))

    def size(self, split: str) -> int | None:
        """Return how many examples a split has."""
        return self.corpus.size(split)

    @property
    def labels(self) -> Sequence[str]:
        """All labels, sorted."""
        return self.corpus.labels

    @property
    def note(self) -> str:
        """What a user should know of the texts."""
        return self.corpus.note

    @property
    def fingerprint(self) -> str:
        """What the examples are, in one string."""
        return f"{self.corpus.fingerprint}, without markup"
