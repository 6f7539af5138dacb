"""Which data sets of images with captions there are, and what they are called on the command line."""

from pathlib import Path
from typing import Any

from saccade.data.arrow import is_arrow, read_arrow
from saccade.data.conversions import converted
from saccade.data.dataset import data_path, no_such_data
from saccade.data.objects import OBJECTS
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.caption.data.coco import is_coco, read_json
from saccade.tasks.caption.data.corpus import Captioned, Corpus
from saccade.tasks.caption.data.flickr import is_flickr, read_flickr
from saccade.tasks.caption.data.listing import Known, Listing, open_listing
from saccade.tasks.caption.data.objects import open_objects
from saccade.tasks.caption.data.scenes import Scenes
from saccade.tasks.caption.data.table import read_table
from saccade.tasks.image.dataset import refuse_size
from saccade.tasks.image.places import Images
from saccade.tasks.image.sources import refuse_features

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
    listing, folder = _read(path, names)
    return open_listing(listing, Images(folder), size=size, known=known)


def _read(path: Path, names: SplitNames) -> tuple[Listing, Path]:
    """What the captions of a path are, and the folder where their images are looked for."""
    folder = path if path.is_dir() else path.parent
    if is_coco(path):
        return read_json(path, names), folder.parent if folder.name == "annotations" else folder
    if is_flickr(path):
        return read_flickr(path, names), folder
    if (listing := read_table(path, names)) is not None:
        return listing, folder
    wanted = "Flickr8k.token.txt, results.csv, dataset_*.json, captions_*.json, or lines of images and captions"
    form = "in captions.tsv or train.tsv"
    way_out = next(filter(None, map(converted, sorted(path.iterdir()))), "")
    raise ArgumentError(f"--data: expected in {path} {wanted} {form}, found none of them{way_out}")
