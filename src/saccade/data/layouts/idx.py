"""MNIST files: images and labels in the IDX format, packed by gzip or not.

    magic  0 0 8 3    unsigned bytes (8) in 3 dimensions
    sizes  n, rows, columns    32 bits each, the highest byte first
    data   n · rows · columns bytes

Source:
    LeCun, Cortes, Burges, The MNIST database of handwritten digits, "File formats for the MNIST database".
"""

import gzip
import math
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.data.rows import bytes_hash
from saccade.data.splits import SplitNames
from saccade.data.table import Table, row_of
from saccade.errors import ArgumentError

__all__ = ["idx"]

_MOST_BYTES = 1 << 30
_KINDS = {"images": 3, "labels": 1}
_SPLITS = {"train": "train", "test": "t10k"}  # prefixes of file names


def idx(folder: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of `image` `(1, rows, columns)`, `label` and a hash `key`.

    The result is None without training images.

    Args:
        folder: folder of train-images-idx3-ubyte, train-labels-idx1-ubyte and t10k alike, each packed or not.
        names: the names of splits.

    Raises:
        ArgumentError: for a missing or damaged file, or a file of another format, with its name.
        OSError: if a file cannot be read.
    """
    if _path(folder, "train", "images") is None:
        return None
    return {split: _table(folder, start) for split, start in _SPLITS.items()}


def _table(folder: Path, start: str) -> Table:
    images, labels = (_array(folder, start, kind) for kind in _KINDS)
    if len(images) != len(labels):
        counts = f"{len(images)} images and {len(labels)} labels"
        raise ArgumentError(f"{folder}: expected as many images as labels in {start}, got {counts}")
    rows = [
        {"image": image[None], "label": str(label), "key": bytes_hash(image.tobytes())}
        for image, label in zip(images, labels, strict=True)
    ]
    return Table(rows, row_of(folder / start), size=len(rows))


def _path(folder: Path, start: str, kind: str) -> Path | None:
    names = (f"{start}-{kind}{mark}idx{_KINDS[kind]}-ubyte{end}" for mark in ("-", ".") for end in ("", ".gz"))
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _array(folder: Path, start: str, kind: str) -> NDArray[np.uint8]:
    dimensions, path = _KINDS[kind], _path(folder, start, kind)
    if path is None:
        raise ArgumentError(f"{folder}: expected {start}-{kind}-idx{dimensions}-ubyte (or .gz), found none")
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArgumentError(f"{path}: expected a whole gzip file, got a damaged one ({error})") from error
    header = 4 + 4 * dimensions
    if len(data) > _MOST_BYTES:
        raise ArgumentError(f"{path}: expected at most 1 GiB, got more")
    if len(data) < header or data[:4] != bytes((0, 0, 8, dimensions)):
        expected = f"an IDX file of bytes in {dimensions} dimensions (0 0 8 {dimensions})"
        raise ArgumentError(f"{path}: expected {expected}, got one that begins with {list(data[:4])}")
    shape = struct.unpack(f">{dimensions}I", data[4:header])
    if len(data) - header != math.prod(shape):
        sizes = " × ".join(map(str, shape))
        raise ArgumentError(f"{path}: expected {sizes} bytes after its header, got {len(data) - header}")
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape)
