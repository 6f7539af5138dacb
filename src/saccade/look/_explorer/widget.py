"""`look.Explorer`: the explorer in a notebook, and as a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from saccade.errors import ArgumentError, ArgumentTypeError, SaccadeError, pip_install
from saccade.look._explorer.pages import exported, module, style
from saccade.look._explorer.recordings import sheets_of
from saccade.look._explorer.sheets import Book, Sheet
from saccade.look._files import write_new
from saccade.look._records import Recording


@runtime_checkable
class HasSheets(Protocol):
    """What has sheets of its own, such as a run."""

    def sheets(self, inputs: Any = None) -> list[Sheet]:
        """Return sheets for inputs."""
