"""Which corpora there are, and what they are called on the command line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from saccade.data.dataset import data_path, no_such_data
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.arrow import is_arrow, read_arrow
from saccade.tasks.objects import OBJECTS, LeftOut, Rows, pair_reader, rows_of
from saccade.tasks.text.files import BLANK_PAIRS
from saccade.tasks.text.pairs import open_pairs
from saccade.tasks.translate.data.corpus import Corpus, Pair
from saccade.tasks.translate.data.dates import LANGUAGES, Dates
from saccade.tasks.translate.data.files import Files
from saccade.tasks.translate.data.folder import open_folder
from saccade.tasks.translate.data.several import COUNTS, SeveralDates
from saccade.tasks.translate.data.trees import LENGTHS, Trees

__all__ = ["BUILTIN", "group_names", "open_corpus"]

BUILTIN = {
    "dates": "dates in 20 languages, translated to ISO 8601 (2025-06-18); generated on the fly by Babel",
    "several-dates": "one to three dates in a row, each in another language; generated on the fly",
    "trees": "sentences of a small English grammar, translated to their syntax trees; generated on the fly",
}


def open_corpus(
    data: str,
    source: str | None = None,
    target: str | None = None,
    objects: Any = None,
    names: SplitNames | None = None,
) -> Corpus:
    """Return the corpus that --data names: a built-in one, a folder of aligned files, a file of pairs, or tables.

    Args:
        data: a key of `BUILTIN`, or the path of a folder or file.
        source: the side to translate from: in a folder what its files end in, of parquet the column; of a file of
            pairs, the first column, its language, which decides nothing here.
        target: the side to translate to.
        objects: the pairs themselves, where `data` says that they are Python objects.
        names: what splits are called.

    Raises:
        ArgumentError: if there is none, or something is wrong with it.

    Example:
        >>> open_corpus("dates").size("test")
        2000
    """
    path, names = data_path(data), names or SplitNames()
    if data == OBJECTS:
        return _pairs(objects, source, target, names)
    if data in BUILTIN:
        return _builtin(data, source, target, names)
    if is_arrow(path):
        return _pairs(read_arrow(path, names), source, target, names)
    if path.is_dir():
        return open_folder(path, source, target, names)
    if path.is_file():
        found = open_pairs(path, names)
        return Files(found.splits, found.fingerprint, found.note)
    raise no_such_data(data, BUILTIN)


_BLANK = LeftOut[tuple[str, ...]](lambda row: not all(row), BLANK_PAIRS, ("train",))
_BUILTIN: Mapping[str, Callable[[], Corpus]] = {"dates": Dates, "several-dates": SeveralDates, "trees": Trees}


def _builtin(data: str, source: str | None, target: str | None, names: SplitNames) -> Corpus:
    names.refuse(data)
    for option, side in (("--source", source), ("--target", target)):
        if side is not None:
            raise ArgumentError(f"{option}: expected none, as {data} says what its sides are; leave {side} out")
    return _BUILTIN[data]()


def _pairs(objects: Any, source: str | None, target: str | None, names: SplitNames) -> "_Pairs":
    columns = [tuple(filter(None, column)) for column in ((source, "source"), (target, "target"))]
    read = pair_reader(*columns, nested="translation")
    return _Pairs(rows_of(objects, read, lambda row: row[0], names, _BLANK))


@dataclass(frozen=True)
class _Pairs:
    """A corpus of Python objects."""

    rows: Rows[tuple[str, ...]]

    def example(self, split: str, index: int) -> Pair:
        """Return one pair of a split; its group is ""."""
        source, target = self.rows.example(split, index)
        return Pair(source, target, "")

    def size(self, split: str) -> int:
        """Return how many pairs a split has."""
        return self.rows.size(split)

    @property
    def fingerprint(self) -> str:
        """What the pairs are, in one string."""
        return self.rows.fingerprint

    @property
    def note(self) -> str:
        """What a user should know of the pairs."""
        return self.rows.note


def group_names(data: str) -> Mapping[str, str] | None:
    """Return what the groups of a built-in corpus are called, None of other corpora, whose pairs carry none."""
    return {"dates": LANGUAGES, "several-dates": COUNTS, "trees": LENGTHS}.get(data)
