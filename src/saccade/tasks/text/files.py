"""Examples of two texts out of files, whatever their form: which lines they are, and which split each is in."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.data.cleaning import composed
from saccade.errors import ArgumentError
from saccade.tasks.text.lines import Lines, read_lines

__all__ = [
    "BLANK_PAIRS",
    "Numbers",
    "Rows",
    "Split",
    "Splits",
    "divide",
    "fingerprint",
    "keep",
    "read_filled",
    "text_hash",
]

#: What is said of pairs that are left out.
BLANK_PAIRS = "pairs, which have a blank side"
_SHARE, _MOST = 20, 1000  # of each part that is held out: one in so many of the texts, but no more than that
Numbers = Sequence[int] | NDArray[np.int64]


class Rows(Protocol):
    """Both texts of an example, as source and target, or text and label, by the number of their line, from 0 on."""

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
    lines: Numbers


@dataclass(frozen=True)
class Splits:
    """What is read from files as it is asked for.

    Args:
        splits: "train", "validation" and "test".
        fingerprint: what the files hold, whatever they are called.
        note: what a user should know of them, "" if nothing.
    """

    splits: Mapping[str, Split]
    fingerprint: str
    note: str

    def row(self, split: str, index: int) -> tuple[str, str]:
        """Return both texts of one example of a split.

        Raises:
            ArgumentError: if there is no such split, or no such index in it.
        """
        size = self.size(split)
        if not 0 <= index < size:
            raise ArgumentError(f"index: expected 0 <= index < {size} in {split}, got {index}")
        part = self.splits[split]
        return part.rows[int(part.lines[index])]

    def size(self, split: str) -> int:
        """Return how many examples a split has.

        Raises:
            ArgumentError: if there is no such split.
        """
        if split not in self.splits:
            raise ArgumentError(f"split: expected one of {', '.join(self.splits)}, got {split!r}")
        return len(self.splits[split].lines)


def read_filled(path: Path, *, latin1: bool = False, holds: str = "a sentence a line") -> Lines:
    """Read the lines of a file that shall not be empty.

    Args:
        path: the file.
        latin1: as `read_lines` has it.
        holds: what it shall hold, for messages.

    Raises:
        ArgumentError: if it is, or is no text.
        OSError: if it cannot be read.
    """
    lines = read_lines(path, latin1=latin1)
    if not len(lines):
        raise ArgumentError(f"{path}: expected {holds}, got an empty file")
    return lines


def keep(
    blank: NDArray[np.bool_],
    path: Path | str,
    what: str = BLANK_PAIRS,
    place: Callable[[int], str] = lambda row: f"line {row + 1}",
) -> tuple[Numbers, str]:
    """Return the lines that are not blank, and a note on those that are, "" if none.

    Args:
        blank: `(lines,)`, which are.
        path: of the file, for the note, or what else they are in.
        what: they are, and what it means that they are blank.
        place: from a row's place in `blank` to what the note calls it.

    Raises:
        ArgumentError: if all are.

    Example:
        >>> keep(np.array([False, True, False]), Path("train.de"))
        (array([0, 2]), 'train.de: left out 1 of 3 pairs, which have a blank side; the first is line 2')
    """
    left_out = np.flatnonzero(blank)
    if not len(left_out):
        return range(len(blank)), ""
    count = f"{len(left_out)} of {len(blank)} {what}"
    if len(left_out) == len(blank):
        raise ArgumentError(f"{path}: left out {count}: an empty corpus")
    return np.flatnonzero(~blank), f"{path}: left out {count}; the first is {place(int(left_out[0]))}"


def fingerprint(splits: Mapping[str, Split], files: Iterable[Lines]) -> str:
    """Return what files hold in one string: how many examples, and a hash."""
    counts = ", ".join(f"{name} {len(split.lines)}" for name, split in splits.items())
    contents = hashlib.blake2b("".join(lines.digest for lines in files).encode(), digest_size=8).hexdigest()
    return f"{counts}, contents {contents}"


def text_hash(text: str) -> int:
    """Return a number below 2^64 that is the same for the same text, on every machine.

    >>> text_hash("caf\u00e9") == text_hash("cafe\u0301") != text_hash("cafe")
    True
    """
    return int.from_bytes(hashlib.blake2b(_bytes(text), digest_size=8).digest(), "big")


def _bytes(text: str) -> bytes:
    """The bytes of a text, or of a file's name in another encoding."""
    return composed(text).encode("utf-8", "surrogateescape")


def divide(
    hashes: NDArray[np.uint64], path: Path | str, what: str, held_out: Sequence[str] = ("validation", "test")
) -> dict[str, NDArray[np.bool_]]:
    """Return which examples are in which split, by the hashes of their texts alone: equal texts are in one split.

    The texts with the lowest hashes are the first split held out, the next ones the second, all others are to train on:
    a twentieth of the different texts, but at most 1,000, are in each split that is held out.

    Args:
        hashes: `(examples,)`, by `text_hash`.
        path: of the file, for the error.
        what: the texts are, for the error.
        held_out: the splits but "train".

    Raises:
        ArgumentError: if there are too few different texts.

    Example:
        >>> divide(np.array([7, 5, 7, 9], np.uint64), Path("a"), "texts")["train"]
        array([False, False, False,  True])
    """
    different = np.unique(hashes)
    if len(different) <= len(held_out):
        uses = [*(name.replace("validation", "validate") for name in held_out), "train"]
        wanted = f"expected {len(uses)} different {what} or more, to {', '.join(uses[:-1])} and {uses[-1]}"
        raise ArgumentError(f"{path}: {wanted}, got {len(different)}")
    count = min(max(1, len(different) // _SHARE), _MOST)
    bounds = different[[count * (number + 1) for number in range(len(held_out))]]
    place = np.searchsorted(bounds, hashes, side="right")
    return {split: place == number for number, split in enumerate((*held_out, "train"))}
