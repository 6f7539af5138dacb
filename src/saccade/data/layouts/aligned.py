"""Aligned files of two languages, as in Multi30k, Moses and the tasks of WMT.

Each side of each split is a file.

corpus/train.de  corpus/val.de  corpus/test.de     line n of one side translates line n of the other
corpus/train.en  corpus/val.en  corpus/test.en
"""

from collections.abc import Sequence
from pathlib import Path

from saccade.data.dataset import SPLITS
from saccade.data.splits import SplitNames
from saccade.data.table import Table
from saccade.data.texts import read_lines
from saccade.errors import ArgumentError

__all__ = ["aligned"]


def aligned(path: Path, names: SplitNames, source: str | None, target: str | None) -> dict[str, Table] | None:
    """Return rows of a source and its target, from files packed by gzip or not.

    A test split may have another name with the prefix test (test_2016_flickr). The first with both sides counts.

    Args:
        path: the folder, or the prefix of two files (europarl-v7.de-en).
        names: the names of splits.
        source: suffix of the source files, for example "de".
        target: suffix of the target files.

    Returns:
        Tables by the names of their splits in the data, or None for a path without such files.

    Raises:
        ArgumentError: for an invalid option, split, file or line, with its name.
        OSError: if a file cannot be read.
    """
    if not path.is_dir():
        whole = None if path.is_file() or None in (source, target) else _pair(path, (str(source), str(target)))
        return None if whole is None else {"": _table(*whole)}
    sides = _sides(path, source, target, names)
    parts, note = dict[str, tuple[Path, Path]](), ""
    for split in SPLITS:
        pairs = {name: pair for name in names.of(split) if (pair := _pair(path / name, sides))}
        if not pairs and split == "test" and split not in names.given:
            begun = sorted({file.name.partition(".")[0] for file in path.glob("test*")})
            pairs = {name: pair for name in begun if (pair := _pair(path / name, sides, alone=True))}
            if len(pairs) > 1:
                others = ", ".join(list(pairs)[1:])
                note = f"the test split is {next(iter(pairs))}; there is {others} too (--test-split)"
            pairs = {names.of(split)[0]: pair for pair in list(pairs.values())[:1]}
        if not pairs:
            names.check(split, path, {file.name.partition(".")[0] for file in path.iterdir()})
        parts |= pairs
    missing = [split for split in SPLITS if not any(names.split(name) == split for name in parts)]
    if len(missing) == 1 or "train" in missing:  # more likely forgotten or renamed than left to be held out
        expected = " or ".join(f"{name}.{sides[0]} and {name}.{sides[1]}" for name in names.of(missing[0]))
        option = f"--{missing[0]}-split names them"
        raise ArgumentError(f"{path}: expected {expected}, found no such pair of files; {option}")
    return {name: _table(*pair, note if names.split(name) == "test" else "") for name, pair in parts.items()}


def _sides(folder: Path, source: str | None, target: str | None, names: SplitNames) -> tuple[str, str]:
    begins = tuple(f"{name}." for name in names.of("train"))
    files = sorted(file.name.removesuffix(".gz") for file in folder.iterdir())
    there = sorted({name.removeprefix(begin) for name in files for begin in begins if name.startswith(begin)} - {""})
    if len(there) < 2:
        names.check("train", folder, {name.rpartition(".")[0] for name in files})
        got = f"found train.{there[0]} alone" if there else "found none"
        expected = "expected files of both sides such as train.de and train.en, or train.tsv"
        raise ArgumentError(f"{folder}: {expected}, {got}")
    for option, side in (("--source", source), ("--target", target)):
        if side not in there:
            expected = f"{begins[0]}{side}"
            got = f"got none for {folder}" if side is None else f"but there is no {expected} in {folder}"
            raise ArgumentError(f"{option}: expected one of {', '.join(there)}, {got}")
    if source is None or target is None or source == target:
        raise ArgumentError(f"--target: expected another side than --source, got {target} for both")
    return source, target


def _pair(path: Path, sides: Sequence[str], *, alone: bool = False) -> tuple[Path, Path] | None:
    """Return the files of both sides, plain files before packed files.

    A missing side is an error unless `alone`.
    """
    files = [
        next(
            (file for packed in ("", ".gz") if (file := path.with_name(f"{path.name}.{side}{packed}")).is_file()), None
        )
        for side in sides
    ]
    if None in files and any(files) and not alone:
        lone = next(file.name for file in files if file is not None)
        expected = f"expected {path.name}.{sides[0]} and {path.name}.{sides[1]}"
        raise ArgumentError(f"{path.parent}: {expected}, found {lone} alone")
    source, target = files
    return None if source is None or target is None else (source, target)


def _table(source: Path, target: Path, note: str = "") -> Table:
    sides = read_lines(source), read_lines(target)
    if len(sides[0]) != len(sides[1]):
        counts = f"{len(sides[0])} in {source} and {len(sides[1])} in {target}"
        raise ArgumentError(f"expected as many lines on both sides, got {counts}: line n of one translates line n")
    rows = list(zip(*sides, strict=True))
    return Table(rows, lambda index: f"row {index + 1} of {source}", note=note, size=len(rows))
