"""Where pairs come from: a built-in generator today, behind the small protocol that files will have too."""

import difflib
from collections.abc import Mapping
from typing import Protocol

from saccade.errors import ArgumentError
from saccade.tasks.translate.dates import LANGUAGES, Dates, Pair

__all__ = ["BUILTIN", "Corpus", "group_names", "open_corpus"]

BUILTIN = {"dates": "dates as 20 languages write them, to ISO 8601 (2025-06-18); endless, made by Babel"}


class Corpus(Protocol):
    """Pairs of texts in three splits, each pair a function of its split and index alone."""

    def example(self, split: str, index: int) -> Pair:
        """Return one pair of a split ("train", "validation" or "test")."""

    def size(self, split: str) -> int | None:
        """Return how many pairs a split has, None where it is endless."""

    @property
    def fingerprint(self) -> str:
        """What the pairs are, in one string: another one means other data."""


def open_corpus(data: str) -> Corpus:
    """Return the corpus that --data names.

    Raises:
        ArgumentError: if there is none.

    Example:
        >>> open_corpus("dates").size("test")
        2000
    """
    if data == "dates":
        return Dates()
    near = difflib.get_close_matches(data, BUILTIN, 1)
    hint = f"did you mean {near[0]}?" if near else f"built in: {', '.join(BUILTIN)}"
    raise ArgumentError(f"--data: no data set {data}; {hint}")


def group_names(data: str) -> Mapping[str, str]:
    """Return what the groups of a corpus are called where they have longer names than the pairs carry."""
    return LANGUAGES if data == "dates" else {}
