"""One file of pairs, a pair a line with a tab between, as Tatoeba and many exports come."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ArgumentError
from saccade.tasks.conversions import converted
from saccade.tasks.dataset import SPLITS
from saccade.tasks.splits import held_out
from saccade.tasks.text.files import Split, Splits, divide, fingerprint, keep, read_filled, text_hash
from saccade.tasks.text.lines import Lines

__all__ = ["open_pairs"]

_SIDES = 2


def open_pairs(path: Path, *, more: bool = True) -> Splits:
    """Open a file of pairs: source, tab, target, and perhaps a tab and more, which is not read.

    Splits go by the source's hash, so that all translations of a sentence are in one split wherever they stand: a
    twentieth of the different sources, but at most 1,000 of them, are for validation and as many for test. A pair of
    which a side is blank is left out.

    Args:
        path: the file, packed by gzip or not.
        more: whether there may be more: who wrote a pair, in Tatoeba's files.

    Raises:
        ArgumentError: naming the line that is wrong, or the file that holds too little.
        OSError: if it cannot be read.
    """
    lines = read_filled(path)
    rows = _Columns(lines)
    hashes, blank = _sources(rows, more=more)
    chosen, note = keep(blank, path)
    kept = np.asarray(chosen, np.int64)
    splits = {name: Split(rows, kept[part]) for name, part in divide(hashes[kept], path, "sources").items()}
    out = held_out(SPLITS[1:], {split: len(part.lines) for split, part in splits.items()}, "pairs")
    return Splits(splits, fingerprint(splits, [lines]), "; ".join(filter(None, [note, out])))


@dataclass(frozen=True)
class _Columns:
    """One file, source and target in each line."""

    lines: Lines

    def __getitem__(self, line: int) -> tuple[str, str]:
        source, target = self.lines[line].split("\t", 2)[:2]
        return source.strip(), target.strip()

    def columns(self, line: int) -> int:
        """How many there are, up to the last that is not blank."""
        return self.lines[line].rstrip().count("\t") + 1


def _sources(rows: _Columns, *, more: bool) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """A hash of each line's source, the same for the same text, and which lines have a blank side."""
    blank = rows.lines.blank()
    hashes = np.zeros(len(blank), np.uint64)
    for number in map(int, np.flatnonzero(~blank)):
        try:
            source, target = rows[number]
        except ValueError as error:
            line = f"{rows.lines.path}: line {number + 1}"
            way_out = converted(rows.lines.path, ("source", "target"))
            raise ArgumentError(f"{line}: expected a source, a tab and a target, got no tab{way_out}") from error
        if not more and rows.columns(number) > _SIDES:
            got = f"got {rows.columns(number)} columns; cut -f 1,2 keeps the first two"
            raise ArgumentError(f"{rows.lines.path}: line {number + 1}: expected a source, a tab and a target, {got}")
        hashes[number] = text_hash(source)
        blank[number] = not (source and target)
    return hashes, blank
