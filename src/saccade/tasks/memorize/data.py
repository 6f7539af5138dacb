"""Data to memorize: built-in problems, stories with questions, and pairs."""

from operator import itemgetter
from typing import Any, TypeAlias

from saccade.data import OBJECTS, Blank, Column, Examples, Row, Rows, load
from saccade.data.dataset import Dataset, data_path, no_such_data
from saccade.data.layouts.babi import babi
from saccade.data.naming import Names
from saccade.data.rows import rows_of
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.memorize.episode import Item
from saccade.tasks.memorize.problem import Problem
from saccade.tasks.memorize.problems import PROBLEMS
from saccade.tasks.memorize.symbols import Symbols

__all__ = ["BUILTIN", "COLUMNS", "Language", "Stories", "open_corpus"]

Language: TypeAlias = Problem | Symbols
"""From questions to sequences, and from logits to answers."""

BUILTIN = {name: problem.summary for name, problem in PROBLEMS.items()}
_HOLDS = "bAbI's files (qa1_..._train.txt) or tables such as train.tsv (.csv, .jsonl, .parquet)"
COLUMNS = (
    Column("input", ("input", "source", "question", "text")),
    Column("output", ("output", "target", "answer")),
)
"""Columns of pairs."""
_BLANK = Blank[Row](lambda row: not (row["input"] and row["output"]), "pairs, which have a blank side")


class Stories(Examples[Item]):
    """Stories with questions. Their groups are bAbI's tasks."""

    def __init__(self, rows: Rows[Row]) -> None:
        super().__init__(rows, lambda row: Item(row["story"], row["answers"], row["task"]))


def open_corpus(
    data: str, longest: int | None = None, objects: Any = None, names: SplitNames | None = None
) -> Dataset[Item]:
    """Return a built-in problem, bAbI's files, a file of pairs, or tables.

    Args:
        data: a key of `BUILTIN`, or a path.
        longest: largest size of a built-in problem in training.
        objects: pairs, if `data` is `OBJECTS`.
        names: the names of splits.

    Raises:
        ArgumentError: if there is no such data set, or it has a fault.
        OSError: if a file cannot be read.

    Example:
        >>> open_corpus("recall").example("test", 1).group
        '6'
    """
    path, names = data_path(data), names or SplitNames()
    if data in BUILTIN:
        names.refuse(data)
        return PROBLEMS[data](longest)
    if longest is not None:
        raise ArgumentError(f"--longest: expected only with built-in data ({', '.join(BUILTIN)}), got {longest}")
    if data != OBJECTS and (tables := babi(path, names)) is not None:
        if isinstance(names, Names):
            names.refuse_columns(data)
        return Stories(rows_of(tables, lambda row, labels: row, itemgetter("story"), names, place=data))
    rows = load(data, COLUMNS, names, objects, blank=_BLANK, what="pairs")
    if rows is None:
        raise no_such_data(data, BUILTIN, holds=_HOLDS)
    return Examples(rows, lambda row: Item(row["input"], row["output"]))
