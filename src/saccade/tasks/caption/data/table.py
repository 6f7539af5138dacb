r"""Captions of one's own: lines of an image, a tab and a caption.

    photos/a.jpg<TAB>a dog runs over grass
    photos/a.jpg<TAB>a brown dog in a meadow

A path is taken from the file's folder on; lines of one image are its references. A file alone has all splits held out;
a folder has train.tsv, validation.tsv and test.tsv, or captions.tsv. Columns may be named by a header, `split` too.
"""

from pathlib import Path

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.caption.data.listing import Listing
from saccade.tasks.image.tables import image_name, tables, told_rows

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
        for where, (image, caption), own in told_rows(table, _COLUMNS, "an image, a tab and a caption", names, split):
            listing.add(image_name(image), caption, where, own)
        if len(listing.images) == before:
            raise ArgumentError(f"{table}: expected captions of images, got none")
    return listing
