"""The files below a folder, wherever they lie, for whoever reads data in folders."""

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["files_below", "is_part"]

_NO_PARTS = ("__MACOSX", "lost+found")  # what systems put beside the folders of data


def files_below(folder: Path) -> Iterator[Path]:
    """Give the files below a folder in the order of their paths, those in folders that links lead to with them.

    A link that leads to a folder above itself is passed over, else it would have no end. One that leads nowhere is
    given as a file, whose reader says so.

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
    return _below(folder, frozenset([os.path.realpath(folder)]))


def is_part(name: str) -> bool:
    """Return whether what is called so in a folder is part of its data.

    >>> is_part("red"), is_part(".cache")
    (True, False)
    """
    return not name.startswith(".") and name not in _NO_PARTS


def _below(folder: Path, above: frozenset[str]) -> Iterator[Path]:
    """The files below a folder, of which those are known that it lies in."""
    with os.scandir(folder) as found:
        entries = sorted((entry for entry in found if is_part(entry.name)), key=lambda entry: entry.name)
    for entry in entries:
        path = folder / entry.name
        if not (path.is_dir() if entry.is_symlink() else entry.is_dir()):
            yield path
        elif (real := os.path.realpath(path)) not in above:
            yield from _below(path, above | {real})
