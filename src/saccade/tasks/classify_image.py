"""Image classification: a label for an image, learned from images with labels."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade._definitions.checks import in_ranges
from saccade.data.dataset import no_such_data, training_sample
from saccade.data.naming import Names
from saccade.data.splits import SplitNames, SplitOptions
from saccade.errors import ArgumentError
from saccade.models.checks import below_one
from saccade.tasks.explaining import Subject
from saccade.tasks.image.dataset import Dataset, pixels, refuse_size
from saccade.tasks.image.images import LARGEST, SUFFIXES, Pixels, batch_of
from saccade.tasks.image.labelled import LabelledImages
from saccade.tasks.image.linear import LINEAR, Neighbours, neighbours
from saccade.tasks.image.maps import LookRequest, Maps, draw_maps, maps_of, subjects
from saccade.tasks.image.shapes import Shapes
from saccade.tasks.image.sources import COLUMNS, open_files
from saccade.tasks.labels.baselines import timed
from saccade.tasks.labels.ranked import Ranked
from saccade.tasks.labels.ranking import Ranking, label_numbers, probabilities
from saccade.tasks.labels.ranks import HEADLINE, Ranks
from saccade.tasks.labels.request import Request
from saccade.tasks.request import NoOptions
from saccade.tasks.task import Task
from saccade.train.schedules import FALLING
from saccade.train.task import Baseline, Form, Suited, Unreadable, options_class

__all__ = ["BUILTIN", "CLASSIFY_IMAGE", "ImageAnswer", "ImageRanks", "Options", "open_images", "suited"]

_FEW, _BATCH, _STEPS, _EPOCHS = 5_000, 64, 800, 40  # few images, and their batches, least steps, and epochs
_TINY = 16  # pixels of the side of images that the network keeps at their size
_LOOKED_AT = 2_000  # training images whose nearest neighbours choose the recipe
_PRETRAINED = "a pretrained network: --model pretrained --encoder torchvision:resnet18 --weights FILE"

BUILTIN = {"shapes": "two coloured shapes in opposite corners; the label compares them; generated on the fly"}


@dataclass(frozen=True, kw_only=True)
class Options(SplitOptions):
    """Options of all runs that classify images.

    >>> Options(size=64).batch_size
    128
    """

    size: int | None = None
    """Height and width of images in pixels.
    Default: of the first image, at most 64 (224 for a pretrained network)."""

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


def open_images(
    data: str,
    size: int | None = None,
    objects: Any = None,
    names: SplitNames | None = None,
    largest: int = LARGEST,
) -> Dataset:
    """Open labelled images: built-in ones, files, or Python objects.

    Args:
        data: a key of `BUILTIN`, or the path of CIFAR, MNIST, folders of classes, or tables.
        size: height and width in pixels to which files are scaled.
        objects: rows of image and label, if data are Python objects.
        names: names of the splits.
        largest: largest height and width of files without a size.

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
    if (dataset := open_files(data, size, objects, names, largest)) is None:
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


@dataclass(frozen=True)
class ImageRanks(Ranks):
    """Predictor of classes of images."""

    look = LookRequest

    def baselines(self, data: Dataset, split: str) -> dict[str, Baseline]:
        """Measure the most frequent label, and logistic regression of pixels and colours."""
        labels, measures, images = self.codec.labels, super().baselines(data, split), partial(_images, data, split)
        examples = (data.example(split, index) for index in range(data.size(split) or 0))
        targets = label_numbers(labels, [example.label for example in examples], split)
        for name, (regression, count, seconds) in self._fitted(data).items():
            linear = LINEAR[name]
            about = f"logistic regression on {linear.about} of {count:,} images"
            plain = timed(partial(linear.predict, regression, images, len(targets)), targets, labels, about)
            advice = linear.advice if self.codec.start is not None else f"{linear.advice}; {_PRETRAINED}"
            measures[name] = replace(plain, seconds=round(seconds + plain.seconds, 3), advice=advice)
        return measures

    @cached_property
    def _fitted(self) -> Any:
        return cache(self._fit)  # learned once for all splits

    def _fit(self, data: Dataset) -> dict[str, tuple[Any, int, float]]:
        """Return regressions by name, with the number of their images and their seconds."""
        labels, learned = self.codec.labels, training_sample(data, self.endless, self.learned)
        images, regressions = torch.stack([example.image for example in learned]), dict[str, tuple[Any, int, float]]()
        numbers = label_numbers(labels, [example.label for example in learned], "train")
        for name, linear in LINEAR.items():
            began = time.perf_counter()
            regressions[name] = linear.fit(images, numbers, len(labels)), len(images), time.perf_counter() - began
        return regressions

    def encode(self, inputs: Sequence[Pixels]) -> tuple[Tensor]:
        """Return images `(batch, channels, height, width)` in [0, 1]."""
        return (batch_of(inputs),)

    def check_look(self, model: Any, look: LookRequest) -> None:
        """Reject an unknown label, and attention of a model without it."""
        look.check(model, self.codec.labels)

    def subjects(self, model: Any, inputs: Sequence[Pixels], request: Any) -> list[Subject]:
        """Return images, each with a class: the most probable one or the requested one."""
        return subjects(model, inputs, self.codec.labels, request)

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


