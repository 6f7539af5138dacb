"""Files that lie in a folder or in an archive (tar, tar.gz, tgz): the bytes of either, by their paths below it."""

import gzip
import tarfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from saccade.data.folders import files_below
from saccade.errors import ArgumentError

__all__ = ["ENDS", "HardLinks", "is_archive", "read_files"]

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


class HardLinks:
    """The hard links of a tar, which are files as good as those they lead to, found in one pass and read in another.

    Example:
        >>> links, link = HardLinks(), tarfile.TarInfo("./b.png")
        >>> link.type, link.linkname = tarfile.LNKTYPE, "a.png"
        >>> links.add(link, wanted=True)
        >>> bool(links), links.take("a.png"), bool(links)
        (True, ['b.png'], False)
    """

    def __init__(self) -> None:
        self._targets, self._wanted = dict[str, str](), dict[str, dict[str, None]]()

    def add(self, link: tarfile.TarInfo, wanted: bool) -> None:
        """Note a link; one may lead to another before it, which may not be wanted itself.

        GNU tar stores what is put in twice as a link the second time: a file as one to itself, a link as it was.
        """
        name, target = _plain(link.name), _plain(link.linkname)
        target = self._targets.get(target, target)
        if name == target:
            return
        self._targets[name] = target
        if wanted:
            self._wanted.setdefault(target, {})[name] = None

    def __bool__(self) -> bool:
        """Whether there are any that were not taken."""
        return bool(self._wanted)

    def take(self, name: str) -> list[str]:
        """Return the links to a file, once."""
        return list(self._wanted.pop(_plain(name), {}))

    def check(self) -> None:
        """Refuse links to what is not there, once all files were asked for.

        Raises:
            tarfile.ReadError: naming one.
        """
        for target, links in self._wanted.items():
            raise tarfile.ReadError(f"{next(iter(links))} is a link to {target}, which is not in it")


def _unpacked(source: Path, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    links, total = HardLinks(), 0
    for name, member, read in _members(source):
        chosen = _shown(name) and wanted(name)
        if member.islnk():
            links.add(member, chosen)
        if member.isreg() and chosen:
            total = _within(source, total + member.size)
            yield name, read()
    if links:
        for name, member, read in _members(source):
            names = [] if member.islnk() else links.take(name)
            if names and member.isreg():
                total, data = _within(source, total + len(names) * member.size), read()
                yield from ((link, data) for link in names)
        links.check()


def _members(source: Path) -> Iterator[tuple[str, tarfile.TarInfo, Callable[[], bytes]]]:
    """What is in an archive: its path, what is said of it, and what reads it, before the next one is asked for."""
    packed = not source.name.lower().endswith(".tar")
    with gzip.open(source) if packed else source.open("rb") as stream:
        with tarfile.open(fileobj=stream, mode="r|") as members:
            for count, member in enumerate(members):
                if count > _MOST_FILES:
                    raise _too_much(source)
                yield _plain(member.name), member, partial(_content, members, member)
        while packed and stream.read(_PART):  # the checksum is at the very end
            pass


def _content(members: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = members.extractfile(member)
    assert file is not None, "a plain file can be opened"
    return file.read()


def _within(source: Path, total: int) -> int:
    """A number of bytes that an archive may unpack to."""
    if total > _MOST:
        raise _too_much(source)
    return total


def _too_much(source: Path) -> ArgumentError:
    return ArgumentError(f"{source}: expected at most 2 GiB of files, got more; unpack it into a folder")


def _plain(name: str) -> str:
    return name.removeprefix("./")


def _shown(name: str) -> bool:
    return not any(part.startswith(".") for part in name.split("/"))
