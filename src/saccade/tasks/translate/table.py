"""One file of pairs, a pair a line with a tab between, as Tatoeba and many exports come."""

import hashlib
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ArgumentError
from saccade.tasks.text.lines import Lines
from saccade.tasks.translate.files import Files, Split, fingerprint, keep, read_filled

__all__ = ["open_table"]

_SHARE, _MOST = 20, 1000  # validation, and test: one in so many of the sources, but no more than that
_SPLITS = ("validation", "test", "train")


def open_table(path: Path) -> Files:
    """Open a file of pairs: source, tab, target, and perhaps a tab and more, which is not read.

    Splits go by the source's hash, so that all translations of a sentence are in one split wherever they stand: a
    twentieth of the different sources, but at most 1,000 of them, are for validation and as many for test. A pair of
    which a side is blank is left out.

    Args:
        path: the file, packed by gzip or not.

    Raises:
        ArgumentError: naming the line that is wrong, or the file that holds too little.
        OSError: if it cannot be read.
    """
    lines = read_filled(path)
    rows = _Columns(lines)
    hashes, blank = _sources(rows)
    chosen, note = keep(blank, path)
    kept = np.asarray(chosen, np.int64)
    splits = {name: Split(rows, kept[part]) for name, part in _divide(hashes[kept], path).items()}
    return Files(splits, fingerprint(splits, [lines]), note)


@dataclass(frozen=True)
class _Columns:
    """One file, source and target in each line."""

    lines: Lines

    def __getitem__(self, line: int) -> tuple[str, str]:
        source, target = self.lines[line].split("\t", 2)[:2]
        return source.strip(), target.strip()


def _sources(rows: _Columns) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """A hash of each line's source, the same for the same text, and which lines have a blank side."""
    blank = rows.lines.blank()
    hashes = np.zeros(len(blank), np.uint64)
    for number in map(int, np.flatnonzero(~blank)):
        try:
            source, target = rows[number]
        except ValueError as error:
            line = f"{rows.lines.path}: line {number + 1}"
            raise ArgumentError(f"{line}: expected a source, a tab and a target, got no tab") from error
        hashes[number] = int.from_bytes(
            hashlib.blake2b(unicodedata.normalize("NFC", source).encode(), digest_size=8).digest(), "big"
        )
        blank[number] = not (source and target)
    return hashes, blank


def _divide(hashes: NDArray[np.uint64], path: Path) -> dict[str, NDArray[np.bool_]]:
    """Which pairs are in which split: the sources with the lowest hashes validate, the next ones test, others train."""
    different = np.unique(hashes)
    if len(different) < len(_SPLITS):
        wanted = f"expected {len(_SPLITS)} different sources or more, to train, validate and test"
        raise ArgumentError(f"{path}: {wanted}, got {len(different)}")
    count = min(max(1, len(different) // _SHARE), _MOST)
    place = np.searchsorted(different[[count, 2 * count]], hashes, side="right")
    return {split: place == number for number, split in enumerate(_SPLITS)}
