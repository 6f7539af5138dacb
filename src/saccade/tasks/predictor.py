"""The base of predictors: a model's loss, predictions, metrics and answers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import look
from saccade.errors import ArgumentError
from saccade.tasks.batches import in_batches
from saccade.tasks.explaining import Subject
from saccade.tasks.labels.ensemble import Ensemble
from saccade.train.task import Answer, Baseline, Form, Loss, Unreadable

__all__ = ["Predictor"]


@dataclass(frozen=True)
class Predictor(ABC):
    """Predictions of a model: their loss and baselines, and answers to inputs.

    A task defines `measure`, `baselines`, and `reply` or `answer`. The default `Task.evaluate` calls `predict`, and
    `measure(model, predictions, examples, request)` for an `Evaluation` of all predictions.

    Args:
        codec: codec of the run.
    """

    codec: Any

    ensemble: ClassVar[Any] = Ensemble
    """From several models to one. Default: the mean of their probabilities."""

    predicted: ClassVar[int] = 8_000
    """Size of a batch of predictions, padding included."""

    def loss(self, model: nn.Module, batch: Any) -> Loss:
        """Return the loss of a training batch.

        Default: the mean cross-entropy of logits `model(batch[0])` for labels `batch[1]`, with the option
        `label_smoothing` if there is one.
        """
        logits, smoothing = model(batch[0]).float(), getattr(self.codec.options, "label_smoothing", 0.0)
        return Loss(F.cross_entropy(logits, batch[1], label_smoothing=smoothing), len(batch[1]))

    def predict(self, model: nn.Module, samples: Sequence[Any], request: Any) -> Sequence[Any]:
        """Return a prediction of each sample, computed in batches of like sizes."""
        device = next(model.parameters()).device

        def work(indices: Sequence[int]) -> Sequence[Any]:
            return self.predictions(model, self.codec.collate([samples[index] for index in indices]).to(device))

        return in_batches([sample.size for sample in samples], self.predicted, work)

    def predictions(self, model: nn.Module, batch: Any) -> Sequence[Any]:
        """Return a prediction of each row of a batch.

        The first field of the batch is the input of the model. Default: the number of the most probable class.
        """
        return model(batch[0]).argmax(-1).tolist()  # type: ignore[no-any-return]

    def encode(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments of the model for inputs from the codec.

        Default: the first field of a batch.
        """
        return (self.codec.collate(inputs)[0],)

    @abstractmethod
    def baselines(self, data: Any, split: str) -> dict[str, Baseline]:
        """Measure simple methods on a split."""

    def check(self, model: nn.Module, request: Any) -> None:  # noqa: B027 (a default)
        """Reject a request that does not fit the model. Default: accept all."""

    def subjects(self, model: Any, inputs: Sequence[Any], request: Any) -> list[Subject]:
        """Return inputs with their answers, for the methods of `--by`.

        Raises:
            ArgumentError: of a task without such methods, and for a blank input.
        """
        raise ArgumentError(f"by: expected a run whose task has explanations, got one of {type(self).__name__}")

    def answer(self, model: nn.Module, inputs: Sequence[Any], request: Any, form: Form = "lines") -> Sequence[Answer]:
        """Return an answer to each input. Default: its `reply`."""
        read = [item for item in inputs if not isinstance(item, Unreadable) and item.size]
        predictions = dict(zip(map(id, read), self.predict(model, read, request), strict=True))

        def reply(item: Any) -> Answer:
            if id(item) not in predictions:
                return self.reply(item, None, None)
            return self.reply(item, predictions[id(item)], None if form == "lines" else self.weights(model, item))

        return list(map(reply, inputs))

    def reply(self, item: Any, prediction: Any, weights: Tensor | None) -> Answer:
        """Return the answer to an input.

        Args:
            item: the input from the codec.
            prediction: prediction of the model, or None if the input is blank or could not be read.
            weights: attention `(queries, keys)`, or None without attention or if the answer is written as lines.
        """
        raise NotImplementedError

    def weights(self, model: nn.Module, item: Any) -> Tensor | None:
        """Return the attention of an input.

        It is `(queries, keys)` on the CPU, or None without attention. It is the mean over
        the heads of the last attention, and over the members of an ensemble.
        """
        means, device = list[Tensor](), next(model.parameters()).device
        for member in getattr(model, "members", [model]):
            with look.record(member, detach=True, required=False) as records:
                member(self.codec.collate([item]).to(device)[0])
            if not (layers := [aux.weights for _, aux in records if aux.weights is not None]):
                return None
            means.append(layers[-1][0].flatten(0, -3).mean(0).cpu())
        return torch.stack(means).mean(0)
