"""Inputs for a run from anywhere: lines of text, or the paths of files."""

import gzip
import os
import sys
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from saccade._system.files import naming
from saccade._system.notes import Once, say
from saccade.cli.arguments import UsageError
from saccade.data.conversions import converted
from saccade.data.folders import files_below
from saccade.data.texts import reading_as
from saccade.tasks.inputs import input_lines, is_table
from saccade.tasks.task import Job

_LONGEST = 1 << 24  # bytes of a line: far beyond what any model reads of a text
_GAPS = str.maketrans("\t\r\n", "   ")  # in a name: a tab ends it
_PEEKED = 512  # bytes of standard input that show what it is


@contextmanager
def inputs(task: Job, argument: str | None, file: str | None, encoding: str | None = None) -> Iterator[Iterator[str]]:
    """Give a task's inputs: lines as `texts` has them, or the paths of files.

    Files are the argument, or those of a folder in the order of their names. A file named by --input has a path a line,
    or is a table whose columns have the names of the run. Standard input has a path a line too, unless it is a
    recording itself, with the path "-".
    """
    file = None if file == "-" else file
    if file is not None and is_table(Path(file)):
        with reading_as(encoding):
            lines = input_lines(task, Path(file))
        yield lines
    elif task.inputs == "lines":
        with texts(argument, file, encoding=encoding) as lines:
            yield lines
    elif argument is not None:
        if not argument:
            raise UsageError("INPUT: expected a file or a folder of files, got an empty name")
        yield iter(_files(Path(argument), task.suffixes))
    elif file is None and not sys.stdin.isatty() and _binary(sys.stdin.buffer):
        yield iter(["-"])
    else:
        with texts(None, file, paths=True, encoding=encoding) as lines:
            yield _paths(lines, "standard input" if file is None else file)


class Pending(Iterator[str]):
    """Lines kept until they are answered, so that each can stand before its answer."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self._waiting = lines, deque[str]()

    def __next__(self) -> str:
        line = next(self._lines)
        self._waiting.append(line.translate(_GAPS))
        return line

    def answered(self) -> str:
        """Return the first unanswered line, and count it as answered."""
        return self._waiting.popleft()

    def latest(self) -> str:
        """Return the last line read, if lines are answered one by one."""
        while len(self._waiting) > 1:
            self._waiting.popleft()
        return self._waiting[0]


def _paths(lines: Iterator[str], name: str) -> Iterator[str]:
    """Lines of a list of files, without blank ones."""
    listed = 0
    for line in lines:
        if "\0" in line:
            raise UsageError(f"{name}: expected a list of files, one a line, got a file itself. Give it as INPUT")
        if line.strip():
            listed += 1
            yield line.strip()
    if not listed:
        raise UsageError(f"{name}: expected a file, or a list of files, one a line, got nothing")


def _files(path: Path, suffixes: Sequence[str]) -> list[str]:
    if not path.is_dir():  # its reader reports a missing file
        return [str(path)]
    files = [file for file in files_below(path) if file.suffix.lower() in suffixes and file.is_file()]
    if not files:
        raise UsageError(f"{path}: expected files that end in {', '.join(suffixes)}, found none in this folder")
    return list(map(str, files))


def _binary(source: Any) -> bool:
    """Whether a stream begins as no list of paths does: no text has these bytes."""
    return any(byte < ord(" ") and byte not in b"\t\r\n\f" for byte in source.peek(_PEEKED)[:_PEEKED])


@contextmanager
def texts(
    argument: str | None, file: str | None, *, paths: bool = False, encoding: str | None = None
) -> Iterator[Iterator[str]]:
    """Give the lines of an argument, a file (gzip or not), or standard input.

    Lines of a file and of standard input have an encoding, UTF-8 by default. If each line is the path of a file, it may
    have bytes that are not UTF-8.
    """
    if argument is not None:
        yield iter(_text(os.fsencode(argument), "INPUT", Once()).split("\n"))
    elif file is not None:
        with Path(file).open("rb") as source:
            with naming(Path(file)):
                packed = source.peek(2)[:2] == b"\x1f\x8b"
                if (way_out := converted(Path(file))) and _binary(source):
                    raise UsageError(f"--input: expected a file of text, got {file}{way_out}")
            yield _lines(gzip.GzipFile(fileobj=source) if packed else source, file, paths=paths, encoding=encoding)
    else:
        yield _lines(sys.stdin.buffer, "standard input", paths=paths, encoding=encoding)


def readable(argument: str) -> str:
    """Return a text of the command line, with U+FFFD for bytes outside UTF-8."""
    return os.fsencode(argument).decode("utf-8", errors="replace")


def _lines(source: BinaryIO | gzip.GzipFile, name: str, *, paths: bool, encoding: str | None = None) -> Iterator[str]:
    r"""Lines of a stream, split at \n alone, with U+FFFD for other bytes in texts.

    One warning reports these bytes. Lines are cut to more than any model could take, and a warning reports the rest.
    """
    strange, number = Once(), 0
    try:
        with naming(Path(name)):
            for number, line in enumerate(_bounded(source, name), 1):
                content = line.removesuffix(b"\n")
                is_path = paths and encoding is None
                text = os.fsdecode(content) if is_path else _text(content, f"{name}, line {number}", strange, encoding)
                yield text.removeprefix("\ufeff") if number == 1 else text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"--input: expected a whole gzip file, got a damaged one: {name} ({error})") from error
    if not number and not paths:  # a list of files reports it itself
        say(f"{name}: nothing to answer, it is empty")


def _text(line: bytes, location: str, strange: Once, encoding: str | None = None) -> str:
    """Decode a line, and warn once of bytes outside UTF-8 or another encoding."""
    name = encoding or "utf-8"
    try:
        return line.decode(name)
    except UnicodeDecodeError as error:
        if len(line) < _LONGEST:  # else its last letter may have been cut
            got = f"expected {encoding or 'UTF-8'}, got byte 0x{line[error.start]:02x}"
            rest = "read as a strange letter (U+FFFD), as all such bytes are; --encoding names another encoding"
            strange.say("UTF-8", f"{location}: {got}, {rest}")
        return line.decode(name, errors="replace")


def _bounded(source: BinaryIO | gzip.GzipFile, name: str) -> Iterator[bytes]:
    """Lines of a stream, cut to the longest length."""
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
