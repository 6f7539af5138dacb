"""Images of texts, by name: decoded on demand to one size, with a cache."""

import hashlib
import io
import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

from saccade.data import OBJECTS, Blank, Column, Layout, Row, Rows, SplitNames, load
from saccade.data.arrow import is_arrow
from saccade.data.columns import FILL, Listed, file_name
from saccade.data.dataset import SPLITS, check_index, check_split, data_path, no_such_data
from saccade.data.naming import are_files
from saccade.data.objects import array_of
from saccade.data.rows import HELD, bytes_hash
from saccade.errors import ArgumentError
from saccade.tasks.batches import Cache
from saccade.tasks.image.dataset import HELD_OUT, refuse_size
from saccade.tasks.image.images import SUFFIXES, encode_png, read_image
from saccade.tasks.image.places import Images, Place

__all__ = [
    "IMAGE",
    "TABLES",
    "Gallery",
    "Illustrated",
    "Known",
    "Picture",
    "check_size",
    "fitted",
    "open_pictured",
    "source_of",
]

TABLES = (".tsv", ".csv", ".jsonl", ".ndjson")
"""Suffixes of tables of images in a folder."""
_LONGEST = 96  # pixels of the longer side by default, at most
_SIZES = range(8, 1025)  # pixels
_SIDE = 2  # least pixels of a side, for arrays as for files
_CACHED = 256 << 20  # bytes of decoded images in the cache
_ENDS = (".png", ".jpg", ".jpeg")  # of names that a collection lists without their ends

IMAGE = Column("image", ("image", "img", "path"), what="an image", looks=are_files)
"""Column of images that texts are about."""

T = TypeVar("T")
Source: TypeAlias = Place | memoryview | Tensor
"""Place of an image, bytes of its file, or `(channels, height, width)`, uint8."""
Known: TypeAlias = Callable[[str], bool]
"""Whether a store has features of the image of a name."""


@dataclass(frozen=True, eq=False)
class Picture:
    """An image that texts are about.

    Args:
        name: of the image, in messages and in a store of features.
        source: its place or pixels; None if a store has features of it.
        key: the value whose hash decides its split, or such a hash.
        number: of the image among all.
    """

    name: str
    source: Source | None
    key: Any
    number: int

    def read(self, size: tuple[int, int] | None) -> Tensor:
        """Return the image, RGB, scaled to a height and width unless `size` is None."""
        source = self.source
        if isinstance(source, Place):
            return read_image(io.BytesIO(source.read()), source.told, channels=3, size=size)
        assert source is not None, "an image of features is not read"
        data = encode_png(source) if isinstance(source, Tensor) else bytes(source)
        return read_image(io.BytesIO(data), self.name, channels=3, size=size)

    def __str__(self) -> str:
        """Return the name and the size of the file, or a hash of pixels, for fingerprints."""
        source = self.source
        if isinstance(source, Tensor):
            return hashlib.blake2b(source.contiguous().numpy().tobytes(), digest_size=8).hexdigest()
        return f"{self.name} {source.nbytes if isinstance(source, memoryview) else source and source.size}"


class Gallery:
    """Conversion of cells to pictures, without duplicates of an image.

    Args:
        data: the path of the data, or "objects".
        known: whether a store has features of the image of a name. With it, image files are not searched.
    """

    def __init__(self, data: str, known: Known | None = None) -> None:
        path = data_path(data)
        folder = path if path.is_dir() else path.parent
        self.named = data != OBJECTS and not is_arrow(path)
        self.folder = folder.parent if self.named and folder.name == "annotations" else folder
        self.known, self.pictures, self._images = known, list[Picture](), Images(self.folder)
        self._names, self._sources = dict[str, Picture | None](), dict[Any, Picture]()

    def __call__(self, cell: Any) -> Picture | None:
        """Return the picture of a cell, None for a missing one of a published layout."""
        if not self.named:
            source = source_of(cell, self.folder)
            return self._add(str(source) if isinstance(source, Path) else "", source, source)
        packed = cell if isinstance(cell, Mapping) else {}
        cell = packed.get("name", cell)
        name = str(cell) if isinstance(cell, Listed) else file_name(cell)
        if not name:
            raise ValueError(f"expected the name of an image, got an empty cell; {FILL}")
        if name not in self._names:
            self._names[name] = self._find(name, packed, published=isinstance(cell, Listed))
        return self._names[name]

    def _find(self, name: str, packed: Mapping[str, Any], *, published: bool) -> Picture | None:
        whole = name.lower().endswith(SUFFIXES) or not published
        for full in [name] if whole else [f"{name}{end}" for end in _ENDS]:
            if self.known:
                if self.known(full):
                    return self._add(full, None, bytes_hash(os.fsencode(full)))
                continue
            path, source = self.folder / full, packed.get("file")
            if not packed and not published and "\0" not in full and path.is_file():
                source = Place(path, "", path.stat().st_size)
            elif not packed:
                source = self._images.find(full)
            if source is not None:
                return self._add(name, source, bytes_hash(os.fsencode(name)))
        archive = None if self.known else self._images.packed()
        way_out = f"; {archive} is not looked into: unpack it, or make a .tar of it" if archive else ""
        if not published:
            missing = "features of it in the store" if self.known else "an image"
            raise ValueError(f"expected {missing}, found none: {name}{way_out}")
        if not self.known and not self._images.all():
            raise ValueError(f"expected images in or below {self.folder}, found none{way_out}")
        return None

    def _add(self, name: str, source: Source | Path | None, key: Any) -> Picture:
        source = Place(source, "", source.stat().st_size) if isinstance(source, Path) else source
        number, identity = len(self.pictures), name if source is None else _identity(source, name)
        picture = Picture(name or f"image {number + 1}", source, key, number)
        if self._sources.setdefault(identity, picture) is picture:
            self.pictures.append(picture)
        return self._sources[identity]


