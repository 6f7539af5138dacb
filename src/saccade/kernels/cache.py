"""Machine code of kernels, kept in a folder for the next process.

A file holds its own digest, two names, and the code: bytes that are compared before they are used, and no pickle, so
that one that is empty, cut short or changed is compiled anew. What is in it will be run. So, as ssh does with keys, a
folder or file that another user owns or may write to is not read. Folders above need no look: whoever puts another
folder in the place of ours owns it.
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

__all__ = ["Code", "alone", "filled", "folder", "home", "read", "write"]

_SETTINGS = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX", "NUMBA_OPT")
"""Variables of the environment by which Numba makes other code."""


class Code(NamedTuple):
    """A compiled kernel.

    Args:
        entry: the name of its C function.
        symbols: the names that the code looks up when it is loaded.
        machine: code of this processor, an object file.
    """

    entry: str
    symbols: tuple[str, ...]
    machine: bytes


def home() -> Path:
    """Where folders of kernels are: named by NUMBA_CACHE_DIR or XDG_CACHE_HOME, else in the user's own cache.

    Raises:
        OSError: the user has no home.
    """
    named = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(named).expanduser() / "saccade"
    except RuntimeError as error:
        raise OSError(f"{named}: the user has no home directory") from error


def folder() -> Path:
    """The folder of what is compiled from these sources by this Numba, which is made if it is not there.

    The name has a digest of all sources: a function that a kernel calls may stand in another file than the kernel.
    Numba itself is not imported, which takes a second.

    Raises:
        OSError: it cannot be made, or is not to be trusted, or nobody knows which Numba is installed.
    """
    place = home() / f"kernels-{_origin(*(os.environ.get(name) for name in _SETTINGS))}"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.mkdir(mode=0o700, exist_ok=True)
    status = place.stat(follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        raise OSError(f"{place}: no folder")
    if (reason := _foreign(status)) is not None:
        raise OSError(f"{place}: {reason}")
    return place


@functools.cache
def _origin(*settings: str | None) -> str:
    """A digest of all that code is made from: sources, versions, processor."""
    digest = hashlib.sha256()
    for path in sorted((Path(__file__).parent / "compiled").glob("*.py")):
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
    """Whether a kernel is kept here: then this Numba works with this NumPy, and need not be imported to find out."""
    try:
        return any(folder().glob("*.kernel"))
    except OSError:
        return False


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Hold a kernel for this process while the block compiles it: others wait, and then find it here.

    Where files cannot be locked, nobody waits and each process compiles.

    Args:
        name: of the kernel.
    """
    with ExitStack() as held:
        if fcntl is not None:
            with suppress(OSError):
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
                lock = os.open(folder() / f"{name}.lock", flags, 0o600)
                held.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read(place: Path, name: str) -> Code | None:
    """A kernel of a folder, None where there is none that is whole and ours.

    Args:
        place: from `folder`.
        name: of the kernel.
    """
    # a file that is no plain one is neither followed nor waited for
    flags = [getattr(os, flag, 0) for flag in ("O_RDONLY", "O_BINARY", "O_NOFOLLOW", "O_NONBLOCK")]
    try:
        with os.fdopen(os.open(_path(place, name), sum(flags)), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or _foreign(status) is not None:
                return None
            content = file.read()
    except OSError:  # not there, or not to be read: it is compiled, and a write that fails is told
        return None
    digest, _, rest = content.partition(b"\n")
    if digest != _digest(place, name, rest):
        return None
    head, _, body = rest.partition(b"\n")
    entry, symbols = json.loads(head)
    return Code(entry, tuple(symbols), body)


def write(place: Path, name: str, code: Code) -> None:
    """Keep a kernel, in the place of what is there under its name.

    Raises:
        OSError: it cannot be written.
    """
    rest = b"\n".join([json.dumps([code.entry, code.symbols]).encode(), code.machine])
    number, temporary = tempfile.mkstemp(dir=place, prefix=name, suffix=".tmp")  # for the user alone
    try:
        with os.fdopen(number, "wb") as file:
            file.write(_digest(place, name, rest) + b"\n" + rest)
        Path(temporary).replace(_path(place, name))
    finally:
        Path(temporary).unlink(missing_ok=True)


def _path(place: Path, name: str) -> Path:
    return place / f"{name}.kernel"


def _digest(place: Path, name: str, rest: bytes) -> bytes:
    """Of a file's content and of what it is: a kernel under another one's name, or in another folder, has not this."""
    return hashlib.sha256(f"{place.name} {name} ".encode() + rest).hexdigest().encode()


def _foreign(status: os.stat_result) -> str | None:
    """Why somebody else may have written a file or folder, or None. Root may write anything anyway."""
    if not hasattr(os, "geteuid"):
        return None  # Windows keeps others out by lists that a mode does not show
    if status.st_uid not in (0, os.geteuid()):
        return "it belongs to another user"
    return "other users may write to it, chmod go-w ends that" if status.st_mode & 0o022 else None
