"""Labelled images of one's own, in whatever layout they lie: CIFAR's, MNIST's, a folder a class, tables."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from saccade.data.arrow import is_arrow, read_arrow
from saccade.data.conversions import converted
from saccade.data.dataset import data_path
from saccade.data.objects import OBJECTS
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.image.cifar import is_cifar, open_cifar
from saccade.tasks.image.dataset import Dataset, refuse_size
from saccade.tasks.image.folders import is_folders, open_folders
from saccade.tasks.image.idx import is_idx, open_idx
from saccade.tasks.image.objects import open_objects

__all__ = ["open_files", "refuse_features"]


def open_files(data: str, size: int | None, objects: Any, names: SplitNames) -> Dataset | None:
    """Return the images that a path names, or Python objects; None if there is nothing at the path.

    Args:
        data: the path of a folder, an archive or tables, or what says that they are Python objects.
        size: pixels that images of files are scaled to, in folders, tables or Python objects; see `open_folders`.
        objects: the images and labels themselves, where `data` says so.
        names: what splits are called.

    Raises:
        ArgumentError: if something is wrong with them.
        OSError: if a file cannot be read.
    """
    path = data_path(data)
    if data == OBJECTS:
        return open_objects(objects, size, names)
    if is_cifar(path) or is_idx(path):
        names.refuse(data)
        refuse_size(data, size)
        return open_cifar(path) if is_cifar(path) else open_idx(path)
    if not path.exists():
        return None
    if is_arrow(path):
        return open_objects(read_arrow(path, names), size, names, path if path.is_dir() else path.parent)
    if is_folders(path):
        return open_folders(path, size, names)
    wanted = "a folder or archive of images in a folder of each class, or the files of CIFAR (binary) or MNIST"
    raise ArgumentError(f"--data: expected in {data} {wanted}, found none of them{converted(path)}")


def refuse_features(data: str, builtin: Collection[str]) -> None:
    """Refuse features of images that have no file's name, which they would be found by.

    Args:
        data: what --data names.
        builtin: the names of built-in data.

    Raises:
        ArgumentError: if its images have none: those that are built in, Python objects and tables.
    """
    if data in (OBJECTS, *builtin) or is_arrow(Path(data)):
        raise ArgumentError(f"--features: expected none for {data}, whose images have no file's name; leave it out")
