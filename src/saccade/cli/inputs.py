"""Reading what shall be answered, from wherever it comes: lines of text, or the paths of files."""

import gzip
import os
import sys
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from saccade.cli.arguments import UsageError
from saccade.tasks.folders import files_below
from saccade.train.files import naming
from saccade.train.notes import Once, say
from saccade.train.task import Task

__all__ = ["Asked", "inputs", "readable", "texts"]

_LONGEST = 1 << 24  # bytes of a line: far beyond what any model reads of a text
_GAPS = str.maketrans("\t\r\n", "   ")  # in a name: a tab ends it
_PEEKED = 512  # bytes of standard input that show what it is


@contextmanager
def inputs(task: Task, argument: str | None, file: str | None) -> Iterator[Iterator[str]]:
    """Give what a task shall answer: lines as `texts` has them, or the paths of files.

    Of files the argument is one, or a folder of them, in the order of their names; a file that is named by --input
    has a path a line, and so has standard input, if it is not a recording itself, whose path is then "-".

    Args:
        task: the task.
        argument: as it was typed, None if it was not given.
        file: the file's name, "-" for standard input; None if it was not given.

    Raises:
        UsageError: if a folder holds no such file, or there is nothing.
        OSError: if the file cannot be read.
    """
    file = None if file == "-" else file
    if task.inputs == "lines":
        with texts(argument, file) as lines:
            yield lines
    elif argument is not None:
        if not argument:
            raise UsageError("INPUT: expected a file or a folder of files, got an empty name")
        yield iter(_files(Path(argument), task.suffixes))
    elif file is None and not sys.stdin.isatty() and _binary(sys.stdin.buffer):
        yield iter(["-"])
    else:
        with texts(None, file, paths=True) as lines:
            yield _paths(lines, "standard input" if file is None else file)


class Asked(Iterator[str]):
    r"""Lines that are remembered until they are answered, so that each can stand before its answer.

    Args:
        lines: what is asked.

    Example:
        >>> asked = Asked(iter(["a\tb", "c"]))
        >>> list(asked), asked.answered(), asked.answered()
        (['a\tb', 'c'], 'a b', 'c')
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self._waiting = lines, deque[str]()

    def __next__(self) -> str:
        line = next(self._lines)
        self._waiting.append(line.translate(_GAPS))
        return line

    def answered(self) -> str:
        """Return the first line that was not answered yet, which is answered now."""
        return self._waiting.popleft()

    def latest(self) -> str:
        """Return the last line that was asked for, where one is asked at a time."""
        while len(self._waiting) > 1:
            self._waiting.popleft()
        return self._waiting[0]


def _paths(lines: Iterator[str], name: str) -> Iterator[str]:
    """The lines of a list of files that are not blank."""
    listed = 0
    for line in lines:
        if "\0" in line:
            raise UsageError(f"{name}: expected a list of files, one a line, got a file itself; give it as INPUT")
        if line.strip():
            listed += 1
            yield line.strip()
    if not listed:
        raise UsageError(f"{name}: expected a file, or a list of files, one a line, got nothing")


def _files(path: Path, suffixes: Sequence[str]) -> list[str]:
    if not path.is_dir():  # what is no file either, its reader says
        return [str(path)]
    found = [each for each in files_below(path) if each.suffix.lower() in suffixes and each.is_file()]
    if not found:
        raise UsageError(f"{path}: expected files that end in {', '.join(suffixes)}, found none in this folder")
    return list(map(str, found))


def _binary(source: Any) -> bool:
    """Whether a stream begins as no list of paths does: no text has these bytes."""
    return any(byte < ord(" ") and byte not in b"\t\r\n\f" for byte in source.peek(_PEEKED)[:_PEEKED])


@contextmanager
def texts(argument: str | None, file: str | None, *, paths: bool = False) -> Iterator[Iterator[str]]:
    """Give the lines of an argument, of a file (packed by gzip or not), or of standard input, as they come.

    Args:
        argument: the text itself; None if it was not given.
        file: the file's name; None if it was not given.
        paths: whether each line is the path of a file, which may have bytes that are not UTF-8.

    Raises:
        OSError: if the file cannot be read.
    """
    if argument is not None:
        yield iter(_text(os.fsencode(argument), "INPUT", Once()).split("\n"))
    elif file is not None:
        with Path(file).open("rb") as source:
            with naming(Path(file)):
                packed = source.peek(2)[:2] == b"\x1f\x8b"
            yield _lines(gzip.GzipFile(fileobj=source) if packed else source, file, paths=paths)
    else:
        yield _lines(sys.stdin.buffer, "standard input", paths=paths)


def readable(argument: str) -> str:
    r"""Return a text of the command line; bytes in it that are no UTF-8 count as strange letters.

    >>> readable("caf\udce9")
    'caf\ufffd'
    """
    return os.fsencode(argument).decode("utf-8", errors="replace")


def _lines(source: BinaryIO | gzip.GzipFile, name: str, *, paths: bool) -> Iterator[str]:
    r"""The lines of a stream: they end at \n alone; in texts bytes that are not UTF-8 count as strange letters.

    That is said once. Of a line no more is read into memory than any model could take; what follows is passed over, and
    that is said.
    """
    strange = Once()
    try:
        with naming(Path(name)):
            for number, line in enumerate(_bounded(source, name), 1):
                content = line.removesuffix(b"\n")
                text = os.fsdecode(content) if paths else _text(content, f"{name}, line {number}", strange)
                yield text.removeprefix("\ufeff") if number == 1 else text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"--input: expected a whole gzip file, got a damaged one: {name} ({error})") from error


def _text(line: bytes, place: str, strange: Once) -> str:
    """Decode a line, and say once that bytes of it are no UTF-8."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(line) < _LONGEST:  # else its last letter may have been cut
            got = f"expected UTF-8, got byte 0x{line[error.start]:02x}"
            rest = "read as a strange letter (U+FFFD), as all such bytes are; iconv converts them"
            strange.say("UTF-8", f"{place}: {got}, {rest}")
        return line.decode("utf-8", errors="replace")


def _bounded(source: BinaryIO | gzip.GzipFile, name: str) -> Iterator[bytes]:
    """The lines of a stream, each cut to what is read of it."""
    number = 0
    while line := source.readline(_LONGEST):
        number += 1
        yield line
        if len(line) == _LONGEST and not line.endswith(b"\n"):
            rest = 0
            while not line.endswith(b"\n") and (line := source.readline(_LONGEST)):
                rest += len(line.removesuffix(b"\n"))
            if rest:
                say(f"{name}, line {number}: longer than {_LONGEST >> 20} MiB; what follows them is not read")
