"""Files written as a whole or not at all, and errors with their names."""

import errno
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from saccade.errors import ArgumentError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_TOKEN = "[0-9a-f]" * 12  # of a name of `unfinished`
_REASONS = {
    **dict.fromkeys(_FULL, "expected room on the disk, got none; make room, then give the command again"),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM),
        "expected permission to read or write it, got none; change its permissions, or name another place",
    ),
    errno.ENOENT: "expected a file or a folder, got nothing there; correct the name",
    errno.EISDIR: "expected a file, got a folder; name a file",
    errno.ENOTDIR: "expected a file or a folder, got a name below a file; correct the name",
    errno.EEXIST: "expected a new name, got one that is there already; give another name",
    errno.EROFS: "expected a place that can be written to, got a read-only file system; name another place",
    errno.ENAMETOOLONG: "expected a name that the system takes, got a longer one; shorten it",
    errno.ELOOP: "expected a file or a folder, got links in a circle; name the place itself",
}
_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def check_folder(option: str, folder: str | Path) -> None:
    """Check that files can be written into the folder of an option.

    The folder need not exist. It is invalid if it is a file or below one.
    """
    there = next((path for path in (Path(folder), *Path(folder).parents) if os.path.lexists(path)), None)
    if there is not None and not there.is_dir():
        got = "a file" if there.exists() else "a link that leads nowhere"
        raise ArgumentError(f"{option}: expected a folder, got {got}: {there}; name another")
    check_writable(option, Path.cwd() if there is None else there)


def check_writable(option: str, folder: Path) -> None:
    """Check that files can be written into an existing folder."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ArgumentError(f"{option}: expected a folder that can be written to, got {folder}; name another")


@contextmanager
def held(path: Path, busy: Exception) -> Iterator[None]:
    """Hold a lock file, made if it does not exist, until the block or the process ends.

    Raises:
        Exception: `busy`, if another process or thread holds it.
        OSError: the path is a folder or a pipe, or cannot be written.
    """
    from filelock import FileLock, Timeout

    if path.exists() and (kind := other_than_file(path)):
        raise OSError(errno.EINVAL, f"expected a file, got {kind}", str(path))
    lock = FileLock(path, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise busy from error
    try:
        yield
    finally:
        lock.release()


def unfinished(path: Path) -> Path:
    """Return a hidden temporary name in the folder of a path, new at each call."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.partial")


def left_over(folder: Path, *patterns: str) -> list[Path]:
    """Return the temporary paths of `unfinished` for names by glob patterns."""
    return [path for pattern in patterns for path in folder.glob(f".{pattern}.{_TOKEN}.partial")]


def write(path: Path, content: bytes) -> None:
    """Write a file beside its path and rename it there once it is on the disk.

    An error leaves an earlier file.
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
    """Add the name of a file to errors of the system.

    They lack it if the disk is full.
    """
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # an error of the system, not for example gzip's
            error.filename = error.filename or str(path)
        raise


def system_error_line(error: OSError) -> str:
    """Return a line for an error of the system: the file, the reason, the way out.

    An error with a text of its own keeps it.

    >>> system_error_line(OSError(28, "No space left on device", "a.txt"))
    'a.txt: expected room on the disk, got none; make room, then give the command again'
    >>> system_error_line(OSError(22, "expected a file, got a pipe", "a.txt"))
    'a.txt: expected a file, got a pipe'
    """
    reason = error.strerror or str(error)
    if error.errno is not None and reason == os.strerror(error.errno):
        reason = _REASONS.get(error.errno, reason)
    name = error.filename or ("output" if error.errno in _FULL else "")
    return f"{name}: {reason}" if name else reason


def write_json(path: Path, content: Any) -> None:
    """Write indented JSON by `write`."""
    write(path, encode(content))


def encode(content: Any) -> bytes:
    """Return indented JSON in UTF-8 with a newline at the end.

    Names of files may have other bytes.
    """
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def other_than_file(path: Path) -> str:
    """Return the kind of a path, such as a folder or a pipe, "" for a file.

    Raises OSError if it does not exist.
    """
    mode = path.stat().st_mode
    return "" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "a device")


def read(path: Path) -> bytes:
    """Return all bytes of a file.

    Raises OSError, also for a pipe. A reader of a pipe might wait forever.
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
