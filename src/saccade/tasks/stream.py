"""A stream of answers to lines, in order and in constant memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from saccade.errors import ArgumentError, SaccadeError
from saccade.train.notes import say
from saccade.train.task import Unreadable

__all__ = ["stream", "texts"]

A = TypeVar("A")


def texts(inputs: str | Path | Iterable[Any]) -> Iterator[str]:
    """Give texts or paths of a Python caller as lines.

    Raises:
        ArgumentError: for anything else.

    Example:
        >>> list(texts("one")), list(texts(["one", Path("two.png")]))
        (['one'], ['one', 'two.png'])
    """
    several = [inputs] if isinstance(inputs, str | Path) or not isinstance(inputs, Iterable) else inputs
    for line in several:
        if not isinstance(line, str | Path):
            raise ArgumentError(f"inputs: expected a text or a path, or several, got {type(line).__name__}")
        yield str(line)


def stream(
    read: Callable[[str, int], Any],
    answer: Callable[[Sequence[Any]], Sequence[A]],
    lines: Iterable[str],
    ahead: int = 64,
    *,
    typed: bool = False,
) -> Iterator[A]:
    """Answer lines as they come.

    A line that cannot be read has a note, and an answer as `Unreadable`. The stream goes on, and ends with an error.
    The error of a single line that was not typed tells its fault.

    Args:
        read: from a line and its number, from 1 on, to an input.
        answer: from inputs to their answers.
        lines: the lines.
        ahead: lines that are read at most before the first of them is answered.
        typed: whether a user types the next line after the answer to the last one.

    Raises:
        ArgumentError: if a line could not be read.

    Example:
        >>> list(stream(lambda line, number: int(line), lambda inputs: [i + 1 for i in inputs], ["1", "2", "3"], 2))
        [2, 3, 4]
    """
    inputs, number, failed = enumerate(_inputs(read, lines, typed), 1), 0, 0
    while block := list(islice(inputs, ahead)):
        yield from answer([item for _, item in block])
        number = block[-1][0]
        failed += sum(isinstance(item, Unreadable) for _, item in block)
    if failed:
        raise ArgumentError(f"{failed} of {number} inputs could not be read, as said above; their answers are blank")


def _inputs(read: Callable[[str, int], Any], lines: Iterable[str], typed: bool) -> Iterator[Any]:
    remaining, pending = enumerate(lines, 1), list[tuple[int, str]]()
    while (following := pending.pop() if pending else next(remaining, None)) is not None:
        number, line = following
        try:
            yield read(line, number)
        except SaccadeError as error:
            if number == 1 and not typed:  # else this would wait for the next line
                pending = list(islice(remaining, 1))
                if not pending:
                    raise
            say(str(error))
            yield Unreadable(line)
