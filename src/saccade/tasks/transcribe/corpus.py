"""What a speech corpus is: recordings and their words in three splits."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from saccade.errors import ArgumentError

__all__ = ["SPLITS", "Corpus", "Utterance", "check_index", "check_split", "inventory"]

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True, eq=False)
class Utterance:
    """Something that was said, and its words.

    Args:
        name: what messages call it: a file, or an id.
        signal: `(samples,)`, a waveform in [-1, 1]; in a corpus of finished features `(frames, dim)`.
        text: the words, a space between two.
        group: what it is reported under, such as its speaker; "" for none.
        notes: a line for each thing that was changed to make a signal of the file.

    Example:
        >>> import torch
        >>> Utterance("7_jackson_32.wav", torch.zeros(3457), "7", "jackson").text
        '7'
    """

    name: str
    signal: Tensor
    text: str
    group: str
    notes: tuple[str, ...] = ()


class Corpus(Protocol):
    """Utterances in three splits, each a function of its split and index alone."""

    def example(self, split: str, index: int) -> Utterance:
        """Return one utterance of a split ("train", "validation" or "test")."""

    def text(self, split: str, index: int) -> str:
        """Return the words of an utterance alone; no file is read for them."""

    def size(self, split: str) -> int | None:
        """Return how many utterances a split has, None where it is endless."""

    @property
    def rate(self) -> int | None:
        """The samples a second of all signals, in Hz; None where signals are frames of features."""

    @property
    def dim(self) -> int | None:
        """How many features a frame has; None where signals are waveforms."""

    @property
    def fingerprint(self) -> str:
        """What the utterances are, in one string: another one means other data."""

    @property
    def note(self) -> str:
        """What a user should know of the data before training, "" if nothing."""


def check_split(split: str) -> None:
    """Refuse what is no split.

    Raises:
        ArgumentError: if there is no such split.

    Example:
        >>> check_split("tset")
        Traceback (most recent call last):
        saccade.errors.ArgumentError: split: expected one of train, validation, test, got 'tset'
    """
    if split not in SPLITS:
        raise ArgumentError(f"split: expected one of {', '.join(SPLITS)}, got {split!r}")


def check_index(split: str, index: int, size: int | None) -> None:
    """Refuse an index that a split of some size, None where it is endless, does not have.

    Raises:
        ArgumentError: if there is no such index.

    Example:
        >>> check_index("test", 500, 500)
        Traceback (most recent call last):
        saccade.errors.ArgumentError: index: expected 0 <= index < 500 in test, got 500
    """
    if index < 0 or (size is not None and index >= size):
        below = "" if size is None else f" < {size}"
        raise ArgumentError(f"index: expected 0 <= index{below} in {split}, got {index}")


def inventory(names: Iterable[str]) -> str:
    """Return some names in one line, the first five of them where there are more.

    >>> inventory("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    known = list(names)
    more = f" and {len(known) - 5} more" if len(known) > 5 else ""
    return ", ".join(known[:5]) + more
