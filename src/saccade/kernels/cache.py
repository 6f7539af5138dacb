"""Machine code of kernels, kept in a folder for the next process.

A file holds its own digest, two names, and the code: no pickle. The digest is checked first, and a file that is empty,
cut short or changed is compiled anew. Its code will run. So, as ssh does with keys, a folder or file that another user
owns or may write to is not read. Folders above need no check: a folder that somebody puts in the place of ours is
theirs.
"""

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import llvmlite.binding
import numpy as np

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_SETTINGS = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX", "NUMBA_OPT")
"""Variables of the environment that change Numba's code."""


class Code(NamedTuple):
    """A compiled kernel: its C function, the names it looks up, and an object file."""

    entry: str
    symbols: tuple[str, ...]
    machine: bytes


def home() -> Path:
    """Parent of kernels' folders: NUMBA_CACHE_DIR, XDG_CACHE_HOME or the user's cache."""
    named = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(named).expanduser() / "saccade"
    except RuntimeError as error:
        raise OSError(f"{named}: the user has no home directory") from error


def folder() -> Path:
    """The folder of kernels of these sources and this Numba. It is made if necessary.

    The name has a digest of all sources: a function that a kernel calls may stand in another file than the kernel.
    Numba itself is not imported, which takes a second.
    """
    directory = home() / f"kernels-{_origin(*(os.environ.get(name) for name in _SETTINGS))}"
    directory.parent.mkdir(parents=True, exist_ok=True)
    directory.mkdir(mode=0o700, exist_ok=True)
    status = directory.stat(follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        raise OSError(f"{directory}: no folder")
    if (reason := _foreign(status)) is not None:
        raise OSError(f"{directory}: {reason}")
    return directory


@functools.cache
def _origin(*settings: str | None) -> str:
    """A digest of all that code is made from: sources, versions, processor."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    try:
        numba = importlib.metadata.version("numba")
    except importlib.metadata.PackageNotFoundError as error:
        raise OSError("numba: its version is not recorded") from error
    versions = numba, llvmlite.__version__, np.__version__, sys.implementation.cache_tag, platform.system()
    binding = llvmlite.binding
    processor = binding.get_process_triple(), binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    digest.update(repr((versions, processor, settings)).encode())
    return digest.hexdigest()[:16]


def filled() -> bool:
    """Whether the folder has a kernel, so that Numba need not be imported to test it."""
    try:
        return any(folder().glob("*.kernel"))
    except OSError:
        return False


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Hold a kernel for this process while the block compiles it. Others wait.

    Without locks of files, no process waits and each compiles.
    """
    with ExitStack() as held:
        if fcntl is not None:
            with suppress(OSError):
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
                lock = os.open(folder() / f"{name}.lock", flags, 0o600)
                held.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read(directory: Path, name: str) -> Code | None:
    """A kernel of a folder, None unless it is whole and ours."""
    # a file that is no plain one is neither followed nor waited for
    flags = [getattr(os, flag, 0) for flag in ("O_RDONLY", "O_BINARY", "O_NOFOLLOW", "O_NONBLOCK")]
    try:
        with os.fdopen(os.open(_path(directory, name), sum(flags)), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or _foreign(status) is not None:
                return None
            content = file.read()
    except OSError:  # missing or unreadable: it is compiled, and a write that fails warns
        return None
    digest, _, rest = content.partition(b"\n")
    if digest != _digest(directory, name, rest):
        return None
    head, _, body = rest.partition(b"\n")
    entry, symbols = json.loads(head)
    return Code(entry, tuple(symbols), body)


def write(directory: Path, name: str, code: Code) -> None:
    """Write a kernel, over the last one of its name."""
    rest = b"\n".join([json.dumps([code.entry, code.symbols]).encode(), code.machine])
    number, temporary = tempfile.mkstemp(dir=directory, prefix=name, suffix=".tmp")  # for the user alone
    try:
        with os.fdopen(number, "wb") as file:
            file.write(_digest(directory, name, rest) + b"\n" + rest)
        Path(temporary).replace(_path(directory, name))
    finally:
        Path(temporary).unlink(missing_ok=True)


def _path(directory: Path, name: str) -> Path:
    return directory / f"{name}.kernel"


def _digest(directory: Path, name: str, rest: bytes) -> bytes:
    """Digest of a file's content, folder and name, so that a renamed file is rejected."""
    return hashlib.sha256(f"{directory.name} {name} ".encode() + rest).hexdigest().encode()


def _foreign(status: os.stat_result) -> str | None:
    """Reason why another user could have written a file or folder, or None."""
    if not hasattr(os, "geteuid"):
        return None  # Windows keeps others out by lists that a mode does not show
    if status.st_uid not in (0, os.geteuid()):
        return "it belongs to another user"
    return "other users may write to it, chmod go-w ends that" if status.st_mode & 0o022 else None
