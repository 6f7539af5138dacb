"""Bytes of a sound file or an image, from a path, a stream or a request."""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from saccade._system.files import other_than_file
from saccade.errors import ArgumentError

__all__ = ["attached", "attachment", "is_file", "read_bytes"]

_FILES: ContextVar[Mapping[str, bytes] | None] = ContextVar("files", default=None)


@contextmanager
def attached(files: Mapping[str, bytes]) -> Iterator[None]:
    """Give files of a request their names.

    Meanwhile nothing is read from paths of this machine.

    >>> with attached({"a.png": b"PNG"}):
    ...     attachment("a.png").read(), is_file(__file__)
    (b'PNG', False)
    """
    token = _FILES.set(files)
    try:
        yield
    finally:
        _FILES.reset(token)


def attachment(name: str) -> BinaryIO | None:
    """Return a file of the request, or None outside requests.

    Raises:
        ArgumentError: if the request has no file of the name.
    """
    if (files := _FILES.get()) is None:
        return None
    if name not in files:
        raise ArgumentError(f"{name}: expected a file of the request, got another name")
    return io.BytesIO(files[name])


def is_file(name: str) -> bool:
    """Whether a name is a file of the request, or of this machine outside requests."""
    files = _FILES.get()
    return Path(name).is_file() if files is None else name in files


def read_bytes(source: Path | BinaryIO, name: str, kind: str, limit: int, smaller: str) -> bytes:
    """Return all bytes of a file or stream, at most `limit`.

    Args:
        source: a path, or a stream opened for bytes.
        name: its name in messages.
        kind: the expected kind with its article: "an image".
        limit: the largest size in bytes. At most one byte more is read.
        smaller: the way out if it is larger, for example "scale it down".

    Raises:
        ArgumentError: if it is no file, missing, unreadable, or larger.

    Example:
        >>> import io
        >>> read_bytes(io.BytesIO(b"GIF"), "a.gif", "an image", 1 << 20, "scale it down")
        b'GIF'
    """
    try:
        if not isinstance(source, Path):
            data = source.read(limit + 1)
        elif got := other_than_file(source):
            raise ArgumentError(f"{name}: expected {kind}, got {got}")
        else:
            with source.open("rb") as file:
                data = file.read(limit + 1)
    except ArgumentError:
        raise
    except FileNotFoundError as error:
        raise ArgumentError(f"{name}: expected {kind}, found none") from error
    except (OSError, ValueError) as error:  # ValueError: invalid file name
        reason = getattr(error, "strerror", None) or error
        raise ArgumentError(f"{name}: expected {kind} that can be read, got {reason}") from error
    if len(data) > limit:
        raise ArgumentError(f"{name}: expected {kind} of at most {limit >> 20} MiB, got more; {smaller}")
    return data
