"""Images of a folder by their names, wherever below it they lie: as files, or in an archive (tar, zip) beside.

An archive is indexed once, and of an image its own bytes alone are read, by their offset: nothing is unpacked to the
disk, and nothing but the index is kept in memory.
"""

import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple

from saccade.data.dataset import inventory
from saccade.data.folders import files_below
from saccade.errors import ArgumentError
from saccade.tasks.image.archives import HardLinks
from saccade.tasks.image.images import SUFFIXES
from saccade.tasks.pinned import State, check_unchanged, state_of

__all__ = ["Images", "Place", "fits", "read_place"]

_PACKED = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")  # archives whose middle cannot be reached without their beginning
_MOST_FILES = 5_000_000
_LARGEST = 256 << 20  # bytes of one image
_LOCAL = struct.Struct("<4s5H3L2H")  # what stands in a zip before the bytes of a file, its name and more behind it


class Place(NamedTuple):
    """Where the bytes of an image are.

    >>> Place(Path("images.tar"), "images/a.jpg", 7).told
    'images.tar: images/a.jpg'
    """

    path: Path
    """The file, or the archive."""
    member: str
    """Its path in the archive, "" of a file."""
    size: int
    """Bytes of the image."""
    start: int = 0
    """Where its bytes begin in a tar, and in a zip what stands before them."""
    packed: int = -1
    """Bytes that it takes in a zip; -1 elsewhere."""
    method: int = 0
    """How a zip has packed it."""
    state: State | None = None
    """Of the archive when it was indexed."""

    @property
    def told(self) -> str:
        """What messages call it."""
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
        ArgumentError: naming it, if it is not there any more, or damaged.
    """
    if place.size > _LARGEST:
        raise ArgumentError(f"{place.told}: expected an image of at most {_LARGEST >> 20} MiB, got more; scale it down")
    try:
        with place.path.open("rb") as file:
            if not place.member:
                return file.read(_LARGEST + 1)
            file.seek(place.start)
            data = file.read(place.size) if place.packed < 0 else _unzipped(file, place)
            if place.state is not None:
                check_unchanged(file, place.state, place.path)
    except OSError as error:
        raise ArgumentError(f"{place.told}: expected an image that can be read, got {error.strerror}") from error
    except (zlib.error, struct.error) as error:
        raise ArgumentError(f"{place.told}: expected a whole image, got a damaged one ({error})") from error
    if len(data) != place.size:
        raise ArgumentError(f"{place.told}: expected {place.size} bytes, got {len(data)}: the archive is cut short")
    return data


def _unzipped(file: BinaryIO, place: Place) -> bytes:
    """The bytes of a zip's member, once what stands before them is passed over."""
    mark, *_, name, extra = _LOCAL.unpack(file.read(_LOCAL.size))
    if mark != b"PK\x03\x04":
        raise struct.error("no member where the index has one")
    file.seek(name + extra, os.SEEK_CUR)
    data = file.read(place.packed)
    if place.method == zipfile.ZIP_STORED:
        return data
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, place.size + 1)


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
        for count, place in enumerate(_in_tar(path) if name.endswith(".tar") else _in_zip(path)):
            if count >= _MOST_FILES:
                raise ArgumentError(f"{path}: expected at most {_MOST_FILES} images, got more")
            yield place.member.removeprefix("./"), place


def _in_tar(path: Path) -> Iterator[Place]:
    links, state = HardLinks(), state_of(path)
    try:
        for member in _members(path):
            if member.islnk():
                links.add(member, _is_image(member.name))
            elif _is_image(member.name):
                yield from _placed(path, member, [member.name], state)
        if links:
            for member in _members(path):
                yield from _placed(path, member, [] if member.islnk() else links.take(member.name), state)
            links.check()
    except (tarfile.TarError, EOFError) as error:
        raise ArgumentError(f"{path}: expected a whole tar archive, got a damaged one ({error})") from error


def _members(path: Path) -> Iterator[tarfile.TarInfo]:
    with tarfile.open(path, "r:") as members:
        for member in members:
            members.members = []  # type: ignore[attr-defined] # which else keeps them all
            yield member


def _placed(path: Path, member: tarfile.TarInfo, names: Sequence[str], state: State) -> Iterator[Place]:
    """Where a file of a tar is, by each of its names, if it is one whose bytes are there as they are."""
    if names and member.isreg() and not member.issparse():
        if member.offset_data + member.size > state[0]:
            raise tarfile.ReadError(f"{member.name} is cut short")
        yield from (Place(path, name, member.size, member.offset_data, state=state) for name in names)


def _in_zip(path: Path) -> Iterator[Place]:
    state = state_of(path)
    try:
        with zipfile.ZipFile(path) as members:
            for member in members.infolist():
                if member.is_dir() or not _is_image(member.filename):
                    continue
                if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    wanted = "expected images as they are or packed by deflate, without a password"
                    raise ArgumentError(f"{path}: {wanted}, got {member.filename}; unpack it into a folder")
                sizes = member.file_size, member.header_offset, member.compress_size
                yield Place(path, member.filename, *sizes, member.compress_type, state)
    except (zipfile.BadZipFile, EOFError, struct.error) as error:
        raise ArgumentError(f"{path}: expected a whole zip archive, got a damaged one ({error})") from error


def _is_image(name: str) -> bool:
    parts = name.removeprefix("./").split("/")
    return parts[-1].lower().endswith(SUFFIXES) and not any(part.startswith((".", "__MACOSX")) for part in parts)
