"""A stream of answers to lines, in order and in constant memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from saccade._system.notes import Repeated, caught, say
from saccade.data.columns import FILL, Column, is_empty
from saccade.errors import ArgumentError, SaccadeError
from saccade.train.task import Unreadable

__all__ = ["Placed", "place", "stream", "texts"]

A = TypeVar("A")


class Placed(str):
    """Line of input from a row of a table.

    Args:
        text: the line.
        number: number of the row in its file, from 1, with the header.
        error: the error of a row that is no input, or None.

    Example:
        >>> Placed("a fine film", 2).number
        2
    """

    __slots__ = ("error", "number")
    number: int
    error: SaccadeError | None

    def __new__(cls, text: str, number: int, error: SaccadeError | None = None) -> Self:
        line = super().__new__(cls, text)
        line.number, line.error = number, error
        return line


def place(line: str, number: int) -> int:
    """Return the number of a line for messages: of its row in a table, or `number`.

    Raises:
        SaccadeError: if the row is no input.

    Example:
        >>> place("a fine film", 7), place(Placed("a fine film", 2), 7)
        (7, 2)
    """
    if not isinstance(line, Placed):
        return number
    if line.error is not None:
        raise line.error
    return line.number


def texts(inputs: Any, columns: Sequence[Sequence[str]] = ()) -> Iterator[str]:
    """Yield texts, paths or rows as lines of input.

    Args:
        inputs: a text, a path, or an iterable of texts, paths and mappings. A cell may be a list of words.
        columns: accepted names of each column of an input.

    Raises:
        ArgumentError: for inputs of another kind.

    Example:
        >>> list(texts("one")), list(texts(["one", Path("two.png"), {"Text": ["a", "word"]}], [("text",)]))
        (['one'], ['one', 'two.png', 'a word'])
    """
    several = [inputs] if isinstance(inputs, str | Path | Mapping) or not isinstance(inputs, Iterable) else inputs
    for number, row in enumerate(several, 1):
        if isinstance(row, Mapping):
            yield "\t".join(_cell(row, names, number) for names in columns or [()])
        elif isinstance(row, str | Path):
            yield str(row)
        else:
            raise ArgumentError(f"inputs: expected a text or a path, or several, got {type(row).__name__}")


def stream(
    read: Callable[[str, int], Any],
    answer: Callable[[Sequence[Any]], Sequence[A]],
    lines: Iterable[str],
    ahead: int = 64,
    *,
    typed: bool = False,
) -> Iterator[A]:
    """Answer lines as they come.

    An invalid line leads to a note and an answer as `Unreadable`. The stream goes on, and ends with an error. If the
    only line is invalid and not typed, its own error is raised. Of equal notes about lines that are not typed the first
    is logged at once, and the last with their number at the end.

    Args:
        read: from a line and its number, from 1 on, to an input.
        answer: from inputs to their answers.
        lines: the lines.
        ahead: largest number of lines to read before an answer.
        typed: whether a user types each line after the answer to the previous line.

    Raises:
        ArgumentError: if a line could not be read.

    Example:
        >>> list(stream(lambda line, number: int(line), lambda inputs: [i + 1 for i in inputs], ["1", "2", "3"], 2))
        [2, 3, 4]
    """
    inputs, number, failed = enumerate(_inputs(read, lines, typed), 1), 0, 0
    repeated, block = Repeated(), list[tuple[int, Any]]()
    counted = nullcontext if typed else partial(caught, repeated)
    try:
        while True:
            with counted():
                if not (block := list(islice(inputs, ahead))):
                    break
                answers = answer([item for _, item in block])
            yield from answers
            number = block[-1][0]
            failed += sum(isinstance(item, Unreadable) for _, item in block)
    finally:
        repeated.close()
    if failed:
        raise ArgumentError(f"{failed} of {number} inputs could not be read, as said above; their answers are blank")


def _inputs(read: Callable[[str, int], Any], lines: Iterable[str], typed: bool) -> Iterator[Any]:
    remaining, pending = enumerate(lines, 1), list[tuple[int, str]]()
    while (following := pending.pop() if pending else next(remaining, None)) is not None:
        number, line = following
        try:
            yield read(line, number)
        except SaccadeError as error:
            if number == 1 and not typed:  # a typed next line would block
                pending = list(islice(remaining, 1))
                if not pending:
                    raise
            say(str(error))
            yield Unreadable(line)


def _cell(row: Mapping[str, Any], names: Sequence[str], number: int) -> str:
    name = Column("", tuple(names)).find(list(row)) if names else next(iter(row), None) if len(row) == 1 else None
    if name is None:
        expected = f"a column {' or '.join(names)}" if names else "a single column"
        raise ArgumentError(f"inputs: row {number}: expected {expected}, got {', '.join(map(str, row)) or 'none'}")
    cell = row[name]
    if is_empty(cell):
        expected = f"expected a text or a path in {name}"
        raise ArgumentError(f"inputs: row {number}: {expected}, got an empty cell. {FILL.capitalize()}.")
    if isinstance(cell, int | np.integer) and not isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, list | tuple) and all(isinstance(word, str) for word in cell):
        return " ".join(cell)
    if not isinstance(cell, str | Path):
        raise ArgumentError(f"inputs: row {number}: expected a text or a path in {name}, got {type(cell).__name__}")
    return str(cell)
