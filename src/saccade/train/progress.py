"""One line of progress on standard error, with notes above it.

Without a terminal, a line appears now and then.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, cast

from saccade._system.notes import StandardError, escaped, say

if TYPE_CHECKING:
    from rich.console import Console

QUIET = 30.0  # seconds without a line, after which there is one if no bar can be seen


def clock(seconds: float) -> str:
    """Return a time in the format of a clock, such as 1:23."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _console() -> "Console":
    """Console on standard error, open or closed.

    With the stream itself, rich would end the program once the stream is closed.
    """
    from rich.console import Console  # here: rich draws from Python's generator as it is imported

    return Console(file=cast("IO[str]", StandardError()), soft_wrap=True, highlight=False)


class Bar:
    """A progress bar on a terminal.

    Elsewhere it writes its notes, and a line after 30 seconds without one. `steps` of the whole run are None if
    something else ends it. `done` is the number of finished steps.
    """

    def __init__(self, steps: int | None, done: int, *, shown: bool = True) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = _console()
        columns = (TextColumn("{task.fields[counter]}"), BarColumn(24), TextColumn("{task.description}"))
        disabled = not (shown and console.is_terminal)
        self._progress = Progress(*columns, TimeElapsedColumn(), console=console, disable=disabled)
        self._of, self._visible = f" of {steps}" if steps else "", shown
        self._task = self._progress.add_task("", total=None, counter=f"step {done}{self._of}")
        self._noted = time.monotonic()

    def __enter__(self) -> "Bar":
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def update(self, step: int, description: str, share: float | None = None) -> None:
        """Show the number of steps, a text behind the bar, and the elapsed share.

        The share of the run's time is None if the end of the run is unknown.
        """
        counter, total = f"step {step}{self._of}", None if share is None else 1.0
        self._progress.update(self._task, description=description, counter=counter, total=total, completed=share)
        if self._visible and self._progress.disable and time.monotonic() - self._noted >= QUIET:
            self.note(f"{counter}: {description}")

    def note(self, line: str) -> None:
        """Write a line that stays."""
        self._noted = time.monotonic()
        if self._progress.disable:
            say(line)
        else:
            self._progress.console.print(escaped(line), markup=False)


@contextmanager
def waiting(what: str, seconds: float) -> Iterator[None]:
    """Show the time of a long computation of about `seconds`.

    The time is a bar on a terminal, and a line elsewhere. An estimate below one second is left out.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console, about = _console(), f", about {clock(seconds)}" if seconds >= 1 else ""
    columns = (TextColumn("{task.description}"), BarColumn(24), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        progress.add_task(f"{what}{about}", total=None)
        if progress.disable and seconds >= QUIET:
            say(f"{what}{about}")
        yield
