"""CIFAR-10 and CIFAR-100 in their binary version.

    CIFAR-10:    1 byte label, 3,072 bytes pixels       data_batch_1.bin to data_batch_5.bin, test_batch.bin
    CIFAR-100:   2 bytes labels (coarse, fine), pixels  train.bin, test.bin

The pixels are 32 rows of 32 of red, then of green, then of blue. Python's version of the data is pickles, which can run
any program, and are not read.

Source:
    A. Krizhevsky 2009, "Learning Multiple Layers of Features from Tiny Images"; https://www.cs.toronto.edu/~kriz/cifar.html.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from saccade.errors import ArgumentError
from saccade.tasks.image.dataset import InMemory, Part, hashes, hold_out

__all__ = ["is_cifar", "open_cifar"]

_SHAPE = (3, 32, 32)
_PIXELS = 3 * 32 * 32
_MOST_BYTES = 1 << 30
_PICKLES, _PICKLED = ("data_batch_1", "batches.meta", "meta"), ("cifar-10-batches-py", "cifar-100-python")
_FOLDERS = ("cifar-10-batches-bin", "cifar-100-binary")


def is_cifar(folder: Path) -> bool:
    """Return whether a folder looks like CIFAR, in a version that can be read or not."""
    names = ("data_batch_1.bin", "test_batch.bin", "fine_label_names.txt")
    return any((folder / name).is_file() for name in names) or _has_folder(folder, _FOLDERS) or _is_pickled(folder)


def open_cifar(folder: Path) -> InMemory:
    """Read CIFAR-10 or CIFAR-100; validation is held out of the training images, by their hashes.

    Args:
        folder: with the .bin files, or with the folder that the archive unpacks to in it.

    Returns:
        The data set; labels are named as batches.meta.txt or fine_label_names.txt says, else numbers.

    Raises:
        ArgumentError: if it is Python's version, a file is missing, cut off or has a label that has no name.
        OSError: if a file cannot be read.
    """
    place = next((folder / name for name in _FOLDERS if (folder / name).is_dir()), folder)
    fine = (place / "train.bin").is_file()
    train = [place / "train.bin"] if fine else sorted(place.glob("data_batch_*.bin"))
    test = place / ("test.bin" if fine else "test_batch.bin")
    if not train or not test.is_file():
        _refuse(folder, train)
    names = _names(place / ("fine_label_names.txt" if fine else "batches.meta.txt"))
    parts = [_part(path, 2 if fine else 1) for path in (*train, test)]
    labels = names or [str(code) for code in range(1 + max(int(part.codes.max()) for part in parts))]
    for path, part in zip((*train, test), parts, strict=True):
        if part.codes.max() >= len(labels):
            raise ArgumentError(f"{path}: expected labels below {len(labels)}, got {part.codes.max()}")
    images, codes = (np.concatenate([part[kind] for part in parts[:-1]]) for kind in (0, 1))
    inside = hold_out(hashes([image.tobytes() for image in images]), ["validation"], str(folder))
    held = {split: Part(images[where], codes[where]) for split, where in inside.items()}
    return _sorted({**held, "test": parts[-1]}, labels)


def _has_folder(folder: Path, names: Sequence[str]) -> bool:
    return any((folder / name).is_dir() for name in names)


def _is_pickled(folder: Path) -> bool:
    """Whether a folder has Python's version: a folder called as one of its files is one of a class."""
    return any((folder / name).is_file() for name in _PICKLES) or _has_folder(folder, _PICKLED)


def _refuse(folder: Path, train: list[Path]) -> None:
    way_out = "take the binary version (cifar-10-binary.tar.gz), unpacked"
    if _is_pickled(folder):
        raise ArgumentError(
            f"{folder}: expected no pickles, which can run any program, got Python's version; {way_out}"
        )
    missing = "test_batch.bin or test.bin" if train else "data_batch_1.bin or train.bin"
    raise ArgumentError(f"{folder}: expected {missing} in it, found none; {way_out}")


def _names(path: Path) -> list[str]:
    if not path.is_file():
        return []
    names = [line.strip() for line in path.read_text("utf-8", "replace").splitlines() if line.strip()]
    if len(set(names)) != len(names):
        raise ArgumentError(f"{path}: expected a different label each line, got some twice")
    return names


def _part(path: Path, marks: int) -> Part:
    """The images of a file, and the last of the bytes of labels before each."""
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    row = marks + _PIXELS
    if not data or len(data) % row or len(data) > _MOST_BYTES:
        wanted = f"images of {row} bytes each, at most 1 GiB"
        raise ArgumentError(f"{path}: expected {wanted}, got {len(data)} bytes; copy it anew")
    rows = np.frombuffer(data, np.uint8).reshape(-1, row)
    return Part(rows[:, marks:].reshape(-1, *_SHAPE), rows[:, marks - 1].astype(np.int64))


def _sorted(parts: dict[str, Part], labels: list[str]) -> InMemory:
    """The data set, its labels in the order of the alphabet."""
    ordered = sorted(labels)
    code = np.array([ordered.index(label) for label in labels])
    return InMemory({split: Part(part.images, code[part.codes]) for split, part in parts.items()}, tuple(ordered), "")
