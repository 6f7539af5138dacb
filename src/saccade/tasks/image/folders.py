"""Images whose labels are the names of their folders, as they are or packed into an archive.

    train/cat/1.jpg  test/dog/7.jpg     splits, then labels; validation is held out where there is none
    cat/1.jpg        dog/7.jpg          labels alone: validation and test are held out

What is held out goes by a hash of the path, so that a new image moves no other from split to split.
"""

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from saccade.data.archives import is_archive, read_files
from saccade.data.classes import Member, divided, find_classes, list_names, read_list
from saccade.data.dataset import SPLITS, inventory
from saccade.data.splits import SplitNames, held_out
from saccade.errors import ArgumentError
from saccade.tasks.image.dataset import Bytes, InMemory, Part, hashes, hold_out
from saccade.tasks.image.images import LARGEST, SUFFIXES, read_image

__all__ = ["is_folders", "open_folders"]

_MOST_BYTES = 1 << 30  # of all images in memory


def is_folders(path: Path) -> bool:
    """Return whether a path is an archive, or a folder with one alone or with folders in it that hold images."""
    return path.is_file() and is_archive(path) if not path.is_dir() else bool(_archive(path)) or any(_images(path))


def open_folders(path: Path, size: int | None = None, names: SplitNames | None = None) -> InMemory:
    """Read labelled images, all of them scaled to one size.

    Args:
        path: the folder or the archive; or a folder in which one archive lies and no folder.
        size: pixels of height and width, which an image is scaled to cover, and cut to; None: those of the first image
            where neither is above 64, else 64.
        names: what splits are called.

    Returns:
        The data set: grey where all images are.

    Raises:
        ArgumentError: naming the image that cannot be read, the folder that is none of a label, or what is missing.
        OSError: if a file cannot be read.
    """
    names = names or SplitNames()
    source = _archive(path) or path if path.is_dir() else path
    images, lists, scaled = _decoded(source, size, names)
    if not images:
        kinds = "train/LABEL/*.png or LABEL/*.png (or .jpg, ...)"
        raise ArgumentError(f"{path}: expected images as {kinds}, found none")
    found = find_classes(list(images), str(path), "images", names, lists)
    splits = divided(found, str(path), "images", lambda train, missing: _hold_out(train, missing, path))
    labels = tuple(sorted({one.label for one in splits["train"]}))
    channels = max(map(len, images.values()))
    pairs = {split: [(images[one.name], one.label) for one in splits[split]] for split in SPLITS}
    parts = {split: _part(pairs[split], labels, channels) for split in SPLITS}
    height, width = parts["train"].images.shape[2:]
    note = f"{path}: scaled {scaled} of {len(images)} images to {height} × {width}" if scaled else ""
    out = held_out(found.missing, {split: len(members) for split, members in splits.items()}, "images")
    return InMemory(parts, labels, "; ".join(filter(None, [found.note, _empty(source, list(images)), out, note])))


def _empty(source: Path, names: Sequence[str]) -> str:
    """What is to be said of folders beside those of labels in which no image is."""
    if not source.is_dir():
        return ""
    labels = {source / name.rpartition("/")[0] for name in names}
    beside = {path for parent in {label.parent for label in labels} for path in parent.iterdir() if path.is_dir()}
    empty = sorted(str(path.relative_to(source)) for path in beside - labels if not path.name.startswith("."))
    return f"{source}: no image is in {inventory(empty)}" if empty else ""


def _hold_out(train: Sequence[Member], missing: Sequence[str], path: Path) -> Mapping[str, Sequence[bool]]:
    found = hold_out(hashes([os.fsencode(one.name) for one in train]), missing, str(path))
    return {split: inside.tolist() for split, inside in found.items()}


def _archive(folder: Path) -> Path | None:
    """The one archive of a folder that has no folders."""
    inside = [path for path in folder.iterdir() if not path.name.startswith(".")]
    archives = [path for path in inside if path.is_file() and is_archive(path)]
    return archives[0] if len(archives) == 1 and not any(path.is_dir() for path in inside) else None


def _images(folder: Path) -> Iterator[Path]:
    """The images below folders of a folder."""
    return (path for suffix in ("*/*", "*/*/*") for path in folder.glob(suffix) if _is_image(path.name))


def _is_image(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def _decoded(source: Path, size: int | None, names: SplitNames) -> tuple[dict[str, Bytes], dict[str, list[str]], int]:
    """All images in the order of their names, the lists of splits beside them, and how many had another size."""
    shape = None if size is None else (size, size)
    known = list_names(names)
    files = sorted(read_files(source, lambda name: _is_image(name) or name.rpartition("/")[2] in known))
    images, lists, scaled, total = dict[str, Bytes](), dict[str, list[str]](), 0, 0
    for name, data in files:
        if not _is_image(name):
            lists.setdefault(known[name.rpartition("/")[2]], []).extend(read_list(data))
            continue
        where = f"{source}: {name}"
        image = read_image(io.BytesIO(data), where).numpy()
        if shape is None:
            shape = image.shape[1:] if max(image.shape[1:]) <= LARGEST else (LARGEST, LARGEST)
        if image.shape[1:] != shape:
            image, scaled = read_image(io.BytesIO(data), where, channels=len(image), size=shape).numpy(), scaled + 1
        total += 3 * image[0].size
        if total > _MOST_BYTES:
            raise ArgumentError(f"{source}: expected at most 1 GiB of pixels, got more at {shape}; take a smaller size")
        images[name] = image
    return images, lists, scaled


def _part(found: Sequence[tuple[Bytes, str]], labels: Sequence[str], channels: int) -> Part:
    """The images of a split as one array: grey as RGB where others are that."""
    codes = {label: code for code, label in enumerate(labels)}
    images = [image if len(image) == channels else np.repeat(image, channels, axis=0) for image, _ in found]
    return Part(np.stack(images), np.array([codes[label] for _, label in found]))
