"""A folder with features of images, read as they are asked for.

    index.json      names of the images in the order of their rows, the map's rows and columns, encoder, weights
    values.npy      float16: of maps `(images, rows · columns, dim)`, of regions `(all regions, dim)`
    offsets.npy     of regions, `(images + 1,)` int64: where each image's begin, and where the last one's end
    boxes.npy       of regions, `(all regions, 4)` float32: left, top, right, bottom as shares of the image

It is written under another name beside and renamed once it is whole: what is there is never half a store.
"""

import hashlib
import math
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import torch
from numpy.lib import format as npy
from numpy.typing import NDArray
from torch import Tensor

from saccade._system.files import naming, read_json, unfinished, write_json
from saccade.errors import ArgumentError
from saccade.tasks.image.places import fits
from saccade.tasks.pinned import Pinned, state_of

__all__ = ["FeatureStore", "Features", "write_store"]

_INDEX, _VALUES, _OFFSETS, _BOXES = "index.json", "values.npy", "offsets.npy", "boxes.npy"
_FORMAT = 1
_Array = NDArray[Any]


class Features(NamedTuple):
    """What is known of an image: a vector of each cell or region, and where that is.

    >>> Features(torch.zeros(4, 8), torch.zeros(4, 4)).values.shape
    torch.Size([4, 8])
    """

    values: Tensor
    """`(n, dim)`, float32."""
    boxes: Tensor
    """`(n, 4)`, float32: left, top, right, bottom as shares of the image, of a map after it was cut to a square."""


@dataclass(frozen=True, eq=False)
class FeatureStore:
    """Features of images by their names; open one by `FeatureStore.open`.

    Args:
        folder: where they are.
        names: of the images.
        shape: rows and columns of maps; None of regions.
        encoder: what they are of, such as "torchvision:resnet50 layer4", "" if that is not known.
        fingerprint: what they are, in one string.
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
    values: "_Stored"
    offsets: _Array | None = None
    boxes: "_Stored | None" = None

    @classmethod
    def open(cls, folder: Path) -> "FeatureStore":
        """Open a store; nothing but its index is read.

        Raises:
            ArgumentError: if there is none, or it is not whole.
        """
        if not (folder / _INDEX).is_file():
            way_out = "python -m saccade.tasks.image.features makes one"
            raise ArgumentError(f"{folder}: expected a store of features (index.json), found none; {way_out}")
        with _whole(folder):
            return _opened(cls, folder)

    @property
    def dim(self) -> int:
        """How many numbers a feature has."""
        return int(self.values.shape[-1])

    @property
    def most(self) -> int:
        """How many features an image has at most."""
        return int(self.values.shape[1] if self.offsets is None else np.diff(self.offsets).max())

    def has(self, name: str) -> bool:
        """Return whether there are features of the image of that name: see `get`."""
        return self._row(name) is not None

    def get(self, name: str) -> Features:
        """Return the features of an image.

        Args:
            name: of the image: its path as it was when they were extracted, or the end of it, or with more folders.

        Raises:
            ArgumentError: if there is none, or the name fits several, or they are no finite numbers.
        """
        row = self._row(name)
        if row is None:
            raise ArgumentError(f"{self.folder}: expected features of {name}, found none; extract them")
        if self.offsets is None:
            values, boxes = self.values.read(row, row + 1)[0], self._cells()
        else:
            first, last = int(self.offsets[row]), int(self.offsets[row + 1])
            assert self.boxes is not None, "regions have boxes"
            values, boxes = self.values.read(first, last), torch.from_numpy(self.boxes.read(first, last).copy())
        found = torch.from_numpy(np.array(values, np.float32))
        if not bool(found.isfinite().all()) or not bool(boxes.isfinite().all()):
            raise ArgumentError(f"{self.folder}: expected finite features of {name}, got others: extract them anew")
        return Features(found, boxes)

    def _row(self, name: str) -> int | None:
        """The row of an image: a whole name counts before the end of one."""
        if (whole := self._rows.get(name)) is not None:
            return whole
        rows = [row for row in self._ends.get(name.rpartition("/")[2], ()) if fits(self.names[row], name)]
        if len(rows) > 1:
            got = f"{self.names[rows[0]]} and {self.names[rows[1]]}"
            raise ArgumentError(f"{self.folder}: expected features of one image called {name}, got {got}")
        return rows[0] if rows else None

    @cached_property
    def _rows(self) -> dict[str, int]:
        """The rows of names."""
        return {name: row for row, name in enumerate(self.names)}

    @cached_property
    def _ends(self) -> dict[str, list[int]]:
        """The rows of names by the last parts of these."""
        ends: dict[str, list[int]] = {}
        for row, name in enumerate(self.names):
            ends.setdefault(name.rpartition("/")[2], []).append(row)
        return ends

    def _cells(self) -> Tensor:
        """The boxes of a map's cells, a row after the other, `(rows · columns, 4)`."""
        assert self.shape is not None, "features without boxes are maps"
        rows, columns = self.shape
        down, across = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
        left, top = across.flatten() / columns, down.flatten() / rows
        return torch.stack([left, top, (across.flatten() + 1) / columns, (down.flatten() + 1) / rows], 1)


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
        folder: where it shall be; nothing is there yet.
        names: of the images, each once.
        arrays: of each image `(n, dim)`, finite; kept as float16.
        boxes: of each image `(n, 4)`: left, top, right, bottom as shares of the image; None: `arrays` are maps.
        grid: rows and columns of maps, n = rows · columns, a row after the other; None: `arrays` are regions.
        encoder: what made them, for whoever reads the index.
        weights: a hash of its weights, the same.

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
        writer = _Writer(partial, grid)
        with naming(partial / _VALUES):
            _write_all(writer, names, arrays, boxes)
        index = {"format": _FORMAT, "names": list(names), "grid": grid, "encoder": encoder, "weights": weights}
        write_json(partial / _INDEX, index | {"dim": writer.dim, "contents": writer.digest.hexdigest()})
        partial.rename(folder)
    finally:
        if partial.exists():
            shutil.rmtree(partial)


