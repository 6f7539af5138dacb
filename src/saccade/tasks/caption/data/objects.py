"""Images with captions that are Python objects: arrays, tensors, Pillow's images, files and what `datasets` has."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saccade.data.cleaning import cleaned
from saccade.data.dataset import SPLITS
from saccade.data.rows import rows_of
from saccade.data.splits import SplitNames
from saccade.tasks.caption.data.pictures import SIZE, Item, Pictures, check_size
from saccade.tasks.image.decoded import Source, key_of, source_of

__all__ = ["open_objects"]

#: What columns may be called.
_IMAGE, _TEXT = ("image", "img", "path"), ("captions", "caption", "sentences", "sentence", "text")


def open_objects(
    objects: Any, size: int | None = None, names: SplitNames | None = None, folder: Path | None = None
) -> Pictures:
    """Return a data set of rows with an image and its captions.

    An image is an array or tensor, `(height, width)`, `(height, width, channels)` or `(channels, height, width)`, of
    one or three channels, uint8 or floats in [0, 1]; an image of Pillow; a path; the bytes of a file; or a mapping with
    `bytes` or `path`, as `datasets` leaves images packed. Files are read as they are asked for. A row is a pair of it
    and its caption or a list of captions, or a mapping with the columns `image` and `caption` (or `captions`). Rows of
    one image in a split are one image with all their captions.

    Args:
        objects: see `saccade.data.objects.rows_of`.
        size: pixels of height and width that images are scaled to; None: 96.
        names: what the splits of a mapping are called.
        folder: of the table that the rows are from, from which on paths are seen.

    Raises:
        ArgumentError: naming the row that is wrong.

    Example:
        >>> import numpy as np
        >>> rows = [(np.full((9, 9), level, np.uint8), [f"a level of {level}", "grey"]) for level in range(40)]
        >>> data = open_objects(rows, size=8)
        >>> data.shape, data.example("train", 1).caption, data.size("test")
        ((3, 8, 8), 'grey', 2)
    """
    size = SIZE if size is None else size
    check_size(size)

    def read(row: Any, _: Any) -> tuple[Source, tuple[str, ...]]:
        if isinstance(row, Mapping):
            row = [next((row[name] for name in names if name in row), None) for names in (_IMAGE, _TEXT)]
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != 2 or row[0] is None:
            raise ValueError("expected an image and its captions")
        return source_of(row[0], folder or Path()), _captions(row[1])

    rows = rows_of(objects, read, lambda row: row[0], names)
    splits = {split: _items(split, rows.splits[split]) for split in SPLITS}
    return Pictures(splits, size, rows.note)


def _captions(given: Any) -> tuple[str, ...]:
    """One caption or several, as texts."""
    if isinstance(given, Mapping):  # COCO's of `datasets`
        given = given.get("raw")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"expected a caption or a list of captions, got {given!r:.60}")
    captions = tuple(cleaned(text, "caption") for text in texts)
    if not all(captions):
        raise ValueError("expected a caption, got an empty one")
    return captions


def _items(split: str, rows: Sequence[tuple[Source, tuple[str, ...]]]) -> list[Item]:
    """The images of a split, each once, with all captions of its rows."""
    found: dict[object, tuple[Source, list[str]]] = {}
    for source, own in rows:
        found.setdefault(key_of(source), (source, []))[1].extend(own)
    items = []
    for number, (source, captions) in enumerate(found.values()):
        name = str(source) if isinstance(source, Path) else f"{split} {number}"
        items.append(Item(name, tuple(captions), source))
    return items
