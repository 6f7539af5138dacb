"""What verbs that answer input share: opening a run, and reading lines from wherever they come."""

import gzip
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, BinaryIO

from saccade.cli.arguments import UsageError, choose
from saccade.tasks import TASKS, load_task
from saccade.tasks.generate import Decoding
from saccade.train.environment import choose_device
from saccade.train.run import Run
from saccade.train.task import Task
from saccade.train.trained import Trained, load_trained

__all__ = ["check_named", "decoding_of", "inputs", "open_asked", "open_trained", "texts"]

_PEEKED = 512  # bytes of standard input that show what it is


def decoding_of(given: Any) -> Decoding:
    """Return how answers shall be written, out of the arguments of a verb, which may have some of its options.

    Raises:
        ArgumentError: if they mean nothing.
    """
    named = {field.name: getattr(given, field.name, None) for field in fields(Decoding)}
    if named["prefix"] is not None:
        named["prefix"] = _readable(named["prefix"])
    return Decoding(**{name: value for name, value in named.items() if value is not None})


def open_asked(
    folder: str, device: str, decoding: Decoding, ensemble: Sequence[str], count: int, **changes: Any
) -> Trained:
    """Return a run, or several as one, ready to be asked.

    Args:
        folder: of the run.
        device: as it is typed.
        decoding: how it shall write.
        ensemble: folders of further runs.
        count: answers to each input.
        changes: as `open_trained` has them.

    Raises:
        SaccadeError: as `open_trained` does; if the runs cannot be one, or what is asked means nothing to them.
    """
    trained = open_trained(folder, device, **changes)
    if ensemble:
        seen = {Path(folder).resolve()}
        for other in ensemble:
            if (place := Path(other).resolve()) in seen:
                raise UsageError(f"--ensemble {other}: expected each run once, got it again")
            seen.add(place)
        others = [open_trained(other, device, option="--ensemble") for other in ensemble]
        task, model = trained.task.join(trained.model, others)
        trained = replace(trained, task=task, model=model)
    return replace(trained, task=trained.task.asked(trained.model, decoding, count))


def open_trained(folder: str, device: str, *, option: str = "RUN", **changes: Any) -> Trained:
    """Return a run with its model on a device.

    Args:
        folder: of the run.
        device: as it is typed.
        option: what names the folder on the command line.
        changes: options that shall have another value than the run's; None is that of the run.

    Raises:
        SaccadeError: if it is no run, or has nothing trained, or there is no such device, or an option means nothing.
    """
    if not folder:
        raise UsageError(f"{option}: expected the folder of a run, got an empty name")
    run = Run.open(Path(folder))
    kind = load_task(choose(str(run.folder), run.config["task"], TASKS))
    wanted = {name: value for name, value in changes.items() if value is not None}
    return load_trained(kind, run, choose_device(device), wanted)


def check_named(argument: str | None, file: str | None) -> None:
    """See that what shall be answered is named once, and is there, before a run is opened for it.

    Raises:
        UsageError: if both were given.
        OSError: if there is no such file.
    """
    if argument is not None and file is not None:
        raise UsageError("--input: expected INPUT or --input FILE, got both")
    if file is not None:
        Path(file).stat()


@contextmanager
def inputs(task: Task, argument: str | None, file: str | None) -> Iterator[Iterator[str]]:
    """Give what a task shall answer: lines as `texts` has them, or the paths of files.

    Of files the argument is one, or a folder of them, in the order of their names; a file that is named by --input
    has a path a line, and so has standard input, if it is not a recording itself, whose path is then "-".

    Args:
        task: the task.
        argument: as it was typed, None if it was not given.
        file: the file's name; None if it was not given.

    Raises:
        UsageError: if a folder holds no such file, or there is nothing.
        OSError: if the file cannot be read.
    """
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
        with texts(None, file) as lines:
            yield _paths(lines, "standard input" if file is None else file)


def _paths(lines: Iterator[str], name: str) -> Iterator[str]:
    """The lines of a list of files that are not blank."""
    listed = 0
    for line in lines:
        if "\0" in line:
            raise UsageError(f"{name}: expected a list of files, one a line, got a recording; give it as INPUT")
        if line.strip():
            listed += 1
            yield line.strip()
    if not listed:
        raise UsageError(f"{name}: expected a recording, or a list of files, one a line, got nothing")


def _files(path: Path, suffixes: Sequence[str]) -> list[str]:
    if not path.is_dir():  # what is no file either, its reader says
        return [str(path)]
    found = sorted(each for each in path.rglob("*") if each.suffix.lower() in suffixes and each.is_file())
    if not found:
        raise UsageError(f"{path}: expected files that end in {', '.join(suffixes)}, found none in this folder")
    return list(map(str, found))


def _binary(source: Any) -> bool:
    """Whether a stream begins as no list of paths does: no text has these bytes."""
    return any(byte < ord(" ") and byte not in b"\t\r\n\f" for byte in source.peek(_PEEKED)[:_PEEKED])


@contextmanager
def texts(argument: str | None, file: str | None) -> Iterator[Iterator[str]]:
    """Give the lines of an argument, of a file (packed by gzip or not), or of standard input, as they come.

    Args:
        argument: the text itself; None if it was not given.
        file: the file's name; None if it was not given.

    Raises:
        OSError: if the file cannot be read.
    """
    if argument is not None:
        yield iter(_readable(argument).split("\n"))
    elif file is not None:
        with Path(file).open("rb") as source:
            packed = source.peek(2)[:2] == b"\x1f\x8b"
            yield _lines(gzip.GzipFile(fileobj=source) if packed else source, file)
    else:
        yield _lines(sys.stdin.buffer, "standard input")


def _readable(argument: str) -> str:
    """A text of the command line; bytes in it that are no UTF-8 count as strange letters."""
    return os.fsencode(argument).decode("utf-8", errors="replace")


def _lines(source: BinaryIO | gzip.GzipFile, name: str) -> Iterator[str]:
    r"""The lines of a stream: they end at \n alone; bytes that are no UTF-8 count as strange letters."""
    try:
        for number, line in enumerate(source):
            text = line.removesuffix(b"\n").decode("utf-8", errors="replace")
            yield text if number else text.removeprefix("\ufeff")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"--input: expected a whole gzip file, got a damaged one: {name} ({error})") from error
