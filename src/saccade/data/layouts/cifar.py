"""CIFAR-10 and CIFAR-100 in their binary version.

    CIFAR-10:    1 byte label, 3,072 bytes pixels       data_batch_1.bin to data_batch_5.bin, test_batch.bin
    CIFAR-100:   2 bytes labels (coarse, fine), pixels  train.bin, test.bin

The pixels are 32 rows of 32 red values, then green, then blue. The Python version of the data is not read, because
pickles can run any program.

Source:
    A. Krizhevsky 2009, "Learning Multiple Layers of Features from Tiny Images"; https://www.cs.toronto.edu/~kriz/cifar.html.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from saccade.data.rows import bytes_hash
from saccade.data.splits import SplitNames
from saccade.data.table import Table, row_of
from saccade.errors import ArgumentError

__all__ = ["cifar"]

_SHAPE, _PIXELS = (3, 32, 32), 3 * 32 * 32
_MOST_BYTES = 1 << 30
_PICKLES = ("data_batch_1", "batches.meta", "meta")
_FOLDERS = ("cifar-10-batches-bin", "cifar-100-binary")
_PICKLED = ("cifar-10-batches-py", "cifar-100-python")
_WAY_OUT = "take the binary version (cifar-10-binary.tar.gz), unpacked"


def cifar(folder: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of `image` `(3, 32, 32)`, `label` and a hash `key`.

    Labels are the names in batches.meta.txt or fine_label_names.txt, otherwise numbers. The result is None for another
    layout.

    Args:
        folder: folder of the .bin files, or parent folder of the unpacked archive.
        names: the names of splits.

    Raises:
        ArgumentError: for the Python version, a missing or truncated file, or a label without a name.
        OSError: if a file cannot be read.
    """
    here = next((folder / name for name in _FOLDERS if (folder / name).is_dir()), folder)
    binaries = ("data_batch_1.bin", "test_batch.bin", "fine_label_names.txt")
    pickled = any((folder / name).is_file() for name in _PICKLES) or any((folder / name).is_dir() for name in _PICKLED)
    if here == folder and not pickled and not any((folder / name).is_file() for name in binaries):
        return None
    fine = (here / "train.bin").is_file()
    train = [here / "train.bin"] if fine else sorted(here.glob("data_batch_*.bin"))
    test = here / ("test.bin" if fine else "test_batch.bin")
    if pickled and not (train and test.is_file()):
        got = "expected no pickles, which can run any program, got Python's version"
        raise ArgumentError(f"{folder}: {got}; {_WAY_OUT}")
    if not train or not test.is_file():
        missing = "test_batch.bin or test.bin" if train else "data_batch_1.bin or train.bin"
        raise ArgumentError(f"{folder}: expected {missing} in it, found none; {_WAY_OUT}")
    labels = _names(here / ("fine_label_names.txt" if fine else "batches.meta.txt"))
    return {"train": _table(train, fine, labels), "test": _table([test], fine, labels)}


def _names(path: Path) -> list[str]:
    lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
    labels = [line.strip() for line in lines if line.strip()]
    if len(set(labels)) != len(labels):
        raise ArgumentError(f"{path}: expected a different label each line, got some twice")
    return labels


def _table(paths: Sequence[Path], fine: bool, labels: Sequence[str]) -> Table:
    rows = []
    for path in paths:
        size = 1 + fine + _PIXELS
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if not data or len(data) % size or len(data) > _MOST_BYTES:
            expected = f"images of {size} bytes each, at most 1 GiB"
            raise ArgumentError(f"{path}: expected {expected}, got {len(data)} bytes; copy it anew")
        for record in np.frombuffer(data, np.uint8).reshape(-1, size):
            code, image = int(record[int(fine)]), record[1 + fine :].reshape(_SHAPE)
            if labels and code >= len(labels):
                raise ArgumentError(f"{path}: expected labels below {len(labels)}, got {code}")
            label = labels[code] if labels else str(code)
            rows.append({"image": image, "label": label, "key": bytes_hash(image.tobytes())})
    return Table(rows, row_of(paths[0].parent), size=len(rows))
