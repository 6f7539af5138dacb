"""Labelled images: published layouts, class folders, tables and Python objects."""

import io
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from saccade.data import OBJECTS, Column, Table, load
from saccade.data.archives import is_archive
from saccade.data.arrow import is_arrow
from saccade.data.cleaning import composed
from saccade.data.columns import FILL, is_empty
from saccade.data.conversions import converted
from saccade.data.dataset import data_path, inventory
from saccade.data.layouts.cifar import cifar
from saccade.data.layouts.class_folders import class_folders, labelled_files
from saccade.data.layouts.idx import idx
from saccade.data.naming import are_few, are_files
from saccade.data.rows import HELD, bytes_hash
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.image.dataset import HELD_OUT, Dataset, ImageRows
from saccade.tasks.image.images import LARGEST, SUFFIXES, read_image
from saccade.tasks.image.pictures import TABLES, source_of

__all__ = ["COLUMNS", "open_files"]

_MOST_BYTES = 1 << 30  # of all images in memory


def _label(cell: Any) -> str:
    """A label of Python, numpy or a tensor as a text."""
    if isinstance(cell, np.ndarray | Tensor):
        if math.prod(cell.shape) != 1:
            raise ValueError(f"expected a label, got an array of shape {tuple(cell.shape)}")
        cell = cell.item() if isinstance(cell, Tensor) else cell.reshape(())[()]
    if is_empty(cell) or not str(cell).strip():
        raise ValueError(f"expected a label, got an empty cell; {FILL}")
    return composed(str(cell))  # numpy writes float32(0.1) as 0.1, Python's float of it has more digits


COLUMNS = (
    Column("image", ("image", "img"), what="an image", looks=are_files),
    Column("label", ("label", "fine_label"), _label, what="a label", looks=are_few),
)
"""Needed columns of labelled images. `open_files` reads the image."""


def open_files(data: str, size: int | None, objects: Any, names: SplitNames, largest: int = LARGEST) -> Dataset | None:
    """Return the labelled images of a path or of Python objects.

    The result is None if the path does not exist.

    Args:
        data: the path of a folder, an archive or a table, or "objects".
        size: height and width in pixels: a file is scaled to cover this square, and cut to it. None: as the first file
            if neither side is above `largest`, else `largest`. Arrays keep their size.
        objects: rows of an image and a label, see `saccade.tasks.image.pictures.source_of`.
        names: the names of splits.
        largest: see `size`.

    Example:
        >>> rows = [(np.full((8, 8), level, np.uint8), level % 2) for level in range(40)]
        >>> data = open_files("objects", None, rows, SplitNames())
        >>> data.shape, data.labels
        ((1, 8, 8), ('0', '1'))
    """
    path = data_path(data)
    scaled = _Scaled(size, path if path.is_dir() else path.parent if data != OBJECTS else Path(), largest)

    def folders(source: Path, names: SplitNames) -> dict[str, Table] | None:
        return _folders(source, names, scaled)

    columns = [
        replace(COLUMNS[0], kind=scaled),
        COLUMNS[1],
        Column("key", ("key",), lambda cell: cell if isinstance(cell, int) else None, needed=False),
    ]
    rows = load(
        data,
        columns,
        names,
        objects,
        first=[cifar, idx, *([folders] if path.is_file() else [])],
        layouts=[folders],
        what="images",
        key=lambda row: row["image"] if row["key"] is None else row["key"],
        ends=TABLES,
        held=HELD if data == OBJECTS or is_arrow(path) else HELD_OUT,
    )
    if rows is None and path.exists():
        expected = "a folder or archive of images in a folder of each class, or the files of CIFAR (binary) or MNIST"
        raise ArgumentError(f"--data: expected in {data} {expected}, found none of them{converted(path)}")
    if rows is None:
        return None
    height, width = rows.splits["train"][0]["image"].shape[1:]
    changed = f"{data}: scaled {scaled.changed} of {scaled.files} images to {height} × {width}" * bool(scaled.changed)
    note = "; ".join(filter(None, [rows.note, changed]))
    return ImageRows(replace(rows, note=note), unscaled=scaled.arrays > 0)


