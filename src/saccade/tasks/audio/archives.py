"""Folders that come as they are or packed into one archive beside: the files of either, read in memory."""

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from saccade.data.folders import files_below
from saccade.errors import ArgumentError

__all__ = ["holds", "read_files"]

_PART = 1 << 20  # bytes read at once
_LARGEST = 1 << 30  # bytes of one file: far more than a recording has


def holds(folder: Path, part: str) -> bool:
    """Return whether a folder has a part, as a folder in it or as its archive (`part`.tar.gz)."""
    return (folder / part).is_dir() or (folder / f"{part}.tar.gz").is_file()


def read_files(folder: Path, part: str, suffix: str) -> Iterator[tuple[str, bytes]]:
    """Read the files of `part`/, or of `part`.tar.gz where there is no such folder, without writing any to the disk.

    Args:
        folder: where the part is.
        part: its name.
        suffix: what the names of its files end in; others are passed over, and so is whatever is no plain file.

    Yields:
        The path of a file below the part, such as "fash/an251-fash-b.mfc", and its bytes.

    Raises:
        ArgumentError: if the archive is damaged, or has a file that cannot be meant.
        OSError: if something cannot be read.
    """
    if (folder / part).is_dir():
        for path in files_below(folder / part):
            if path.name.endswith(suffix) and path.is_file():
                yield path.relative_to(folder / part).as_posix(), path.read_bytes()
        return
    archive = folder / f"{part}.tar.gz"
    try:
        with gzip.open(archive) as stream, tarfile.open(fileobj=stream, mode="r:") as members:
            for member in members:
                if member.isreg() and member.name.endswith(suffix):
                    yield member.name.removeprefix("./").removeprefix(f"{part}/"), _read(members, member, archive)
            while stream.read(_PART):  # the checksum is at the very end
                pass
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise ArgumentError(f"{archive}: expected a whole tar.gz, got a damaged one ({error}); copy it anew") from error


def _read(members: tarfile.TarFile, member: tarfile.TarInfo, archive: Path) -> bytes:
    if member.size > _LARGEST:
        raise ArgumentError(f"{archive}: expected recordings, got {member.size} bytes in {member.name}")
    file = members.extractfile(member)
    assert file is not None, "a plain file can be opened"
    return file.read()
