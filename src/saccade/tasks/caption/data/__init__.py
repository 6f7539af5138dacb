"""Data of image captioning: scenes, collections, tables and Python objects."""

from typing import Any

from saccade.data import Column
from saccade.data.layouts.coco import coco
from saccade.data.layouts.flickr import flickr
from saccade.data.naming import are_texts
from saccade.data.splits import SplitNames
from saccade.tasks.caption.data.captions import Captions, captions
from saccade.tasks.caption.data.corpus import Captioned, Corpus
from saccade.tasks.caption.data.questions import Questions
from saccade.tasks.caption.data.scenes import Scenes
from saccade.tasks.image.pictures import IMAGE, Known, open_pictured

__all__ = ["BUILTIN", "COLUMNS", "Captioned", "Corpus", "open_corpus"]

BUILTIN = {
    "scenes": "coloured shapes, with several sentences about their positions; generated on the fly",
    "scenes-questions": "the same shapes, with questions instead of sentences; generated on the fly",
}
_SIZE = 96  # pixels of the height and width by default
_NAMES = ("caption", "captions", "sentences", "sentence", "text")
COLUMNS = (IMAGE, Column("caption", _NAMES, captions, what="a caption", looks=are_texts))
"""Columns of images with captions."""
_HOLDS = (
    "Flickr8k.token.txt, results.csv, dataset_*.json, captions_*.json, or lines of images and captions in captions.tsv "
    "or train.tsv"
)


def open_corpus(
    data: str,
    size: int | None = None,
    objects: Any = None,
    names: SplitNames | None = None,
    *,
    known: Known | None = None,
    things: tuple[int, int] = (1, 4),
    seed: int = 0,
) -> Corpus:
    """Open images with captions.

    Args:
        data: a key of `BUILTIN`, the path of a folder or a file, or "objects". A path has Flickr8k, Flickr30k, COCO or
            Karpathy's captions, or tables of images and captions.
        size: pixels of height and width to which images are scaled; None: 96.
        objects: rows of an image and its captions, if data are Python objects.
        names: the names of splits.
        known: whether a store has features of the image of a name. Examples have no image then.
        things: fewest and most things of a built-in scene.
        seed: of built-in scenes.

    Example:
        >>> open_corpus("scenes").size("test")
        1000
    """
    opened = open_pictured(
        data,
        BUILTIN,
        size,
        objects,
        names,
        known,
        columns=COLUMNS[1:],
        layouts=(coco, flickr),
        what="captions",
        holds=_HOLDS,
    )
    if opened is None:
        return (Scenes if data == "scenes" else Questions)(*things, seed)
    side = _SIZE if size is None else size
    return Captions(*opened, None if known else (side, side))
