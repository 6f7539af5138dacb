"""Files of a folder or an archive (tar, tar.gz, tgz) without unpacking to disk."""

import gzip
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from saccade.data.folders import files_below
from saccade.errors import ArgumentError

__all__ = ["DAMAGE", "ENDS", "damaged", "is_archive", "read_files"]

ENDS = (".tar", ".tar.gz", ".tgz")
DAMAGE = (EOFError, KeyError, zlib.error, gzip.BadGzipFile, tarfile.TarError)
"""Errors of a damaged archive. A KeyError is a link to a missing file."""

_PART = 1 << 20  # bytes read at once
_LARGEST = 1 << 31  # largest size of an unpacked archive in bytes


def is_archive(path: Path) -> bool:
    """Return whether a path names an archive.

    >>> is_archive(Path("cifar10.tar.gz")), is_archive(Path("cifar10"))
    (True, False)
    """
    return path.name.lower().endswith(ENDS)


def damaged(source: Path, error: Exception) -> ArgumentError:
    """Return the error for a damaged archive."""
    return ArgumentError(f"{source}: expected a whole tar archive, got a damaged one ({error}); copy it again")


def read_files(source: Path, selects: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Read files of a folder or an archive. Hidden files are left out.

    Args:
        source: the folder or the archive.
        selects: from the path of a file below the source to whether it is read.

    Yields:
        Paths below the source, for example "train/cat/1.png", and bytes. Files of a folder are sorted by path.

    Raises:
        ArgumentError: if the archive is damaged, or larger than 2 GiB unpacked.
        OSError: if a file cannot be read, for example if a link is broken.
    """
    if source.is_dir():
        for path in files_below(source):
            name = path.relative_to(source).as_posix()
            if selects(name) and (path.is_file() or not path.exists()):  # a broken link is an error
                yield name, path.read_bytes()
        return
    names, total = set[str](), 0
    try:
        packed = source.name.lower().endswith(ENDS[1:])
        with (
            gzip.open(source) if packed else source.open("rb") as stream,
            tarfile.open(fileobj=stream, mode="r:") as members,
        ):
            for member in members:
                name = member.name.removeprefix("./")
                if not (member.isreg() or member.islnk()) or name in names or _hidden(name) or not selects(name):
                    continue
                names.add(name)
                total += member.size  # 0 of a link
                file = members.extractfile(member) if total <= _LARGEST else None
                data = file.read() if file else b""
                total += member.islnk() * len(data)
                if total > _LARGEST:
                    raise ArgumentError(f"{source}: expected at most 2 GiB of files, got more; unpack it into a folder")
                yield name, data
            while stream.read(_PART):  # the checksum is at the end
                pass
    except DAMAGE as error:
        raise damaged(source, error) from error


def _hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))
