"""Images with captions: rows of files, tables and Python objects as a data set."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from saccade.data import Row, Rows
from saccade.data.cleaning import cleaned
from saccade.data.columns import FILL
from saccade.data.dataset import SPLITS
from saccade.errors import ArgumentError
from saccade.tasks.caption.data.corpus import Captioned
from saccade.tasks.image.pictures import Gallery, Illustrated

__all__ = ["Captions", "captions"]

Text: TypeAlias = tuple[str, tuple[str, ...]]
"""A caption, and all captions of its image."""


class Captions(Illustrated[Text]):
    """Images with captions.

    An example is a caption in training, and an image with all its captions in the other splits.

    Args:
        rows: of an `image` and its `caption`, a tuple.
        gallery: of the rows.
        size: height and width of all images; None if there are features of them.

    Raises:
        ArgumentError: if an image of files is in two splits.
    """

    def __init__(self, rows: Rows[Row], gallery: Gallery, size: tuple[int, int] | None) -> None:
        by_image: dict[str, dict[int, tuple[str, ...]]] = {split: {} for split in SPLITS}
        first = dict[int, str]()
        for split in SPLITS:
            for index, row in enumerate(rows.splits[split]):
                picture = row["image"]
                if gallery.named and (other := first.setdefault(picture.number, split)) != split:
                    expected = f"expected {picture.name} in one split, got it in {other} and in {split}"
                    raise ArgumentError(f"{rows.where(split, index)}: {expected}")
                by_image[split][picture.number] = by_image[split].get(picture.number, ()) + row["caption"]
        splits = {
            split: [
                (number, (text, texts))
                for number, texts in pictures.items()
                for text in (texts if split == "train" else texts[:1])
            ]
            for split, pictures in by_image.items()
        }
        super().__init__(gallery.pictures, size, splits, rows.note, rows.guessed)

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


def captions(cell: Any) -> tuple[str, ...]:
    """Return the captions of a cell: a text, a list of texts, or COCO's.

    The format of COCO's captions is that of `datasets`.
    """
    if isinstance(cell, Mapping):
        cell = cell.get("raw")
    texts = [cell] if isinstance(cell, str) else cell
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"expected a caption or a list of captions, got {cell!r:.60}")
    cleaned_texts = tuple(cleaned(text, "caption") for text in texts)
    if not all(cleaned_texts):
        raise ValueError(f"expected a caption, got an empty cell; {FILL}")
    return cleaned_texts
