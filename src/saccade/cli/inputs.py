"""What verbs that answer input share: opening a run, and reading lines from wherever they come."""

import gzip
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from saccade.cli.arguments import UsageError, choose
from saccade.tasks import TASKS, load_task
from saccade.train.environment import choose_device
from saccade.train.run import Run
from saccade.train.trained import Trained, load_trained

__all__ = ["open_trained", "texts"]


def open_trained(folder: str, device: str, **changes: Any) -> Trained:
    """Return a run with its model on a device.

    Args:
        folder: of the run.
        device: as it is typed.
        changes: options that shall have another value than the run's; None is that of the run.

    Raises:
        SaccadeError: if it is no run, or has nothing trained, or there is no such device, or an option means nothing.
    """
    if not folder:
        raise UsageError("RUN: expected the folder of a run, got an empty name")
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
        yield iter(os.fsencode(argument).decode("utf-8", errors="replace").split("\n"))
    elif file is not None:
        with Path(file).open("rb") as source:
            packed = source.peek(2)[:2] == b"\x1f\x8b"
            yield _lines(gzip.GzipFile(fileobj=source) if packed else source, file)
    else:
        yield _lines(sys.stdin.buffer, "standard input")


def _lines(source: BinaryIO | gzip.GzipFile, name: str) -> Iterator[str]:
    r"""The lines of a stream: they end at \n alone; bytes that are no UTF-8 count as strange letters."""
    try:
        for number, line in enumerate(source):
            text = line.removesuffix(b"\n").decode("utf-8", errors="replace")
            yield text if number else text.removeprefix("\ufeff")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"--input: expected a whole gzip file, got a damaged one: {name} ({error})") from error
