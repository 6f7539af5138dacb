"""Predictions that are classes: the loss, accuracy, the most frequent class as a baseline, and ensembles."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.nn import functional as F

from saccade.data.dataset import training_sample
from saccade.tasks.labels.baselines import majority
from saccade.tasks.labels.ensemble import Ensemble
from saccade.tasks.labels.metrics import HEADLINE, confusion, measured
from saccade.tasks.labels.ranking import label_numbers
from saccade.tasks.labels.request import Request, check_count
from saccade.tasks.request import completed
from saccade.train.task import Baseline, Evaluation, Loss

__all__ = ["HEADLINE", "Ranks"]

ENDLESS, LEARNED = 500, 5_000
"""Training examples whose labels are counted: of an endless split, and of others."""


@dataclass(frozen=True)
class Ranks:
    """Predictor of classes. A task defines `answer`.

    Args:
        codec: with `labels`, and `label_smoothing` among its options.
    """

    codec: Any

    def loss(self, model: nn.Module, batch: Any) -> Loss:
        """Return the cross-entropy of the labels."""
        logits, smoothing = model(batch.images).float(), self.codec.options.label_smoothing
        return Loss(F.cross_entropy(logits, batch.labels, label_smoothing=smoothing), len(batch.labels))

    def predict(self, model: nn.Module, samples: Sequence[Any], request: Any) -> list[int]:
        """Return the number of the most probable class of each sample."""
        batch = self.codec.collate(samples).to(next(model.parameters()).device)
        return model(batch.images).argmax(-1).tolist()  # type: ignore[no-any-return]

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
        learned = [example.label for example in training_sample(data, ENDLESS, LEARNED)]
        numbers = label_numbers(labels, learned, "train"), label_numbers(labels, targets, split)
        return {"majority": majority(*numbers, labels)}

    def check(self, model: nn.Module, request: Any) -> None:
        """Reject more answers than there are labels."""
        check_count(completed(Request, request), len(self.codec.labels))

    def ensemble(self, models: Sequence[nn.Module]) -> nn.Module:
        """Return classifiers whose probabilities are averaged."""
        return Ensemble(models)
