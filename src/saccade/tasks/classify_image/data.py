"""Which data sets of labelled images there are, and what they are called on the command line."""

from pathlib import Path
from typing import Any

from saccade.errors import ArgumentError
from saccade.tasks.arrow import is_arrow, read_arrow
from saccade.tasks.conversions import converted
from saccade.tasks.dataset import no_such_data
from saccade.tasks.image.cifar import is_cifar, open_cifar
from saccade.tasks.image.dataset import Dataset
from saccade.tasks.image.folders import is_folders, open_folders
from saccade.tasks.image.idx import is_idx, open_idx
from saccade.tasks.image.objects import open_objects
from saccade.tasks.image.shapes import Shapes
from saccade.tasks.objects import OBJECTS
from saccade.tasks.splits import SplitNames

__all__ = ["BUILTIN", "open_images"]

BUILTIN = {"shapes": "two coloured shapes in far corners, to be compared; endless, drawn as they are asked for"}


def open_images(
    data: str, size: int | None = None, objects: Any = None, names: SplitNames | None = None
) -> Dataset:
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
    path, names = Path(data), names or SplitNames()
    if data == OBJECTS:
        return open_objects(objects, names=names)
    if data in BUILTIN or is_cifar(path) or is_idx(path):
        names.refuse(data)
        if size is not None:
            raise ArgumentError(f"--size: expected none for {data}, whose images have one size; leave {size} out")
        return Shapes() if data in BUILTIN else open_cifar(path) if is_cifar(path) else open_idx(path)
    if not path.exists():
        raise no_such_data(data, BUILTIN, "folder or archive")
    if is_arrow(path):
        return open_objects(read_arrow(path, names), size, names, path if path.is_dir() else path.parent)
    if is_folders(path):
        return open_folders(path, size, names)
    wanted = "a folder or archive of images in a folder of each class, or the files of CIFAR (binary) or MNIST"
    raise ArgumentError(f"--data: expected in {data} {wanted}, found none of them{converted(path)}")
