"""Texts, recordings or images with folder names as labels.

train/cat/1.jpg  test/dog/7.jpg     splits, then labels
cat/1.jpg        dog/7.jpg          labels alone; validation_list.txt and testing_list.txt may name those held out
"""

import codecs
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saccade.data.archives import read_files
from saccade.data.cleaning import composed
from saccade.data.dataset import SPLITS, inventory
from saccade.data.folders import files_below
from saccade.data.splits import SplitNames
from saccade.data.table import Table
from saccade.errors import ArgumentError

__all__ = ["class_folders", "labelled_files"]

_UNLABELLED = {"unsup", "unlabeled", "unlabelled", "unsupervised", "_background_noise_"}  # folders without label


def labelled_files(source: Path, names: SplitNames, suffixes: Sequence[str]) -> dict[str, Any]:
    """Return the files with these suffixes, and lists of splits, by relative path.

    The value is the path of a file in a folder, or the bytes of a file in an archive. The order is that of the folders.

    Raises:
        ArgumentError: if the archive is damaged.
        OSError: if a file cannot be read.
    """
    lists = _lists(names)

    def fits(name: str) -> bool:
        path = Path(name)
        return path.suffix.lower() in suffixes or path.name in lists

    if not source.is_dir():
        return {name: memoryview(data) for name, data in read_files(source, fits)}
    below = ((path.relative_to(source).as_posix(), path) for path in files_below(source))
    return {name: path for name, path in below if fits(name) and (path.is_file() or not path.exists())}


def class_folders(
    files: Mapping[str, Any], where: Path, kind: str, names: SplitNames, *, beside: bool = False
) -> dict[str, Table] | None:
    """Return rows of a path `listed`, `file` and `label`.

    The result is None if no file is in a folder.

    Args:
        files: the files by their paths, in the order of the rows.
        where: the folder or the archive, for messages.
        kind: kind of the files, in the plural, for example "images".
        names: the names of splits.
        beside: whether to leave out files outside the folders of classes, with a note. Otherwise they are an error.

    Raises:
        ArgumentError: for a file outside the folders of labels, or a missing split or label, with its name.

    Example:
        >>> files = dict.fromkeys(["train/cat/1.jpg", "train/dog/2.jpg"])
        >>> [row["label"] for row in class_folders(files, Path("pets"), "images", SplitNames())["train"].rows]
        ['cat', 'dog']
    """
    lists, parts = _lists(names), dict[str, list[dict[str, Any]]]()
    listed = {path: lists[Path(name).name] for name in files if Path(name).name in lists for path in _read(files[name])}
    files = {name: file for name, file in files.items() if Path(name).name not in lists}
    if not any("/" in name for name in files):
        return None
    root, others, unlabelled = _root(list(files), names, beside=beside), list[str](), list[str]()
    for name, file in files.items():
        below = name.removeprefix(root)
        *folders, _ = below.split("/")
        split = names.split(folders[0]) if len(folders) == 2 else None
        if split is None and (len(folders) != 1 or names.split(folders[0])):
            if not beside:
                expected = "expected SPLIT/LABEL/FILE (train, validation, test) or LABEL/FILE"
                raise ArgumentError(f"{where}: {_readable(name)}: {expected}, got another path")
            others.append(name)
        elif folders[-1].lower() in _UNLABELLED:
            unlabelled.append(name)
        else:
            split = split or (listed.get(composed(below), "train") if listed else "")
            parts.setdefault(split, []).append({"listed": name, "label": _label(folders[-1], where), "file": file})
    _check(parts, where, kind, names)
    gone = len(set(listed) - {composed(name.removeprefix(root)) for name in files})
    notes = [
        f"{where}: left out {len(unlabelled)} {kind} without a label (such as {unlabelled[0]})" if unlabelled else "",
        f"{where}: left out {inventory(others)}, in no folder of a label" if others else "",
        f"{where}: {gone} of {len(listed)} files that the lists name are not there" if gone else "",
    ]
    note = "; ".join(filter(None, notes))
    if "" in parts:
        return {"": _table(parts[""], where, note)}
    there = [split for split in SPLITS if split in parts]
    return {names.of(split)[0]: _table(parts[split], where, note * (split == "train")) for split in there}


def _table(rows: list[dict[str, Any]], where: Path, note: str) -> Table:
    return Table(rows, lambda index: f"{where}: {_readable(rows[index]['listed'])}", note=note, size=len(rows))


def _lists(names: SplitNames) -> dict[str, str]:
    """Return the split of each name of a list of files."""
    return {f"{name}_list.txt": split for name, split in names.all.items() if split != "train"}


def _read(file: Any) -> list[str]:
    """Return the paths of a list, one in each line. Folder names may have white space."""
    data = file.read_bytes() if isinstance(file, Path) else bytes(file)
    lines = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape").split("\n")
    return [composed(line.strip()) for line in lines if line.strip()]


def _root(files: Sequence[str], names: SplitNames, *, beside: bool) -> str:
    """Return the common folder of all files, for example "cifar10/" in an archive.

    It is neither a split nor a label.
    """
    inside = [name for name in files if "/" in name] if beside else files
    tops, deep = {name.split("/")[0] for name in inside}, [name.count("/") > 1 for name in inside]
    alone = len(tops) == 1 and (any(deep) if beside else all(deep))
    return f"{tops.pop()}/" if alone and not any(map(names.split, tops)) else ""


def _label(name: str, where: Path) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        way_out = f"this renames them: convmv -f latin1 -t utf-8 -r --notest {shlex.quote(_readable(str(where)))}"
        got = repr(_readable(name))
        raise ArgumentError(f"{where}: expected names of folders in UTF-8, got {got}; {way_out}") from None
    return composed(name)


def _readable(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")


def _check(parts: Mapping[str, Sequence[Mapping[str, Any]]], where: Path, kind: str, names: SplitNames) -> None:
    """Reject files partly outside splits, and a single label."""
    if len(parts) > 1 and "" in parts:
        got = " and ".join(next(iter(part))["listed"] for part in parts.values())
        raise ArgumentError(f"{where}: expected all {kind} in splits or none, got {got}")
    for split in SPLITS:
        if split not in parts:
            names.check(split, where, {row["listed"].split("/")[0] for part in parts.values() for row in part})
    if not {"", "train"} & set(parts):
        raise ArgumentError(f"{where}: expected {kind} to train on, in train/LABEL, found none")
    labels = sorted({row["label"] for part in parts.values() for row in part})
    if len(labels) < 2:
        raise ArgumentError(f"{where}: expected {kind} of two labels or more, a folder each, got {labels[0]!r} alone")