def _write_all(
    writer: "_Writer",
    names: Sequence[str],
    arrays: Iterable[Tensor | _Array],
    boxes: Iterable[Tensor | _Array] | None,
) -> None:
    with (writer.folder / _VALUES).open("wb") as file:
        places = iter([None] * len(names)) if boxes is None else iter(boxes)
        given = iter(arrays)
        for written, name in enumerate(names):
            values, own = next(given, None), next(places, None)
            if values is None or (boxes is not None and own is None):
                raise ArgumentError(f"arrays: expected {len(names)}, one of each name, got {written}")
            writer.add(file, name, values, own)
        if next(given, None) is not None:
            raise ArgumentError(f"arrays: expected {len(names)}, one of each name, got more")
        writer.finish(file)


class _Writer:
    """What is written of a store, image by image."""

    def __init__(self, folder: Path, grid: tuple[int, int] | None) -> None:
        self.folder, self._grid = folder, grid
        self.dim, self._ends, self._boxes = 0, [0], list[_Array]()
        self.digest = hashlib.blake2b(repr(grid).encode(), digest_size=16)

    def add(self, file: BinaryIO, name: str, values: Tensor | _Array, boxes: Tensor | _Array | None) -> None:
        """Append an image's features."""
        given = np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values)
        if given.ndim != 2 or 0 in given.shape or (self.dim and given.shape[1] != self.dim):
            wanted = f"(n, {self.dim or 'dim'})"
            raise ArgumentError(f"arrays: {name}: expected features {wanted}, got shape {given.shape}")
        if self._grid and len(given) != self._grid[0] * self._grid[1]:
            wanted = f"{self._grid[0]} × {self._grid[1]} cells"
            raise ArgumentError(f"arrays: {name}: expected {wanted}, got {len(given)}")
        with np.errstate(over="ignore"):
            kept = np.ascontiguousarray(given, dtype=np.float16)
        if not np.isfinite(kept).all():
            raise ArgumentError(f"arrays: {name}: expected finite features within ±65,504 (float16), got others")
        if not self.dim:
            self.dim = given.shape[1]
            self._header(file)
        self._ends.append(self._ends[-1] + len(kept))
        file.write(kept.data)
        self.digest.update(name.encode("utf-8", "surrogateescape") + kept.data)
        if boxes is not None:
            self._boxes.append(_checked(boxes, len(kept), name))
            self.digest.update(self._boxes[-1].data)

    def finish(self, file: BinaryIO) -> None:
        """Write how many there are before them, and what is known of regions beside."""
        begun = self._header_bytes
        file.seek(0)
        self._header(file)
        assert self._header_bytes == begun, "numpy leaves room for the first axis to grow"
        file.flush()
        os.fsync(file.fileno())
        if self._grid is None:
            for name, array in ((_OFFSETS, np.array(self._ends, np.int64)), (_BOXES, np.concatenate(self._boxes))):
                with (self.folder / name).open("wb") as beside:
                    npy.write_array(beside, array, allow_pickle=False)
                    beside.flush()
                    os.fsync(beside.fileno())

    def _header(self, file: BinaryIO) -> None:
        """What stands before the features: their type and shape, as numpy has it."""
        images = len(self._ends) - 1
        shape = (images, self._grid[0] * self._grid[1], self.dim) if self._grid else (self._ends[-1], self.dim)
        npy.write_array_header_1_0(file, {"descr": "<f2", "fortran_order": False, "shape": shape})
        self._header_bytes = file.tell()


