"""Files that never replace another."""

import re
import unicodedata
from collections.abc import Mapping
from os.path import lexists
from pathlib import Path

from saccade.errors import ArgumentError


def file_name(text: str) -> str:
    """Return a text as a file name: letters, marks, digits and dashes, not too long.

    >>> file_name("mercredi 18 juin 2025?")
    'mercredi-18-juin-2025'
    """
    kept = re.sub(r"\W", lambda match: match[0] if unicodedata.category(match[0])[0] == "M" else "-", text[:200])
    return re.sub("-+", "-", kept).strip("-")[:40] or "text"


def write_beside(path: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files of one free stem, one a suffix: stem, stem-2, stem-3, ...

    Files that exist with the same contents count as written, so the same command leaves the same files.
    """
    number = 1
    while True:
        ending = f"-{number}" if number > 1 else ""
        files = {with_ending(path, ending + suffix): content for suffix, content in contents.items()}
        new = {file: content for file, content in files.items() if not _holds(file, content)}
        if any(map(lexists, new)):
            number += 1
            continue
        try:
            write_new(new)
        except FileExistsError:
            if not any(map(lexists, new)):
                raise  # a part of the folder's path is a file
            continue  # another thread or process was faster
        return list(files)


def with_ending(path: Path, ending: str) -> Path:
    if not path.name:
        raise ArgumentError(f"path: expected a folder and a name without a suffix, got {path}. Add a name")
    return path.with_name(path.name + ending)


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content


def write_new(contents: Mapping[Path, bytes]) -> list[Path]:
    """Write new files: all, or none if one exists or cannot be written."""
    written = list[Path]()
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:  # "x": a file that another process has made meanwhile stays
                written.append(path)
                file.write(content)
    except BaseException as error:  # an interrupt too
        for path in written:
            path.unlink(missing_ok=True)
        if isinstance(error, OSError) and written:
            error.filename = error.filename or str(written[-1])
        raise
    return written
