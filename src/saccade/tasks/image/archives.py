"""Files that lie in a folder or in an archive (tar, tar.gz, tgz): the bytes of either, by their paths below it."""

import gzip
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from saccade.errors import ArgumentError
from saccade.tasks.folders import files_below

__all__ = ["ENDS", "is_archive", "read_files"]

ENDS = (".tar", ".tar.gz", ".tgz")  # of the names of archives

_PART = 1 << 20  # bytes read at once
_MOST = 1 << 31  # bytes of all files of an archive, unpacked
_MOST_FILES = 5_000_000
Wanted = Callable[[str], bool]


def is_archive(path: Path) -> bool:
    """Return whether a path names an archive.

    >>> is_archive(Path("cifar10.tar.gz")), is_archive(Path("cifar10"))
    (True, False)
    """
    return path.name.lower().endswith(ENDS)


def read_files(source: Path, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    """Read files of a folder, or of an archive without unpacking it to the disk.

    Args:
        source: the folder or the archive.
        wanted: of the path below it, whether a file is to be read; names that begin with a dot never are.

    Yields:
        The path of a file below it, such as "train/cat/1.png", and its bytes; of a folder in the order of their names.

    Raises:
        ArgumentError: if the archive is damaged, or holds more than 2 GiB.
        OSError: if something cannot be read, as where a link leads nowhere.
    """
    if source.is_dir():
        for path in files_below(source):
            name = path.relative_to(source).as_posix()
            if wanted(name) and (path.is_file() or not path.exists()):  # a link to what is gone
                yield name, path.read_bytes()
        return
    try:
        yield from _unpacked(source, wanted)
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise ArgumentError(f"{source}: expected a whole tar archive, got a damaged one ({error})") from error


def _unpacked(source: Path, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    packed = not source.name.lower().endswith(".tar")
    total = 0
    with gzip.open(source) if packed else source.open("rb") as stream:
        with tarfile.open(fileobj=stream, mode="r|") as members:
            for count, member in enumerate(members):
                name = member.name.removeprefix("./")
                if not (member.isreg() and _shown(name) and wanted(name)):
                    continue
                total += member.size
                if total > _MOST or count > _MOST_FILES:
                    raise ArgumentError(f"{source}: expected at most 2 GiB of files, got more; unpack it into a folder")
                file = members.extractfile(member)
                assert file is not None, "a plain file can be opened"
                yield name, file.read()
        while packed and stream.read(_PART):  # the checksum is at the very end
            pass


def _shown(name: str) -> bool:
    return not any(part.startswith(".") for part in name.split("/"))
