r"""Captions of one's own: lines of an image, a tab and a caption.

    photos/a.jpg<TAB>a dog runs over grass
    photos/a.jpg<TAB>a brown dog in a meadow

A path is taken from the file's folder on; lines of one image are its references. A file alone has all splits held out;
a folder has train.tsv (.csv, .jsonl), validation and test, or captions.tsv. Columns may be named by a header, `split`
too.
"""

from functools import partial
from pathlib import Path

from saccade.data import tables
from saccade.data.columns import Column, file_name
from saccade.data.files import open_tables
from saccade.data.rows import placed_rows
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.caption.data.listing import Listing

__all__ = ["read_table"]

_COLUMNS = (Column("image", ("image",), file_name), Column("caption", ("caption",)))
_ENDS = (".tsv", ".csv", ".jsonl", ".ndjson")


def read_table(path: Path, names: SplitNames) -> Listing | None:
    """Read rows of images and captions; None if the path has none.

    Args:
        path: a file; or a folder with one, or one for each split.
        names: the names of splits.

    Raises:
        ArgumentError: naming the row that is wrong.
        OSError: if a file cannot be read.
    """
    read = partial(tables.read_table, columns=_COLUMNS)
    if (opened := open_tables(path, names, read, _ENDS, ["captions"])) is None:
        return None
    listing = Listing(path)
    for where, row, split in placed_rows(opened, _COLUMNS, names, path):
        listing.add(row["image"], row["caption"], where, split)
    for name, table in opened.items():
        if not table.size:
            raise ArgumentError(f"{path}: expected captions of images{f' in {name}' if name else ''}, got none")
    return listing
