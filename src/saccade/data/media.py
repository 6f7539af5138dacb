"""Bytes of a sound file or an image, from a path or a stream."""

from pathlib import Path
from typing import BinaryIO

from saccade._system.files import other_than_file
from saccade.errors import ArgumentError

__all__ = ["read_bytes"]


def read_bytes(source: Path | BinaryIO, name: str, kind: str, most: int, smaller: str) -> bytes:
    """Return all bytes of a file or stream, at most `most`.

    Args:
        source: a path, or a stream opened for bytes.
        name: its name in messages.
        kind: the expected kind with its article: "an image".
        most: the largest size in bytes. At most one byte more is read.
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
            data = source.read(most + 1)
        elif got := other_than_file(source):
            raise ArgumentError(f"{name}: expected {kind}, got {got}")
        else:
            with source.open("rb") as file:
                data = file.read(most + 1)
    except ArgumentError:
        raise
    except FileNotFoundError as error:
        raise ArgumentError(f"{name}: expected {kind}, found none") from error
    except (OSError, ValueError) as error:  # ValueError: invalid file name
        reason = getattr(error, "strerror", None) or error
        raise ArgumentError(f"{name}: expected {kind} that can be read, got {reason}") from error
    if len(data) > most:
        raise ArgumentError(f"{name}: expected {kind} of at most {most >> 20} MiB, got more; {smaller}")
    return data
