"""Labelled images: labels, sizes, statistics of channels, and batches."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from saccade._system.files import write_json
from saccade.tasks.export import Signature
from saccade.tasks.image.augment import check_shift, flipped_and_shifted
from saccade.tasks.image.dataset import Dataset, Scaled, check_scaled, pixels, statistics
from saccade.tasks.image.dataset import Example as Labelled
from saccade.tasks.image.images import Pixels, encode_png, image_of
from saccade.tasks.image.start import PretrainedStart
from saccade.tasks.labels.ranking import label_numbers
from saccade.tasks.labels.ranks import Batch
from saccade.tasks.saved import labels_from, reading, whole_number
from saccade.train.options import select
from saccade.train.task import Example

__all__ = ["LabelledImages", "Sample"]

_FILE, _SIZES = "labels.json", ("channels", "height", "width")


class Sample(NamedTuple):
    """An image, and the number of its label, or the numbers of its symbols.

    The image is `(channels, height, width)`, uint8.
    """

    image: Tensor
    label: int | tuple[int, ...]
    size: int = 1
    order: int = 0


@dataclass(frozen=True)
class LabelledImages:
    """Codec of images with one label each.

    Args:
        labels: all labels, sorted. The number of a label is its index.
        shape: channels, height and width of the images.
        mean, std: of each channel of training images in [0, 1], or () if models take images unscaled.
        longest: symbols of the longest label if labels are strings, else 1.
        options: of the run.
        start: weights of a pretrained network, if the model has one.
    """

    labels: tuple[str, ...]
    shape: tuple[int, int, int]
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    longest: int = 1
    options: Any = field(default=None, compare=False)
    start: PretrainedStart | None = field(default=None, compare=False)

    @classmethod
    def fit(cls, data: Dataset, options: Any) -> tuple[Self, Iterable[str]]:
        """Learn labels, sizes and statistics of channels."""
        check_scaled(data, options.size)
        check_shift(options.shift, data.shape)
        if (start := PretrainedStart.open(options)) is not None:
            start.prepare(data, options)
        mean, std = statistics(lambda index: data.example("train", index).image, data.size("train"))
        return cls(tuple(data.labels), data.shape, mean, std, options=options, start=start), ()

    def save(self, folder: Path) -> None:
        """Write labels.json, and pretrained weights."""
        numbers = {"mean": list(self.mean), "std": list(self.std)}
        sizes = dict(zip(_SIZES, self.shape, strict=True))
        strings = {"longest": self.longest} if self.longest > 1 else {}
        write_json(folder / _FILE, {"labels": list(self.labels), **sizes, **numbers, **strings})
        if self.start is not None:
            self.start.save(folder)

    @classmethod
    def restore(cls, folder: Path, options: Any) -> Self:
        """Read the files of `save`, or raise an error if one is missing or damaged."""
        with reading(folder / _FILE, "the labels") as content:
            channels, height, width = (whole_number(content, name) for name in _SIZES)
            mean, std = (tuple(map(float, content[name])) for name in ("mean", "std"))
            longest = whole_number(content, "longest") if "longest" in content else 1
            labels = labels_from(content)
        start = PretrainedStart.restore(folder, options)
        return cls(labels, (channels, height, width), mean, std, longest, options, start)

    def opening(self) -> dict[str, Any]:
        """Return options to open other data: images of the size of the run."""
        _, height, width = self.shape
        return {"size": height} if height == width >= 8 else {}

    def adapted(self, data: Dataset) -> Any:
        """Return other data, with images scaled to the size of the run."""
        return data if tuple(data.shape) == self.shape else Scaled(data, self.shape)

    def encode(self, examples: Sequence[Labelled], split: str) -> list[Sample]:
        """Convert labels to numbers, or raise an `ArgumentError` for an unknown one."""
        numbers = label_numbers(self.labels, [example.label for example in examples], split)
        return [Sample(example.image, number) for example, number in zip(examples, numbers, strict=True)]

    def collate(self, samples: Sequence[Sample], step: int | None = None) -> Batch:
        """Return images `(batch, channels, height, width)` in [0, 1] with labels.

        They are float32. A training step mirrors and shifts them at random.
        """
        images, options = torch.stack([sample.image for sample in samples]), self.options
        if step is not None:
            mirrored = getattr(options, "flip", False)
            images = flipped_and_shifted(images, options.seed, step, mirrored=mirrored, shifted=options.shift)
        return Batch(pixels(images), torch.tensor([sample.label for sample in samples]))

    def build(self, model: Any) -> nn.Module:
        """Return a model for these channels and labels."""
        options = select(self.options, model.Options)
        classifier: nn.Module = model(self.shape[0], len(self.labels), options, self.mean, self.std)
        if self.start is not None:
            self.start.apply(classifier)
        return classifier

    def signature(self, model: nn.Module) -> Signature:
        """Return the model as a function of images, for `saccade export`."""

        def draw(batch: int, length: int) -> dict[str, Tensor]:
            return {"images": torch.linspace(0, 1, batch * math.prod(self.shape)).view(batch, *self.shape)}

        about = {
            "labels": self.labels,
            **dict(zip(_SIZES, self.shape, strict=True)),
            "mean": self.mean,
            "std": self.std,
        }
        return Signature(model, draw, {"images": {0: "batch"}}, ["logits"], about)

    def show(self, example: Labelled, name: str) -> Example:
        """Return an image, as a PNG file too, and its label."""
        return Example(Pixels(f"{name}.png", example.image), name, example.label, (".png", encode_png(example.image)))

    def read(self, line: str, number: int) -> Pixels:
        """Read the image file of a path, scaled to the size of the training images."""
        return image_of(line, self.shape[0], self.shape[1:])

    @property
    def parts(self) -> dict[str, tuple[object, str]]:
        """Labels and sizes, equal in all members of an ensemble."""
        return {
            "the labels": (self.labels, f"{', '.join(self.labels):.80}"),
            "the images' size": (self.shape, "others"),
        }
