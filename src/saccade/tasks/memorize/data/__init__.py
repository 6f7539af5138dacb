"""Which data there are to memorize, and what they are called on the command line."""

from operator import itemgetter
from typing import Any

from saccade.data import OBJECTS, Blank, Column, Examples, Row, Rows, load
from saccade.data.dataset import data_path, no_such_data
from saccade.data.layouts.babi import babi
from saccade.data.rows import rows_of
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.memorize.data.corpus import Corpus, Item
from saccade.tasks.memorize.data.made import Made
from saccade.tasks.memorize.data.problems import PROBLEMS

__all__ = ["BUILTIN", "Corpus", "Item", "Made", "Stories", "open_corpus"]

BUILTIN = {name: problem.about for name, problem in PROBLEMS.items()}
_HOLDS = "bAbI's files (qa1_..._train.txt) or tables such as train.tsv (.csv, .jsonl, .parquet)"
_COLUMNS = (
    Column("input", ("input", "source", "question", "text")),
    Column("output", ("output", "target", "answer")),
)
_BLANK = Blank[Row](lambda row: not (row["input"] and row["output"]), "pairs, which have a blank side")


class Stories(Examples[Item]):
    """Stories with questions, whose answers are in one line; their groups are bAbI's tasks."""

    def __init__(self, rows: Rows[Row]) -> None:
        super().__init__(rows, lambda row: Item(row["story"], row["answers"], row["task"]))


def _story(row: Any, labels: object) -> Row:
    story: Row = row
    return story


def open_corpus(data: str, longest: int | None = None, objects: Any = None, names: SplitNames | None = None) -> Corpus:
    """Return the corpus that --data names: a built-in problem, bAbI's files, a file of pairs, or tables.

    Args:
        data: a key of `BUILTIN`, or a path.
        longest: how much a built-in problem asks for in training, at the most.
        objects: the pairs themselves, where `data` says that they are Python objects.
        names: what splits are called.

    Raises:
        ArgumentError: if there is none, or something is wrong with it.
        OSError: if a file cannot be read.

    Example:
        >>> open_corpus("recall").example("test", 1).group
        '6'
    """
    path, names = data_path(data), names or SplitNames()
    if data in BUILTIN:
        names.refuse(data)
        return Made(data, PROBLEMS[data](longest))
    if longest is not None:
        raise ArgumentError(f"--longest: expected only with built-in data ({', '.join(BUILTIN)}), got {longest}")
    if data != OBJECTS and (tables := babi(path, names)) is not None:
        return Stories(rows_of(tables, _story, itemgetter("story"), names, place=data))
    rows = load(data, _COLUMNS, names, objects, blank=_BLANK, what="pairs")
    if rows is None:
        raise no_such_data(data, BUILTIN, holds=_HOLDS)
    return Examples(rows, lambda row: Item(row["input"], row["output"]))
