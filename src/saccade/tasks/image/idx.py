"""MNIST's files: images and labels as arrays in the IDX format, packed by gzip or not.

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

from saccade.errors import ArgumentError
from saccade.tasks.image.dataset import Bytes, InMemory, Part, hashes, hold_out

__all__ = ["is_idx", "open_idx"]

_MOST_BYTES = 1 << 30
_KINDS = {"images": 3, "labels": 1}
_SPLITS = {"train": "train", "test": "t10k"}  # what the files of a split begin with


def is_idx(folder: Path) -> bool:
    """Return whether a folder has MNIST's training images."""
    return _path(folder, "train", "images") is not None


def open_idx(folder: Path) -> InMemory:
    """Read MNIST, or another data set in its four files, such as Fashion-MNIST.

    Validation is held out of the training images, by their hashes.

    Args:
        folder: with train-images-idx3-ubyte, train-labels-idx1-ubyte and the same of t10k, each packed or not.

    Returns:
        The data set, of grey images; labels are numbers.

    Raises:
        ArgumentError: naming the file that is missing, damaged or of another form.
        OSError: if a file cannot be read.
    """
    parts = {split: _part(folder, split) for split in _SPLITS}
    train, test = parts["train"], parts["test"]
    if train.images.shape[1:] != test.images.shape[1:]:
        sizes = " and ".join("{2} × {3}".format(*part.images.shape) for part in (train, test))
        raise ArgumentError(f"{folder}: expected images of one size in train and t10k, got {sizes}")
    inside = hold_out(hashes([image.tobytes() for image in train.images]), ["validation"], str(folder))
    numbers, codes = np.unique(np.concatenate([train.codes, test.codes]), return_inverse=True)
    split_codes = {"train": codes[: len(train.codes)], "test": codes[len(train.codes) :]}
    held = {split: Part(train.images[where], split_codes["train"][where]) for split, where in inside.items()}
    return InMemory({**held, "test": Part(test.images, split_codes["test"])}, tuple(map(str, numbers)), "")


def _part(folder: Path, split: str) -> Part:
    images, labels = (_array(_existing(folder, split, kind), dimensions) for kind, dimensions in _KINDS.items())
    if len(images) != len(labels):
        counts = f"{len(images)} images and {len(labels)} labels"
        raise ArgumentError(f"{folder}: expected as many images as labels in {_SPLITS[split]}, got {counts}")
    return Part(images[:, None], labels.astype(np.int64))


def _path(folder: Path, split: str, kind: str) -> Path | None:
    start = f"{_SPLITS[split]}-{kind}"
    names = (f"{start}{mark}idx{_KINDS[kind]}-ubyte{end}" for mark in ("-", ".") for end in ("", ".gz"))
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _existing(folder: Path, split: str, kind: str) -> Path:
    path = _path(folder, split, kind)
    if path is None:
        raise ArgumentError(f"{folder}: expected {_SPLITS[split]}-{kind}-idx{_KINDS[kind]}-ubyte (or .gz), found none")
    return path


def _array(path: Path, dimensions: int) -> Bytes:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArgumentError(f"{path}: expected a whole gzip file, got a damaged one ({error})") from error
    header = 4 + 4 * dimensions
    if len(data) > _MOST_BYTES:
        raise ArgumentError(f"{path}: expected at most 1 GiB, got more")
    if len(data) < header or data[:4] != bytes((0, 0, 8, dimensions)):
        wanted = f"an IDX file of bytes in {dimensions} dimensions (0 0 8 {dimensions})"
        raise ArgumentError(f"{path}: expected {wanted}, got one that begins with {list(data[:4])}")
    shape = struct.unpack(f">{dimensions}I", data[4:header])
    if len(data) - header != math.prod(shape):
        sizes = " × ".join(map(str, shape))
        raise ArgumentError(f"{path}: expected {sizes} bytes after its header, got {len(data) - header}")
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape)
