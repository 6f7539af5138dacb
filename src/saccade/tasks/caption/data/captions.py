"""Images with captions: rows of files, tables and Python objects as a data set."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from saccade.data import Blank, Column, Row, Rows
from saccade.data.cleaning import cleaned
from saccade.data.columns import FILL
from saccade.data.dataset import SPLITS
from saccade.errors import ArgumentError
from saccade.tasks.caption.data.corpus import Captioned
from saccade.tasks.image.pictures import Gallery, Illustrated

__all__ = ["Captions", "blank", "columns"]

Text: TypeAlias = tuple[str, tuple[str, ...]]
"""A caption, and all captions of its image."""


def columns(gallery: Gallery) -> list[Column]:
    """Return the columns of images with one caption or several."""
    names = ("caption", "captions", "sentences", "sentence", "text")
    return [
        Column("image", ("image", "img", "path"), gallery, what="an image"),
        Column("caption", names, _captions, what="a caption"),
    ]


def blank(gallery: Gallery) -> Blank[Row]:
    """Return the rows to leave out: those of a published collection without their image."""
    return Blank(lambda row: row["image"] is None, f"captions, {gallery.blank}", whole=False)


class Captions(Illustrated[Text]):
    """Images with captions: an example is a caption in training, and an image with all its captions elsewhere.

    Args:
        rows: of an `image` and its `caption`, a tuple.
        gallery: of the rows.
        size: height and width of all images; None if there are features of them.

    Raises:
        ArgumentError: if an image of files is in two splits.
    """

    def __init__(self, rows: Rows[Row], gallery: Gallery, size: tuple[int, int] | None) -> None:
        captions: dict[str, dict[int, tuple[str, ...]]] = {split: {} for split in SPLITS}
        first = dict[int, str]()
        for split in SPLITS:
            for index, row in enumerate(rows.splits[split]):
                picture = row["image"]
                if gallery.named and (other := first.setdefault(picture.number, split)) != split:
                    wanted = f"expected {picture.name} in one split, got it in {other} and in {split}"
                    raise ArgumentError(f"{rows.where(split, index)}: {wanted}")
                captions[split][picture.number] = captions[split].get(picture.number, ()) + row["caption"]
        splits = {
            split: [(number, (text, texts)) for number, texts in own.items() for text in texts[: _count(split)]]
            for split, own in captions.items()
        }
        super().__init__(gallery.pictures, size, splits, rows.note)

    def example(self, split: str, index: int) -> Captioned:
        """Return one example of a split; its group is ""."""
        image, name = self.image(split, index)
        return Captioned(image, self.text(split, index), self.references(split, index), "", name=name)

    def text(self, split: str, index: int) -> str:
        """Return the caption of an example alone."""
        return self._row(split, index)[1][0]

    def references(self, split: str, index: int) -> tuple[str, ...]:
        """Return all captions of an example's image."""
        return self._row(split, index)[1][1]


def _count(split: str) -> int | None:
    return None if split == "train" else 1


def _captions(cell: Any) -> tuple[str, ...]:
    """One caption or several, as texts."""
    if isinstance(cell, Mapping):  # COCO's of `datasets`
        cell = cell.get("raw")
    texts = [cell] if isinstance(cell, str) else cell
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"expected a caption or a list of captions, got {cell!r:.60}")
    captions = tuple(cleaned(text, "caption") for text in texts)
    if not all(captions):
        raise ValueError(f"expected a caption, got an empty cell; {FILL}")
    return captions
