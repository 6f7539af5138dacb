"""Labelled images that are Python objects: arrays, tensors, Pillow's images and what `datasets` hands over."""

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from saccade.data.cleaning import composed
from saccade.data.columns import label_of
from saccade.data.dataset import SPLITS
from saccade.data.objects import array_of
from saccade.data.rows import rows_of
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.image.dataset import InMemory, Part
from saccade.tasks.image.images import LARGEST, read_image

__all__ = ["channels_first", "open_objects"]

_IMAGE, _LABEL = ("image", "img"), ("label", "fine_label")  # what columns may be called
_SIDE = 8  # pixels, at least


def open_objects(
    objects: Any, size: int | None = None, names: SplitNames | None = None, folder: Path | None = None
) -> InMemory:
    """Return a data set of rows with an image and its label.

    An image is `(height, width)`, `(height, width, channels)` or `(channels, height, width)`, of one or three channels,
    uint8 or floats in [0, 1]; all have one size. What is packed as a file (`bytes`, as `datasets` saves images) is
    unpacked, and scaled as images of folders are. A row is a pair, or a mapping with the columns `image` and `label`.

    Args:
        objects: see `saccade.data.objects.rows_of`.
        size: pixels of height and width of images that are packed; None: those of the first, or 64. Arrays and
            Pillow's images keep theirs.
        names: what the splits of a mapping are called.
        folder: of the table that the rows are from, from which on paths are seen.

    Raises:
        ArgumentError: naming the row that is wrong.

    Example:
        >>> data = open_objects([(np.full((8, 8), level, np.uint8), level % 2) for level in range(40)])
        >>> data.shape, data.labels
        ((1, 8, 8), ('0', '1'))
    """
    shapes, arrays = set[tuple[int, ...]](), 0
    unpack = _Unpacked(size, folder or Path())

    def read(row: Any, features: Any) -> tuple[np.ndarray, str]:
        nonlocal arrays
        if isinstance(row, Mapping):
            image = next((row[name] for name in _IMAGE if name in row), None)
            name = next((name for name in _LABEL if name in row), "")
            named = features.get(name)
            label = _plain(row.get(name))
            row = (image, label_of(named, label) if named and isinstance(label, int) else label)
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != 2 or row[0] is None or row[1] is None:
            raise ValueError("expected an image and its label")
        packed = isinstance(row[0], Mapping | bytes | memoryview)
        arrays += not packed
        image = unpack(row[0]) if packed else channels_first(array_of(row[0]))
        shapes.add(image.shape[1:] if packed else image.shape)
        if len(shapes) > 1:
            raise ValueError(f"expected images of one size, got {' and '.join(map(str, sorted(shapes)))}")
        return image, str(_plain(row[1]))

    rows = rows_of(objects, read, lambda row: row[0], names)
    channels = max(len(image) for split in SPLITS for image, _ in rows.splits[split])
    labels = tuple(sorted({label for _, label in rows.splits["train"]}))
    numbers = {label: number for number, label in enumerate(labels)}
    parts = {}
    for split in SPLITS:
        unknown = [label for _, label in rows.splits[split] if label not in numbers]
        if unknown:
            raise ArgumentError(f"data: {split}: the label {unknown[0]!r:.60} is in no image to train on")
        whole = (image if len(image) == channels else np.repeat(image, channels, 0) for image, _ in rows.splits[split])
        images = np.stack(list(whole))
        parts[split] = Part(images, np.array([numbers[label] for _, label in rows.splits[split]]))
    return InMemory(parts, labels, rows.note, unscaled=arrays > 0)


def _plain(label: Any) -> Any:
    """A label as Python has it, where numpy or a tensor holds it: a whole number, or what numpy writes for another."""
    if isinstance(label, np.ndarray | Tensor):
        if math.prod(label.shape) != 1:
            raise ValueError(f"expected a label, got an array of shape {tuple(label.shape)}")
        label = label.item() if isinstance(label, Tensor) else label.reshape(())[()]
    if isinstance(label, np.generic):  # float32(0.1) is 0.1, though as Python's float it has more digits
        return label.item() if isinstance(label, np.integer) else str(label)
    return composed(label) if isinstance(label, str) else label


class _Unpacked:
    """Images out of packed files, all of one size: the first one's, where none is asked for."""

    def __init__(self, size: int | None, folder: Path) -> None:
        self._shape, self._folder = None if size is None else (size, size), folder

    def __call__(self, packed: Any) -> np.ndarray:
        """Return the image of a file's bytes, or of a mapping that has them or the file's path."""
        data = packed.get("bytes") if isinstance(packed, Mapping) else packed
        path = packed.get("path") if isinstance(packed, Mapping) else None
        if data is None and not path:
            raise ValueError("expected an image, got none")
        name = str(path or "image")

        def source() -> Path | io.BytesIO:
            return self._folder / name if data is None else io.BytesIO(data)

        image = read_image(source(), name)
        if self._shape is None:
            height, width = image.shape[1:]
            self._shape = (height, width) if max(height, width) <= LARGEST else (LARGEST, LARGEST)
        if tuple(image.shape[1:]) != self._shape:
            image = read_image(source(), name, channels=len(image), size=self._shape)
        return image.numpy()


def channels_first(image: np.ndarray) -> np.ndarray:
    """Return an image as `(channels, height, width)`, uint8.

    Args:
        image: `(height, width)`, `(height, width, channels)` or `(channels, height, width)`, bytes or floats in [0, 1].

    Raises:
        ValueError: if it is none, or a side is below 8 pixels.

    Example:
        >>> channels_first(np.ones((8, 9))).shape
        (1, 8, 9)
    """
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
    return np.ascontiguousarray(image, dtype=np.uint8)
