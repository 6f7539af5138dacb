"""One stream of answers for whoever asks: lines in, answers out, in order and in constant memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from saccade._system.notes import say
from saccade.errors import ArgumentError, SaccadeError
from saccade.train.task import Unreadable

__all__ = ["stream", "texts"]

A = TypeVar("A")


def texts(inputs: str | Path | Iterable[Any]) -> Iterator[str]:
    """Give a text or a path that somebody hands over from Python, or several, as lines.

    Raises:
        ArgumentError: if it is something else.

    Example:
        >>> list(texts("one")), list(texts(["one", Path("two.png")]))
        (['one'], ['one', 'two.png'])
    """
    several = [inputs] if isinstance(inputs, str | Path) or not isinstance(inputs, Iterable) else inputs
    for each in several:
        if not isinstance(each, str | Path):
            raise ArgumentError(f"inputs: expected a text or a path, or several, got {type(each).__name__}")
        yield str(each)


def stream(
    read: Callable[[str, int], Any],
    answer: Callable[[Sequence[Any]], Sequence[A]],
    lines: Iterable[str],
    ahead: int = 64,
    *,
    typed: bool = False,
) -> Iterator[A]:
    """Answer lines as they come.

    A line that cannot be read is said, and answered as `Unreadable`; the others are answered, and the end is
    an error. Where it is the only one, and was not typed, the error says what is wrong with it.

    Args:
        read: from a line and its number, from 1 on, to an input.
        answer: from inputs to their answers.
        lines: what is asked.
        ahead: how many are read, at most, before the first of them is answered.
        typed: whether somebody types them, who types the next one when the last one is answered.

    Raises:
        ArgumentError: if a line could not be read.

    Example:
        >>> list(stream(lambda line, number: int(line), lambda inputs: [i + 1 for i in inputs], ["1", "2", "3"], 2))
        [2, 3, 4]
    """
    found, number, failed = enumerate(_inputs(read, lines, typed), 1), 0, 0
    while block := list(islice(found, ahead)):
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
            if number == 1 and not typed:  # only then the next one is waited for
                pending = list(islice(remaining, 1))
                if not pending:
                    raise
            say(str(error))
            yield Unreadable(line)
