"""The task that classifies images: what `saccade.train` and whoever asks a run want of it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.errors import ArgumentError
from saccade.tasks.batches import Sampler, spread
from saccade.tasks.classify_image.answer import ImageAnswer, Pixels, answers, attends, image_of
from saccade.tasks.classify_image.data import BUILTIN, open_images
from saccade.tasks.classify_image.options import RECIPES, REQUESTS, LookRequest, Options
from saccade.tasks.dataset import Lazy
from saccade.tasks.ensembles import check_alike
from saccade.tasks.image.augment import flip, shift
from saccade.tasks.image.dataset import Dataset, pixels, statistics
from saccade.tasks.image.images import SUFFIXES, encode_png
from saccade.tasks.labels import Ensemble
from saccade.tasks.labels.metrics import HEADLINE, measured
from saccade.tasks.labels.ranking import label_numbers
from saccade.tasks.labels.request import Request, check_count
from saccade.tasks.request import completed
from saccade.tasks.saved import labels_from, reading, whole_number
from saccade.train import options as shared
from saccade.train.files import write_json
from saccade.train.notes import say
from saccade.train.randomness import generator
from saccade.train.task import Evaluation, Example, Form, Loss, Unreadable, find

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["Batch", "ClassifyImage", "Known"]

_FILE = "labels.json"
_AT_ONCE = 256  # images that are measured together


class Batch(NamedTuple):
    """Images `(batch, channels, height, width)`, float32 in [0, 1], and the numbers of their labels `(batch,)`."""

    images: Tensor
    labels: Tensor

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.images.to(device), self.labels.to(device))


@dataclass(frozen=True)
class Known:
    """What was learned from the data beside weights.

    Args:
        labels: all labels, sorted; a label's number is its place.
        shape: channels, height and width of the images.
        mean, std: of each channel.
    """

    labels: tuple[str, ...]
    shape: tuple[int, int, int]
    mean: tuple[float, ...]
    std: tuple[float, ...]


class _Encoded(NamedTuple):
    """An image, uint8, and the number of its label."""

    image: Tensor
    label: int
    size: int = 1  # each takes as much of a batch as any other
    order: int = 0


@dataclass(frozen=True)
class ClassifyImage:
    """Learn which label an image has, from images with their labels.

    Args:
        settings: all options of the run.
        known: what was learned from the data.
        images: the images.
    """

    settings: Any
    known: Known
    images: Lazy[Dataset]

    name: ClassVar[str] = "classify-image"
    headline: ClassVar[str] = HEADLINE
    Options: ClassVar[type] = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    requests: ClassVar[Mapping[str, type]] = REQUESTS
    inputs: ClassVar[Literal["lines", "files"]] = "files"
    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    unit: ClassVar[str] = "images"
    models: ClassVar[dict[str, str]] = {
        "cnn": "saccade.models.cnn:CNN",
        "cnn-attention": "saccade.models.cnn_attention:CNNAttention",
    }
    builtin: ClassVar[dict[str, str]] = BUILTIN

    @classmethod
    def prepare(cls, options: Any, objects: Any = None) -> Self:
        """Open the images, and learn what their channels are."""
        data = open_images(options.data, options.size, objects)
        for note in filter(None, (data.note,)):
            say(note)
        if not options.shift < min(data.shape[1:]):
            raise ArgumentError(f"--shift: expected less than the images' {min(data.shape[1:])}, got {options.shift}")
        mean, std = map(tuple, statistics(data))
        return cls(options, Known(tuple(data.labels), data.shape, mean, std), Lazy(lambda: data))

    @classmethod
    def restore(cls, options: Any, folder: Path, objects: Any = None) -> Self:
        """Read labels and channels back."""
        with reading(folder / _FILE, "the labels") as content:
            names = ("channels", "height", "width")
            channels, height, width = (whole_number(content, name) for name in names)
            mean, std = (tuple(map(float, content[name])) for name in ("mean", "std"))
            known = Known(labels_from(content), (channels, height, width), mean, std)
        return cls(options, known, Lazy(lambda: open_images(options.data, options.size, objects)))

    def save(self, folder: Path) -> None:
        """Write labels.json."""
        sizes = dict(zip(("channels", "height", "width"), self.known.shape, strict=True))
        numbers = {"mean": list(self.known.mean), "std": list(self.known.std)}
        write_json(folder / _FILE, {"labels": list(self.known.labels), **sizes, **numbers})

    @property
    def data(self) -> Dataset:
        """The images, opened when they are first asked for."""
        return self.images.get()

    @cached_property
    def sampler(self) -> Sampler[_Encoded]:
        """What maps steps to batches."""
        settings, size = self.settings, self.data.size("train")
        return Sampler(lambda indices: self._encoded("train", indices), size, settings.batch_size, settings.seed)

    def build(self) -> nn.Module:
        """Make the model."""
        kind, known = find(self.models[self.settings.model]), self.known
        options = shared.select(self.settings, kind.Options)
        model: nn.Module = kind(known.shape[0], len(known.labels), options, known.mean, known.std)
        return model

    def batch(self, step: int) -> Batch:
        """Return the batch of a training step, each image mirrored and shifted at random."""
        found, settings = self.sampler.batch(step), self.settings
        images = torch.stack([one.image for one in found])
        draws = generator(settings.seed, "augment", step)
        images = flip(images, draws) if settings.flip else images
        images = shift(images, settings.shift, draws) if settings.shift else images
        return Batch(pixels(images), torch.tensor([one.label for one in found]))

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return the cross-entropy of the labels."""
        logits = model(batch.images).float()
        total = F.cross_entropy(logits, batch.labels, label_smoothing=self.settings.label_smoothing)
        return Loss(total, len(batch.labels))

    def example(self, split: str, index: int) -> Example:
        """Return an image and its label."""
        image, label, _ = self.data.example(split, index)
        name = f"{split}-{index}"
        return Example(Pixels(f"{name}.png", image), name, label, (".png", encode_png(image)))

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None, request: Any = None) -> Evaluation:
        """Classify a split, or `limit` images spread over it, and measure it, as a whole, by class and by group."""
        size = self.data.size(split) or 0
        chosen = list(spread(size, limit) if limit is not None else range(size))
        found, wanted, seconds, device = list[int](), list[int](), 0.0, next(model.parameters()).device
        for first in range(0, size if limit is None else len(chosen), _AT_ONCE):  # no more is in memory as floats
            encoded = self._encoded(split, chosen[first : first + _AT_ONCE])
            batch = pixels(torch.stack([one.image for one in encoded])).to(device)
            began = time.perf_counter()
            found += model(batch).argmax(-1).tolist()
            seconds += time.perf_counter() - began
            wanted += [one.label for one in encoded]
        groups = [self.data.example(split, index).group for index in chosen]
        return Evaluation(*measured(found, wanted, self.known.labels, groups), len(wanted), len(wanted), seconds)

    def read(self, line: str, number: int) -> Pixels:
        """Read a file, "-" being standard input, as an image of the run's size."""
        return image_of(line, self.known.shape)

    def check(self, model: nn.Module, request: Any) -> None:
        """Refuse more classes than there are, one that there is not, and attention of a model without."""
        if not isinstance(request, LookRequest):
            check_count(completed(Request, request), len(self.known.labels))
            return
        if request.label is not None:
            if request.label not in self.known.labels:
                known = ", ".join(self.known.labels)
                raise ArgumentError(f"--label: expected one of {known:.200}, got {request.label}")
            if request.by not in ("gradient", "grad-cam"):
                raise ArgumentError("--label: expected only with --by gradient or grad-cam")
        if request.by == "attention" and not attends(model):
            raise ArgumentError(f"--by: expected gradient or grad-cam of {self.settings.model}, which does not attend")

    def answer(
        self, model: nn.Module, inputs: Sequence[Pixels | Unreadable], request: Any, form: Form = "lines"
    ) -> list[ImageAnswer]:
        """Classify images; one that could not be read has a blank answer."""
        look = request if isinstance(request, LookRequest) else None
        count = 1 if look else completed(Request, request).nbest
        return answers(model, inputs, self.known.labels, count, form, look or LookRequest())

    def join(self, model: nn.Module, others: Sequence["Trained"]) -> tuple[Self, nn.Module]:
        """Return the task and the model of an ensemble."""
        check_alike(self, others, _shared_parts)
        return self, Ensemble([model, *(each.model for each in others)])

    def _encoded(self, split: str, indices: Sequence[int]) -> list[_Encoded]:
        examples = [self.data.example(split, index) for index in indices]
        numbers = label_numbers(self.known.labels, [example.label for example in examples], split)
        return [_Encoded(example.image, number) for example, number in zip(examples, numbers, strict=True)]


def _shared_parts(task: ClassifyImage) -> dict[str, tuple[object, str]]:
    known = task.known
    return {"the labels": (known.labels, f"{', '.join(known.labels):.80}"), "the images' size": (known.shape, "others")}
