"""Writing files so that a reader never sees half of one, whatever is killed when."""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["encode", "naming", "read_json", "told", "write", "write_json"]

_FULL = (errno.ENOSPC, errno.EDQUOT)


def write(path: Path, content: bytes) -> None:
    """Write a file beside its place and rename it there once it is on the disk.

    Args:
        path: where it shall be; its folder exists.
        content: all of it.

    Raises:
        OSError: if it cannot be written; what was at `path` is then still there.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        flushed(partial, content)
        partial.replace(path)
    except OSError as error:
        error.filename, error.filename2 = str(path), None  # not the one beside it, of which nobody knows
        raise
    finally:
        partial.unlink(missing_ok=True)


def flushed(path: Path, content: bytes) -> None:
    """Write a file and wait until it is on the disk; if that fails, what was written of it is removed.

    Raises:
        OSError: naming the file, which the system does not where it is the disk that is full.
    """
    try:
        with naming(path), path.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Have the system's errors name a file, which they do not where it is the disk that is full."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def told(error: OSError) -> str:
    """Return what to say of an error of the system: the file, what is wrong, and of a full disk the way out.

    >>> told(FileNotFoundError(2, "No such file or directory", "a.txt"))
    'a.txt: No such file or directory'
    >>> told(OSError(28, "No space left on device", "a.txt"))
    'a.txt: No space left on device; make room, then give the command again'
    """
    what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
    way_out = "; make room, then give the command again"
    return what + way_out if error.errno in _FULL else what


def write_json(path: Path, content: Any) -> None:
    """Write JSON that a person can read, by `write`."""
    write(path, encode(content))


def encode(content: Any) -> bytes:
    """Return JSON as bytes, indented, in UTF-8 with a newline at the end; names of files may have other bytes."""
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def read_json(path: Path) -> Any:
    """Read JSON in UTF-8. Raises OSError or ValueError."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
