"""Captions by the names of their images, whatever layout they come in: finding the images, and the splits."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from saccade.data.cleaning import cleaned
from saccade.data.dataset import SPLITS, inventory
from saccade.data.splits import held_out
from saccade.errors import ArgumentError
from saccade.tasks.caption.data.pictures import SIZE, Item, Pictures, Source
from saccade.tasks.image.dataset import hashes, hold_out
from saccade.tasks.image.decoded import key_of
from saccade.tasks.image.places import Images, Place

__all__ = ["Known", "Listed", "Listing", "open_listing"]

Known = Callable[[str], bool]
"""Whether features of the image of a name are there."""


class Listed(NamedTuple):
    """An image that captions name.

    >>> Listed(["a dog"], "", "captions.tsv: line 1").split
    ''
    """

    captions: list[str]
    split: str
    """That it is in, "" if none is named."""
    where: str
    """It is named first, for messages."""

    def join(self, other: "Listed", name: str) -> None:
        """Take the captions of the same image by another name, which has to be in the same split.

        Raises:
            ArgumentError: if it is in another one.
        """
        if other.split != self.split:
            got = f"got it in {self.split or 'none'} ({self.where}) and in {other.split or 'none'}"
            raise ArgumentError(f"{other.where}: expected {name} in one split, {got}")
        self.captions.extend(other.captions)


@dataclass
class Listing:
    """What a file of captions says, or several.

    Args:
        source: the file, or the folder of several, for messages.
        published: whether it is a collection as it was published, of which images may be missing and captions empty:
            these are left out, and that is said. Else they are errors.
        images: by their names.
        notes: what a user should know of it.

    Example:
        >>> listing = Listing(Path("captions.tsv"))
        >>> listing.add("a.jpg", " a  dog ", "captions.tsv: line 1")
        >>> listing.images["a.jpg"].captions
        ['a dog']
    """

    source: Path
    published: bool = False
    images: dict[str, Listed] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    def add(self, name: str, caption: str, where: str, split: str = "") -> None:
        """Add a caption.

        Args:
            name: of its image.
            caption: white space in it is of no matter.
            where: it stands, for messages.
            split: that its image is in, "" if none is named.

        Raises:
            ArgumentError: if it is empty, has no name, or names an image of another split.
        """
        text = cleaned(caption, where)
        if not name:
            raise ArgumentError(f"{where}: expected the name of an image, got none")
        if not text and self.published:
            self.empty.append(where)
            return
        if not text:
            raise ArgumentError(f"{where}: expected a caption of {name}, got none; write one or remove the line")
        self.images.setdefault(name, Listed([], split, where)).join(Listed([text], split, where), name)


def open_listing(listing: Listing, images: Images | None, *, size: int | None, known: Known | None = None) -> Pictures:
    """Open the images that captions name, and divide them.

    An image whose split is not named is to train on where others' are not either, and left out where they are. A split
    that is missing is held out from training by a hash of each image's name: a tenth of them, at most 5,000.

    Args:
        listing: the captions.
        images: where the images are looked for; a name that is a path from the listing's folder on is found first.
        size: pixels of height and width; None: 96.
        known: which images have features; then no image is looked for, and examples have none.

    Raises:
        ArgumentError: naming the image that is missing, or what else is.
    """
    found, absent = _located(listing, images, known)
    unlisted: list[str] = []
    if any(one.split for one in listing.images.values()):
        unlisted = [name for name in found if not listing.images[name].split]
    splits: dict[str, list[Item]] = {split: [] for split in SPLITS}
    for name, source in found.items():
        one = listing.images[name]
        if one.split or not unlisted:
            splits[one.split or "train"].append(Item(name, tuple(one.captions), source))
    if not splits["train"]:
        raise ArgumentError(f"{listing.source}: expected images to train on, got none")
    missing = [split for split in SPLITS if not splits[split]]
    if missing:
        train = splits["train"]
        parts = hold_out(hashes([os.fsencode(item.name) for item in train]), missing, str(listing.source))
        splits |= {split: [train[place] for place in inside.nonzero()[0]] for split, inside in parts.items()}
    out = held_out(missing, {split: len(items) for split, items in splits.items()}, "images")
    notes = [*listing.notes, *_left_out(listing, absent, unlisted, known), out]
    wanted = None if known else SIZE if size is None else size
    return Pictures(splits, wanted, "; ".join(filter(None, notes)))


def _located(
    listing: Listing, images: Images | None, known: Known | None
) -> tuple[Mapping[str, Source], Sequence[str]]:
    """Where each image is, and the names of those that are nowhere."""
    if not listing.images:
        raise ArgumentError(f"{listing.source}: expected captions of images, got none")
    found, first = dict[str, Source](), dict[object, str]()
    absent = list[str]()
    for name, one in listing.images.items():
        if known:
            source, there = None, known(name)
        else:
            source = _source(listing, images, name)
            there = source is not None
        if there:
            known_as = name if source is None else first.setdefault(key_of(source), name)
            if known_as == name:
                found[name] = source
            else:
                listing.images[known_as].join(one, name)
        elif listing.published:
            absent.append(name)
        else:
            what = "features of it in the store" if known else f"an image at {_folder(listing) / name}"
            raise ArgumentError(f"{one.where}: expected {what}, found none{_packed(images)}")
    if not found:
        what = "a store with features of them" if known else "images of these names in or below it"
        got = f"found none of {inventory(listing.images)}"
        raise ArgumentError(f"{listing.source}: expected {what}, {got}{_packed(images)}")
    return found, absent


def _source(listing: Listing, images: Images | None, name: str) -> Source:
    if not listing.published and "\0" not in name and (path := _folder(listing) / name).is_file():
        return Place(path, "", path.stat().st_size)
    return images.find(name) if images is not None else None


def _folder(listing: Listing) -> Path:
    return listing.source if listing.source.is_dir() else listing.source.parent


def _packed(images: Images | None) -> str:
    """The way out where images may be in an archive that cannot be read by parts."""
    path = None if images is None else images.packed()
    way_out = f"{path} is not looked into: unpack it, or make a .tar of it"
    return "" if path is None else f"; {way_out}"


def _left_out(listing: Listing, absent: Sequence[str], unlisted: Sequence[str], known: Known | None) -> list[str]:
    """What is to be said of what was left out."""
    count, where = len(listing.images), listing.source
    what = "of which there are no features" if known else "which are not there"
    notes = [f"{where}: left out {len(absent)} of {count} images, {what}, and their captions"] if absent else []
    if unlisted:
        notes.append(f"{where}: left out {len(unlisted)} images that are in no split")
    if listing.empty:
        notes.append(f"{where}: left out {len(listing.empty)} empty captions; the first is {listing.empty[0]}")
    return notes
