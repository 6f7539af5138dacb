"""One tidy line of progress on standard error, and notes above it."""

from types import TracebackType
from typing import IO, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from saccade.train.notes import StandardError, say

__all__ = ["Bar"]


class Bar:
    """A progress bar on a terminal; elsewhere only its notes are written, one line each.

    Args:
        steps: how many steps the run shall have in all, None if something else ends it.
        done: how many it has.
        shown: whether it is seen at all.
    """

    def __init__(self, steps: int | None, done: int, *, shown: bool = True) -> None:
        console = Console(file=cast("IO[str]", StandardError()), soft_wrap=True, highlight=False)
        counter = TextColumn("step {task.completed:.0f}" + (" of {task.total:.0f}" if steps else ""))
        columns = (counter, BarColumn(24), TextColumn("{task.description}"), TimeElapsedColumn())
        self._progress = Progress(
            *columns, console=console, disable=not (shown and console.is_terminal), auto_refresh=False
        )
        self._task = self._progress.add_task("", total=steps, completed=done)
        self._seen = 0.0

    def __enter__(self) -> "Bar":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.refresh()
        self._progress.stop()

    def update(self, step: int, description: str) -> None:
        """Show that a step is done; redrawn a few times a second, which is all that an eye wants."""
        self._progress.update(self._task, completed=step, description=description)
        if (now := self._progress.get_time()) - self._seen > 0.25:
            self._seen = now
            self._progress.refresh()

    def note(self, line: str) -> None:
        """Write a line that stays."""
        if self._progress.disable:
            say(line)
        else:
            self._progress.console.print(line, markup=False)
