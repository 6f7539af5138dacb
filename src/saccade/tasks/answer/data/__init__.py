"""Which data sets of questions about images there are, and what they are called on the command line."""

from pathlib import Path
from typing import Any

from saccade.data.arrow import is_arrow, read_arrow
from saccade.data.conversions import converted
from saccade.data.dataset import data_path, no_such_data
from saccade.data.objects import OBJECTS
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.answer.data.collection import Collection, Gathering, Known
from saccade.tasks.answer.data.corpus import Asked, Corpus, Posed
from saccade.tasks.answer.data.daquar import is_daquar, read_daquar
from saccade.tasks.answer.data.easy_vqa import is_easy_vqa, read_easy_vqa
from saccade.tasks.answer.data.objects import open_objects
from saccade.tasks.answer.data.scenes import Scenes
from saccade.tasks.answer.data.table import read_table
from saccade.tasks.answer.data.vqa import is_vqa, read_vqa
from saccade.tasks.image.dataset import refuse_size
from saccade.tasks.image.sources import refuse_features

__all__ = ["BUILTIN", "Asked", "Collection", "Corpus", "Posed", "open_corpus"]

BUILTIN = {"scenes": "questions about presence, colour, number and position of shapes; generated on the fly"}


def open_corpus(
    data: str,
    size: int | None = None,
    objects: Any = None,
    names: SplitNames | None = None,
    *,
    known: Known | None = None,
    things: tuple[int, int] = (4, 6),
    seed: int = 0,
) -> Corpus:
    """Return the data set that --data names: built-in scenes, or questions about images of one's own.

    Args:
        data: a key of `BUILTIN`; or the path of lines of images, questions and answers, of a folder with these, of
            easy-VQA, DAQUAR or VQA as they come, or of tables.
        size: pixels of the longer side that images are scaled to; None: as the first image has it, 96 at most.
        objects: the questions themselves, where `data` says that they are Python objects.
        names: what splits are called.
        known: of an image's name, whether there are features of it in a store: then images are not looked for, and
            examples have none.
        things: how many things a built-in scene has, the fewest and the most.
        seed: of built-in scenes.

    Raises:
        ArgumentError: if there is none, or something is wrong with it.
        OSError: if a file cannot be read.

    Example:
        >>> open_corpus("scenes").size("test")
        2000
    """
    path, names = data_path(data), names or SplitNames()
    if known:
        refuse_features(data, BUILTIN)
    if data in BUILTIN:
        names.refuse(data)
        refuse_size(data, size)
        return Scenes(*things, seed)
    if data == OBJECTS:
        return open_objects(objects, size, names)
    if not path.exists():
        raise no_such_data(data, BUILTIN)
    if is_arrow(path):
        return open_objects(read_arrow(path, names), size, names, path if path.is_dir() else path.parent)
    return _read(path, names, known).open(size)


def _read(path: Path, names: SplitNames, known: Known | None) -> Gathering:
    """The questions of a path, in whatever layout they are."""
    if is_easy_vqa(path):
        names.refuse(str(path))
        return read_easy_vqa(path, known)
    if is_vqa(path):
        return read_vqa(path, names, known)
    if is_daquar(path):
        return read_daquar(path, names, known)
    if (gathering := read_table(path, names, known)) is not None:
        return gathering
    wanted = "lines of images, questions and answers (train.tsv or questions.tsv), easy-VQA, DAQUAR or VQA"
    raise ArgumentError(f"--data: expected in {path} {wanted}, found none of them{converted(path)}")
