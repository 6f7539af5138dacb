"""Image classification: a label for an image, learned from images with labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from saccade._definitions.checks import in_ranges
from saccade.data.dataset import no_such_data
from saccade.data.splits import SplitNames, SplitOptions
from saccade.errors import ArgumentError
from saccade.models.checks import below_one
from saccade.tasks.image.dataset import Dataset, pixels, refuse_size
from saccade.tasks.image.images import SUFFIXES, Pixels, batch_of
from saccade.tasks.image.labelled import LabelledImages
from saccade.tasks.image.maps import LookRequest, Maps, draw_maps, maps_of
from saccade.tasks.image.shapes import Shapes
from saccade.tasks.image.sources import open_files
from saccade.tasks.labels.ranked import Ranked
from saccade.tasks.labels.ranking import Ranking, probabilities
from saccade.tasks.labels.ranks import HEADLINE, Ranks
from saccade.tasks.labels.request import Request
from saccade.tasks.request import NoOptions
from saccade.tasks.task import Task
from saccade.train.task import Form, Unreadable

__all__ = ["BUILTIN", "CLASSIFY_IMAGE", "ImageAnswer", "ImageRanks", "Options", "open_images"]

BUILTIN = {"shapes": "two coloured shapes in opposite corners; the label compares them; generated on the fly"}


@dataclass(frozen=True, kw_only=True)
class Options(SplitOptions):
    """Options of all runs that classify images.

    >>> Options(size=64).batch_size
    128
    """

    size: int | None = None
    """Height and width of images in pixels. Default: of the first, at most 64."""

    batch_size: int = 128
    """Images per batch."""

    flip: bool = True
    """Mirror every other training image, unless left and right matter (digits)."""

    shift: int = 4
    """Largest random shift of a training image, in pixels."""

    label_smoothing: float = 0.0
    """Probability spread evenly over all labels."""

    def __post_init__(self) -> None:
        SplitOptions.__post_init__(self)
        in_ranges(self, (("batch_size", 1, 1_000_000), ("shift", 0, 1000)))
        if self.size is not None and not 8 <= self.size <= 1024:
            raise ArgumentError(f"--size: expected a number of pixels from 8 to 1024, got {self.size}")
        below_one(self, "label_smoothing")


def open_images(data: str, size: int | None = None, objects: Any = None, names: SplitNames | None = None) -> Dataset:
    """Open labelled images: built-in ones, files, or Python objects.

    Args:
        data: a key of `BUILTIN`, or the path of CIFAR, MNIST, folders of classes, or tables.
        size: height and width in pixels to which files are scaled.
        objects: rows of image and label, if data are Python objects.
        names: names of the splits.

    Raises:
        ArgumentError: if there are no such data, or they are damaged.
        OSError: if a file cannot be read.

    Example:
        >>> open_images("shapes").labels
        ('different', 'same', 'same colour', 'same shape')
    """
    names = names or SplitNames()
    if data in BUILTIN:
        names.refuse(data)
        refuse_size(data, size)
        return Shapes()
    if (dataset := open_files(data, size, objects, names)) is None:
        raise no_such_data(data, BUILTIN, "folder or archive")
    return dataset


@dataclass(frozen=True, repr=False)
class ImageAnswer(Ranked):
    """Classes of an image.

    Args:
        image: the image.
        ranking: its classes, or None if it could not be read.
        count: number of classes to list.
        maps: pictures of the evidence, if they are drawn.
    """

    image: Pixels | Unreadable
    ranking: Ranking | None
    count: int
    maps: Maps | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the name of the image, its most probable classes and all probabilities."""
        name = self.image.line if isinstance(self.image, Unreadable) else self.image.name
        return {"file": name, **self.ranked}

    def draw(self, folder: Path, *, json: bool = False) -> Iterator[Path]:
        """Draw the maps over the image."""
        if self.maps is None or self.ranking is None or isinstance(self.image, Unreadable):
            return
        yield from draw_maps(self.image, self.ranking.title, self.maps, folder, json=json)


class ImageRanks(Ranks):
    """Predictor of classes of images."""

    look = LookRequest

    def encode(self, inputs: Sequence[Pixels]) -> tuple[Tensor]:
        """Return images `(batch, channels, height, width)` in [0, 1]."""
        return (batch_of(inputs),)

    def check_look(self, model: Any, look: LookRequest) -> None:
        """Reject an unknown label, and attention of a model without it."""
        look.check(model, self.codec.labels)

    def describe(
        self, model: Any, inputs: Sequence[Pixels | Unreadable], count: int, form: Form, look: LookRequest
    ) -> list[ImageAnswer]:
        """Return the classes of images."""
        return [self._answer(model, image, count, look, form) for image in inputs]

    def _answer(self, model: Any, image: Pixels | Unreadable, count: int, look: LookRequest, form: Form) -> ImageAnswer:
        if isinstance(image, Unreadable):
            return ImageAnswer(image, None, count)
        batch = pixels(image.image)[None].to(next(model.parameters()).device)
        ranking = Ranking(self.codec.labels, probabilities(model(batch)[0]))
        maps = maps_of(model, batch, ranking, look) if form == "pictures" else None
        return ImageAnswer(image, ranking, count, maps)


CLASSIFY_IMAGE = Task(
    name="classify-image",
    summary="Image classification: a label for an image, learned from images with labels.",
    unit="images",
    headline=HEADLINE,
    models={
        "cnn": "saccade.models.cnn:CNN",
        "cnn-attention": "saccade.models.cnn_attention:CNNAttention",
    },
    builtin=BUILTIN,
    open=lambda options, objects: open_images(options.data, options.size, objects, SplitNames.of_options(options)),
    codec=LabelledImages,
    predictor=ImageRanks,
    Options=Options,
    recipes={"shapes": {"flip": False, "shift": 0}, "files": {"label_smoothing": 0.1}},
    requests={"predict": Request, "eval": NoOptions, "look": LookRequest},
    inputs="files",
    suffixes=SUFFIXES,
    columns=lambda options: (("image", "img"),),
    signature=LabelledImages.signature,
)
"""The task, see docs/classify-image.md. Models have recipes of their own."""
