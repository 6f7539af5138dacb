"""Which data sets of images with captions there are, and what they are called on the command line."""

from typing import Any

from saccade.data import load
from saccade.data.dataset import no_such_data
from saccade.data.layouts.coco import coco
from saccade.data.layouts.flickr import flickr
from saccade.data.splits import SplitNames
from saccade.tasks.caption.data.captions import Captions, blank, columns
from saccade.tasks.caption.data.corpus import Captioned, Corpus
from saccade.tasks.caption.data.scenes import Scenes
from saccade.tasks.image.dataset import refuse_size
from saccade.tasks.image.pictures import Gallery, Known, check_size, key_of
from saccade.tasks.image.sources import TABLES, refuse_features

__all__ = ["BUILTIN", "Captioned", "Corpus", "open_corpus"]

BUILTIN = {"scenes": "coloured shapes, with several sentences about their positions; generated on the fly"}


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
    """Return the data set that --data names: built-in scenes, or images with captions of one's own.

    Args:
        data: a key of `BUILTIN`; or the path of a folder as Flickr8k, Flickr30k or COCO have it, of a JSON file of
            COCO's or Karpathy's, of lines of images and captions, of a folder with these, or of tables.
        size: pixels of height and width that images are scaled to; None: 96.
        objects: the images and captions themselves, where `data` says that they are Python objects.
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
        1000
    """
    names = names or SplitNames()
    if known:
        refuse_features(data, BUILTIN)
    if data in BUILTIN:
        names.refuse(data)
        refuse_size(data, size)
        return Scenes(*things, seed)
    check_size(size)
    gallery, side = Gallery(data, known), _SIZE if size is None else size
    rows = load(
        data,
        columns(gallery),
        names,
        objects,
        first=(coco, flickr),
        blank=blank(gallery),
        what="captions",
        key=key_of,
        ends=TABLES,
        whole=["captions"],
        held=gallery.held,
    )
    if rows is None:
        raise no_such_data(data, BUILTIN, holds=_HOLDS)
    return Captions(rows, gallery, None if known else (side, side))


_SIZE = 96  # pixels of the height and width by default
_HOLDS = (
    "Flickr8k.token.txt, results.csv, dataset_*.json, captions_*.json, or lines of images and captions in captions.tsv "
    "or train.tsv"
)
