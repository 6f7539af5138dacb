"""A folder of aligned files, a file a side and split, as Multi30k and the shared tasks of WMT come."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from saccade.data.cleaning import composed
from saccade.data.dataset import SPLITS
from saccade.data.splits import SplitNames, held_out, only
from saccade.errors import ArgumentError
from saccade.tasks.text.files import Split, divide, fingerprint, keep, read_filled, text_hash
from saccade.tasks.text.lines import Lines
from saccade.tasks.translate.data.files import Files

__all__ = ["open_folder"]

_TEST = "test"


def open_folder(folder: Path, source: str | None, target: str | None, names: SplitNames | None = None) -> Files:
    """Open a folder of aligned files: line n of train.de and line n of train.en are a pair, packed by gzip or not.

    Splits are called as `saccade.data.splits` has it; test may also be the first by the alphabet of those whose names
    begin with it (test_2016_flickr). A split that is not there is held out from training, by a hash of the source. A
    training pair of which a side is blank is left out; validation and test keep all lines.

    Args:
        folder: where the files are.
        source: what the files of the sources end in, such as "de".
        target: what those of the targets end in.
        names: what splits are called.

    Raises:
        ArgumentError: naming the option, split, file or line that is wrong, or the files of which one alone is meant.
        OSError: if a file cannot be read.
    """
    names = names or SplitNames()
    sides = _check_sides(folder, source, target, names)
    known = {split: _called(folder, split, sides, names) for split in SPLITS}
    chosen = {split: there[0] for split, there in known.items() if there}
    if "train" not in chosen:
        raise ArgumentError(f"{folder}: expected {_files(names.of('train'), sides)}, found no such pair of files")
    found = {split: _open_split(folder, name, sides) for split, name in chosen.items()}
    train = found["train"]
    kept, note = keep(train.source.blank() | train.target.blank(), train.source.path)
    splits = {split: Split(rows, range(len(rows.source))) for split, rows in found.items()}
    splits["train"] = Split(train, kept)
    missing = [split for split in SPLITS if split not in found]
    if len(missing) == 1:  # more likely forgotten, or called otherwise, than left to us
        wanted, option = _files(names.of(missing[0]), sides), f"--{missing[0]}-split names them"
        raise ArgumentError(f"{folder}: expected {wanted}, found no such pair of files; {option}")
    if missing:
        splits |= _divided(splits["train"], train.source, missing)
    splits = {split: splits[split] for split in SPLITS}
    files = [side for rows in found.values() for side in (rows.source, rows.target)]
    out = held_out(missing, {split: len(part.lines) for split, part in splits.items()}, "pairs")
    return Files(splits, fingerprint(splits, files), "; ".join(filter(None, [note, out, _choice(known["test"])])))


@dataclass(frozen=True)
class _Sides:
    """Two files, the same line of both a pair."""

    source: Lines
    target: Lines

    def __getitem__(self, line: int) -> tuple[str, str]:
        return composed(self.source[line].strip()), composed(self.target[line].strip())


def _check_sides(folder: Path, source: str | None, target: str | None, names: SplitNames) -> tuple[str, str]:
    """The two sides, once both are known to be there and to be two."""
    begins = [f"{name}." for name in names.of("train")]
    files = [path.name.removesuffix(".gz") for path in folder.iterdir()]
    there = sorted({name.removeprefix(begin) for name in files for begin in begins if name.startswith(begin)} - {""})
    if not there:
        names.check("train", folder, {name.rpartition(".")[0] for name in files})
        raise ArgumentError(f"{folder}: expected files of training pairs such as train.de and train.en, found none")
    if len(there) == 1:
        alone = next(name for name in sorted(files) if name.startswith(tuple(begins)))
        way_out = f"where its lines are pairs, --data {folder / alone} names it"
        wanted = "expected files of both sides such as train.de and train.en"
        raise ArgumentError(f"{folder}: {wanted}, found {alone} alone; {way_out}")
    for option, side in (("--source", source), ("--target", target)):
        if side not in there:
            wanted = f"{begins[0]}{side}"
            found = f"got none for {folder}" if side is None else f"but there is no {wanted} in {folder}"
            raise ArgumentError(f"{option}: expected one of {', '.join(there)}, {found}")
    if source is None or target is None or source == target:
        raise ArgumentError(f"--target: expected another side than --source, got {target} for both")
    return source, target


def _called(folder: Path, split: str, sides: tuple[str, str], names: SplitNames) -> list[str]:
    """What a split is called here: one name, or of a test split all that there are, the one that is taken first."""
    found = []
    for name in names.of(split):
        there = [side for side in sides if _file(folder, f"{name}.{side}")]
        if len(there) == 1:
            raise ArgumentError(f"{folder}: expected {_files([name], sides)}, found {name}.{there[0]} alone")
        found += [name] if there else []
    for side in sides:  # which files differ is said by their names
        paths = [_file(folder, f"{name}.{side}") for name in found]
        only(list(filter(None, paths)), f"say which by --{split}-split, or move one away")
    if not found:
        names.check(split, folder, {path.name.partition(".")[0] for path in folder.iterdir()})
    if found or split != _TEST:
        return found[:1]
    begun = {path.name.partition(".")[0] for path in folder.iterdir() if path.name.startswith(_TEST)}
    return [name for name in sorted(begun) if all(_file(folder, f"{name}.{side}") for side in sides)]


def _choice(tests: Sequence[str]) -> str:
    others = f"; there is {', '.join(tests[1:])} too (--test-split)"
    return f"the test split is {tests[0]}{others}" if len(tests) > 1 else ""


def _files(names: Sequence[str], sides: tuple[str, str]) -> str:
    return " or ".join(f"{name}.{sides[0]} and {name}.{sides[1]}" for name in names)


def _open_split(folder: Path, name: str, sides: tuple[str, str]) -> _Sides:
    source, target = (read_filled(path) for side in sides if (path := _file(folder, f"{name}.{side}")))
    return _aligned(source, target)


def _file(folder: Path, name: str) -> Path | None:
    return only([path for path in (folder / name, folder / f"{name}.gz") if path.is_file()])


def _divided(train: Split, source: Lines, missing: Sequence[str]) -> dict[str, Split]:
    """What is held out from training, and what is left: all pairs of a source are in one split."""
    lines = np.asarray(train.lines, np.int64)
    hashes = np.array([text_hash(source[number].strip()) for number in map(int, lines)], np.uint64)
    parts = divide(hashes, source.path, "sources", missing)
    return {split: Split(train.rows, lines[inside]) for split, inside in parts.items()}


def _aligned(source: Lines, target: Lines) -> _Sides:
    """Two sides, once each line is known to have its other."""
    if len(source) != len(target):
        counts = f"{len(source)} in {source.path} and {len(target)} in {target.path}"
        raise ArgumentError(f"expected as many lines on both sides, got {counts}: line n of one translates line n")
    return _Sides(source, target)
