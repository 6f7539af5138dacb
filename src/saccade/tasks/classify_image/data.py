"""Which data sets of labelled images there are, and what they are called on the command line."""

from typing import Any

from saccade.data.dataset import no_such_data
from saccade.data.splits import SplitNames
from saccade.tasks.image.dataset import Dataset, refuse_size
from saccade.tasks.image.shapes import Shapes
from saccade.tasks.image.sources import open_files

__all__ = ["BUILTIN", "open_images"]

BUILTIN = {"shapes": "two coloured shapes in opposite corners; the label compares them; generated on the fly"}


def open_images(data: str, size: int | None = None, objects: Any = None, names: SplitNames | None = None) -> Dataset:
    """Return the data set that --data names: the built-in one, CIFAR's or MNIST's layout, or folders of a class each.

    Args:
        data: a key of `BUILTIN`, or the path of a folder, an archive or tables.
        size: pixels that images of folders and tables are scaled to; see `open_folders`.
        objects: the images and labels themselves, where `data` says that they are Python objects.
        names: what splits are called.

    Raises:
        ArgumentError: if there is none, or something is wrong with it.
        OSError: if a file cannot be read.

    Example:
        >>> open_images("shapes").labels
        ('different', 'same', 'same colour', 'same shape')
    """
    names = names or SplitNames()
    if data in BUILTIN:
        names.refuse(data)
        refuse_size(data, size)
        return Shapes()
    found = open_files(data, size, objects, names)
    if found is None:
        raise no_such_data(data, BUILTIN, "folder or archive")
    return found
