"""Which data sets of questions about images there are, and what they are called on the command line."""

from typing import Any

from saccade.data.layouts.daquar import daquar
from saccade.data.layouts.easy_vqa import easy_vqa
from saccade.data.layouts.vqa import vqa
from saccade.data.splits import SplitNames
from saccade.tasks.answer.data.corpus import Asked, Corpus, Posed
from saccade.tasks.answer.data.questions import COLUMNS, Questions
from saccade.tasks.answer.data.scenes import Scenes
from saccade.tasks.image.pictures import Known, fitted, open_pictured

__all__ = ["BUILTIN", "Asked", "Corpus", "Posed", "open_corpus"]

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
    opened = open_pictured(
        data, BUILTIN, size, objects, names, known,
        columns=COLUMNS, layouts=(easy_vqa, vqa, daquar), what="questions", holds=_HOLDS,
    )  # fmt: skip
    if opened is None:
        return Scenes(*things, seed)
    return Questions(*opened, fitted(*opened, size))


_HOLDS = "lines of images, questions and answers (train.tsv or questions.tsv), easy-VQA, DAQUAR or VQA"
