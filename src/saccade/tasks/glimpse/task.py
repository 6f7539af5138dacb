"""The task that looks at parts of images: what `saccade.train` and whoever asks a run want of it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import torch
from torch import Tensor, nn

from saccade.data.dataset import Lazy, take, training_sample
from saccade.errors import ArgumentError
from saccade.models.policies import Gaussian
from saccade.models.ram import Path as EyePath
from saccade.models.strings import said
from saccade.tasks.batches import Sampler
from saccade.tasks.ensembles import check_alike
from saccade.tasks.glimpse.answer import EyeAnswer, answers
from saccade.tasks.glimpse.data import BUILTIN, longest_label, open_data
from saccade.tasks.glimpse.eyes import Eyes, most_glimpses, numbers_of
from saccade.tasks.glimpse.options import RECIPES, REQUESTS, EvalRequest, LookRequest, Options, Request
from saccade.tasks.glimpse.spelling import Spelling
from saccade.tasks.image.augment import check_shift
from saccade.tasks.image.batches import Encoded, augmented, stacked
from saccade.tasks.image.classes import Classes
from saccade.tasks.image.dataset import Dataset, check_scaled
from saccade.tasks.image.images import SUFFIXES, Pixels, encode_png, image_of
from saccade.tasks.labels.metrics import HEADLINE
from saccade.tasks.labels.request import check_count
from saccade.tasks.request import completed
from saccade.tasks.stream import texts
from saccade.train import options as shared
from saccade.train.notes import say
from saccade.train.schedules import FALLING
from saccade.train.task import Baseline, Evaluation, Example, Form, Loss, Metric, Suited, Unreadable, find, recipe

if TYPE_CHECKING:
    from saccade.train.trained import Trained

__all__ = ["Batch", "Glimpse"]

_AT_ONCE = 256  # images that are measured together
_ENDLESS, _LEARNED = 500, 5_000  # training images whose labels are counted: of those without end, and of others


class Batch(NamedTuple):
    """Images `(batch, channels, height, width)` in [0, 1], labels `(batch,)` or of strings `(batch, longest)`, and how
    much of training is over.
    """

    images: Tensor
    labels: Tensor
    progress: Tensor

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(*(part.to(device) for part in self))


@dataclass(frozen=True)
class Glimpse:
    """Learn which label an image has by looking at parts of it, and where to look.

    Args:
        settings: all options of the run.
        known: labels, size and channels.
        images: the images.
    """

    settings: Any
    known: Classes
    images: Lazy[Dataset]

    name: ClassVar[str] = "glimpse"
    headline: ClassVar[str] = HEADLINE
    Options: ClassVar[type] = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    requests: ClassVar[Mapping[str, type]] = REQUESTS
    inputs: ClassVar[Literal["lines", "files"]] = "files"
    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    unit: ClassVar[str] = "images"
    lines = staticmethod(texts)
    models: ClassVar[dict[str, str]] = {
        "ram": "saccade.models.ram:Ram",
        "ram-grid": "saccade.models.ram_grid:RamGrid",
        "tiles": "saccade.models.tiles:Tiles",
        "soft-tiles": "saccade.models.tiles:SoftTiles",
        "dram": "saccade.models.dram:Dram",
        "random": "saccade.models.random_glimpses:RandomGlimpses",
        "whole": "saccade.models.whole:Whole",
    }
    builtin: ClassVar[dict[str, str]] = BUILTIN

    @classmethod
    def suited(cls, model: str, given: Mapping[str, Any], objects: Any = None) -> Suited:
        """Return the recipe of all images that are one's own."""
        return Suited(recipe(cls, model, given["data"]), data=objects)

    @classmethod
    def prepare(cls, options: Any, objects: Any = None) -> Self:
        """Open the images; eyes take them as they are, black being nothing, so nothing is learned of their channels."""
        data = open_data(options, objects)
        check_scaled(data, options.size)
        known = Classes(tuple(data.labels), data.shape, longest=longest_label(data))
        cls._check_strings(options, known)
        cls._check_bonus(options)
        check_shift(options.shift, data.shape)
        if data.note:
            say(data.note)
        return cls(options, known, Lazy(lambda: data))

    @classmethod
    def restore(cls, options: Any, folder: Path, objects: Any = None) -> Self:
        """Read labels and channels back."""
        return cls(options, Classes.restore(folder), Lazy(lambda: open_data(options, objects)))

    @classmethod
    def _check_bonus(cls, options: Any) -> None:
        """Refuse a bonus for an entropy that nothing learned has a part in; runs of before had one to no effect."""
        if getattr(options, "entropy_bonus", 0.0) and not getattr(options, "learn_deviation", True):
            got = f"{options.entropy_bonus} beside a deviation that is given, which alone the entropy depends on"
            raise ArgumentError(f"--entropy-bonus: expected 0 without --learn-deviation, got {got}")

    @classmethod
    def _check_strings(cls, options: Any, known: Classes) -> None:
        """Refuse labels that are strings to a model that knows classes alone."""
        able = [name for name, where in cls.models.items() if getattr(find(where), "spells", False)]
        if known.longest > 1 and options.model not in able:
            what = f"one that reads strings, as the labels of {options.data} are ({', '.join(able)})"
            raise ArgumentError(f"--model: expected {what}, got {options.model}; --longest 1 makes classes of them")

    def save(self, folder: Path) -> None:
        """Write labels.json."""
        self.known.save(folder)

    @property
    def data(self) -> Dataset:
        """The images, opened when they are first asked for."""
        return self.images.get()

    @cached_property
    def labels(self) -> Spelling:
        """The labels that are answered."""
        return Spelling(self.known.labels, self.known.longest)

    @cached_property
    def sampler(self) -> Sampler[Encoded]:
        """What maps steps to batches."""
        data, settings, read = self.data, self.settings, partial(self.labels.encoded, self.data, "train")
        return Sampler(read, data.size("train"), settings.batch_size, settings.seed, count=len)

    def build(self) -> nn.Module:
        """Make the model."""
        kind, strings = find(self.models[self.settings.model]), {"longest": self.known.longest}
        sizes, options = (self.known.shape[0], self.labels.classes), shared.select(self.settings, kind.Options)
        model: nn.Module = kind(*sizes, options, **(strings if self.labels.strings else {}))
        return model

    def batch(self, step: int) -> Batch:
        """Return a batch; those of one training step are one for each process."""
        settings, found = self.settings, self.sampler.batch(step)
        batch = augmented(found, settings.seed, step, mirrored=False, shifted=settings.shift)
        return Batch(*batch, torch.tensor(self._progress(step // settings.processes)))

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Return what the model says that the batch costs."""
        cost: Any = model.cost
        total = cost(batch.images, batch.labels, batch.progress, self.settings.label_smoothing)
        return Loss(total, len(batch.labels))

    def example(self, split: str, index: int) -> Example:
        """Return an image and its label."""
        image, label, _ = self.data.example(split, index)
        name = f"{split}-{index}"
        return Example(Pixels(f"{name}.png", image), name, label, (".png", encode_png(image)))

    def evaluate(self, model: nn.Module, split: str, limit: int | None = None, request: Any = None) -> Evaluation:
        """Look at a split, or at `limit` images spread over it: one drawn path each, whose accuracy is the headline.

        Beside it the error of one path, of the mean of several, and of the likeliest path; the policy's mean entropy in
        nats, and its deviation where it has one.
        """
        asked, eyes, chosen = completed(EvalRequest, request), _looks(model), take(self.data, split, limit)
        rollouts = asked.rollouts or self.settings.rollouts
        found, several, likeliest, entropy = list[str](), list[str](), list[str](), list[Tensor]()
        seconds, device = 0.0, next(model.parameters()).device
        for first in range(0, len(chosen), _AT_ONCE):  # no more is in memory as floats
            images = stacked(self.labels.encoded(self.data, split, chosen[first : first + _AT_ONCE])).images
            numbers = numbers_of([*images], self.settings.seed, rollouts, most_glimpses(model))
            images, began = images.to(device), time.perf_counter()
            path = eyes(images, rollouts, numbers=numbers.to(device))
            entropy.append(path.entropy.flatten())
            every = self._shares(path)
            found += self.labels.found(every[:, 0])
            several += self.labels.found(every.mean(1))
            likeliest += self.labels.found(self._shares(eyes(images, draw=False))[:, 0])
            seconds += time.perf_counter() - began
        told = [self.data.example(split, index)[1:] for index in chosen]
        wanted, groups = [label for label, _ in told], [group for _, group in told]
        metrics, parts = self.labels.measured(found, wanted, groups)
        errors = {"error": found, f"error_of_{rollouts}": several, "error_likeliest": likeliest}
        metrics |= {
            name: sum(a != b for a, b in zip(each, wanted, strict=True)) / max(1, len(wanted))
            for name, each in errors.items()
        }
        metrics |= _spread(model, entropy)
        return Evaluation(metrics, parts, len(wanted), len(wanted), seconds)

    def baselines(self, split: str) -> dict[str, Baseline]:
        """Measure the most frequent label."""
        size = self.data.size(split) or 0
        wanted = [self.data.example(split, index).label for index in range(size)]
        learned = [example.label for example in training_sample(self.data, _ENDLESS, _LEARNED)]
        return {"majority": self.labels.baseline(learned, wanted, split)}

    def read(self, line: str, number: int) -> Pixels:
        """Read a file, "-" being standard input: in its own size, or as training scaled files, where it did."""
        channels, *size = self.known.shape
        return image_of(line, channels, None if self.settings.data in BUILTIN else (size[0], size[1]))

    def check(self, model: nn.Module, request: Any) -> None:
        """Refuse more classes than there are."""
        if not isinstance(request, LookRequest):
            check_count(completed(Request, request), self.labels.most)

    def answer(
        self, model: nn.Module, inputs: Sequence[Pixels | Unreadable], request: Any, form: Form = "lines"
    ) -> list[EyeAnswer]:
        """Classify images; one that could not be read has a blank answer."""
        drawn = isinstance(request, LookRequest)
        asked = Request(likeliest=request.likeliest) if drawn else completed(Request, request)
        rollouts = None if asked.likeliest else asked.rollouts or 1
        return answers(model, inputs, self.labels, asked.nbest, rollouts, self.settings.seed, form)

    def join(self, model: nn.Module, others: Sequence["Trained"]) -> tuple[Self, nn.Module]:
        """Return the task and the model of an ensemble."""
        check_alike(self, others, _shared_parts)
        return self, Eyes([model, *(each.model for each in others)])

    def _shares(self, path: EyePath) -> Tensor:
        """Probabilities of symbols after their last glimpse, `(batch, rollouts, longest, classes)`."""
        return said(path.logits, self.known.longest).float().softmax(-1)

    def _progress(self, step: int) -> float:
        """The share of a falling schedule that is over before a step; without one, as in answers, all of it.

        What a budget says plays no part in it: a run that goes on is the one that was not interrupted.
        """
        settings = self.settings
        end = settings.schedule_steps if settings.schedule in FALLING else None
        return min(1.0, step / end) if end else 1.0


def _spread(model: nn.Module, entropy: Sequence[Tensor]) -> dict[str, Metric]:
    """How much a policy that chooses leaves open: nats of each choice, and its deviation where that is one number."""
    found: dict[str, Metric] = {}
    if any(each.numel() for each in entropy):
        found["entropy"] = float(torch.cat([*entropy]).double().mean())
    if isinstance(policy := getattr(model, "policy", None), Gaussian):
        found["deviation"] = float(policy.deviation(1.0))
    return found


def _looks(model: nn.Module) -> Any:
    """What lets a model's eyes go over images."""
    return model.look


def _shared_parts(task: Glimpse) -> dict[str, tuple[object, str]]:
    known = task.known
    channels = known.shape[0]
    return {
        "the labels": (known.labels, f"{', '.join(known.labels):.80}"),
        "the length of labels": (known.longest, f"{known.longest}"),
        "the channels": (channels, f"{channels}"),
    }
