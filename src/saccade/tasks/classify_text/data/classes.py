"""Texts whose labels are the names of their folders, as aclImdb, Pang and Lee's reviews and 20 Newsgroups come.

train/pos/0_9.txt  test/neg/7_1.txt     splits, then labels; folders called unsup are left out
pos/cv000.txt      neg/cv001.txt        labels alone: validation and test are held out
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from saccade.data.classes import Member, divided, find_classes, list_names, read_list
from saccade.data.cleaning import composed
from saccade.data.conversions import recoded as command
from saccade.data.dataset import SPLITS, inventory
from saccade.data.folders import files_below
from saccade.data.media import read_bytes
from saccade.data.splits import SplitNames, held_out
from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data.corpus import Files
from saccade.tasks.text.files import Split, divide, fingerprint, text_hash
from saccade.tasks.text.lines import NO_TEXT, Lines, gather

__all__ = ["open_classes"]

_ENDS = ("", ".txt")  # of the names of texts
_MOST = 1 << 24  # bytes of a text: far more than a book has
_MARK = "\ufeff"


def open_classes(folder: Path, names: SplitNames) -> Files | None:
    """Open a folder of texts, a file each, in a folder for each label; a blank text is left out.

    Args:
        folder: with folders of labels, or of splits in which these are.
        names: what splits are called.

    Returns:
        The corpus; None if there is no text in any folder of the folder.

    Raises:
        ArgumentError: naming the file that is no text, or what is missing.
        OSError: if a file cannot be read.
    """
    files, lists = _listed(folder, names)
    if not any("/" in name for name in files):
        return None
    found = find_classes(files, str(folder), "texts", names, lists, beside=True)
    members = [one for split in found.splits.values() for one in split]
    rows, notes = _read(folder, members)
    places = {one.name: place for place, one in enumerate(members)}
    filled = {name: [one for one in split if rows[places[one.name]][0]] for name, split in found.splits.items()}
    found = replace(found, splits=filled)

    def hold_out(train: Sequence[Member], missing: Sequence[str]) -> Mapping[str, Sequence[bool]]:
        hashes = np.array([text_hash(rows[places[one.name]][0]) for one in train], np.uint64)
        return {split: inside.tolist() for split, inside in divide(hashes, folder, "texts", missing).items()}

    splits = divided(found, str(folder), "texts", hold_out)
    parts = {split: Split(rows, [places[one.name] for one in splits[split]]) for split in SPLITS}
    out = held_out(found.missing, {split: len(part.lines) for split, part in parts.items()}, "texts")
    note = "; ".join(filter(None, [found.note, *notes, out]))
    labels = tuple(sorted({_in_line(one.label) for one in splits["train"]}))
    return Files(parts, f"{fingerprint(parts, [rows.lines])}, labels {_digest(splits)}", note, labels)


@dataclass(frozen=True)
class _Texts:
    """Texts by number, and their labels."""

    lines: Lines
    labels: Sequence[str]

    def __getitem__(self, line: int) -> tuple[str, str]:
        return composed(self.lines[line].strip()), self.labels[line]


def _listed(folder: Path, names: SplitNames) -> tuple[list[str], dict[str, list[str]]]:
    """The texts below a folder, and the lists that say which split they are in."""
    known, lists, files = list_names(names), dict[str, list[str]](), list[str]()
    for path in files_below(folder):
        name = path.relative_to(folder).as_posix()
        if path.suffix.lower() not in _ENDS:
            continue
        if path.exists() and not path.is_file():  # a link to what is gone is read as a file, which says so
            continue
        if path.name in known and "/" not in name:
            lists[known[path.name]] = read_list(path.read_bytes())
        else:
            files.append(name)
    return files, lists


def _read(folder: Path, members: Sequence[Member]) -> tuple[_Texts, list[str]]:
    """All texts, and what a user should know of them."""
    recoded, blank = list[str](), list[str]()

    def texts() -> Iterator[str]:
        for one in members:
            data = read_bytes(folder / one.name, f"{folder / one.name}", "a text", _MOST, "cut it into parts")
            text, latin1 = _decoded(data, folder / one.name)
            recoded.extend([one.name] if latin1 else [])
            blank.extend([] if text.strip() else [one.name])
            yield text

    rows = _Texts(gather(folder, texts()), [_in_line(one.label) for one in members])
    left_out = f"{len(blank)} of {len(members)} texts, which are blank ({inventory(blank)})"
    notes = [
        f"{folder}: left out {left_out}" if blank else "",
        f"{folder}: {len(recoded)} texts are no UTF-8, and were read as Latin-1" if recoded else "",
    ]
    return rows, notes


def _in_line(label: str) -> str:
    """A label as a line has it: names of folders may have tabs and ends of lines."""
    return " ".join(label.split())


def _decoded(data: bytes, path: Path) -> tuple[str, bool]:
    """The text of a file, and whether it had to be read as Latin-1."""
    try:
        return data.decode().removeprefix(_MARK), False
    except UnicodeDecodeError as error:
        if len(data.translate(None, NO_TEXT)) == len(data):
            return data.decode("latin-1"), True
        wrong = f"expected text in UTF-8 or Latin-1, got byte 0x{data[error.start]:02x}"
        raise ArgumentError(f"{path}: {wrong}; {command(path)}") from error


def _digest(splits: Mapping[str, Sequence[Member]]) -> str:
    """A hash of the labels of all texts, in their order."""
    told = json.dumps([[split, [one.label for one in members]] for split, members in splits.items()])
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()
