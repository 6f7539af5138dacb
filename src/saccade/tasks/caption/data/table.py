r"""Captions of one's own: lines of an image, a tab and a caption.

    photos/a.jpg<TAB>a dog runs over grass
    photos/a.jpg<TAB>a brown dog in a meadow

A path is taken from the file's folder on; lines of one image are its references. A file alone has all splits held out;
a folder has train.tsv, validation.tsv and test.tsv, or captions.tsv.
"""

import posixpath
from collections.abc import Sequence
from pathlib import Path

from saccade.errors import ArgumentError
from saccade.tasks.caption.data.listing import Listing
from saccade.tasks.conversions import converted
from saccade.tasks.dataset import SPLITS
from saccade.tasks.splits import SplitNames, only
from saccade.tasks.text.files import read_filled

__all__ = ["is_table", "read_table"]

_HEADER = ("image", "caption")
_ALONE = "captions"


def is_table(path: Path, names: SplitNames) -> bool:
    """Return whether a path is a file, or a folder with lines of images and captions."""
    return path.is_file() or bool(_found(path, [_ALONE, *names.of("train")]))


def read_table(path: Path, names: SplitNames) -> Listing:
    """Read lines of images and captions.

    Args:
        path: a file, packed by gzip or not; or a folder with one, or one for each split.
        names: what splits are called.

    Raises:
        ArgumentError: naming the line that is wrong.
        OSError: if a file cannot be read.
    """
    listing = Listing(path)
    alone = path if path.is_file() else None
    if alone is None and not _found(path, names.of("train")):
        alone = only(_found(path, [_ALONE]))
    if alone is not None:
        for split in SPLITS:
            names.check(split, alone)
        _add(listing, alone, "")
        return listing
    for split in SPLITS:
        own = only(_found(path, names.of(split)), f"say which by --{split}-split, or move one away")
        if own is None:
            names.check(split, path, (file.name for file in path.glob("*.tsv*")))
        else:
            _add(listing, own, split)
    return listing


def _found(folder: Path, stems: Sequence[str]) -> list[Path]:
    files = [folder / f"{stem}.tsv{packed}" for stem in stems for packed in ("", ".gz")]
    return [path for path in files if path.is_file()]


def _add(listing: Listing, path: Path, split: str) -> None:
    lines, before = read_filled(path), len(listing.images)
    for number in range(len(lines)):
        line, where = lines[number], f"{path}: line {number + 1}"
        if not line.strip() or (not number and tuple(line.lower().split("\t")) == _HEADER):
            continue
        name, tab, caption = line.partition("\t")
        if not tab:
            way_out = converted(path, _HEADER)
            raise ArgumentError(f"{where}: expected an image, a tab and a caption, got no tab{way_out}")
        listing.add(_normal(name), caption, where, split)
    if len(listing.images) == before:
        raise ArgumentError(f"{path}: expected captions of images, got none")


def _normal(name: str) -> str:
    """A path without what does not change it, so that one image has one name."""
    return posixpath.normpath(name.strip()) if name.strip() else ""
