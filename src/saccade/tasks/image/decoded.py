"""Images wherever they lie, decoded as they are asked for, brought to one size, and kept while there is room."""

import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor

from saccade.data.objects import array_of
from saccade.errors import ArgumentError
from saccade.tasks.batches import Cache
from saccade.tasks.image.images import encode_png, read_image
from saccade.tasks.image.objects import channels_first
from saccade.tasks.image.places import Place, read_place

__all__ = ["LONGEST", "Decoded", "Source", "check_size", "fitted", "key_of", "read_source", "source_of", "told"]

#: Pixels of the longer side that images are scaled down to, where no size is asked for.
LONGEST = 96

_SIZES = range(8, 1025)  # pixels
_CACHED = 256 << 20  # bytes of decoded images that are kept

Source: TypeAlias = Place | Path | memoryview | Tensor
"""Where an image is, the bytes of its file, or itself `(channels, height, width)`, uint8."""


class Decoded:
    """Images of one size by their numbers, each decoded once while all that are kept take 256 MiB.

    Args:
        sources: a name for messages and where the image is, of each.
        size: pixels of the longer side of all images; None: as the first one has it, 96 at most. The shorter side is in
            the first one's proportion; another image is scaled to cover that, and cut to it.

    Raises:
        ArgumentError: if the size is none, or the first image cannot be read.

    Example:
        >>> images = Decoded([("a", torch.zeros(3, 20, 40, dtype=torch.uint8))], size=10)
        >>> images.shape, images.get(0).shape
        ((3, 8, 10), torch.Size([3, 8, 10]))
    """

    def __init__(self, sources: Sequence[tuple[str, Source]], size: int | None) -> None:
        check_size(size)
        name, first = sources[0]
        height, width = read_source(first, name, None).shape[1:]
        self.shape = (3, *fitted(height, width, size))
        self._sources = sources
        self._cache = Cache(self._read, _CACHED, lambda image: image.nbytes)

    def get(self, number: int) -> Tensor:
        """Return an image, `(3, height, width)`, uint8.

        Raises:
            ArgumentError: if it cannot be read.
        """
        return self._cache.get(number)

    def name(self, number: int) -> str:
        """Return what messages call an image."""
        return self._sources[number][0]

    def told(self) -> list[object]:
        """Return what tells each image from others without decoding it."""
        return [told(source) for _, source in self._sources]

    def _read(self, number: int) -> Tensor:
        name, source = self._sources[number]
        return read_source(source, name, self.shape[1:])


def fitted(height: int, width: int, size: int | None) -> tuple[int, int]:
    """Return height and width of an image whose longer side is to have `size` pixels; None: its own, 96 at most.

    >>> fitted(425, 560, 96), fitted(64, 64, None), fitted(10, 500, None)
    ((73, 96), (64, 64), (8, 96))
    """
    longest = min(max(height, width), LONGEST) if size is None else size
    share = longest / max(height, width)
    return max(_SIZES[0], round(height * share)), max(_SIZES[0], round(width * share))


def check_size(size: int | None) -> None:
    """Refuse what is no size of images.

    Raises:
        ArgumentError: if it is none.
    """
    if size is not None and size not in _SIZES:
        raise ArgumentError(f"--size: expected pixels from {_SIZES[0]} to {_SIZES[-1]}, got {size}")


def read_source(source: Source, name: str, size: tuple[int, int] | None) -> Tensor:
    """Return an image, RGB, of a height and width; None: its own.

    Raises:
        ArgumentError: naming it, if it cannot be read.
    """
    if isinstance(source, Place):
        return read_image(io.BytesIO(read_place(source)), source.told, channels=3, size=size)
    if isinstance(source, Path):
        return read_image(source, str(source), channels=3, size=size)
    data = encode_png(source) if isinstance(source, Tensor) else bytes(source)
    return read_image(io.BytesIO(data), name, channels=3, size=size)


def source_of(image: Any, folder: Path) -> Source:
    """Return where an image that is a Python object is, or itself.

    Args:
        image: an array or tensor of one or three channels, uint8 or floats in [0, 1]; an image of Pillow; a path; the
            bytes of a file; or a mapping with `bytes` or `path`, as `datasets` leaves images packed.
        folder: from which on paths are seen.

    Raises:
        ValueError: if it is none, or there is no such file.
    """
    if isinstance(image, Mapping):
        data, path = image.get("bytes"), image.get("path")
        image = path if data is None else data
    if image is None:
        raise ValueError("expected an image, got none")
    if isinstance(image, str | Path):
        if not (path := (folder / image).absolute()).is_file():
            raise ValueError(f"expected an image, found none at {path}")
        return path
    if isinstance(image, bytes | bytearray | memoryview):
        return memoryview(image)
    if hasattr(image, "convert"):  # Pillow's, of any mode
        image = image.convert("RGB")
    return torch.from_numpy(channels_first(array_of(image)))


def told(source: Source) -> object:
    """Return what tells an image from others without decoding it: the size of its file, or a hash."""
    if isinstance(source, Place):
        return source.size
    if isinstance(source, Path):
        return source.stat().st_size
    if isinstance(source, memoryview):
        return source.nbytes
    return hashlib.blake2b(source.contiguous().numpy().tobytes(), digest_size=8).hexdigest()


def key_of(source: Source) -> object:
    """Return what is the same for the same image, by whatever name it was found."""
    if isinstance(source, Tensor):
        return tuple(source.shape), source.numpy().tobytes()
    if isinstance(source, memoryview):
        return bytes(source)
    path, member = (source.path, source.member) if isinstance(source, Place) else (source, "")
    return _real(path.parent), path.name, member


@lru_cache(1000)
def _real(folder: Path) -> str:
    """A folder without links: of many images it is asked for once."""
    return os.path.realpath(folder)
