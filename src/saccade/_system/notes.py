"""Lines for the user: results on standard output, notes on standard error.

Notes go through the logger `saccade.notes`.
"""

import io
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters with an effect on a terminal, or without an encoding.

Newline and tab are none of them.
"""

_SURROGATES = re.compile(r"[\ud800-\udfff]")
_NO_BYTES = re.compile(r"[\ud800-\udc7f\udd00-\udfff]")  # surrogates that stand for no byte of a file name
_LONGEST = 5000  # characters of a note: more than any path has
_PREFIX, _NUMBER = re.compile(r"^.*?: "), re.compile(r"\d+(?:[.,]\d+)*")
_KINDS = 1000  # of notes that are counted: memory is bounded
_CATCH: ContextVar[Callable[[str], None] | None] = ContextVar("catch", default=None)


def escaped(text: str) -> str:
    """Escape control characters, bidi controls and lone surrogates of a text."""
    return CONTROL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]


def shortened(line: str) -> str:
    """Return a line of at most 5,000 characters.

    A longer one, for example with many names, keeps its ends.
    """
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 :]}"


def output(text: str, *, flush: bool = False) -> None:
    r"""Write a result and a newline to standard output, escaped for a terminal.

    A pipe or a file gets every byte unchanged: ``\udc80`` to ``\udcff`` are bytes of file names, and written as these.
    Other lone surrogates have no bytes, and are escaped there too. A terminal gets all text at once, others by `flush`.
    """
    terminal = sys.stdout.isatty()
    sys.stdout.write((escaped(text) if terminal else _NO_BYTES.sub(_escape, text)) + "\n")
    if flush or terminal:
        sys.stdout.flush()


def open_streams() -> None:
    """Set up the standard streams of a program.

    They are UTF-8 in every locale. An empty stream takes the place of a closed one.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 for the whole process
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)  # standard output has a path as it was typed


class _Handler(logging.Handler):
    """Handler that writes notes to standard error.

    In a distributed run, only the first process writes.
    """

    def emit(self, record: logging.LogRecord) -> None:
        if "TORCHELASTIC_RUN_ID" not in os.environ or os.environ.get("RANK", "0") == "0":
            with unheard():
                sys.stderr.write(escaped(shortened(record.getMessage())).replace("\n", "\\n") + "\n")


_LOGGER = logging.getLogger("saccade.notes")
if not _LOGGER.handlers:  # a user's own come first
    _LOGGER.addHandler(_Handler())
    _LOGGER.setLevel(logging.INFO)
    _LOGGER.propagate = False


def say(line: str) -> None:
    """Log a note. Lone surrogates, which no handler could encode, become escapes."""
    line = _SURROGATES.sub(_escape, line)
    if (catch := _CATCH.get()) is None:
        _LOGGER.info(line, stacklevel=2)
    else:
        catch(line)


@contextmanager
def caught(catch: Callable[[str], None] | None) -> Iterator[None]:
    """Give a function the notes of this thread. Without one they are logged.

    >>> lines = []
    >>> with caught(lines.append):
    ...     say("line 3: longer than 50 tokens")
    >>> lines
    ['line 3: longer than 50 tokens']
    """
    token = _CATCH.set(catch)
    try:
        yield
    finally:
        _CATCH.reset(token)


class Repeated:
    """Logs the first of equal notes at once, the last at the end with their number.

    Notes are equal if they differ by numbers and by the place before the first colon.
    """

    def __init__(self) -> None:
        self._notes = dict[str, tuple[int, str]]()
        self._outer = _CATCH.get()

    def __call__(self, line: str) -> None:
        """Log a note, or count it."""
        kind = _NUMBER.sub("0", _PREFIX.sub("", line))
        count, _ = self._notes.get(kind, (0, ""))
        if count or len(self._notes) < _KINDS:
            self._notes[kind] = (count + 1, line)
        if not count:
            self._say(line)

    def close(self) -> None:
        """Log the last of each kind, with the number of notes between it and the first."""
        for count, line in self._notes.values():
            if count > 1:
                self._say(line if count == 2 else f"{line} ({count - 2:,} more like this)")

    def _say(self, line: str) -> None:
        with caught(self._outer):
            say(line)


class Once:
    """Writes one note of each kind."""

    def __init__(self) -> None:
        self._kinds = set[str]()

    def say(self, kind: str, line: str) -> None:
        """Write a note unless one of its kind was written before."""
        if kind not in self._kinds:
            self._kinds.add(kind)
            say(line)


class StandardError:
    """Standard error, open or closed, as a file for rich.

    Rich replaces `sys.stderr`, so it keeps its own stream.
    """

    def __init__(self) -> None:
        self._stream = sys.stderr

    def write(self, text: str) -> int:
        """Write a text, or drop it if the stream is closed."""
        with unheard():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        with unheard():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def unheard() -> Iterator[None]:
    """Ignore errors of standard error, and drop later texts.

    The reader or the terminal may be closed, or the disk full.
    """
    try:
        yield
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stderr.fileno())  # else the rest of its buffer would fail again, at exit too
        os.close(nowhere)
