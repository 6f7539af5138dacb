"""One file of pairs, a pair a line with a tab between, as Tatoeba and many exports come."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.data.cleaning import composed
from saccade.data.conversions import converted
from saccade.data.dataset import SPLITS
from saccade.data.splits import SPLIT, SplitNames, held_out, split_named
from saccade.errors import ArgumentError
from saccade.tasks.text.delimited import Delimited, perhaps_headed
from saccade.tasks.text.files import Split, Splits, divide, fingerprint, keep, read_filled, text_hash

__all__ = ["open_pairs"]

_COLUMNS = {name: (name,) for name in ("source", "target", SPLIT)}


def open_pairs(path: Path, names: SplitNames | None = None, *, more: bool = True) -> Splits:
    """Open a file of pairs: source, tab, target, and perhaps a tab and more, which is not read.

    A header may name the columns `source`, `target` and `split`, in any order; then the file may be a .csv as well.
    Splits that no column names go by the source's hash, so that all translations of a sentence are in one split: a
    twentieth of the different sources, but at most 1,000 of them, are for validation and as many for test. A pair of
    which a side is blank is left out.

    Args:
        path: the file, packed by gzip or not.
        names: what splits are called.
        more: whether there may be more: who wrote a pair, in Tatoeba's files.

    Raises:
        ArgumentError: naming the line that is wrong, or the file that holds too little.
        OSError: if it cannot be read.
    """
    names = names or SplitNames()
    table, columns = perhaps_headed(read_filled(path), _COLUMNS)
    rows = _Columns(table, columns or {"source": 0, "target": 1}, more or bool(columns))
    if SPLIT not in rows.columns:
        names.refuse(str(path))
    start = table.first + 1 if columns else 0
    hashes, parts, blank = _sources(rows, names, start)
    chosen, note = keep(blank[start:], path, place=lambda row: table.place(row + start).rpartition(": ")[2])
    kept = np.asarray(chosen, np.int64) + start
    splits = {split: kept[parts[kept] == number] for number, split in enumerate(SPLITS)}
    missing = [split for split in SPLITS if not len(splits[split])]
    for split in missing:
        names.check(split, path, (name for name in SPLITS if name not in missing))
    if "train" in missing:
        raise ArgumentError(f"{path}: expected rows of train, got none")
    if missing:
        train = splits["train"]
        splits |= {split: train[inside] for split, inside in divide(hashes[train], path, "sources", missing).items()}
    found = {split: Split(rows, splits[split]) for split in SPLITS}
    out = held_out(missing, {split: len(part.lines) for split, part in found.items()}, "pairs")
    return Splits(found, fingerprint(found, [table.lines]), "; ".join(filter(None, [note, out])))


@dataclass(frozen=True)
class _Columns:
    """One file, source and target in each row."""

    table: Delimited
    columns: Mapping[str, int]
    more: bool

    def __getitem__(self, line: int) -> tuple[str, str]:
        return self.whole(line)[:2]

    def whole(self, line: int) -> tuple[str, str, str]:
        """Source, target and split of a row."""
        cells, last = self.table[line], max(self.columns.values())
        wanted = "expected a source, a tab and a target"
        if len(cells) <= last:
            way_out = converted(self.table.lines.path, ("source", "target"))
            got = "no tab" if len(cells) == 1 else f"{len(cells)} columns"
            if not way_out and len(cells) == 1 and self.table.delimiter == "\t":
                way_out = "; cells between commas or semicolons need a header: source,target"
            raise ArgumentError(f"{self.table.place(line)}: {wanted}, got {got}{way_out}")
        if not self.more and any(map(str.strip, cells[last + 1 :])):
            got = f"got {len(cells)} columns; cut -f 1,2 keeps the first two"
            raise ArgumentError(f"{self.table.place(line)}: {wanted}, {got}")
        source, target, split = (cells[self.columns[name]] if name in self.columns else "" for name in _COLUMNS)
        return composed(source.strip()), composed(target.strip()), split


def _sources(
    rows: _Columns, names: SplitNames, start: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.bool_]]:
    """A hash of each row's source, the same for the same text, its split, and whether a side is blank."""
    blank = rows.table.lines.blank()
    hashes, parts = np.zeros(len(blank), np.uint64), np.zeros(len(blank), np.int64)
    for number in map(int, np.flatnonzero(~blank[start:]) + start):
        source, target, split = rows.whole(number)
        hashes[number] = text_hash(source)
        blank[number] = not (source and target)
        if SPLIT in rows.columns and not blank[number]:
            parts[number] = SPLITS.index(split_named(split, names, "", rows.table.place(number)))
    return hashes, parts, blank
