"""Flickr8k's and Flickr30k's layout: a file of captions, lists of the splits, and the images below or packed beside.

    Flickr8k.token.txt          1000268201_693b08cb0e.jpg#0<TAB>A child in a pink dress is climbing up some stairs .
    results_20130124.token      the same, of Flickr30k
    results.csv                 1000092795.jpg| 0| Two young guys with shaggy hair look at their hands .
    captions.txt                1000268201_693b08cb0e.jpg,A child in a pink dress is climbing up some stairs .
    Flickr_8k.trainImages.txt, .devImages.txt, .testImages.txt (or train.txt, val.txt, test.txt): an image a line

Source:
    Hodosh, Young, Hockenmaier 2013, "Framing Image Description as a Ranking Task" (Flickr8k); Young, Lai, Hodosh,
    Hockenmaier 2014, "From image descriptions to visual denotations" (Flickr30k).
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from saccade.data.dataset import SPLITS
from saccade.data.splits import SplitNames, only
from saccade.data.texts import read_lines
from saccade.errors import ArgumentError
from saccade.tasks.caption.data.listing import Listing
from saccade.tasks.image.images import SUFFIXES

__all__ = ["is_flickr", "read_flickr"]

_TOKENS = ("*.token.txt", "*.token")
_TABLES = {"results.csv": "|", "captions.txt": ","}
_NUMBERED = re.compile(r"\s*(\d+)\s*\|?\s*(.*)", re.DOTALL)  # a line of the published results.csv lacks its second bar
_ID = re.compile(r"(.+)#(\d+)")
Caption = tuple[str, str, str]
"""Its id, "" if it has none, its image and itself."""


def is_flickr(path: Path) -> bool:
    """Return whether a folder has a file of captions called as Flickr8k's or Flickr30k's is, or a path is one of ids.

    >>> is_flickr(Path("Flickr8k.token.txt")), is_flickr(Path("captions.tsv"))
    (True, False)
    """
    return bool(_files(path)) if path.is_dir() else any(path.match(end) for end in _TOKENS)


def read_flickr(path: Path, names: SplitNames) -> Listing:
    """Read the captions of a folder, and the split of each image where there are lists.

    Args:
        path: the folder with the captions, or their file; the lists are in the folder or in a folder of it.
        names: what splits are called.

    Raises:
        ArgumentError: naming the line that is wrong.
        OSError: if a file cannot be read.
    """
    folder = path if path.is_dir() else path.parent
    found = only(_files(folder)) if path.is_dir() else path
    assert found is not None, "it was seen"
    lists = _lists(folder, names)
    listing, seen = Listing(found, published=True), set[str]()
    # where there is no list of images to train on, those are meant that no list has
    usual = "train" if lists and "train" not in lists.values() else ""
    for number, (key, name, caption) in _captions(found):
        where = f"row {number} of {found}"
        if key and key in seen:
            raise ArgumentError(f"{where}: expected each id once, got {key} again")
        seen.add(key)
        listing.add(name, caption, where, lists.get(name, usual))
    return listing


def _files(folder: Path) -> list[Path]:
    """The files of captions, those of one kind."""
    tokens = sorted({path for end in _TOKENS for path in folder.glob(end) if not path.name.startswith(".")})
    lemmas = [path for path in tokens if ".lemma." not in path.name]  # Flickr8k has its captions lemmatized beside
    return lemmas or [folder / name for name in _TABLES if (folder / name).is_file()][:1]


def _captions(path: Path) -> Iterator[tuple[int, Caption]]:
    """The captions with the numbers of their lines."""
    delimiter, lines = _TABLES.get(path.name, "\t"), read_lines(path)
    if delimiter == ",":
        yield from _pairs(lines, path)
        return
    for number, line in enumerate(lines):
        where = f"row {number + 1} of {path}"
        if not line.strip() or (not number and delimiter != "\t" and _is_header(line.partition(delimiter)[0])):
            continue
        first, mark, rest = line.partition(delimiter)
        if not mark:
            bar = "a tab" if delimiter == "\t" else delimiter
            raise ArgumentError(f"{where}: expected an image, {bar} and a caption, got {line!r:.60}")
        pattern, text = (_ID, first.strip()) if delimiter == "\t" else (_NUMBERED, rest)
        if (found := pattern.fullmatch(text)) is None:
            wanted = "IMAGE#NUMBER before the tab" if delimiter == "\t" else "IMAGE| NUMBER| CAPTION"
            raise ArgumentError(f"{where}: expected {wanted}, got {line!r:.60}")
        if delimiter == "\t":
            yield number + 1, (text, found[1], rest)
        else:
            yield number + 1, (f"{first.strip()}#{found[1]}", first.strip(), found[2])


def _is_header(column: str) -> bool:
    """Whether the first column of a table is called something like image_name, which no image is."""
    name = column.strip(' "').lower()
    return name.startswith("image") and not name.endswith(SUFFIXES)


def _pairs(lines: Iterable[str], path: Path) -> Iterator[tuple[int, Caption]]:
    """Images and captions, a comma between; a caption with commas is in quotes, or is all that follows."""
    rows = enumerate(csv.reader(f"{line}\n" for line in lines), 1)
    filled = [(number, cells) for number, cells in rows if any(map(str.strip, cells))]
    for number, cells in filled[1:] if filled and _is_header(filled[0][1][0]) else filled:
        if len(cells) < 2:
            got = f"got {cells[0]!r:.60}"
            raise ArgumentError(f"row {number} of {path}: expected an image, a comma and a caption, {got}")
        yield number, ("", cells[0].strip(), ",".join(cells[1:]))


def _lists(folder: Path, names: SplitNames) -> Mapping[str, str]:
    """The split of each image that a list names."""
    found: dict[str, str] = {}
    for split in SPLITS:
        ends = [end for name in names.of(split) for end in (f"{name}Images.txt", f"{name}_images.txt", f"{name}.txt")]
        there = sorted(path for deep in ("", "*/") for path in folder.glob(f"{deep}*.txt") if _called(path, ends))
        path = only(there, f"say which by --{split}-split, or move one away")
        if path is None:
            names.check(split, folder, (path.name for path in folder.glob("*.txt")))
            continue
        for number, line in enumerate(read_lines(path), 1):
            if not (name := line.strip()):
                continue
            name = name if name.lower().endswith(SUFFIXES) else f"{name}.jpg"  # lists of Flickr30k leave it out
            if (other := found.setdefault(name, split)) != split:
                raise ArgumentError(f"row {number} of {path}: expected {name} in one list, it is in {other}'s too")
    return found


def _called(path: Path, ends: list[str]) -> bool:
    """Whether a file is a list of images: trainImages.txt, with or without Flickr_8k. before it, or train.txt."""
    return any(path.name == end or path.name.endswith((f".{end}", f"_{end}")) for end in ends)
