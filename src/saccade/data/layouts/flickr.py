"""Layout of Flickr8k and Flickr30k: captions, lists of splits, and images.

The images are below the folder, or in an archive there.

    Flickr8k.token.txt          1000268201_693b08cb0e.jpg#0<TAB>A child in a pink dress is climbing up some stairs .
    results_20130124.token      the same, of Flickr30k
    results.csv                 1000092795.jpg| 0| Two young guys with shaggy hair look at their hands .
    captions.txt                1000268201_693b08cb0e.jpg,A child in a pink dress is climbing up some stairs .
    Flickr_8k.trainImages.txt, .devImages.txt, .testImages.txt (or train.txt, val.txt, test.txt): an image a line

Source:
    Hodosh, Young, Hockenmaier 2013, "Framing Image Description as a Ranking Task" (Flickr8k).
    Young, Lai, Hodosh, Hockenmaier 2014, "From image descriptions to visual denotations" (Flickr30k).
"""

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from saccade.data.columns import Listed
from saccade.data.dataset import SPLITS
from saccade.data.layouts.annotations import filled
from saccade.data.splits import SPLIT, SplitNames, only
from saccade.data.table import Row, Table
from saccade.data.texts import read_lines
from saccade.errors import ArgumentError

__all__ = ["flickr"]

_TOKENS = ("*.token.txt", "*.token")
_TABLES = {"results.csv": "|", "captions.txt": ","}
_NUMBERED = re.compile(r"\s*(\d+)\s*\|?\s*(.*)", re.DOTALL)  # a line of the published results.csv lacks its second bar
_ID = re.compile(r"(.+)#(\d+)")
_SUFFIXES = (".jpg", ".jpeg", ".png")


def flickr(path: Path, names: SplitNames) -> dict[str, Table] | None:
    """Return rows of `image` and `caption`, or None for another layout.

    With lists, rows have a `split` too. Images in no list are left out, or are for training if there is no list
    for it.

    Args:
        path: the folder or the file of the captions. The lists are in the folder or in a subfolder.
        names: the names of splits.

    Raises:
        ArgumentError: for an invalid line, with its number.
        OSError: if a file cannot be read.
    """
    folder = path if path.is_dir() else path.parent
    files = _files(path) if path.is_dir() else [path] if any(path.match(end) for end in _TOKENS) else []
    if (captions := only(files)) is None:
        return None
    lists, rows, used, left = _lists(folder, names), list[tuple[str, Row]](), set[str](), set[str]()
    usual = names.of("train")[0] if lists and "train" not in lists.values() else ""
    for number, key, name, caption in _captions(captions):
        where = f"row {number} of {captions}"
        if key and key in used:
            raise ArgumentError(f"{where}: expected each id once, got {key} again")
        used.add(key)
        if not name:
            raise ArgumentError(f"{where}: expected the name of an image, got none")
        row: Row = {"image": Listed(name), "caption": caption}
        split = names.of(lists[name])[0] if name in lists else usual
        if lists and not split:
            left.add(name)
        else:
            rows.append((where, {**row, SPLIT: split} if lists else row))
    note = f"{captions}: left out {len(left)} images that are in no split" if left else ""
    return {"": filled(rows, "caption", captions, note)}


def _files(folder: Path) -> list[Path]:
    """Return the files of captions, all of one kind."""
    tokens = sorted({path for end in _TOKENS for path in folder.glob(end) if not path.name.startswith(".")})
    plain = [path for path in tokens if ".lemma." not in path.name]  # Flickr8k has lemmatized captions too
    return plain or [folder / name for name in _TABLES if (folder / name).is_file()][:1]


def _captions(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """Yield row number, id ("" without one), image and text of each caption."""
    mark, lines = _TABLES.get(path.name, "\t"), read_lines(path)
    if mark == ",":  # a caption with commas is in quotes, or the rest of the line
        cells = [(number, row) for number, row in enumerate(csv.reader(f"{line}\n" for line in lines), 1)]
        for number, row in cells:
            if not any(map(str.strip, row)) or (number == 1 and _is_header(row[0])):
                continue
            if len(row) < 2:
                got = f"got {row[0]!r:.60}"
                raise ArgumentError(f"row {number} of {path}: expected an image, a comma and a caption, {got}")
            yield number, "", row[0].strip(), ",".join(row[1:])
        return
    for number, line in enumerate(lines, 1):
        first, there, rest = line.partition(mark)
        if not line.strip() or (number == 1 and mark != "\t" and _is_header(first)):
            continue
        match = (_ID.fullmatch(first.strip()) if mark == "\t" else _NUMBERED.fullmatch(rest)) if there else None
        if match is None:
            expected = "IMAGE#NUMBER, a tab and a caption" if mark == "\t" else "IMAGE| NUMBER| CAPTION"
            raise ArgumentError(f"row {number} of {path}: expected {expected}, got {line!r:.60}")
        if mark == "\t":
            yield number, match[0], match[1], rest
        else:
            yield number, f"{first.strip()}#{match[1]}", first.strip(), match[2]


def _is_header(column: str) -> bool:
    """Return whether a first cell is a header such as image_name, not an image."""
    name = column.strip(' "').lower()
    return name.startswith("image") and not name.endswith(_SUFFIXES)


def _lists(folder: Path, names: SplitNames) -> Mapping[str, str]:
    """Return the split of each image in the lists.

    A list is called train.txt, trainImages.txt or Flickr_8k.trainImages.txt.
    """
    lists: dict[str, str] = {}
    for split in SPLITS:
        ends = [end for name in names.of(split) for end in (f"{name}Images.txt", f"{name}_images.txt", f"{name}.txt")]
        there = sorted(
            path
            for deep in ("", "*/")
            for path in folder.glob(f"{deep}*.txt")
            if path.name in ends or path.name.endswith(tuple(f"{mark}{end}" for end in ends for mark in "._"))
        )
        path = only(there, f"say which by --{split}-split, or move one away")
        if path is None:
            names.check(split, folder, (path.name for path in folder.glob("*.txt")))
            continue
        for number, line in enumerate(read_lines(path), 1):
            if not (name := line.strip()):
                continue
            name = name if name.lower().endswith(_SUFFIXES) else f"{name}.jpg"  # no suffix in Flickr30k
            if (other := lists.setdefault(name, split)) != split:
                raise ArgumentError(f"row {number} of {path}: expected {name} in one list, it is in {other}'s too")
    return lists
