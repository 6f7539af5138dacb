"""Which data sets of questions about images there are, and what they are called on the command line."""

from typing import Any

from saccade.data import open_rows
from saccade.data.layouts.daquar import daquar
from saccade.data.layouts.easy_vqa import easy_vqa
from saccade.data.layouts.vqa import vqa
from saccade.data.splits import SplitNames
from saccade.tasks.answer.data.corpus import Asked, Corpus, Posed
from saccade.tasks.answer.data.questions import Questions, blank, columns
from saccade.tasks.answer.data.scenes import Scenes
from saccade.tasks.image.dataset import refuse_size
from saccade.tasks.image.pictures import Gallery, Known, fitted, key_of
from saccade.tasks.image.sources import TABLES, refuse_features

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
    if known:
        refuse_features(data, BUILTIN)
    if data in BUILTIN:
        refuse_size(data, size)
    gallery = Gallery(data, known)
    corpus: Corpus = open_rows(
        data,
        {"scenes": lambda: Scenes(*things, seed)},
        columns(gallery),
        lambda rows: Questions(rows, gallery, fitted(rows, gallery, size)),
        names,
        objects,
        holds=_HOLDS,
        first=(easy_vqa, vqa, daquar),
        blank=blank(gallery),
        what="questions",
        key=key_of,
        ends=TABLES,
        whole=["questions"],
        held=gallery.held,
    )
    return corpus


_HOLDS = "lines of images, questions and answers (train.tsv or questions.tsv), easy-VQA, DAQUAR or VQA"
