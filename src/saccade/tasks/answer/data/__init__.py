"""Questions about images: built-in scenes, published collections, files."""

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
    """Open questions about images.

    Args:
        data: a key of `BUILTIN`, or the path of easy-VQA, DAQUAR or VQA, of tables, or of lines of an image, a question
            and an answer.
        size: longer side of images in pixels. None: that of the first image, at most 96.
        objects: questions as Python objects, if `data` is "objects".
        names: names of the splits.
        known: whether a store has features of an image, by its name. Then examples have no images.
        things: the fewest and the most things of a built-in scene.
        seed: of built-in scenes.

    Raises:
        ArgumentError: if there are no such data, or they are damaged.
        OSError: if a file cannot be read.

    Example:
        >>> open_corpus("scenes").size("test")
        2000
    """
    opened = open_pictured(
        data,
        BUILTIN,
        size,
        objects,
        names,
        known,
        columns=COLUMNS,
        layouts=(easy_vqa, vqa, daquar),
        what="questions",
        holds=_HOLDS,
    )
    if opened is None:
        return Scenes(*things, seed)
    return Questions(*opened, fitted(*opened, size))


_HOLDS = "lines of images, questions and answers (train.tsv or questions.tsv), easy-VQA, DAQUAR or VQA"
