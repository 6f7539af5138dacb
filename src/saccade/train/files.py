"""Writing files so that a reader never sees half of one, whatever is killed when."""

import errno
import json
import os
import re
import secrets
import stat
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from saccade.errors import ArgumentError

__all__ = [
    "check_folder",
    "encode",
    "left_over",
    "naming",
    "other_than_file",
    "read",
    "read_json",
    "told",
    "unfinished",
    "write",
    "write_json",
]

_FULL = (errno.ENOSPC, errno.EDQUOT)
_PARTIAL = re.compile(r"\.(.+)\.[0-9a-f]+\.partial")  # what `unfinished` makes of a name
_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def check_folder(option: str, folder: str | Path) -> None:
    """See that files can be written below a folder, which may yet be made, before there is anything to write.

    Args:
        option: what names the folder, for the message.
        folder: its path.

    Raises:
        ArgumentError: if it is a file, or would be below one.

    Example:
        >>> check_folder("--output", "pictures/of/a/run")
        >>> check_folder("--output", "/dev/null")
        Traceback (most recent call last):
        ...
        saccade.errors.ArgumentError: --output: expected a folder, got a file: /dev/null; name another
    """
    there = next((path for path in (Path(folder), *Path(folder).parents) if os.path.lexists(path)), None)
    if there is not None and not there.is_dir():
        raise ArgumentError(f"{option}: expected a folder, got a file: {there}; name another")


def unfinished(path: Path) -> Path:
    """Return a hidden name beside a place, where what shall be there is made: no two processes have the same one.

    >>> unfinished(Path("runs/a")).match("runs/.a.*.partial")
    True
    """
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.partial")


def left_over(folder: Path, names: Container[str]) -> list[Path]:
    """Return what lies under names that `unfinished` gave for some files of a folder."""
    found = ((path, _PARTIAL.fullmatch(path.name)) for path in folder.iterdir())
    return [path for path, match in found if match and match[1] in names]


def write(path: Path, content: bytes) -> None:
    """Write a file beside its place and rename it there once it is on the disk.

    Args:
        path: in a folder that exists.
        content: all of it.

    Raises:
        OSError: if it cannot be written; an earlier file at `path` is then unchanged.
    """
    partial = unfinished(path)
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        error.filename, error.filename2 = str(path), None  # not the hidden one beside it
        raise
    finally:
        with suppress(OSError):  # it was renamed, or the file system takes no writing
            partial.unlink()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Have the system's errors name a file, which they do not where it is the disk that is full."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # else it is no error of the system, such as gzip's of a damaged file
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


def other_than_file(path: Path) -> str:
    """Return what there is in the place of a file, "" for a file; the reader of a pipe might wait for ever.

    Raises:
        OSError: if there is nothing.

    Example:
        >>> other_than_file(Path("/"))
        'a folder'
    """
    mode = path.stat().st_mode
    return "" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "a device")


def read(path: Path) -> bytes:
    """Return all bytes of a file.

    Raises:
        OSError: naming it, also where it is none: a pipe would keep who reads it waiting for ever.
    """
    if got := other_than_file(path):
        raise OSError(errno.EINVAL, f"expected a file, got {got}", str(path))
    with naming(path):
        return path.read_bytes()


def read_json(path: Path) -> Any:
    """Read JSON in UTF-8. Raises OSError or ValueError."""
    try:
        return json.loads(read(path).decode("utf-8"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
