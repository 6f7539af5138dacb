"""A folder with features of images, read on demand.

    index.json      names of the images in the order of their rows, the map's rows and columns, encoder, weights
    values.npy      float16: of maps `(images, rows · columns, dim)`, of regions `(all regions, dim)`
    offsets.npy     of regions, `(images + 1,)` int64: first row of each image, and the number of rows
    boxes.npy       of regions, `(all regions, 4)` float32: left, top, right, bottom as shares of the image

The folder is written under another name and renamed when it is complete.
"""

import hashlib
import io
import math
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import torch
from numpy.lib import format as npy
from numpy.typing import NDArray
from torch import Tensor

from saccade._system.files import naming, read_json, unfinished, write, write_json
from saccade.errors import ArgumentError
from saccade.tasks.image.places import ByPath, read_part, state_of

__all__ = ["FeatureStore", "Features", "write_store"]

_INDEX, _VALUES, _OFFSETS, _BOXES = "index.json", "values.npy", "offsets.npy", "boxes.npy"
_FORMAT = 1
_Array = NDArray[Any]


class Features(NamedTuple):
    """Features of an image: a vector of each cell or region, and its box.

    >>> Features(torch.zeros(4, 8), torch.zeros(4, 4)).values.shape
    torch.Size([4, 8])
    """

    values: Tensor
    """`(n, dim)`, float32."""
    boxes: Tensor
    """`(n, 4)`, float32: left, top, right, bottom as shares of the image.

    For maps, the image is the square that extraction cuts out.
    """


