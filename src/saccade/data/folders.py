"""Files below a folder."""

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["files_below", "is_part"]

_NO_PARTS = ("__MACOSX", "lost+found")  # folders of operating systems


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder in order of their paths, without hidden files.

    Links to folders are followed. Each folder is read once, so that no file is in two splits and circles of links end.
    A link to a folder below `folder` is skipped. Of several links to an outside folder, the first is followed. A broken
    link is yielded as a file.

    Raises:
        OSError: if a folder cannot be read, with its name.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as name:
        ...     (Path(name) / "red").mkdir()
        ...     for file in ("red.txt", "red/b.png", "red/.c.png"):
        ...         (Path(name) / file).touch()
        ...     [path.relative_to(name).as_posix() for path in files_below(Path(name))]
        ['red/b.png', 'red.txt']
    """
    root = os.path.realpath(folder)
    return _below(folder, root, {root})


def is_part(name: str) -> bool:
    """Return whether an entry of a folder is data, from its name.

    >>> is_part("red"), is_part(".cache")
    (True, False)
    """
    return not name.startswith(".") and name not in _NO_PARTS


def _below(folder: Path, root: str, read: set[str]) -> Iterator[Path]:
    """Yield the files below a folder, without folders in `read`, and extend `read`."""
    with os.scandir(folder) as listed:
        entries = sorted((entry for entry in listed if is_part(entry.name)), key=lambda entry: entry.name)
    for entry in entries:
        path = folder / entry.name
        linked = entry.is_symlink()
        if not (path.is_dir() if linked else entry.is_dir()):
            yield path
            continue
        real = os.path.realpath(path)
        if real not in read and not (linked and _lies_below(real, root)):
            read.add(real)
            yield from _below(path, root, read)


def _lies_below(path: str, root: str) -> bool:
    """Return whether a folder is read as a part of another folder, without links."""
    parts = Path(os.path.relpath(path, root)).parts
    return all(map(is_part, parts))  # ".." begins with a dot