def _checked(boxes: Tensor | _Array, count: int, name: str) -> _Array:
    found = np.ascontiguousarray(boxes.cpu() if isinstance(boxes, Tensor) else boxes, dtype=np.float32)
    if found.shape != (count, 4):
        raise ArgumentError(f"boxes: {name}: expected ({count}, 4), got {found.shape}")
    left, top, right, bottom = found.T
    if not (found.min() >= 0 and found.max() <= 1):
        wanted = "left, top, right and bottom as shares of the image, 0 to 1"
        raise ArgumentError(f"boxes: {name}: expected {wanted}, got {found.min():g} to {found.max():g}")
    for less, more, small, large in (("left", "right", left, right), ("top", "bottom", top, bottom)):
        if (wrong := small > large).any():
            got = f"{less} {small[wrong][0]:g} and {more} {large[wrong][0]:g}"
            raise ArgumentError(f"boxes: {name}: expected {less} less than {more}, got {got}; swap them")
    return found


@contextmanager
def _whole(folder: Path) -> Iterator[None]:
    """Whatever is wrong with a store while the block opens it is one error."""
    try:
        yield
    except OSError as error:
        got = f"{error.filename or folder}: {error.strerror or error}"
        raise ArgumentError(f"{folder}: expected a whole store of features, got {got}; extract it anew") from error
    except (ValueError, KeyError, TypeError, EOFError, SyntaxError, OverflowError) as error:
        got = " ".join(str(error).split())[:150] or type(error).__name__
        raise ArgumentError(f"{folder}: expected a whole store of features, got {got}; extract it anew") from error


def _opened(cls: type[FeatureStore], folder: Path) -> FeatureStore:
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
    values = _Stored(folder / _VALUES, np.dtype("<f2"))
    said = f"{len(names)} images × {dim}, {index['encoder'] or 'encoder unknown'}, contents {index['contents']}"
    if grid is not None:
        if not isinstance(grid, list) or len(grid) != 2 or not all(type(side) is int and side > 0 for side in grid):
            raise ValueError(f"the grid {grid!r:.60} in the place of rows and columns")
        rows, columns = grid
        if values.shape != (len(names), rows * columns, dim):
            raise ValueError(f"{_VALUES} of shape {values.shape} for {len(names)} maps of {rows} × {columns} × {dim}")
        printed = f"features {rows} × {columns} of {said}"
        return cls(folder, tuple(names), (rows, columns), index["encoder"], printed, values)
    offsets, boxes = _Stored(folder / _OFFSETS, np.dtype("<i8")), _Stored(folder / _BOXES, np.dtype("<f4"))
    count = values.shape[0]
    if values.shape != (count, dim) or boxes.shape != (count, 4):
        raise ValueError(f"{_VALUES} of shape {values.shape} and {_BOXES} of shape {boxes.shape} for {dim} features")
    ends = offsets.read(0, offsets.shape[0])
    if ends.shape != (len(names) + 1,) or ends[0] or ends[-1] != count or (np.diff(ends) < 1).any():
        raise ValueError(f"{_OFFSETS} that do not fit {len(names)} images")
    printed = f"features of regions of {said}"
    return cls(folder, tuple(names), None, index["encoder"], printed, values, ends, boxes)


class _Stored:
    """An array on the disk, of which rows are read as they are asked for."""

    def __init__(self, path: Path, kind: np.dtype[Any]) -> None:
        with path.open("rb") as file:
            pinned = Pinned(file, path, state_of(file))
            version = npy.read_magic(file)
            header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            self.shape, fortran, dtype = header(file)
            self._file, self._start, self._kind = pinned, file.tell(), kind
        if dtype != kind or fortran or not self.shape:
            raise ValueError(f"{path.name} of another kind than {kind}")
        self._row = math.prod(self.shape[1:]) * kind.itemsize
        if pinned.state[0] < self._start + self.shape[0] * self._row:
            raise ValueError(f"{path.name} that is cut short")

    def read(self, first: int, last: int) -> _Array:
        """Return some rows.

        Raises:
            ArgumentError: if somebody has written to the file.
        """
        data = self._file.read(self._start + first * self._row, (last - first) * self._row)
        return np.frombuffer(data, self._kind).reshape(last - first, *self.shape[1:])
