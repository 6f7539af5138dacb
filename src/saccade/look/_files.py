"""Files that never replace another."""

import os
import re
import unicodedata
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from typing import BinaryIO

from saccade.errors import ArgumentError

__all__ = ["file_name", "taken", "with_ending", "write_beside", "write_new"]


def file_name(text: str) -> str:
    """Return a text as a file name: letters, marks, digits and dashes, not too long.

    >>> file_name("mercredi 18 juin 2025?")
    'mercredi-18-juin-2025'
    """
    kept = (character if _names(character) else "-" for character in text[:200])
    return re.sub("-+", "-", "".join(kept)).strip("-")[:40] or "text"


def _names(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


def write_beside(path: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files of one free stem, one a suffix: stem, stem-2, stem-3, ...

    Files that exist with the same contents count as written, so the same command leaves the same files.

    Args:
        path: folder and stem; folders are made as needed.
        contents: suffix (".png") to bytes.

    Returns:
        The paths, in the order of `contents`.

    Raises:
        ArgumentError: a path without a name.
        OSError: the folder or a file cannot be written; nothing half-written stays.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     first = write_beside(Path(folder) / "a", {".txt": b"one"})
        ...     other = write_beside(Path(folder) / "a", {".txt": b"two"})
        >>> [path.name for path in first + other]
        ['a.txt', 'a-2.txt']
    """
    endings = chain([""], (f"-{number}" for number in count(2)))
    candidates = ({with_ending(path, end + suffix): content for suffix, content in contents.items()} for end in endings)
    free = next(
        files
        for files in candidates
        if all(not taken(file) or _holds(file, content) for file, content in files.items())
    )
    new = {file: content for file, content in free.items() if not taken(file)}
    try:
        write_new(new)
    except FileExistsError:
        if not any(map(taken, new)):
            raise  # a part of the folder's path is a file
        return write_beside(path, contents)  # another thread or process was faster
    return list(free)


def with_ending(path: Path, ending: str) -> Path:
    """Return a path with more at the end of its name.

    Raises:
        ArgumentError: it has no name.

    >>> str(with_ending(Path("maps/a.b"), ".png"))
    'maps/a.b.png'
    """
    if not path.name:
        raise ArgumentError(f"path: expected a folder and a name without a suffix, got {path}. Add a name")
    return path.with_name(path.name + ending)


def taken(path: Path) -> bool:
    """Whether a name is in use, even by a link that leads nowhere."""
    return os.path.lexists(path)


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content


def write_new(contents: Mapping[Path, bytes]) -> list[Path]:
    """Write files that do not exist: all of them, or none if one cannot be written.

    Raises:
        OSError: a file exists, or cannot be written.
    """
    written = list[Path]()
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:  # "x": a file that another process has made meanwhile stays
                written.append(path)
                _fill(file, content)
    except BaseException as error:  # an interrupt too
        for path in written:
            path.unlink(missing_ok=True)
        if isinstance(error, OSError) and written:
            error.filename = error.filename or str(written[-1])
        raise
    return written


def _fill(file: BinaryIO, content: bytes) -> None:
    """Write all of it to the device: a full disk shows here, not on closing."""
    file.write(content)
    file.flush()