class Illustrated(Generic[T]):
    """Texts about images in three splits, each with examples.

    Args:
        pictures: all images, by their numbers.
        size: height and width of all images, after they are scaled and cut. None if there are features of them.
        splits: the number of its image, and the text, of each example.
        note: facts on the data for the user, "" if there are none.
        guessed: names of columns in the data that were guessed from their cells.
    """

    def __init__(
        self,
        pictures: Sequence[Picture],
        size: tuple[int, int] | None,
        splits: Mapping[str, Sequence[tuple[int, T]]],
        note: str,
        guessed: Mapping[str, str] | None = None,
    ) -> None:
        for split in SPLITS:
            if not splits[split]:
                raise ArgumentError(f"{split}: expected texts about images, got none")
        self.pictures, self.splits, self.note, self.guessed = pictures, splits, note, guessed or {}
        self.shape = None if size is None else (3, *size)
        self._cache = Cache(lambda number: pictures[number].read(size), _CACHED, lambda image: image.nbytes)

    def image(self, split: str, index: int) -> tuple[Tensor | None, str]:
        """Return the image of an example, None if there are features of it, and its name."""
        number, _ = self._row(split, index)
        return None if self.shape is None else self._cache.get(number).clone(), self.pictures[number].name

    def size(self, split: str) -> int:
        """Return the number of examples of a split."""
        check_split(split)
        return len(self.splits[split])

    def images(self, split: str) -> int:
        """Return the number of images with texts in a split."""
        check_split(split)
        return len(self._by_image[split])

    def about(self, split: str, image: int) -> Sequence[int]:
        """Return the indices of the texts about an image.

        Images have numbers in the order of their first texts in the split.
        """
        check_index(split, image, self.images(split))
        return self._by_image[split][image]

    @cached_property
    def fingerprint(self) -> str:
        """Number of examples, and a hash of texts, image names and file sizes."""
        numbers = sorted({number for split in SPLITS for number, _ in self.splits[split]})
        digest = hashlib.blake2b(
            json.dumps([self.shape, *(str(self.pictures[n]) for n in numbers)]).encode(), digest_size=8
        )
        for split in SPLITS:
            for row in self.splits[split]:
                digest.update(json.dumps([split, row]).encode())
        counts = ", ".join(f"{split} {len(self.splits[split])}" for split in SPLITS)
        return f"texts about images {counts}, contents {digest.hexdigest()}"

    @cached_property
    def _by_image(self) -> dict[str, list[list[int]]]:
        groups: dict[str, dict[int, list[int]]] = {split: {} for split in SPLITS}
        for split in SPLITS:
            for index, (number, _) in enumerate(self.splits[split]):
                groups[split].setdefault(number, []).append(index)
        return {split: list(images.values()) for split, images in groups.items()}

    def _row(self, split: str, index: int) -> tuple[int, T]:
        check_index(split, index, self.size(split))
        return self.splits[split][index]


def open_pictured(
    data: str,
    builtin: Collection[str],
    size: int | None,
    objects: Any,
    names: SplitNames | None,
    known: Known | None,
    *,
    columns: Sequence[Column],
    layouts: Sequence[Layout],
    what: str,
    holds: str,
) -> tuple[Rows[Row], Gallery] | None:
    """Return rows of texts with an `image`, and the gallery of all images.

    Each `image` is a `Picture`. The result is None for built-in scenes.

    Args:
        data: a name of built-in data, a path, or "objects".
        builtin: names of built-in data.
        size: pixels to which images are scaled.
        objects: Python objects.
        names: the names of splits.
        known: whether a store has features of the image of a name.
        columns: the columns beside the image.
        layouts: published layouts.
        what: the texts, in messages.
        holds: content of a folder of such data, in messages.

    Raises:
        ArgumentError: if there are no such data, something is wrong with them, or an argument has no effect on them.
        OSError: if a file cannot be read.
    """
    names = names or SplitNames()
    if known:
        refuse_features(data, builtin)
    if data in builtin:
        names.refuse(data)
        refuse_size(data, size)
        return None
    check_size(size)
    gallery = Gallery(data, known)
    why = "which are about images without features" if known else "which are about images that are not there"
    rows = load(
        data,
        [replace(IMAGE, kind=gallery), *columns],
        names,
        objects,
        first=layouts,
        blank=Blank(lambda row: row["image"] is None, f"{what}, {why}", whole=False),
        what=what,
        key=lambda row: row["image"].key,
        ends=TABLES,
        whole=[what],
        held=HELD_OUT if gallery.named else HELD,
    )
    if rows is None:
        raise no_such_data(data, builtin, holds=holds)
    return rows, gallery