class _Stored:
    """An array on the disk with rows read on demand."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, np.dtype(kind)
        with path.open("rb") as file:
            self.state = state_of(file)
        array: Any = np.load(path, mmap_mode="r")  # checks the header and the length, and nothing stays mapped
        if array.dtype != self.kind or not array.flags.c_contiguous or not array.shape:
            raise ValueError(f"{path.name} of another kind than {self.kind}")
        self.shape, self.start = array.shape, array.offset

    def read(self, first: int, last: int) -> _Array:
        """Return some rows, or raise an `ArgumentError` if the file has changed."""
        row = math.prod(self.shape[1:]) * self.kind.itemsize
        data = read_part(self.path, self.start + first * row, (last - first) * row, self.state)
        return np.frombuffer(data, self.kind).reshape(last - first, *self.shape[1:])


@dataclass(frozen=True, eq=False)
class FeatureStore:
    """Features of images by their names, opened by `FeatureStore.open`.

    Args:
        folder: of the store.
        names: of the images.
        shape: rows and columns of maps; None of regions.
        encoder: the network of the features, such as "torchvision:resnet50 layer4", "" if unknown.
        fingerprint: a description with a hash of the contents.
        values, offsets, boxes: on the disk; the last two None of maps.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as name:
        ...     write_store(Path(name) / "store", ["a.jpg"], [torch.ones(6, 5)], grid=(2, 3))
        ...     store = FeatureStore.open(Path(name) / "store")
        ...     store.dim, store.shape, store.get("a.jpg").boxes[1]
        (5, (2, 3), tensor([0.3333, 0.0000, 0.6667, 0.5000]))
    """

    folder: Path
    names: tuple[str, ...]
    shape: tuple[int, int] | None
    encoder: str
    fingerprint: str
    values: _Stored
    offsets: _Array | None = None
    boxes: _Stored | None = None

    @classmethod
    def open(cls, folder: Path) -> "FeatureStore":
        """Open a store, or raise an `ArgumentError` if there is none or it is damaged."""
        if not (folder / _INDEX).is_file():
            way_out = "python -m saccade.tasks.image.features makes one"
            raise ArgumentError(f"{folder}: expected a store of features (index.json), found none; {way_out}")
        try:
            return _opened(folder)
        except OSError as error:
            got = f"{error.filename or folder}: {error.strerror or error}"
            raise ArgumentError(f"{folder}: expected a whole store of features, got {got}; extract it anew") from error
        except (ValueError, KeyError, TypeError, EOFError, SyntaxError, OverflowError, AttributeError) as error:
            got = " ".join(str(error).split())[:150] or type(error).__name__
            raise ArgumentError(f"{folder}: expected a whole store of features, got {got}; extract it anew") from error

    @property
    def dim(self) -> int:
        """Length of a feature."""
        return int(self.values.shape[-1])

    def has(self, name: str) -> bool:
        """Return whether there are features of the image of a name: see `get`."""
        return self._row(name) is not None

    def get(self, name: str) -> Features:
        """Return the features of an image.

        Args:
            name: of the image: its path as it was when they were extracted, or the end of it, or with more folders.

        Raises:
            ArgumentError: if there are none, the name fits several images, or a feature is not finite.
        """
        row = self._row(name)
        if row is None:
            raise ArgumentError(f"{self.folder}: expected features of {name}, found none; extract them")
        if self.offsets is None or self.boxes is None:
            values, boxes = self.values.read(row, row + 1)[0], self._cells
        else:
            first, last = int(self.offsets[row]), int(self.offsets[row + 1])
            values, boxes = self.values.read(first, last), torch.from_numpy(self.boxes.read(first, last).copy())
        features = torch.from_numpy(np.array(values, np.float32))
        if not bool(features.isfinite().all()) or not bool(boxes.isfinite().all()):
            raise ArgumentError(f"{self.folder}: expected finite features of {name}, got others: extract them anew")
        return Features(features, boxes)

    def _row(self, name: str) -> int | None:
        rows = self._rows.find(name)
        if len(rows) > 1:
            got = f"{self.names[rows[0]]} and {self.names[rows[1]]}"
            raise ArgumentError(f"{self.folder}: expected features of one image called {name}, got {got}")
        return rows[0] if rows else None

    @cached_property
    def _rows(self) -> ByPath[int]:
        return ByPath((name, row) for row, name in enumerate(self.names))

    @property
    def _cells(self) -> Tensor:
        """The boxes of a map's cells, row by row, `(rows · columns, 4)`."""
        assert self.shape is not None, "features without boxes are maps"
        rows, columns = self.shape
        y, x = (part.flatten() for part in torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij"))
        return torch.stack([x / columns, y / rows, (x + 1) / columns, (y + 1) / rows], 1)


def write_store(
    folder: Path,
    names: Sequence[str],
    arrays: Iterable[Tensor | _Array],
    boxes: Iterable[Tensor | _Array] | None = None,
    *,
    grid: tuple[int, int] | None = None,
    encoder: str = "",
    weights: str = "",
) -> None:
    """Write features of images as a store, an image at a time.

    Args:
        folder: of the new store.
        names: of the images, each once.
        arrays: of each image `(n, dim)`, finite; kept as float16.
        boxes: of each image `(n, 4)`: left, top, right, bottom as shares of the image. None if `arrays` are maps.
        grid: rows and columns of maps, n = rows · columns, row by row. None if `arrays` are regions.
        encoder: name of the network, for the index.
        weights: a hash of its weights, for the index.

    Raises:
        ArgumentError: if something is there already, or names, arrays and boxes do not fit together.
        OSError: if it cannot be written.
    """
    if (boxes is None) == (grid is None):
        raise ArgumentError("boxes: expected boxes of regions or the grid of maps, got both or none")
    if not names:
        raise ArgumentError("names: expected one or more, got none")
    if len(set(names)) < len(names):
        raise ArgumentError(f"names: expected each once, got {Counter(names).most_common(1)[0][0]} again")
    if folder.exists():
        raise ArgumentError(f"{folder}: expected a place where nothing is, got one that is taken; name another")
    partial = unfinished(folder)
    partial.mkdir(parents=True)
    try:
        contents = _write_arrays(partial, names, arrays, boxes, grid)
        index = {"format": _FORMAT, "names": list(names), "grid": grid, "encoder": encoder, "weights": weights}
        write_json(partial / _INDEX, index | contents)
        partial.rename(folder)
    finally:
        if partial.exists():
            shutil.rmtree(partial)


def _write_arrays(
    folder: Path,
    names: Sequence[str],
    arrays: Iterable[Tensor | _Array],
    boxes: Iterable[Tensor | _Array] | None,
    grid: tuple[int, int] | None,
) -> dict[str, Any]:
    """Write all arrays, and return the length of a feature and a hash of the contents."""
    dim, ends, corners = 0, [0], list[_Array]()
    digest = hashlib.blake2b(repr(grid).encode(), digest_size=16)
    with naming(folder / _VALUES), (folder / _VALUES).open("wb") as file:
        for name, array, box in zip_longest(names, arrays, () if boxes is None else boxes):
            if name is None or array is None or (boxes is not None and box is None):
                got = "more" if name is None else len(ends) - 1
                raise ArgumentError(f"arrays: expected {len(names)}, one of each name, got {got}")
            kept = _checked_values(array, name, dim, grid)
            if not dim:
                dim = kept.shape[1]
                _write_header(file, (len(names), len(kept), dim) if grid else (0, dim))
            ends.append(ends[-1] + len(kept))
            file.write(kept.data)
            digest.update(name.encode("utf-8", "surrogateescape") + kept.data)
            if boxes is not None:
                corners.append(_checked_boxes(box, len(kept), name))
                digest.update(corners[-1].data)
        if grid is None:
            file.seek(0)  # numpy leaves room in the header for the first axis to grow
            _write_header(file, (ends[-1], dim))
        file.flush()
        os.fsync(file.fileno())
    if grid is None:
        for path, rows in ((folder / _OFFSETS, np.array(ends, np.int64)), (folder / _BOXES, np.concatenate(corners))):
            np.save(buffer := io.BytesIO(), rows)
            write(path, buffer.getvalue())
    return {"dim": dim, "contents": digest.hexdigest()}


def _write_header(file: BinaryIO, shape: tuple[int, ...]) -> None:
    npy.write_array_header_1_0(file, {"descr": "<f2", "fortran_order": False, "shape": shape})


def _checked_values(values: Tensor | _Array, name: str, dim: int, grid: tuple[int, int] | None) -> _Array:
    array = np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values)
    if array.ndim != 2 or 0 in array.shape or (dim and array.shape[1] != dim):
        raise ArgumentError(f"arrays: {name}: expected features (n, {dim or 'dim'}), got shape {array.shape}")
    if grid and len(array) != grid[0] * grid[1]:
        raise ArgumentError(f"arrays: {name}: expected {grid[0]} × {grid[1]} cells, got {len(array)}")
    with np.errstate(over="ignore"):
        kept = np.ascontiguousarray(array, dtype=np.float16)
    if not np.isfinite(kept).all():
        raise ArgumentError(f"arrays: {name}: expected finite features within ±65,504 (float16), got others")
    return kept


