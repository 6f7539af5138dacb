"""Files that stay open while a run reads parts of them, and are refused once somebody has written to them."""

import os
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeAlias

from saccade.errors import ArgumentError

__all__ = ["Pinned", "State", "check_unchanged", "state_of"]

State: TypeAlias = tuple[int, int]
"""Bytes of a file, and the nanosecond in which it was written last."""


def state_of(file: BinaryIO | int | Path) -> State:
    """Return the state of a file, which another one tells apart from a file that somebody wrote to.

    >>> from tempfile import TemporaryFile
    >>> with TemporaryFile() as file:
    ...     state_of(file)[0]
    0
    """
    status = file.stat() if isinstance(file, Path) else os.fstat(file if isinstance(file, int) else file.fileno())
    return status.st_size, status.st_mtime_ns


def check_unchanged(file: BinaryIO | int, before: State, path: Path) -> None:
    """Refuse a file that is not as it was; call this after its bytes are read.

    Args:
        file: an open file, or its descriptor.
        before: its state when offsets into it were taken.
        path: of the file, for the message.

    Raises:
        ArgumentError: if somebody has written to it.
    """
    if state_of(file) != before:
        raise ArgumentError(f"{path}: expected what it held at first, got a changed file; start again")


class Pinned:
    """A file that stays open, under a descriptor of its own, for as long as this is referred to.

    Nothing is mapped: a file that somebody truncates would end the process without a message.

    Args:
        file: the file.
        path: where it is, for messages.
        state: of the file before the first look at it.
    """

    def __init__(self, file: BinaryIO, path: Path, state: State) -> None:
        self.descriptor, self.path, self.state = os.dup(file.fileno()), path, state

    def read(self, start: int, size: int) -> bytes:
        """Return some bytes, counted from the beginning.

        Raises:
            ArgumentError: if somebody has written to the file.
        """
        data = b""
        while len(data) < size and (part := os.pread(self.descriptor, size - len(data), start + len(data))):
            data += part
        check_unchanged(self.descriptor, self.state if len(data) == size else (-1, -1), self.path)
        return data

    def __deepcopy__(self, memo: Any) -> "Pinned":
        """Share the descriptor: a second owner of its number would close it, or what has the number by then."""
        return self

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: the descriptor is this process's."""
        raise TypeError(f"{self.path}: expected an object that can be pickled, got an open file")

    def __del__(self) -> None:
        """Close the descriptor, if it was opened."""
        if "descriptor" in vars(self):
            os.close(self.descriptor)
