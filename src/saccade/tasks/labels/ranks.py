"""Predictor of classes: loss, metrics, a baseline, and ensembles."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from saccade.data.dataset import training_sample
from saccade.tasks.labels.baselines import majority
from saccade.tasks.labels.metrics import HEADLINE, confusion, measured
from saccade.tasks.labels.ranking import label_numbers
from saccade.tasks.labels.request import Request, check_count
from saccade.tasks.predictor import Predictor
from saccade.tasks.request import completed
from saccade.train.task import Answer, Baseline, Evaluation, Form

__all__ = ["HEADLINE", "Batch", "Ranks"]


class Batch(NamedTuple):
    """Inputs of a model with the numbers of their labels `(batch,)`."""

    source: Any
    labels: Tensor

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return Batch(self.source.to(device), self.labels.to(device))


@dataclass(frozen=True)
class Ranks(Predictor):
    """Predictor of classes. A task defines `check_look` and `describe`.

    Args:
        codec: with `labels`, and `label_smoothing` among its options.
    """

    look: ClassVar[Any]
    """Dataclass of the options of "look"."""

    endless: ClassVar[int] = 500
    """Training examples of an endless split for the baseline."""

    learned: ClassVar[int] = 5_000
    """Training examples of other splits for the baseline, at most."""

    def measure(
        self, model: nn.Module, predictions: Sequence[int], examples: Sequence[Any], request: Any
    ) -> Evaluation:
        """Return accuracy, mean F1 by label and by group too, and the confusion matrix."""
        labels = self.codec.labels
        targets = [labels.index(example.label) for example in examples]
        metrics, groups = measured(predictions, targets, labels, [example.group for example in examples])
        counts = confusion([example.label for example in examples], [labels[number] for number in predictions], labels)
        return Evaluation(metrics, groups, len(targets), len(targets), confusion=counts)

    def baselines(self, data: Any, split: str) -> dict[str, Baseline]:
        """Measure the most frequent label."""
        labels = self.codec.labels
        targets = [data.example(split, index).label for index in range(data.size(split) or 0)]
        learned = [example.label for example in training_sample(data, self.endless, self.learned)]
        numbers = label_numbers(labels, learned, "train"), label_numbers(labels, targets, split)
        return {"majority": majority(*numbers, labels)}

    def check(self, model: nn.Module, request: Any) -> None:
        """Reject more answers than labels, and pictures that the model does not have."""
        if isinstance(request, self.look):
            self.check_look(model, request)
        else:
            check_count(completed(Request, request), len(self.codec.labels))

    def answer(self, model: Any, inputs: Sequence[Any], request: Any, form: Form = "lines") -> Sequence[Answer]:
        """Classify inputs."""
        if isinstance(request, self.look):
            return self.describe(model, inputs, 1, form, request)
        return self.describe(model, inputs, completed(Request, request).nbest, form, self.look())

    @abstractmethod
    def check_look(self, model: Any, look: Any) -> None:
        """Reject pictures that the model does not have."""

    @abstractmethod
    def describe(self, model: Any, inputs: Sequence[Any], count: int, form: Form, look: Any) -> Sequence[Answer]:
        """Return an answer of `count` classes to each input."""
