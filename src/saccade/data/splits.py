"""Names of splits in files, folders and columns.

A missing split is held out from training by hashes of keys, with a note. It has a twentieth of the different examples,
at most 1,000. For images it has a tenth, at most 5,000. If the examples are few, it has 15% of them, up to 150.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from saccade.data.columns import CellError
from saccade.data.dataset import SPLITS, counted, inventory
from saccade.errors import ArgumentError

__all__ = [
    "KNOWN",
    "SPLIT",
    "SplitNames",
    "SplitOptions",
    "fold_of",
    "held_out",
    "only",
    "spelled_splits",
    "split_of",
    "undivided",
    "wholes",
]

#: Name of the column of splits.
SPLIT = "split"
#: Default names of the splits.
KNOWN: Mapping[str, tuple[str, ...]] = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing"),
}
_COMPARED: dict[str, Any] = {"budget": True}  # a run compares the contents of its data, not the names of files
_MUCH: dict[str, Any] = {**_COMPARED, "before": 0.0}  # runs without the option held out as of much data
_SMALL, _FEW = 0.15, 150  # share of few examples in a split that is held out, and the number up to which it holds

_WHOLES: ContextVar[list[str] | None] = ContextVar("wholes", default=None)


@contextmanager
def undivided() -> Iterator[list[str]]:
    """Hold out nothing. Each split of data without splits of their own is all of them.

    Yields a list, which gets the names of such data.

    >>> with undivided() as whole:
    ...     wholes() is whole
    True
    >>> wholes() is None
    True
    """
    whole = list[str]()
    token = _WHOLES.set(whole)
    try:
        yield whole
    finally:
        _WHOLES.reset(token)


def wholes() -> list[str] | None:
    """Return the list of `undivided`, None outside of it."""
    return _WHOLES.get()


@dataclass(frozen=True, kw_only=True)
class SplitOptions:
    """Options of every task: names of the splits of its data.

    >>> SplitOptions(validation_split="tst2012").test_split is None
    True
    """

    train_split: str | None = field(default=None, metadata=_COMPARED)
    """Name of the training split in files, folders or a column. Default: train."""

    validation_split: str | None = field(default=None, metadata=_COMPARED)
    """Name of the validation split, such as tst2012.
    Default: validation, valid, val or dev."""

    test_split: str | None = field(default=None, metadata=_COMPARED)
    """Name of the test split, such as tst2013. Default: test."""

    held_out: float | None = field(default=None, metadata=_MUCH)
    """Share of the examples to hold out for each missing split.
    0 takes the share of much data. Default: 0.15 of at most 1,000 examples,
    and 150 or the share of much data (0.05, images 0.1) of more."""

    fold: str | None = field(default=None, metadata=_COMPARED)
    """Part of the data to test on instead of a random test split.
    For example 2/5 is the second of five parts."""

    def __post_init__(self) -> None:
        """Reject an empty name, one name for two splits, and invalid shares and folds."""
        if self.held_out is not None and not 0 <= self.held_out < 1 / 2:
            raise ArgumentError(f"--held-out: expected a share from 0 on and below 0.5, got {self.held_out}")
        fold_of(self.fold)
        options = dict[str, str]()
        for split in SPLITS:
            if (name := getattr(self, f"{split}_split")) is None:
                continue
            if not name:
                raise ArgumentError(f"--{split}-split: expected a name, got an empty one")
            if name in options:
                raise ArgumentError(f"--{split}-split: expected another name than --{options[name]}-split, got {name}")
            options[name] = split


@dataclass(frozen=True)
class SplitNames:
    """Names of the splits of some data.

    Args:
        given: names from options, by split.
        held_out: share of the examples of a missing split. 0: the share of much data. None: by the number of examples.
        fold: the number of a fold from 0 on, and the number of folds. Its examples are the test split.

    Example:
        >>> names = SplitNames({"validation": "tst2012"})
        >>> names.of("validation"), names.split("tst2012"), names.split("dev")
        (('tst2012',), 'validation', None)
    """

    given: Mapping[str, str] = field(default_factory=dict)
    held_out: float | None = None
    fold: tuple[int, int] | None = None

    @classmethod
    def of_options(cls, options: Any) -> "SplitNames":
        """Return the names of a task's options."""
        chosen = {split: getattr(options, f"{split}_split") for split in SPLITS}
        names = {split: name for split, name in chosen.items() if name is not None}
        return cls(names, options.held_out, fold_of(options.fold))

    def count(self, different: int, held: tuple[int, int]) -> int:
        """Return the number of examples of a missing split.

        Args:
            different: number of different examples.
            held: `(share, limit)` of much data. One in `share` examples is held out, at most `limit`.

        Example:
            >>> [SplitNames().count(different, (20, 1000)) for different in (3, 442, 2000, 10_000, 10**6)]
            [1, 66, 150, 500, 1000]
        """
        share, limit = held
        if self.held_out:
            return max(1, int(self.held_out * different))
        many = min(max(1, different // share), limit)
        return many if self.held_out == 0 else max(many, min(int(_SMALL * different), _FEW))

    def of(self, split: str) -> tuple[str, ...]:
        """Return the names of a split."""
        if split in self.given:
            return (self.given[split],)
        return tuple(name for name in KNOWN[split] if name not in self.given.values())

    @cached_property
    def all(self) -> dict[str, str]:
        """Return the split of each name."""
        return {name: split for split in SPLITS for name in self.of(split)}

    def split(self, name: str) -> str | None:
        """Return the split of a name or None. The case of default names is ignored."""
        return self.all.get(self.spelled(name))

    def spelled(self, name: str) -> str:
        """Return the name of a split as in `all`, and other names unchanged.

        >>> SplitNames().spelled("Test"), SplitNames().spelled("Mine")
        ('test', 'Mine')
        """
        return name.lower() if name not in self.all and name.lower() in self.all else name

    def check(self, split: str, where: Path | str, there: Iterable[object] = ()) -> None:
        """Raise the error for a missing split, if an option names it.

        Args:
            split: the missing split.
            where: the data, for the message.
            there: names of the parts of the data.
        """
        if split in self.given:
            got = f"got {self.given[split]}; there is {inventory(sorted(map(str, there))) or 'none'}"
            raise ArgumentError(f"--{split}-split: expected the name of a part of {where}, {got}")

    def refuse(self, data: str) -> None:
        """Reject options, for data with fixed splits."""
        self.refuse_shares(f"{data}, whose splits are fixed")
        for split, name in self.given.items():
            raise ArgumentError(f"--{split}-split: expected none for {data}, whose splits are fixed; leave {name} out")

    def refuse_shares(self, why: str) -> None:
        """Reject a share to hold out, and a fold, for data with a test split."""
        for option, value in (("--held-out", self.held_out), ("--folds", self.fold)):
            if value:
                raise ArgumentError(f"{option}: expected none for {why}; leave it out")


def fold_of(text: str | None) -> tuple[int, int] | None:
    """Return the number of a fold, from 0 on, and the number of folds.

    >>> fold_of("2/5"), fold_of(None)
    ((1, 5), None)
    """
    if text is None:
        return None
    match = re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", text)
    number, count = map(int, match.groups()) if match else (0, 0)
    if not match or count < 2 or number > count:
        raise ArgumentError(f"--fold: expected a fold of two or more, such as 2/5, got {text!r:.20}")
    return number - 1, count


def spelled_splits(where: Path, parts: Iterable[str], names: SplitNames) -> dict[str, str]:
    """Return the names of parts as in `names`, unless another part has the same name.

    >>> spelled_splits(Path("folder"), ["train", "Test", "unlabelled"], SplitNames())
    {'train': 'train', 'Test': 'test', 'unlabelled': 'unlabelled'}
    """
    parts, spelled = list(dict.fromkeys(parts)), dict[str, str]()
    for part in parts:
        name = names.spelled(part)
        name = part if name in parts else name
        if (other := next((other for other in spelled if spelled[other] == name), None)) is not None:
            split = names.split(name)
            raise ArgumentError(f"{where}: expected one {split} split, got {other} and {part}; say --{split}-split")
        spelled[part] = name
    return spelled


def split_of(cell: Any, names: SplitNames, expected: str = "") -> str:
    """Return the name of the split in a cell of the column `split`.

    Args:
        cell: a text, or its bytes.
        names: the names of splits.
        expected: name of the split of the file or part of the row, "" if there is none.

    Raises:
        CellError: if it is no split, or not the split of the file or part.

    Example:
        >>> split_of("dev", SplitNames()), split_of("late", SplitNames({"test": "late"}))
        ('validation', 'late')
    """
    text = cell.decode(errors="replace") if isinstance(cell, bytes) else str(cell)
    split = names.split(text.strip())
    if split is None:
        raise CellError(SPLIT, f"expected one of {', '.join(names.all)}, got {text!r:.40}")
    if expected and split != names.split(expected):
        way_out = "correct it, or take the column out"
        raise CellError(SPLIT, f"expected {expected}, as these rows are called, got {text!r:.40}; {way_out}")
    return expected or names.of(split)[0]


def held_out(missing: Sequence[str], sizes: Mapping[str, int], what: str, fold: tuple[int, int] | None = None) -> str:
    """Return the note on splits held out from training, "" if there are none.

    >>> held_out(["validation", "test"], {"validation": 50, "test": 50}, "texts")
    'held out from training, as there are none of their own: 50 texts for validation, 50 texts for test'
    """
    parts = ", ".join(f"{counted(sizes[split], what)} for {split}" for split in missing)
    start = "" if fold is None else f"fold {fold[0] + 1} of {fold[1]}: "
    return f"{start}held out from training, as there are none of their own: {parts}" if parts else ""


def only(files: Sequence[Path], way_out: str = "move away the others") -> Path | None:
    """Return the only file of a list, None if it is empty.

    Args:
        files: the existing files.
        way_out: an order to the user, for the message.

    Raises:
        ArgumentError: if there are several files.
    """
    if len(files) > 1:
        names = f"{', '.join(path.name for path in files[:-1])} and {files[-1].name}"
        raise ArgumentError(f"{files[0].parent}: expected one file, got {names}; {way_out}")
    return files[0] if files else None