def refuse_features(data: str, builtin: Collection[str]) -> None:
    """Reject features of images without names of files.

    These are built-in images, tables of Arrow and Python objects.
    """
    if data in (OBJECTS, *builtin) or is_arrow(Path(data)):
        raise ArgumentError(f"--features: expected none for {data}, whose images have no file's name; leave it out")


def fitted(rows: Rows[Row], gallery: Gallery, size: int | None) -> tuple[int, int] | None:
    """Return the height and width for all images, None if there are features.

    They have the proportion of the first image.

    Args:
        rows: with an `image` each.
        gallery: of the rows.
        size: pixels of the longer side. None: as the first image, at most 96.
    """
    if gallery.known:
        return None
    first = gallery.pictures[0] if gallery.named else rows.splits["train"][0]["image"]
    height, width = first.read(None).shape[1:]
    longest = min(max(height, width), _LONGEST) if size is None else size
    share = longest / max(height, width)
    return max(_SIZES[0], round(height * share)), max(_SIZES[0], round(width * share))


def check_size(size: int | None) -> None:
    """Reject a number outside the sizes of images."""
    if size is not None and size not in _SIZES:
        raise ArgumentError(f"--size: expected pixels from {_SIZES[0]} to {_SIZES[-1]}, got {size}")


def source_of(image: Any, folder: Path) -> Path | memoryview | Tensor:
    """Return the path, bytes or pixels of the image in a cell.

    Pixels are `(channels, height, width)`, uint8.

    Args:
        image: an array, a tensor, an image of Pillow, a path, the bytes of a file, or a mapping with `bytes` or `path`,
            as in `datasets`. Arrays and tensors are `(height, width)`, `(height, width, channels)` or
            `(channels, height, width)`, with 1 or 3 channels, uint8 or floats in [0, 1].
        folder: of relative paths.

    Raises:
        ValueError: if it is no image, or there is no such file.
    """
    if isinstance(image, Mapping):
        image = image.get("path") if image.get("bytes") is None else image["bytes"]
    if image is None or (isinstance(image, str) and not image.strip()):
        raise ValueError(f"expected an image, got an empty cell; {FILL}")
    if isinstance(image, str | Path):
        if "\0" in str(image) or not (path := (folder / image).absolute()).is_file():
            raise ValueError(f"expected an image, found none at {folder / image}")
        return path
    if isinstance(image, bytes | bytearray | memoryview):
        return memoryview(image)
    if hasattr(image, "convert") and image.mode not in ("L", "RGB"):  # Pillow's
        image = image.convert("RGB")
    return torch.from_numpy(_channels_first(array_of(image)))


def _channels_first(image: np.ndarray) -> np.ndarray:
    """Convert an image to `(channels, height, width)`, uint8."""
    if image.ndim == 2:
        image = image[None]
    elif image.ndim == 3 and image.shape[0] not in (1, 3) and image.shape[2] in (1, 3):
        image = image.transpose(2, 0, 1)
    if image.ndim != 3 or image.shape[0] not in (1, 3) or min(image.shape[1:]) < _SIDE:
        raise ValueError(f"expected an image of one or three channels and {_SIDE} pixels or more, got {image.shape}")
    if np.issubdtype(image.dtype, np.floating):
        if not (np.isfinite(image).all() and image.min() >= 0 and image.max() <= 1):
            raise ValueError("expected floats from 0 to 1")
        image = np.round(image * 255)
    elif not np.issubdtype(image.dtype, np.integer) or image.min() < 0 or image.max() > 255:
        raise ValueError(f"expected bytes or floats in [0, 1], got {image.dtype}")
    return np.require(image, np.uint8, ["C", "W"])


def _identity(source: Source, name: str) -> object:
    """A key of the image, equal for all its names."""
    if isinstance(source, Tensor):
        return tuple(source.shape), source.numpy().tobytes()
    if isinstance(source, memoryview):
        return name or bytes(source)
    return _real(source.path.parent), source.path.name, source.member


@lru_cache(1000)
def _real(folder: Path) -> str:
    return os.path.realpath(folder)
