"""What a corpus is: pairs of texts in three splits."""

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Corpus", "Pair"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A source text, its target, and the group it is reported under (such as its language; "" for none).

    >>> Pair("15. März 1999", "1999-03-15", "de").target
    '1999-03-15'
    """

    source: str
    target: str
    group: str


class Corpus(Protocol):
    """Pairs of texts in three splits, each pair a function of its split and index alone."""

    def example(self, split: str, index: int) -> Pair:
        """Return one pair of a split ("train", "validation" or "test")."""

    def size(self, split: str) -> int | None:
        """Return how many pairs a split has, None where it is endless."""

    @property
    def fingerprint(self) -> str:
        """What the pairs are, in one string: another one means other data."""

    @property
    def note(self) -> str:
        """What a user should know of the data before training, "" if nothing."""
