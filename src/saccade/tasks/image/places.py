"""Images below a folder by their names, as files or in archives (tar, zip).

An archive is indexed once, and is not unpacked to the disk.
"""

import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import BinaryIO, Generic, NamedTuple, TypeAlias, TypeVar

from saccade.data.archives import DAMAGE, damaged
from saccade.data.dataset import inventory
from saccade.data.folders import files_below
from saccade.errors import ArgumentError
from saccade.tasks.image.images import SUFFIXES

__all__ = ["ByPath", "Images", "Place", "State", "read_part", "state_of"]

_PACKED = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")  # archives without random access
_LARGEST = 256 << 20  # bytes of one image
State: TypeAlias = tuple[int, int]
"""Size of a file in bytes, and its modification time in nanoseconds."""
T = TypeVar("T")


class Place(NamedTuple):
    """Place of an image's bytes.

    Args:
        path: of the file, or of the archive.
        member: path in the archive, or "".
        size: of the image in bytes.
        start: offset of its bytes in a tar.
        state: of the archive when it was indexed.

    >>> Place(Path("images.tar"), "images/a.jpg", 7).told
    'images.tar: images/a.jpg'
    """

    path: Path
    member: str
    size: int
    start: int = 0
    state: State = (0, 0)

    @property
    def told(self) -> str:
        """Name in messages."""
        return f"{self.path}: {self.member}" if self.member else str(self.path)

    def read(self) -> bytes:
        """Return the bytes of the image.

        Raises:
            ArgumentError: if the image is missing, damaged or changed.
        """
        if self.size > _LARGEST:
            expected = f"expected an image of at most {_LARGEST >> 20} MiB, got more; scale it down"
            raise ArgumentError(f"{self.told}: {expected}")
        try:
            if not self.member:
                return self.path.read_bytes()
            if not zipfile.is_zipfile(self.path):
                return read_part(self.path, self.start, self.size, self.state)
            with self.path.open("rb") as file:
                _check_unchanged(file, self.path, self.state)
                return _zip(self.path, self.state).read(self.member)
        except OSError as error:
            raise ArgumentError(f"{self.told}: expected an image that can be read, got {error.strerror}") from error
        except (zlib.error, zipfile.BadZipFile, KeyError) as error:
            raise ArgumentError(f"{self.told}: expected a whole image, got a damaged one ({error})") from error


class ByPath(Generic[T]):
    """Values by the paths of files.

    Args:
        items: a path, and its value.

    Example:
        >>> files = ByPath([("images/a.jpg", 1), ("b.jpg", 2), ("more/b.jpg", 3)])
        >>> [files.find(name) for name in ("a.jpg", "b.jpg", "my/images/a.jpg", "my/a.jpg")]
        [[1], [2], [1], []]
    """

    def __init__(self, items: Iterable[tuple[str, T]]) -> None:
        self.items = list(items)
        self._whole, self._ends = dict[str, list[T]](), dict[str, list[tuple[str, T]]]()
        for path, value in self.items:
            self._whole.setdefault(path, []).append(value)
            self._ends.setdefault(path.rpartition("/")[2], []).append((path, value))

    def find(self, name: str) -> list[T]:
        """Return the values of a path, or of paths with a common end.

        The path itself goes first. Otherwise a path matches if it ends in the name, or the name ends in the path.
        """
        ends = self._ends.get(name.rpartition("/")[2], ())
        return self._whole.get(name) or [
            value for path, value in ends if path.endswith(f"/{name}") or name.endswith(f"/{path}")
        ]


