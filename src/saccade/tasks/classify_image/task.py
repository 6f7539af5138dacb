"""The task that classifies images: what `saccade.train` and whoever asks a run want of it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from torch import nn
from torch.nn import functional as F

from saccade.data.dataset import Lazy, take, training_sample
from saccade.data.splits import SplitNames
from saccade.tasks.batches import Sampler
from saccade.tasks.classify_image.answer import ImageAnswer, answers
from saccade.tasks.classify_image.data import BUILTIN, open_images
from saccade.tasks.classify_image.options import RECIPES, REQUESTS, Options
from saccade.tasks.ensembles import check_alike
from saccade.tasks.image.augment import check_shift
from saccade.tasks.image.batches import Batch, Encoded, augmented, encode, stacked
from saccade.tasks.image.classes import Classes
from saccade.tasks.image.dataset import Dataset, check_scaled
from saccade.tasks.image.images import SUFFIXES, Pixels, encode_png, image_of
from saccade.tasks.image.maps import LookRequest
from saccade.tasks.labels import Ensemble
from saccade.tasks.labels.baselines import majority
from saccade.tasks.labels.metrics import HEADLINE, measured
from saccade.tasks.labels.ranking import label_numbers
from saccade.tasks.labels.request import Request, check_count
from saccade.tasks.request import completed
from saccade.tasks.stream import texts
from saccade.train import options as shared
from saccade.train.notes import say
from saccade.train.task import Baseline, Evaluation, Example, Form, Loss, Suited, Unreadable, find, recipe

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["ClassifyImage"]

_AT_ONCE = 256  # images that are measured together
_ENDLESS, _LEARNED = 500, 5_000  # training images whose labels are counted: of those without end, and of others


@dataclass(frozen=True)
class ClassifyImage:
    """Learn which label an image has, from images with their labels.

    Args:
        settings: all options of the run.
        known: labels, size and channels.
        images: the images.
    """

    settings: Any
    known: Classes
    images: Lazy[Dataset]

    name: ClassVar[str] = "classify-image"
    headline: ClassVar[str] = HEADLINE
    Options: ClassVar[type] = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    requests: ClassVar[Mapping[str, type]] = REQUESTS
    inputs: ClassVar[Literal["lines", "files"]] = "files"
    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    unit: ClassVar[str] = "images"
    lines = staticmethod(texts)
    models: ClassVar[dict[str, str]] = {
        "cnn": "saccade.models.cnn:CNN",
        "cnn-attention": "saccade.models.cnn_attention:CNNAttention",
    }
    builtin: ClassVar[dict[str, str]] = BUILTIN

    @classmethod
    def suited(cls, model: str, given: Mapping[str, Any], objects: Any = None) -> Suited:
        """Return the recipe of all images that are one's own."""
        return Suited(recipe(cls, model, given["data"]), data=objects)

    @classmethod
    def prepare(cls, options: Any, objects: Any = None) -> Self:
        """Open the images, and learn what their channels are."""
        data = _opened(options, objects)
        check_scaled(data, options.size)
        if data.note:
            say(data.note)
        check_shift(options.shift, data.shape)
        return cls(options, Classes.learn(data), Lazy(lambda: data))

    @classmethod
    def restore(cls, options: Any, folder: Path, objects: Any = None) -> Self:
        """Read labels and channels back."""
        return cls(options, Classes.restore(folder), Lazy(lambda: _opened(options, objects)))

    def save(self, folder: Path) -> None:
        """Write labels.json."""
        self.known.save(folder)

    @property
    def data(self) -> Dataset:
        """The images, opened when they are first asked for."""
        return self.images.get()

    @cached_property
    def sampler(self) -> Sampler[Encoded]:
        """What maps steps to batches."""
        data, settings, read = self.data, self.settings, partial(encode, self.data, "train", self.known.labels)
        return Sampler(read, data.size("train"), settings.batch_size, settings.seed, count=len)

    def build(self) -> nn.Module:
        """Make the model."""
        kind, known = find(self.models[self.settings.model]), self.known
        options = shared.select(self.settings, kind.Options)
        model: nn.Module = kind(known.shape[0], len(known.labels), options, known.mean, known.std)
        return model

    def batch(self, step: int) -> Batch:
        """Return the batch of a training step, each image mirrored and shifted at random."""
        found, settings = self.sampler.batch(step), self.settings
        return augmented(found, settings.seed, step, mirrored=settings.flip, shifted=settings.shift)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return the cross-entropy of the labels."""
        logits, smoothing = model(batch.images).float(), self.settings.label_smoothing
        return Loss(F.cross_entropy(logits, batch.labels, label_smoothing=smoothing), len(batch.labels))

    def example(self, split: str, index: int) -> Example:
        """Return an image and its label."""
        image, label, _ = self.data.example(split, index)
        name = f"{split}-{index}"
        return Example(Pixels(f"{name}.png", image), name, label, (".png", encode_png(image)))

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None, request: Any = None) -> Evaluation:
        """Classify a split, or `limit` images spread over it, and measure it, as a whole, by class and by group."""
        chosen = take(self.data, split, limit)
        found, wanted, seconds, device = list[int](), list[int](), 0.0, next(model.parameters()).device
        for first in range(0, len(chosen), _AT_ONCE):  # no more is in memory as floats
            batch = stacked(encode(self.data, split, self.known.labels, chosen[first : first + _AT_ONCE])).to(device)
            began = time.perf_counter()
            found += model(batch.images).argmax(-1).tolist()
            seconds += time.perf_counter() - began
            wanted += batch.labels.tolist()
        groups = [self.data.example(split, index).group for index in chosen]
        return Evaluation(*measured(found, wanted, self.known.labels, groups), len(wanted), len(wanted), seconds)

    def baselines(self, split: str) -> dict[str, Baseline]:
        """Measure the most frequent label."""
        known, size = self.known.labels, self.data.size(split) or 0
        wanted = [self.data.example(split, index).label for index in range(size)]
        learned = [example.label for example in training_sample(self.data, _ENDLESS, _LEARNED)]
        numbers = label_numbers(known, learned, "train"), label_numbers(known, wanted, split)
        return {"majority": majority(*numbers, known)}

    def read(self, line: str, number: int) -> Pixels:
        """Read a file, "-" being standard input, as an image of the run's size."""
        return image_of(line, self.known.shape[0], self.known.shape[1:])

    def check(self, model: nn.Module, request: Any) -> None:
        """Refuse more classes than there are, one that there is not, and attention of a model without."""
        if isinstance(request, LookRequest):
            request.check(model, self.known.labels)
        else:
            check_count(completed(Request, request), len(self.known.labels))

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


def _opened(options: Any, objects: Any) -> Dataset:
    return open_images(options.data, options.size, objects, SplitNames.of_options(options))


def _shared_parts(task: ClassifyImage) -> dict[str, tuple[object, str]]:
    known = task.known
    return {"the labels": (known.labels, f"{', '.join(known.labels):.80}"), "the images' size": (known.shape, "others")}
