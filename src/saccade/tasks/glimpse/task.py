"""Image classification by glimpses, as a task."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from saccade._system.imports import find
from saccade.data.dataset import training_sample
from saccade.errors import ArgumentError
from saccade.models.policies import Gaussian
from saccade.models.ram import Path
from saccade.models.strings import symbol_logits
from saccade.tasks.explaining import Subject
from saccade.tasks.glimpse.answer import EyeAnswer, answers, methods_of, sides_of
from saccade.tasks.glimpse.data import BUILTIN, longest_label, open_data
from saccade.tasks.glimpse.eyes import Eyes, most_glimpses, numbers_of
from saccade.tasks.glimpse.options import RECIPES, REQUESTS, EvalRequest, LookRequest, Options, Request
from saccade.tasks.glimpse.spelling import Spelling
from saccade.tasks.image.augment import check_shift
from saccade.tasks.image.dataset import Dataset, Scaled, check_scaled
from saccade.tasks.image.dataset import Example as Labelled
from saccade.tasks.image.images import SUFFIXES, Pixels, batch_of, image_of
from saccade.tasks.image.labelled import LabelledImages, Sample
from saccade.tasks.image.maps import subjects
from saccade.tasks.image.sources import COLUMNS
from saccade.tasks.labels.metrics import HEADLINE, confusion
from saccade.tasks.labels.ranks import Ranks
from saccade.tasks.labels.request import check_count
from saccade.tasks.predictor import Predictor
from saccade.tasks.request import completed
from saccade.tasks.task import Task
from saccade.train.options import select
from saccade.train.schedules import FALLING
from saccade.train.task import Baseline, Evaluation, Form, Loss, Unreadable, model_class

__all__ = ["GLIMPSE", "Batch", "GlimpsedImages", "Glimpses"]

MODELS = {
    "ram": "saccade.models.ram:Ram",
    "ram-grid": "saccade.models.ram_grid:RamGrid",
    "tiles": "saccade.models.tiles:Tiles",
    "soft-tiles": "saccade.models.tiles:SoftTiles",
    "dram": "saccade.models.dram:Dram",
    "random": "saccade.models.random_glimpses:RandomGlimpses",
    "whole": "saccade.models.whole:Whole",
}


class Batch(NamedTuple):
    """Images, labels and progress.

    Images `(batch, channels, height, width)` are in [0, 1]. Labels are `(batch,)`, or `(batch, longest)` for strings.
    Progress is the share of training before this batch.
    """

    images: Tensor
    labels: Tensor
    progress: Tensor

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(*(part.to(device) for part in self))


class GlimpsedImages(LabelledImages):
    """Codec of images with a label or a string each.

    Pixels are not standardized, so black stays 0.
    """

    @classmethod
    def fit(cls, data: Dataset, options: Any) -> tuple[Self, Iterable[str]]:
        """Learn labels and sizes."""
        check_scaled(data, options.size)
        codec = cls(tuple(data.labels), data.shape, longest=longest_label(data), options=options)
        if codec.longest > 1 and not getattr(model_class(GLIMPSE, options.model), "spells", False):
            able = [name for name, where in MODELS.items() if getattr(find(where), "spells", False)]
            what = f"one that reads strings, as the labels of {options.data} are ({', '.join(able)})"
            raise ArgumentError(f"--model: expected {what}, got {options.model}; --longest 1 makes classes of them")
        if getattr(options, "entropy_bonus", 0.0) and not getattr(options, "learn_deviation", True):
            got = f"{options.entropy_bonus} beside a deviation that is given, which alone the entropy depends on"
            raise ArgumentError(f"--entropy-bonus: expected 0 without --learn-deviation, got {got}")
        check_shift(options.shift, data.shape)
        return codec, ()

    def opening(self) -> dict[str, Any]:
        """Return no options to open other data, since images may have any size."""
        return {}

    def adapted(self, data: Dataset) -> Any:
        """Return other data with the channels of the run."""
        shape = (self.shape[0], *data.shape[1:])
        return data if shape == tuple(data.shape) else Scaled(data, shape)

    @cached_property
    def spelling(self) -> Spelling:
        """Labels as classes or strings."""
        return Spelling(self.labels, self.longest)

    def encode(self, examples: Sequence[Labelled], split: str) -> list[Sample]:
        """Return images with the numbers of their labels or symbols."""
        numbers = self.spelling.numbers([example.label for example in examples], split)
        return [Sample(example.image, number) for example, number in zip(examples, numbers, strict=True)]

    def collate(self, samples: Sequence[Sample], step: int | None = None) -> Batch:  # type: ignore[override]
        """Return a batch. A training step has one for each process."""
        end = self.options.schedule_steps if self.options.schedule in FALLING else None
        # the share of a falling schedule before a step, without the budget, so resuming is exact
        progress = min(1.0, step // self.options.processes / end) if end and step is not None else 1.0
        return Batch(*super().collate(samples, step), torch.tensor(progress))

    def build(self, model: Any) -> nn.Module:
        """Return a model for these channels and labels."""
        strings = {"longest": self.longest} if self.spelling.strings else {}
        options = select(self.options, model.Options)
        return model(self.shape[0], self.spelling.classes, options, **strings)  # type: ignore[no-any-return]

    def read(self, line: str, number: int) -> Pixels:
        """Read the image file of a path, scaled if training scaled files."""
        channels, *size = self.shape
        return image_of(line, channels, None if self.options.data in BUILTIN else (size[0], size[1]))

    @property
    def parts(self) -> dict[str, tuple[object, str]]:
        """Labels and channels, the same in all members of an ensemble."""
        return {
            "the labels": (self.labels, f"{', '.join(self.labels):.80}"),
            "the length of labels": (self.longest, f"{self.longest}"),
            "the channels": (self.shape[0], f"{self.shape[0]}"),
        }


class Predicted(NamedTuple):
    """Labels of an image from one sampled path, several, and the likeliest path."""

    single: str
    several: str
    likeliest: str
    entropy: Tensor


@dataclass(frozen=True)
class Glimpses(Predictor):
    """Predictor of labels by paths of glimpses."""

    codec: GlimpsedImages

    ensemble = Eyes  # each model has separate paths

    def loss(self, model: Any, batch: Batch) -> Loss:
        """Return the model's own cost of a batch."""
        total = model.cost(batch.images, batch.labels, batch.progress, self.codec.options.label_smoothing)
        return Loss(total, len(batch.labels))

    def encode(self, inputs: Sequence[Pixels]) -> tuple[Tensor]:
        """Return images `(batch, channels, height, width)` in [0, 1]."""
        return (batch_of(inputs),)

    def predict(self, model: Any, samples: Sequence[Sample], request: Any) -> list[Predicted]:
        """Return labels of each image from sampled paths and from the likeliest one."""
        spelling, rollouts, device = self.codec.spelling, self._rollouts(request), next(model.parameters()).device
        images = self.codec.collate(samples).images
        numbers = numbers_of([*images], self.codec.options.seed, rollouts, most_glimpses(model)).to(device)
        images = images.to(device)
        path = model.look(images, rollouts, numbers=numbers)
        every, sure = self._shares(path), self._shares(model.look(images, draw=False))
        labels = spelling.found(every[:, 0]), spelling.found(every.mean(1)), spelling.found(sure[:, 0])
        return [Predicted(*values) for values in zip(*labels, path.entropy.flatten(1).cpu(), strict=True)]

    def measure(
        self, model: Any, predictions: Sequence[Predicted], examples: Sequence[Labelled], request: Any
    ) -> Evaluation:
        """Return the accuracy of one sampled path, and errors.

        Errors are of one path, of the mean of several and of the likeliest. The mean entropy of the policy is in
        nats. The confusion matrix is of one path.
        """
        targets, groups = [example.label for example in examples], [example.group for example in examples]
        single, several, likeliest, entropy = zip(*predictions, strict=True) if predictions else ((), (), (), ())
        metrics, parts = self.codec.spelling.measured(single, targets, groups)
        for name, labels in (
            ("error", single),
            (f"error_of_{self._rollouts(request)}", several),
            ("error_likeliest", likeliest),
        ):
            wrong = sum(label != target for label, target in zip(labels, targets, strict=True))
            metrics[name] = wrong / max(1, len(targets))
        if any(nats.numel() for nats in entropy):
            metrics["entropy"] = float(torch.cat(entropy).double().mean())
        if isinstance(policy := getattr(model, "policy", None), Gaussian):
            metrics["deviation"] = float(policy.deviation(1.0))
        counts = {} if self.codec.spelling.strings else confusion(targets, single, self.codec.labels)
        return Evaluation(metrics, parts, len(targets), len(targets), confusion=counts)

    def baselines(self, data: Any, split: str) -> dict[str, Baseline]:
        """Measure the most frequent label."""
        targets = [data.example(split, index).label for index in range(data.size(split) or 0)]
        learned = [example.label for example in training_sample(data, Ranks.endless, Ranks.learned)]
        return {"majority": self.codec.spelling.baseline(learned, targets, split)}

    def check(self, model: nn.Module, request: Any) -> None:
        """Reject more answers than labels, and methods that the model does not have."""
        if isinstance(request, LookRequest):
            if request.faithful and sides_of(model):
                expected = "expected a run that reads whole images, got one of glimpses. Leave it out."
                raise ArgumentError(f"--faithful: {expected}")
            request.check(model, self.codec.labels, methods_of(model, self.codec.spelling))
        else:
            check_count(completed(Request, request), self.codec.spelling.most)

    def subjects(self, model: Any, inputs: Sequence[Pixels], request: Any) -> list[Subject]:
        """Return images, each with a class: the most probable one or the requested one."""
        if sides_of(model):
            way_out = "`saccade predict --json` has the path of its glimpses."
            raise ArgumentError(f"by: expected a run that reads whole images, got one of glimpses. {way_out}")
        return subjects(model, inputs, self.codec.labels, request)

    def answer(
        self, model: nn.Module, inputs: Sequence[Pixels | Unreadable], request: Any, form: Form = "lines"
    ) -> list[EyeAnswer]:
        """Classify images."""
        drawn = isinstance(request, LookRequest)
        chosen = Request(likeliest=request.likeliest) if drawn else completed(Request, request)
        rollouts = None if chosen.likeliest else chosen.rollouts or 1
        look, seed = request if drawn else LookRequest(), self.codec.options.seed
        return answers(model, inputs, self.codec.spelling, chosen.nbest, rollouts, seed, form, look)

    def _rollouts(self, request: Any) -> int:
        return completed(EvalRequest, request).rollouts or int(self.codec.options.rollouts)

    def _shares(self, path: Path) -> Tensor:
        """Probabilities `(batch, rollouts, longest, classes)` after each last glimpse."""
        return symbol_logits(path.logits, self.codec.longest).float().softmax(-1)


GLIMPSE = Task(
    name="glimpse",
    summary="Image classification by glimpses: the model looks at parts of an image in turn.",
    unit="images",
    headline=HEADLINE,
    models=MODELS,
    builtin=BUILTIN,
    open=open_data,
    codec=GlimpsedImages,
    predictor=Glimpses,
    Options=Options,
    recipes=RECIPES,
    requests=REQUESTS,
    inputs="files",
    suffixes=SUFFIXES,
    columns=COLUMNS,
)
"""The task, see docs/glimpse.md."""
