"""A folder of aligned files, a file a side and split, as Multi30k and the shared tasks of WMT come."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.errors import ArgumentError
from saccade.tasks.text.files import Split, fingerprint, keep, read_filled
from saccade.tasks.text.lines import Lines
from saccade.tasks.translate.data.files import Files

__all__ = ["open_folder"]

_TRAIN = "train"
_VALIDATION = ("val", "valid", "validation", "dev")
_TEST = "test"


def open_folder(folder: Path, source: str | None, target: str | None) -> Files:
    """Open a folder of aligned files: line n of train.de and line n of train.en are a pair, packed by gzip or not.

    Validation is called val, valid, validation or dev; test is called test, or is the first by the alphabet of those
    whose names begin with it (test_2016_flickr). A training pair of which a side is blank is left out; validation and
    test keep all lines.

    Args:
        folder: where the files are.
        source: what the files of the sources end in, such as "de".
        target: what those of the targets end in.

    Raises:
        ArgumentError: naming the option, split, file or line that is wrong.
        OSError: if a file cannot be read.
    """
    sides = _check_sides(folder, source, target)
    names = {"train": [_TRAIN], "validation": _VALIDATION, "test": _tests(folder)}
    found = {split: _open_split(folder, names[split], sides) for split in names}
    train = found["train"]
    kept, note = keep(train.source.blank() | train.target.blank(), train.source.path)
    splits = {split: Split(rows, range(len(rows.source))) for split, rows in found.items()}
    splits["train"] = Split(train, kept)
    files = [side for rows in found.values() for side in (rows.source, rows.target)]
    return Files(splits, fingerprint(splits, files), note)


@dataclass(frozen=True)
class _Sides:
    """Two files, the same line of both a pair."""

    source: Lines
    target: Lines

    def __getitem__(self, line: int) -> tuple[str, str]:
        return self.source[line].strip(), self.target[line].strip()


def _check_sides(folder: Path, source: str | None, target: str | None) -> tuple[str, str]:
    """The two sides, once both are known to be there and to be two."""
    there = sorted({side for split, side in map(_parts, folder.iterdir()) if split == _TRAIN and side})
    if not there:
        raise ArgumentError(f"{folder}: expected files of training pairs such as train.de and train.en, found none")
    for option, side in (("--source", source), ("--target", target)):
        if side not in there:
            found = f"got none for {folder}" if side is None else f"but there is no {_TRAIN}.{side} in {folder}"
            raise ArgumentError(f"{option}: expected one of {', '.join(there)}, {found}")
    if source is None or target is None or source == target:
        raise ArgumentError(f"--target: expected another side than --source, got {target} for both")
    return source, target


def _parts(path: Path) -> tuple[str, str]:
    """A file's split and side.

    >>> _parts(Path("test_2016_flickr.de.gz"))
    ('test_2016_flickr', 'de')
    """
    split, _, side = path.name.removesuffix(".gz").partition(".")
    return split, side


def _tests(folder: Path) -> list[str]:
    """What the test split may be called here, the best first."""
    others = {split for split, side in map(_parts, folder.iterdir()) if side and split.startswith(_TEST)} - {_TEST}
    return [_TEST, *sorted(others)]


def _open_split(folder: Path, names: Sequence[str], sides: tuple[str, str]) -> _Sides:
    """Open the first of some splits that has both sides."""
    for name in names:
        source, target = (_file(folder, f"{name}.{side}") for side in sides)
        if source and target:
            return _aligned(read_filled(source), read_filled(target))
    wanted = " or ".join(f"{name}.{sides[0]} and {name}.{sides[1]}" for name in names)
    raise ArgumentError(f"{folder}: expected {wanted}, found no such pair of files")


def _file(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _aligned(source: Lines, target: Lines) -> _Sides:
    """Two sides, once each line is known to have its other."""
    if len(source) != len(target):
        counts = f"{len(source)} in {source.path} and {len(target)} in {target.path}"
        raise ArgumentError(f"expected as many lines on both sides, got {counts}: line n of one translates line n")
    return _Sides(source, target)
