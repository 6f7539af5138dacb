"""Images below a folder by their names, as files or in an archive (tar, zip) beside them.

An archive is indexed once, and is not unpacked to the disk.
"""

import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from saccade.data.archives import DAMAGE, damaged
from saccade.data.dataset import inventory
from saccade.data.folders import files_below
from saccade.errors import ArgumentError
from saccade.tasks.image.images import SUFFIXES
from saccade.tasks.pinned import State, check_unchanged, state_of

__all__ = ["Images", "Place", "fits", "read_place"]

_PACKED = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")  # archives whose middle cannot be reached without their beginning
_LARGEST = 256 << 20  # bytes of one image


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
    state: State | None = None

    @property
    def told(self) -> str:
        """Name in messages."""
        return f"{self.path}: {self.member}" if self.member else str(self.path)


class Images:
    """The images below a folder, which is searched when it is first asked for one.

    Args:
        folder: with images anywhere below it, as files or in archives (.tar, .zip); what begins with a dot is no part.
            An archive alone is as good.

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
        """Return the image of that name: by its path below the folder or an archive, or the end of that path.

        Args:
            name: such as "a.jpg", "val2014/a.jpg", or with more folders than there are.

        Returns:
            Where it is; None if there is none. A whole path counts before the end of one, a file before an archive.

        Raises:
            ArgumentError: if the name fits several, or an archive is damaged.
            OSError: if something cannot be read.
        """
        found = self._whole.get(name)
        if found is None:
            found = [place for path, place in self._named.get(name.rpartition("/")[2], ()) if fits(path, name)]
        best = [place for place in found if not place.member] or found
        if len(best) > 1:
            got = inventory(place.told for place in best)
            raise ArgumentError(f"{self.folder}: expected one image called {name}, got {got}; move the others away")
        return best[0] if best else None

    def all(self) -> list[tuple[str, Place]]:
        """Return all images, each with its path below the folder or in an archive, by these paths.

        Raises:
            ArgumentError: if an archive is damaged.
            OSError: if something cannot be read.
        """
        return sorted(one for places in self._named.values() for one in places)

    def packed(self) -> Path | None:
        """Return an archive below the folder that cannot be read, None if there is none."""
        return next((path for path in _files(self.folder) if path.name.lower().endswith(_PACKED)), None)

    @cached_property
    def _whole(self) -> dict[str, list[Place]]:
        """All images by their paths: one that is named in full is found without a look at others."""
        whole: dict[str, list[Place]] = {}
        for path, place in (one for places in self._named.values() for one in places):
            whole.setdefault(path, []).append(place)
        return whole

    @cached_property
    def _named(self) -> dict[str, list[tuple[str, Place]]]:
        """All images by the last part of their names, each with its path."""
        named: dict[str, list[tuple[str, Place]]] = {}
        for path in _files(self.folder):
            for name, place in _inside(path, self.folder):
                named.setdefault(name.rpartition("/")[2], []).append((name, place))
        return named


def read_place(place: Place) -> bytes:
    """Return the bytes of an image.

    Raises:
        ArgumentError: naming it, if it is missing, damaged or changed.
    """
    if place.size > _LARGEST:
        raise ArgumentError(f"{place.told}: expected an image of at most {_LARGEST >> 20} MiB, got more; scale it down")
    try:
        with place.path.open("rb") as file:
            if not place.member:
                return file.read(_LARGEST + 1)
            if place.state is not None:
                check_unchanged(file, place.state, place.path)
            if zipfile.is_zipfile(file):
                return _zip(place.path, place.state).read(place.member)
            file.seek(place.start)
            data = file.read(place.size)
    except OSError as error:
        raise ArgumentError(f"{place.told}: expected an image that can be read, got {error.strerror}") from error
    except (zlib.error, zipfile.BadZipFile, KeyError) as error:
        raise ArgumentError(f"{place.told}: expected a whole image, got a damaged one ({error})") from error
    if len(data) != place.size:
        raise ArgumentError(f"{place.told}: expected {place.size} bytes, got {len(data)}: the archive is cut short")
    return data


@lru_cache(4)
def _zip(path: Path, state: State | None) -> zipfile.ZipFile:
    """An open zip, whose index takes a while to read."""
    return zipfile.ZipFile(path)


def fits(path: str, name: str) -> bool:
    """Return whether one of two paths is the end of the other.

    >>> fits("images/a.jpg", "a.jpg"), fits("a.jpg", "images/a.jpg"), fits("images/aa.jpg", "a.jpg")
    (True, True, False)
    """
    return path == name or path.endswith(f"/{name}") or name.endswith(f"/{path}")


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder by their names, those that links lead to with them."""
    if folder.is_file():
        yield folder
    elif folder.is_dir():
        yield from files_below(folder)


def _inside(path: Path, folder: Path) -> Iterator[tuple[str, Place]]:
    """The image that a file is, or those in an archive, each with its path below the folder or in the archive."""
    name = path.name.lower()
    if not path.is_file():  # a pipe, say, or a link to what is gone
        return
    if name.endswith(SUFFIXES):
        yield path.relative_to(folder).as_posix(), Place(path, "", path.stat().st_size)
    elif name.endswith((".tar", ".zip")):
        for place in _in_tar(path) if name.endswith(".tar") else _in_zip(path):
            yield place.member.removeprefix("./"), place


def _in_tar(path: Path) -> Iterator[Place]:
    state, known, names = state_of(path), dict[str, tarfile.TarInfo](), set[str]()
    try:
        with tarfile.open(path, "r:") as members:
            for member in members:
                if member.islnk():  # a hard link to an earlier file
                    file = known.get(member.linkname) or members.getmember(member.linkname)
                elif member.isreg() and not member.issparse():
                    file = known[member.name] = member
                else:
                    continue
                if file.offset_data + file.size > state[0]:
                    raise tarfile.ReadError(f"{member.name} is cut short")
                if _is_image(member.name) and member.name not in names:
                    names.add(member.name)
                    yield Place(path, member.name, file.size, file.offset_data, state)
    except DAMAGE as error:
        raise damaged(path, error) from error


def _in_zip(path: Path) -> Iterator[Place]:
    state = state_of(path)
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
