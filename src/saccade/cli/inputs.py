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
from saccade.tasks.decoding import Decoding
from saccade.train.environment import choose_device
from saccade.train.run import Run
from saccade.train.trained import Trained, load_trained

__all__ = ["decoding_of", "open_asked", "open_trained", "texts"]


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


@contextmanager
def texts(argument: str | None, file: str | None) -> Iterator[Iterator[str]]:
    """Give the lines of an argument, of a file (packed by gzip or not), or of standard input, as they come.

    Args:
        argument: the text itself; None if it was not given.
        file: the file's name; None if it was not given.

    Raises:
        UsageError: if both were given.
        OSError: if the file cannot be read.
    """
    if argument is not None and file is not None:
        raise UsageError("--input: expected INPUT or --input FILE, got both")
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
