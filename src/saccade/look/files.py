"""Files that are written beside what is there, never over it."""

import os
import re
import unicodedata
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from typing import BinaryIO

__all__ = ["file_name", "write_beside"]


def file_name(text: str) -> str:
    """Return a text as a file name: letters, marks and digits of any script, else dashes, no longer than systems allow.

    >>> file_name("mercredi 18 juin 2025?")
    'mercredi-18-juin-2025'
    """
    kept = (character if _names(character) else "-" for character in text[:200])
    return re.sub("-+", "-", "".join(kept)).strip("-")[:40] or "text"


def _names(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


def write_beside(path: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write one file a suffix, all of the same stem, under the first free name: stem, stem-2, stem-3, ...

    A file that is there already with the very same contents counts as written: the same command leaves the same files.

    Args:
        path: folder and stem; folders are made as needed.
        contents: suffix (".png") to bytes.

    Returns:
        The paths, in the order of `contents`.

    Raises:
        OSError: if the folder cannot be made or a file not be written; nothing half-written stays.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     first = write_beside(Path(folder) / "a", {".txt": b"one"})
        ...     other = write_beside(Path(folder) / "a", {".txt": b"two"})
        >>> [path.name for path in first + other]
        ['a.txt', 'a-2.txt']
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    stems = chain([path.name], (f"{path.name}-{number}" for number in count(2)))
    candidates = ({path.with_name(stem + suffix): content for suffix, content in contents.items()} for stem in stems)
    # A link that leads nowhere takes its name as a file does.
    free = next(
        files for files in candidates if all(not os.path.lexists(at) or _holds(at, what) for at, what in files.items())
    )
    return [_write(at, what) for at, what in free.items()]


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content


def _write(path: Path, content: bytes) -> Path:
    if path.exists():
        return path
    with path.open("xb") as file:  # "x": whoever came first between the look and now keeps the name
        try:
            _fill(file, content)
        except BaseException as error:  # an interrupt too: half a picture is none
            path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                error.filename = error.filename or str(path)
            raise
    return path


def _fill(file: BinaryIO, content: bytes) -> None:
    """All of it, to the device: a full disk shows here, not on closing."""
    file.write(content)
    file.flush()
