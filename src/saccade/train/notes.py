"""Lines for the user: results on standard output, notes on standard error."""

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

__all__ = [
    "CONTROL",
    "Once",
    "StandardError",
    "escaped",
    "no_line_twice",
    "open_streams",
    "output",
    "say",
    "shortened",
    "unheard",
]

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal obeys or cannot write; newline and tab are none of them."""

_NO_BYTES = re.compile(r"[\ud800-\udc7f\udd00-\udfff]")  # surrogates that stand for no byte of a file name
_LONGEST = 5000  # characters of a note: more than any path has
_SAID: ContextVar[set[str] | None] = ContextVar("lines that were said, where none is said twice", default=None)


def escaped(text: str) -> str:
    r"""Return a text with control characters, bidi controls and lone surrogates as escapes.

    >>> escaped("\x1b[31mred\ta")
    '\\x1b[31mred\ta'
    """
    return CONTROL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]


def shortened(line: str) -> str:
    """Return a line of at most 5,000 characters: a longer one, such as of the names of 100,000 columns, keeps its ends.

    >>> len(shortened("a" * 10**6))
    5003
    """
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 :]}"


def output(text: str, *, flush: bool = False) -> None:
    r"""Write a result and a newline to standard output, escaped if that is a terminal.

    A pipe or a file gets every byte unchanged: ``\udc80`` to ``\udcff`` are bytes of file names, and written as these.
    Other lone surrogates have no bytes, and are escaped there too.

    Args:
        text: a line, or several.
        flush: write it at once; a terminal always gets it at once.

    Example:
        >>> output("caf\xe9\ud800")
        café\ud800
    """
    terminal = sys.stdout.isatty()
    sys.stdout.write((escaped(text) if terminal else _NO_BYTES.sub(_escape, text)) + "\n")
    if flush or terminal:
        sys.stdout.flush()


def open_streams() -> None:
    """Set standard streams up for a program: UTF-8 in every locale, and an empty stream in place of a closed one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 for the whole process
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)  # standard output has a path as it was typed


def say(line: str) -> None:
    """Write a note to standard error; where several processes train together, the first speaks for all."""
    if (said := _SAID.get()) is not None:
        if line in said:
            return
        said.add(line)
    if "TORCHELASTIC_RUN_ID" not in os.environ or os.environ.get("RANK", "0") == "0":
        with unheard():
            sys.stderr.write(escaped(shortened(line)).replace("\n", "\\n") + "\n")


@contextmanager
def no_line_twice() -> Iterator[None]:
    """Within it a line that was said is not said again: what is done anew has nothing new to say."""
    token = _SAID.set(set())
    try:
        yield
    finally:
        _SAID.reset(token)


class Once:
    """Says a note of each kind once."""

    def __init__(self) -> None:
        self._kinds = set[str]()

    def say(self, kind: str, line: str) -> None:
        """Write a note unless one of its kind was written."""
        if kind not in self._kinds:
            self._kinds.add(kind)
            say(line)


class StandardError:
    """Standard error as a file for who does not know that it may be gone; `say` is for all others.

    It is the one of when this was made: rich puts its own in that one's place, asks that for the file behind it, and
    would write there past this one.
    """

    def __init__(self) -> None:
        self._stream = sys.stderr

    def write(self, text: str) -> int:
        """Write a text, if anybody can read it."""
        with unheard():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Have it read."""
        with unheard():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def unheard() -> Iterator[None]:
    """Go on when standard error takes no more: its reader is gone, its terminal closed, or the disk of its file full.

    What is written there from now on is thrown away.
    """
    try:
        yield
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stderr.fileno())  # else what is still in its buffer would fail again, at exit too
        os.close(nowhere)