class Images:
    """The images below a folder, searched at first use.

    Args:
        folder: with images anywhere below it, as files or in archives (.tar, .zip), or an archive. Hidden files are
            left out.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as name:
        ...     folder = Path(name)
        ...     (folder / "photos").mkdir()
        ...     _ = (folder / "photos" / "a.jpg").write_bytes(b"1234")
        ...     images = Images(folder)
        ...     images.find("a.jpg").size, images.find("b.jpg")
        (4, None)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, name: str) -> Place | None:
        """Return the image of a name, such as "a.jpg" or "val2014/a.jpg".

        A match of the whole path goes before a match of its end, and a file before an archive.

        Raises:
            ArgumentError: if the name fits several, or an archive is damaged.
            OSError: if a file cannot be read.
        """
        matches = self._index.find(name)
        best = [image for image in matches if not image.member] or matches
        if len(best) > 1:
            got = inventory(image.told for image in best)
            raise ArgumentError(f"{self.folder}: expected one image called {name}, got {got}; move the others away")
        return best[0] if best else None

    def all(self) -> list[tuple[str, Place]]:
        """Return all images with their paths, sorted.

        Paths are relative to the folder, or to the root of the archive.
        """
        return sorted(self._index.items)

    def packed(self) -> Path | None:
        """Return an archive below the folder without random access, None if there is none."""
        return next((path for path in _files(self.folder) if path.name.lower().endswith(_PACKED)), None)

    @cached_property
    def _index(self) -> ByPath[Place]:
        return ByPath(item for path in _files(self.folder) for item in _inside(path, self.folder))


def state_of(file: BinaryIO) -> State:
    """Return the state of a file, different after a change of the file.

    >>> from tempfile import TemporaryFile
    >>> with TemporaryFile() as file:
    ...     state_of(file)[0]
    0
    """
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


def read_part(path: Path, start: int, size: int, state: State) -> bytes:
    """Return bytes of a file, or raise an `ArgumentError` if its state has changed."""
    with path.open("rb") as file:
        file.seek(start)
        data = file.read(size)
        _check_unchanged(file, path, state)
    return data


def _check_unchanged(file: BinaryIO, path: Path, state: State) -> None:
    if state_of(file) != state:
        raise ArgumentError(f"{path}: expected what it held at first, got a changed file; start again")


@lru_cache(4)
def _zip(path: Path, state: State) -> zipfile.ZipFile:
    """Open a zip. Its index takes a while to read, so the last four are cached."""
    return zipfile.ZipFile(path)


def _files(folder: Path) -> Iterable[Path]:
    return [folder] if folder.is_file() else files_below(folder) if folder.is_dir() else ()


def _inside(path: Path, folder: Path) -> Iterator[tuple[str, Place]]:
    """Paths and places of the image of a file, or of the images in an archive.

    Paths are relative to the folder, or to the root of the archive.
    """
    name = path.name.lower()
    if not path.is_file():  # for example a pipe or a broken link
        return
    if name.endswith(SUFFIXES):
        yield path.relative_to(folder).as_posix(), Place(path, "", path.stat().st_size)
    elif name.endswith((".tar", ".zip")):
        with path.open("rb") as file:
            state = state_of(file)
        for image in _in_tar(path, state) if name.endswith(".tar") else _in_zip(path, state):
            yield image.member.removeprefix("./"), image


def _in_tar(path: Path, state: State) -> Iterator[Place]:
    try:
        with tarfile.open(path, "r:") as members:
            regular = (entry for entry in members if entry.isreg() and not entry.issparse())
            files = {entry.name: entry for entry in regular if _is_image(entry.name)}
    except DAMAGE as error:
        raise damaged(path, error) from error
    for name, member in files.items():
        if member.offset_data + member.size > state[0]:
            raise damaged(path, tarfile.ReadError(f"{name} is cut short"))
        yield Place(path, name, member.size, member.offset_data, state)


def _in_zip(path: Path, state: State) -> Iterator[Place]:
    try:
        members = _zip(path, state).infolist()
    except (zipfile.BadZipFile, EOFError, struct.error) as error:
        raise ArgumentError(f"{path}: expected a whole zip archive, got a damaged one ({error})") from error
    for member in members:
        if member.is_dir() or not _is_image(member.filename):
            continue
        if member.flag_bits & 1:
            expected = "expected images without a password"
            raise ArgumentError(f"{path}: {expected}, got {member.filename}; unpack it into a folder")
        yield Place(path, member.filename, member.file_size, state=state)


def _is_image(name: str) -> bool:
    parts = name.removeprefix("./").split("/")
    return parts[-1].lower().endswith(SUFFIXES) and not any(part.startswith((".", "__MACOSX")) for part in parts)
