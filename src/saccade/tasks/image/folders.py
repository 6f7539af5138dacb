"""Images whose labels are the names of their folders, as they are or packed into an archive.

    train/cat/1.jpg  test/dog/7.jpg     splits, then labels; validation is held out where there is none
    cat/1.jpg        dog/7.jpg          labels alone: validation and test are held out

What is held out goes by a hash of the path, so that a new image moves no other from split to split.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from saccade.errors import ArgumentError
from saccade.tasks.dataset import SPLITS
from saccade.tasks.image.archives import is_archive, read_files
from saccade.tasks.image.dataset import Bytes, InMemory, Part, hashes, hold_out
from saccade.tasks.image.images import SUFFIXES, read_image

__all__ = ["is_folders", "open_folders"]

_NAMES = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing"),
}
_SPLIT = {name: split for split, names in _NAMES.items() for name in names}
_LARGEST = 64  # pixels of a side that is taken over from the images themselves
_MOST_BYTES = 1 << 30  # of all images in memory


@dataclass(frozen=True)
class _Found:
    """An image of a folder: its path, the split that its path names ("" for none), its label and its pixels."""

    name: str
    split: str
    label: str
    image: Bytes


def is_folders(path: Path) -> bool:
    """Return whether a path is an archive, or a folder with one alone or with folders in it that hold images."""
    return path.is_file() and is_archive(path) if not path.is_dir() else bool(_archive(path)) or any(_images(path))


def open_folders(path: Path, size: int | None = None) -> InMemory:
    """Read labelled images, all of them scaled to one size.

    Args:
        path: the folder or the archive; or a folder in which one archive lies and no folder.
        size: pixels of height and width, which an image is scaled to cover, and cut to; None: those of the first image
            where neither is above 64, else 64.

    Returns:
        The data set: grey where all images are.

    Raises:
        ArgumentError: naming the image that cannot be read, the folder that is none of a label, or what is missing.
        OSError: if a file cannot be read.
    """
    source = _archive(path) or path if path.is_dir() else path
    found, scaled = _decoded(source, size)
    if not found:
        kinds = "train/LABEL/*.png or LABEL/*.png (or .jpg, ...)"
        raise ArgumentError(f"{path}: expected images as {kinds}, found none")
    labels = tuple(sorted({one.label for one in found}))
    if len(labels) < 2:
        raise ArgumentError(f"{path}: expected images of two labels or more, a folder each, got {labels[0]!r} alone")
    splits = _divided(found, path)
    _check_known(splits, path)
    channels = max(len(one.image) for one in found)
    parts = {split: _part(splits[split], labels, channels) for split in SPLITS}
    height, width = parts["train"].images.shape[2:]
    note = f"{path}: scaled {scaled} of {len(found)} images to {height} × {width}" if scaled else ""
    return InMemory(parts, labels, note)


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


def _decoded(source: Path, size: int | None) -> tuple[list[_Found], int]:
    """All images in the order of their names, and how many had another size."""
    shape = None if size is None else (size, size)
    files = sorted(read_files(source, _is_image))
    root = _root([name for name, _ in files])
    found, scaled, total = list[_Found](), 0, 0
    for name, data in files:
        where = f"{source}: {name}"
        split, label = _place(name.removeprefix(root), where)
        image = read_image(io.BytesIO(data), where).numpy()
        if shape is None:
            shape = image.shape[1:] if max(image.shape[1:]) <= _LARGEST else (_LARGEST, _LARGEST)
        if image.shape[1:] != shape:
            image, scaled = read_image(io.BytesIO(data), where, channels=len(image), size=shape).numpy(), scaled + 1
        total += 3 * image[0].size
        if total > _MOST_BYTES:
            raise ArgumentError(f"{source}: expected at most 1 GiB of pixels, got more at {shape}; take a smaller size")
        found.append(_Found(name, split, label, image))
    return found, scaled


def _root(names: Sequence[str]) -> str:
    """A folder that all files are in and that is neither a split nor a label, as an archive may have: "cifar10/"."""
    tops = {name.split("/")[0] for name in names}
    deep = all(name.count("/") > 1 for name in names)
    return f"{tops.pop()}/" if len(tops) == 1 and deep and not tops & set(_SPLIT) else ""


def _place(name: str, where: str) -> tuple[str, str]:
    """The split and the label that a path names."""
    *folders, _ = name.split("/")
    if len(folders) == 2 and folders[0] in _SPLIT:
        return _SPLIT[folders[0]], folders[1]
    if len(folders) == 1 and folders[0] not in _SPLIT:
        return "", folders[0]
    raise ArgumentError(f"{where}: expected SPLIT/LABEL/FILE (train, validation, test) or LABEL/FILE, got another path")


def _divided(found: Sequence[_Found], path: Path) -> dict[str, list[_Found]]:
    """The images of each split, of which those that are missing are held out."""
    named = {split: [one for one in found if one.split == split] for split in ("", *SPLITS)}
    if named[""] and len(named[""]) < len(found):
        other = next(one for one in found if one.split)
        raise ArgumentError(f"{path}: expected all images in splits or none, got {named[''][0].name} and {other.name}")
    train = named["train"] or named[""]
    if not train:
        raise ArgumentError(f"{path}: expected images to train on, in train/LABEL, found none")
    missing = [split for split in SPLITS[1:] if not named[split]]
    if not missing:
        return {split: named[split] for split in SPLITS}
    inside = hold_out(hashes([one.name.encode() for one in train]), missing, str(path))
    held = {split: [one for one, is_in in zip(train, where, strict=True) if is_in] for split, where in inside.items()}
    return {split: held.get(split, named[split]) for split in SPLITS}


def _check_known(splits: dict[str, list[_Found]], path: Path) -> None:
    """Refuse a label that no image to train on has."""
    known = {one.label for one in splits["train"]}
    for split in SPLITS[1:]:
        for one in splits[split]:
            if one.label not in known:
                wrong = f"the label {one.label!r:.60} of {one.name} ({split}) is of no image to train on"
                raise ArgumentError(f"{path}: {wrong}; leave it out, or add images that have it")


def _part(found: Sequence[_Found], labels: Sequence[str], channels: int) -> Part:
    """The images of a split as one array: grey as RGB where others are that."""
    codes = {label: code for code, label in enumerate(labels)}
    images = [one.image if len(one.image) == channels else np.repeat(one.image, channels, axis=0) for one in found]
    return Part(np.stack(images), np.array([codes[one.label] for one in found]))
