r"""Tables of one's own about images: lines of an image and what is said of it, a tab between two columns.

    photos/a.jpg<TAB>a dog runs over grass

A path is taken from the file's folder on. A file alone has all splits; a folder has train.tsv, validation.tsv and
test.tsv, or one file of all, which the task names.
"""

import posixpath
from collections.abc import Iterator, Sequence
from pathlib import Path

from saccade.data.conversions import converted
from saccade.data.dataset import SPLITS
from saccade.data.splits import SPLIT, SplitNames, only, split_named
from saccade.errors import ArgumentError
from saccade.tasks.text.delimited import perhaps_headed
from saccade.tasks.text.files import read_filled

__all__ = ["image_name", "is_table", "tables", "told_rows"]


def is_table(path: Path, names: SplitNames, alone: str) -> bool:
    """Return whether a path is a file, or a folder with tables.

    Args:
        path: a file or a folder.
        names: what splits are called.
        alone: what a file of all splits is called, without its suffix.
    """
    return path.is_file() or bool(_found(path, [alone, *names.of("train")]))


def tables(path: Path, names: SplitNames, alone: str) -> dict[str, Path]:
    """Return the tables of a path by their splits; one of all splits is that of "".

    Args:
        path: a file, packed by gzip or not; or a folder with one, or one for each split.
        names: what splits are called.
        alone: what a file of all splits is called, without its suffix.

    Raises:
        ArgumentError: if a split has several, or is named and has none.
        OSError: if a file cannot be read.
    """
    whole = path if path.is_file() else None
    if whole is None and not _found(path, names.of("train")):
        whole = only(_found(path, [alone]))
    if whole is not None:
        return {"": whole}
    found = dict[str, Path]()
    for split in SPLITS:
        own = only(_found(path, names.of(split)), f"say which by --{split}-split, or move one away")
        if own is None:
            names.check(split, path, (file.name for file in path.glob("*.tsv*")))
        else:
            found[split] = own
    return found


def told_rows(
    path: Path, columns: Sequence[str], wanted: str, names: SplitNames, known: str = ""
) -> Iterator[tuple[str, list[str], str]]:
    """Yield the place of each row, for messages, its cells, one for each column, and its split, "" if nothing names it.

    Rows have tabs and the columns in their order; or a header names the columns, and perhaps `split`, in any order, and
    then the table may be a .csv as well. Blank rows are left out.

    Args:
        path: a table.
        columns: their names.
        wanted: what a row is, for messages: "an image, a tab and a caption".
        names: what splits are called.
        known: the split of the table, "" of one with all splits.

    Raises:
        ArgumentError: if it holds nothing, or what is no text, or a row with other columns or in no split, or if no
            row is in a split that an option names.
        OSError: if it cannot be read.
    """
    lines = read_filled(path, holds=f"lines of {', '.join(columns)}")
    table, places = perhaps_headed(lines, {name: (name,) for name in (*columns, SPLIT)})
    divided, width, there = SPLIT in places, len(table.names) if places else len(columns), {known}
    for row, cells in table.filled(headed=bool(places)):
        where = table.place(row)
        if len(cells) != width:
            got = "no tab" if len(cells) == 1 else f"{len(cells)} columns"
            way_out = converted(path) if len(cells) == 1 else ""
            raise ArgumentError(f"{where}: expected {wanted}, got {got}{way_out}")
        split = split_named(cells[places[SPLIT]], names, known, where) if divided else known
        there.add(split)
        yield where, [cells[places[name]] for name in columns] if places else cells, split
    for split in SPLITS:
        if not known and split not in there:
            names.check(split, path, there - {""})


def image_name(cell: str) -> str:
    """Return the path in a cell without what does not change it, so that one image has one name; "" if there is none.

    >>> image_name(" ./photos//a.jpg"), image_name(" ")
    ('photos/a.jpg', '')
    """
    return posixpath.normpath(cell.strip()) if cell.strip() else ""


def _found(folder: Path, stems: Sequence[str]) -> list[Path]:
    files = [folder / f"{stem}.tsv{packed}" for stem in stems for packed in ("", ".gz")]
    return [path for path in files if path.is_file()]