def _images(data: Dataset, split: str, first: int, last: int) -> Tensor:
    return torch.stack([data.example(split, index).image for index in range(first, last)])


def suited(count: int, side: int, near: Neighbours) -> dict[str, Any]:
    """Return options beside the recipe for files.

    Few images take smaller batches and fewer steps. Small ones are shifted less, and keep their size in the network. If
    left and right matter, images are not mirrored. If colours say more than places, they are a part of the model.

    Args:
        count: number of training images.
        side: of an image in pixels, the shorter one.
        near: neighbours of training images.

    Example:
        >>> suited(50_000, 28, Neighbours(0.9, 0.3, 0.1, sides=True, coloured=False))
        {'shift': 3, 'flip': False}
    """
    options: dict[str, Any] = {}
    if count < _FEW:
        steps = max(_STEPS, _EPOCHS * count // _BATCH)
        options |= {"batch_size": _BATCH, "max_steps": steps, "schedule_steps": steps, "warmup_steps": steps // 10}
        options |= {"validation_steps": steps // 4, "checkpoint_steps": steps // 4}
    if side < 8 * Options.shift:
        options["shift"] = side // 8
    if side <= _TINY:
        options["stem_stride"] = 1
    if near.sides:
        options["flip"] = False
    if near.coloured:
        options["colours"] = True
    return options


def _open(options: Any, objects: Any) -> Dataset:
    largest = getattr(options, "resolution", LARGEST)
    return open_images(options.data, options.size, objects, Names.of_options(options), largest)


def _suited(task: Task, model: str, explicit: Mapping[str, Any], objects: Any) -> Suited:
    """Recipe for the number, the size and the nearest neighbours of the user's images."""
    usual = task.recipe(model, explicit["data"])
    names = {f.name for f in fields(options_class(task, model))} - {*explicit}
    rows = task.rows(model, explicit, objects)
    data = rows.get()
    learned = training_sample(data, _LOOKED_AT, _LOOKED_AT)
    near = neighbours(torch.stack([example.image for example in learned]), [example.label for example in learned])
    if usual.get("shift") == 0:  # features of a frozen network are computed once
        names.discard("shift")
    if usual.get("schedule") not in FALLING:
        names -= {"schedule_steps", "warmup_steps"}
    count, side = data.size("train") or _FEW, min(data.shape[1:])
    options = {name: value for name, value in suited(count, side, near).items() if name in names}
    words = [
        f"--{'' if value else 'no-'}{name}" if isinstance(value, bool) else f"--{name.replace('_', '-')} {value}"
        for name, value in options.items()
    ]
    by = f"{near.pixels:.0%} by pixels, {near.mirrored:.0%} mirrored, {near.colours:.0%} by colours"
    reason = f"{count:,} images of {side} pixels, nearest neighbours right for {by}: defaults are {' '.join(words)}"
    return Suited({**usual, **options}, reason if words else "", rows)


CLASSIFY_IMAGE = Task(
    name="classify-image",
    summary="Image classification: a label for an image, learned from images with labels.",
    unit="images",
    headline=HEADLINE,
    models={
        "cnn": "saccade.models.cnn:CNN",
        "cnn-attention": "saccade.models.cnn_attention:CNNAttention",
        "pretrained": "saccade.models.pretrained:Pretrained",
    },
    builtin=BUILTIN,
    open=_open,
    codec=LabelledImages,
    predictor=ImageRanks,
    Options=Options,
    recipes={"shapes": {"flip": False, "shift": 0}, "files": {"label_smoothing": 0.1}},
    requests={"predict": Request, "eval": NoOptions, "look": LookRequest},
    inputs="files",
    suffixes=SUFFIXES,
    columns=COLUMNS,
    suit=_suited,
    signature=LabelledImages.signature,
)
"""The task, see docs/classify-image.md. Models have recipes of their own."""
