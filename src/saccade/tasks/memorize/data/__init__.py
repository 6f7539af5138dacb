"""Which data there are to memorize, and what they are called on the command line."""

from pathlib import Path
from typing import Any

from saccade.data.dataset import data_path, no_such_data
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.arrow import is_arrow, read_arrow
from saccade.tasks.memorize.data.babi import Stories, is_babi, open_babi
from saccade.tasks.memorize.data.corpus import Corpus, Item
from saccade.tasks.memorize.data.made import Made
from saccade.tasks.memorize.data.pairs import Filed, Objects
from saccade.tasks.memorize.data.problems import PROBLEMS
from saccade.tasks.objects import OBJECTS
from saccade.tasks.text.pairs import open_pairs

__all__ = ["BUILTIN", "Corpus", "Item", "Made", "Stories", "open_corpus"]

BUILTIN = {name: problem.about for name, problem in PROBLEMS.items()}
_HOLDS = "bAbI's files (qa1_..._train.txt) or tables (.parquet, .arrow); of a file of pairs give its own path"


def open_corpus(data: str, longest: int | None = None, objects: Any = None, names: SplitNames | None = None) -> Corpus:
    """Return the corpus that --data names: a built-in problem, bAbI's files, a file of pairs, or tables.

    Args:
        data: a key of `BUILTIN`, or a path.
        longest: how much a built-in problem asks for in training, at the most.
        objects: the pairs themselves, where `data` says that they are Python objects.
        names: what splits are called.

    Raises:
        ArgumentError: if there is none, or something is wrong with it.
        OSError: if a file cannot be read.

    Example:
        >>> open_corpus("recall").example("test", 1).group
        '6'
    """
    path, names = data_path(data), names or SplitNames()
    if data in BUILTIN:
        names.refuse(data)
        return Made(data, PROBLEMS[data](longest))
    if (found := _opened(data, path, objects, names)) is None:
        raise no_such_data(data, BUILTIN, holds=_HOLDS)
    if longest is not None:
        raise ArgumentError(f"--longest: expected only with built-in data ({', '.join(BUILTIN)}), got {longest}")
    return found


def _opened(data: str, path: Path, objects: Any, names: SplitNames) -> Corpus | None:
    """Data that are one's own; None where there are none of that name."""
    if data == OBJECTS:
        return Objects(objects, names)
    if is_babi(path):
        return open_babi(path, names)
    if is_arrow(path):
        return Objects(read_arrow(path, names), names)
    if path.is_file():
        return Filed(open_pairs(path, names, more=False))
    return None
