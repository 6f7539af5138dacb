"""Pairs out of text files, whatever their form: which lines are pairs, and which split each is in."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ArgumentError
from saccade.tasks.text.lines import Lines, read_lines
from saccade.tasks.translate.corpus import Pair

__all__ = ["Files", "Rows", "Split", "fingerprint", "keep", "read_filled"]


class Rows(Protocol):
    """Source and target by the number of their line, from 0 on."""

    def __getitem__(self, line: int) -> tuple[str, str]:
        """Return both texts, white space around them taken off."""


@dataclass(frozen=True)
class Split:
    """The lines that make a split.

    Args:
        rows: where they are.
        lines: their numbers.
    """

    rows: Rows
    lines: Sequence[int] | NDArray[np.int64]


@dataclass(frozen=True)
class Files:
    """A corpus that is read from files as it is asked for.

    Args:
        splits: "train", "validation" and "test".
        fingerprint: what the files hold, whatever they are called.
        note: what was left out, "" if nothing was.
    """

    splits: Mapping[str, Split]
    fingerprint: str
    note: str

    def example(self, split: str, index: int) -> Pair:
        """Return one pair of a split; its group is "".

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        size = self.size(split)
        if not 0 <= index < size:
            raise ArgumentError(f"index: expected 0 <= index < {size} in {split}, got {index}")
        part = self.splits[split]
        return Pair(*part.rows[int(part.lines[index])], "")

    def size(self, split: str) -> int:
        """Return how many pairs a split has.

        Raises:
            ArgumentError: if there is no such split.
        """
        if split not in self.splits:
            raise ArgumentError(f"split: expected one of {', '.join(self.splits)}, got {split!r}")
        return len(self.splits[split].lines)


def read_filled(path: Path) -> Lines:
    """Read the lines of a file that shall not be empty.

    Raises:
        ArgumentError: if it is, or is no text in UTF-8.
        OSError: if it cannot be read.
    """
    lines = read_lines(path)
    if not len(lines):
        raise ArgumentError(f"{path}: expected a sentence a line, got an empty file")
    return lines


def keep(blank: NDArray[np.bool_], path: Path) -> tuple[Sequence[int] | NDArray[np.int64], str]:
    """Return the lines that have no blank side, and a note on those that have, "" if none.

    Args:
        blank: `(lines,)`, which have one.
        path: of the file, for the note.

    Raises:
        ArgumentError: if all have.

    Example:
        >>> keep(np.array([False, True, False]), Path("train.de"))
        (array([0, 2]), 'train.de: left out 1 of 3 pairs, which have a blank side; the first is line 2')
    """
    left_out = np.flatnonzero(blank)
    if not len(left_out):
        return range(len(blank)), ""
    if len(left_out) == len(blank):
        raise ArgumentError(f"{path}: expected pairs of sentences, got a blank side in every one: an empty corpus")
    count = f"{len(left_out)} of {len(blank)} pairs, which have a blank side"
    return np.flatnonzero(~blank), f"{path}: left out {count}; the first is line {left_out[0] + 1}"


def fingerprint(splits: Mapping[str, Split], files: Iterable[Lines]) -> str:
    """Return what files hold in one string: how many pairs, and a hash."""
    counts = ", ".join(f"{name} {len(split.lines)}" for name, split in splits.items())
    contents = hashlib.blake2b("".join(lines.digest for lines in files).encode(), digest_size=8).hexdigest()
    return f"{counts}, contents {contents}"