def _checked_boxes(boxes: Tensor | _Array, count: int, name: str) -> _Array:
    array = np.ascontiguousarray(boxes.cpu() if isinstance(boxes, Tensor) else boxes, dtype=np.float32)
    if array.shape != (count, 4):
        raise ArgumentError(f"boxes: {name}: expected ({count}, 4), got {array.shape}")
    if not (array.min() >= 0 and array.max() <= 1):
        expected = "left, top, right and bottom as shares of the image, 0 to 1"
        raise ArgumentError(f"boxes: {name}: expected {expected}, got {array.min():g} to {array.max():g}")
    left, top, right, bottom = array.T
    for less, more, small, large in (("left", "right", left, right), ("top", "bottom", top, bottom)):
        if (wrong := small > large).any():
            got = f"{less} {small[wrong][0]:g} and {more} {large[wrong][0]:g}"
            raise ArgumentError(f"boxes: {name}: expected {less} less than {more}, got {got}; swap them")
    return array


def _opened(folder: Path) -> FeatureStore:
    index = read_json(folder / _INDEX)
    if not isinstance(index, dict) or index.get("format") != _FORMAT:
        raise ValueError(f"an {_INDEX} of another kind")
    names, grid, dim = index["names"], index["grid"], index["dim"]
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"names {names!r:.60}")
    if len(set(names)) < len(names):
        raise ValueError("a name twice")
    if not all(isinstance(index[name], str) for name in ("encoder", "weights", "contents")):
        raise ValueError(f"an {_INDEX} without encoder, weights and contents")
    values, encoder = _Stored(folder / _VALUES, "<f2"), index["encoder"]
    about = f"{len(names)} images × {dim}, {encoder or 'encoder unknown'}, contents {index['contents']}"
    if grid is not None:
        if not isinstance(grid, list) or len(grid) != 2 or not all(type(side) is int and side > 0 for side in grid):
            raise ValueError(f"the grid {grid!r:.60} in the place of rows and columns")
        rows, columns = grid
        if values.shape != (len(names), rows * columns, dim):
            raise ValueError(f"{_VALUES} of shape {values.shape} for {len(names)} maps of {rows} × {columns} × {dim}")
        printed = f"features {rows} × {columns} of {about}"
        return FeatureStore(folder, tuple(names), (rows, columns), encoder, printed, values)
    offsets, boxes, count = _Stored(folder / _OFFSETS, "<i8"), _Stored(folder / _BOXES, "<f4"), values.shape[0]
    if values.shape != (count, dim) or boxes.shape != (count, 4):
        raise ValueError(f"{_VALUES} of shape {values.shape} and {_BOXES} of shape {boxes.shape} for {dim} features")
    ends = offsets.read(0, offsets.shape[0])
    if ends.shape != (len(names) + 1,) or ends[0] or ends[-1] != count or (np.diff(ends) < 1).any():
        raise ValueError(f"{_OFFSETS} that do not fit {len(names)} images")
    printed = f"features of regions of {about}"
    return FeatureStore(folder, tuple(names), None, encoder, printed, values, ends, boxes)
