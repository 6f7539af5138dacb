r"""Captions of one's own: lines of an image, a tab and a caption.

    photos/a.jpg<TAB>a dog runs over grass
    photos/a.jpg<TAB>a brown dog in a meadow

A path is taken from the file's folder on; lines of one image are its references. A file alone has all splits held out;
a folder has train.tsv, validation.tsv and test.tsv, or captions.tsv.
"""

from pathlib import Path

from saccade.errors import ArgumentError
from saccade.tasks.caption.data.listing import Listing
from saccade.tasks.conversions import converted
from saccade.tasks.image.tables import image_name, tables, told_lines
from saccade.tasks.splits import SplitNames

__all__ = ["ALONE", "read_table"]

#: What a file with the captions of all splits is called in a folder.
ALONE = "captions"

_COLUMNS = ("image", "caption")


def read_table(path: Path, names: SplitNames) -> Listing:
    """Read lines of images and captions.

    Args:
        path: a file, packed by gzip or not; or a folder with one, or one for each split.
        names: what splits are called.

    Raises:
        ArgumentError: naming the line that is wrong.
        OSError: if a file cannot be read.
    """
    listing = Listing(path)
    for split, table in tables(path, names, ALONE).items():
        before = len(listing.images)
        for where, line in told_lines(table, _COLUMNS):
            parts = line.split("\t")
            if len(parts) != len(_COLUMNS):
                got = f"{len(parts) - 1} tabs" if len(parts) > 1 else f"no tab{converted(table, _COLUMNS)}"
                raise ArgumentError(f"{where}: expected an image, a tab and a caption, got {got}")
            listing.add(image_name(parts[0]), parts[1], where, split)
        if len(listing.images) == before:
            raise ArgumentError(f"{table}: expected captions of images, got none")
    return listing
