"""Built-in data sets: examples drawn on demand."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import ClassVar, Generic, TypeVar

from saccade.data.dataset import check_index, check_split
from saccade.data.rows import text_hash

__all__ = ["Generated", "first_in"]

E = TypeVar("E")


class Generated(ABC, Generic[E]):
    """A data set of examples as functions of split and index.

    Example:
        >>> class Squares(Generated[int]):
        ...     held_out, fingerprint = 10, "squares 1"
        ...     def make(self, split, index):
        ...         return index**2
        >>> Squares().example("test", 3), Squares().size("test"), Squares().size("train")
        (9, 10, None)
    """

    @property
    @abstractmethod
    def held_out(self) -> int:
        """Number of validation examples, and of test examples."""

    trained_on: ClassVar[int | None] = None
    """Number of training examples, None if they are endless."""

    note = ""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Name and version of the data. It changes when the examples change."""

    @abstractmethod
    def make(self, split: str, index: int) -> E:
        """Draw the example of an index."""

    def example(self, split: str, index: int) -> E:
        """Return an example of a split, always the same for an index.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        check_index(split, index, self.size(split))
        return self.make(split, index)

    def size(self, split: str) -> int | None:
        """Return the number of examples in a split, None if they are endless.

        Raises:
            ArgumentError: if there is no such split.
        """
        check_split(split)
        return self.trained_on if split == "train" else self.held_out


def first_in(split: str, drawn: Iterable[E], key: Callable[[E], str], parts: int = 20) -> E:
    """Return the first drawn example of a split, by the hash of its key.

    So no key is in two splits.

    Args:
        split: split of the example.
        drawn: an endless iterable of examples.
        key: from an example to a text. The hash of the text decides the split.
        parts: number of parts of all keys. One part is for validation, and one for test.

    Example:
        >>> from itertools import count
        >>> [first_in(split, count(), str) for split in ("train", "validation", "test")]
        [0, 2, 3]
    """
    splits = {0: "validation", 1: "test"}
    return next(made for made in drawn if splits.get(text_hash(key(made)) % parts, "train") == split)
