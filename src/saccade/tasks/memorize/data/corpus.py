"""What a corpus of sequences is: questions in a line each, their answers, and what groups they are measured in."""

from typing import NamedTuple, Protocol

__all__ = ["Corpus", "Item"]


class Item(NamedTuple):
    """A question and its answer.

    Args:
        text: what is read, in one line.
        answer: what is to be said, in one line; of a story the answers to its questions, one after another.
        group: how long it is, or of which task; "" for none.
    """

    text: str
    answer: str
    group: str = ""


class Corpus(Protocol):
    """Questions in three splits."""

    def example(self, split: str, index: int) -> Item:
        """Return one question of a split ("train", "validation" or "test")."""

    def size(self, split: str) -> int | None:
        """Return how many questions a split has, None where it is endless."""

    @property
    def fingerprint(self) -> str:
        """What the questions are, in one string."""

    @property
    def note(self) -> str:
        """What a user should know of them before training, "" if nothing."""
