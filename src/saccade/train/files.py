"""Writing files so that a reader never sees half of one, whatever is killed when."""

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["read_json", "write", "write_json"]


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
    finally:
        partial.unlink(missing_ok=True)


def flushed(path: Path, content: bytes) -> None:
    """Write a file and wait until it is on the disk; if that fails, what was written of it is removed.

    Raises:
        OSError: naming the file, which the system does not where it is the disk that is full.
    """
    try:
        with path.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        error.filename = error.filename or str(path)
        raise


def write_json(path: Path, content: Any) -> None:
    """Write JSON that a person can read, by `write`."""
    write(path, encode(content))


def encode(content: Any) -> bytes:
    """Return JSON as bytes, indented, in UTF-8 with a newline at the end."""
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def read_json(path: Path) -> Any:
    """Read JSON in UTF-8. Raises OSError or ValueError."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