def _folders(path: Path, names: SplitNames, scaled: "_Scaled") -> dict[str, Table] | None:
    """Rows of images in class folders.

    The path is a folder, an archive, or a folder with a single archive and no folders.
    """
    beside = [file for file in path.iterdir() if not file.name.startswith(".")] if path.is_dir() else []
    archives = [file for file in beside if file.is_file() and is_archive(file)]
    if len(archives) == 1 and not any(file.is_dir() for file in beside):
        path = archives[0]
    if not path.is_dir() and not is_archive(path):
        return None
    files = dict(sorted(labelled_files(path, names, SUFFIXES).items()))
    if not any(name.lower().endswith(SUFFIXES) for name in files):
        if path.is_dir():
            return None
        raise ArgumentError(f"{path}: expected images as train/LABEL/*.png or LABEL/*.png (or .jpg, ...), found none")
    images = [file for name, file in files.items() if name.lower().endswith(SUFFIXES)]
    scaled.look(images[0])  # the first by name determines the size of all
    tables = class_folders(files, path, "images", names)
    empty = _empty(path, list(files)) if path.is_dir() else ""
    return tables and {
        split: replace(
            table,
            rows=(
                {"image": _absolute(row["file"]), "label": row["label"], "key": bytes_hash(os.fsencode(row["listed"]))}
                for row in table.rows
            ),
            note="; ".join(filter(None, [table.note, empty * (split in ("", names.of("train")[0]))])),
        )
        for split, table in tables.items()
    }


def _absolute(file: Path | memoryview) -> Path | memoryview:
    return file.absolute() if isinstance(file, Path) else file  # other paths are relative to the data


def _empty(folder: Path, names: list[str]) -> str:
    """A note on folders without an image beside those of labels."""
    labels = {folder / name.rpartition("/")[0] for name in names if name.lower().endswith(SUFFIXES)}
    beside = {path for parent in {label.parent for label in labels} for path in parent.iterdir() if path.is_dir()}
    empty = sorted(str(path.relative_to(folder)) for path in beside - labels if not path.name.startswith("."))
    return f"{folder}: no image is in {inventory(empty)}" if empty else ""


class _Scaled:
    """Conversion of cells to images of one size: files are scaled, arrays keep theirs."""

    def __init__(self, size: int | None, folder: Path, largest: int) -> None:
        self.shape, self.folder, self.largest = None if size is None else (size, size), folder, largest
        self.changed, self.files, self.arrays, self.bytes = 0, 0, 0, 0

    def look(self, source: Path | memoryview) -> None:
        """Take the size of a file for all, unless there is one."""
        if self.shape is None:
            height, width = self._read(source).shape[1:]
            self.shape = (height, width) if max(height, width) <= self.largest else (self.largest, self.largest)

    def __call__(self, cell: Any) -> NDArray[np.uint8]:
        """Return the image of a cell, uint8."""
        source = source_of(cell, self.folder)
        if isinstance(source, Tensor):
            image = source.numpy()
            self.shape, self.arrays = image.shape[1:] if not self.arrays + self.files else self.shape, self.arrays + 1
        else:
            self.look(source)
            image, self.files = self._read(source), self.files + 1
            if image.shape[1:] != self.shape:
                image, self.changed = self._read(source, channels=len(image), size=self.shape), self.changed + 1
        if image.shape[1:] != self.shape:
            raise ValueError(f"expected images of one size, got {image.shape[1:]} and {self.shape}")
        self.bytes += 3 * image[0].size * (not isinstance(source, Tensor))
        if self.bytes > _MOST_BYTES:
            raise ValueError(f"expected at most 1 GiB of pixels, got more at {self.shape}; take a smaller size")
        return image

    @staticmethod
    def _read(source: Any, **changes: Any) -> NDArray[np.uint8]:
        named = isinstance(source, Path)
        return read_image(source if named else io.BytesIO(source), str(source) if named else "image", **changes).numpy()
