"""One tidy line of progress on standard error, and notes above it; without a terminal, a line now and then."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import IO, TYPE_CHECKING, cast

from saccade.train.notes import StandardError, escaped, say

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Bar", "clock", "waiting"]

QUIET = 30.0  # seconds without a word, where no bar can be seen, after which there is one


def clock(seconds: float) -> str:
    """Return a time as a clock shows it.

    >>> clock(7), clock(83.4), clock(3671)
    ('0:07', '1:23', '1:01:11')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _console() -> "Console":
    """Standard error, which may be gone: rich's own would end the program then."""
    from rich.console import Console  # here: rich draws from Python's generator as it is imported

    return Console(file=cast("IO[str]", StandardError()), soft_wrap=True, highlight=False)


class _Ticker:
    """Calls a function every second from a thread of its own, while the thread that works has no time to."""

    def __init__(self, tick: Callable[[], None]) -> None:
        self._tick, self._done = tick, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(1.0):
            self._tick()


class Bar:
    """A progress bar on a terminal; elsewhere its notes, one line each, and after 30 seconds without one where it is.

    Args:
        steps: how many steps the run shall have in all, None if something else ends it.
        done: how many it has.
        shown: whether it is seen at all.
    """

    def __init__(self, steps: int | None, done: int, *, shown: bool = True) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = _console()
        columns = (TextColumn("{task.fields[counter]}"), BarColumn(24), TextColumn("{task.description}"))
        disabled = not (shown and console.is_terminal)
        self._progress = Progress(*columns, TimeElapsedColumn(), console=console, disable=disabled, auto_refresh=False)
        self._of, self._text = f" of {steps}" if steps else "", ""
        self._counter = f"step {done}{self._of}"
        self._task = self._progress.add_task("", total=None, counter=self._counter)
        self._seen = self._said = time.monotonic()
        self._ticker = _Ticker(self._tick) if shown else None

    def __enter__(self) -> "Bar":
        self._progress.start()
        if self._ticker:
            self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._ticker:
            self._ticker.stop()
        self._progress.refresh()
        self._progress.stop()

    def update(self, step: int, description: str, share: float | None = None) -> None:
        """Show where the run is; redrawn a few times a second, which is all that an eye wants.

        Args:
            step: how many are done.
            description: what else there is to say.
            share: how much of the run's time is over, between 0 and 1; None if nobody knows.
        """
        self._counter, self._text = f"step {step}{self._of}", description
        total = None if share is None else 1.0
        self._progress.update(self._task, description=description, counter=self._counter, total=total, completed=share)
        if (now := time.monotonic()) - self._seen > 0.25:
            self._seen = now
            self._progress.refresh()

    def note(self, line: str) -> None:
        """Write a line that stays."""
        self._said = time.monotonic()
        if self._progress.disable:
            say(line)
        else:
            self._progress.console.print(escaped(line), markup=False)

    def _tick(self) -> None:
        if not self._progress.disable:
            self._progress.refresh()
        elif self._text and time.monotonic() - self._said >= QUIET:
            self.note(f"{self._counter}: {self._text}")


@contextmanager
def waiting(what: str, seconds: float) -> Iterator[None]:
    """Show how long something takes while the block does it: a bar on a terminal, elsewhere a line every 30 seconds.

    Args:
        what: is done.
        seconds: that it is expected to take; 0 if nobody knows.
    """
    from rich.progress import BarColumn, Progress, TextColumn

    console, began = _console(), time.monotonic()
    expected = f" of about {clock(seconds)}" if seconds >= 1 else ""
    said = [began]
    columns = (TextColumn(what), BarColumn(24), TextColumn("{task.description}"))
    progress = Progress(*columns, console=console, disable=not console.is_terminal, auto_refresh=False, transient=True)
    task = progress.add_task("", total=seconds or None)

    def tick() -> None:
        now = time.monotonic()
        text = clock(now - began) + expected
        progress.update(task, completed=min(now - began, 0.99 * seconds), description=text)
        progress.refresh()
        if progress.disable and now - said[0] >= QUIET:
            said[0] = now
            say(f"{what}: {text}")

    ticker = _Ticker(tick)
    with progress:
        ticker.start()
        try:
            yield
        finally:
            ticker.stop()
