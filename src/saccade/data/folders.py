"""The files below a folder, wherever they lie, for whoever reads data in folders."""

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["files_below", "is_part"]

_NO_PARTS = ("__MACOSX", "lost+found")  # what systems put beside the folders of data


def files_below(folder: Path) -> Iterator[Path]:
    """Give the files below a folder in the order of their paths, those in folders that links lead to with them.

    Each folder is read once: a link to one that lies below this one as well is passed over, as it is read where it
    lies, and of several links to one elsewhere the first is followed. So no file is there twice, which could be learned
    from and tested on, and links in a circle end. A link that leads nowhere is given as a file, whose reader says so.

    Args:
        folder: what of its content begins with a dot is no part of it.

    Raises:
        OSError: naming a folder that cannot be read.

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
    """Return whether what is called so in a folder is part of its data.

    >>> is_part("red"), is_part(".cache")
    (True, False)
    """
    return not name.startswith(".") and name not in _NO_PARTS


def _below(folder: Path, root: str, read: set[str]) -> Iterator[Path]:
    """The files below a folder, of folders that are not among those that are read; these are noted there."""
    with os.scandir(folder) as found:
        entries = sorted((entry for entry in found if is_part(entry.name)), key=lambda entry: entry.name)
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
    """Whether a folder is read as a part of another, where it lies."""
    parts = Path(os.path.relpath(path, root)).parts
    return all(map(is_part, parts))  # ".." begins with a dot
