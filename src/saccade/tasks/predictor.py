"""The base of predictors: a model's loss, predictions, metrics and answers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from saccade.tasks.batches import in_batches
from saccade.tasks.labels.ensemble import Ensemble
from saccade.train.task import Answer, Baseline, Form, Loss

__all__ = ["Predictor"]


@dataclass(frozen=True)
class Predictor(ABC):
    """Predictions of a model: their loss and baselines, and answers to inputs.

    The default `Task.evaluate` calls `predict`, and `measure(model, predictions, examples, request)` for an
    `Evaluation` of all predictions.

    Args:
        codec: of the run.
    """

    codec: Any

    ensemble: ClassVar[Any] = Ensemble
    """From several models to one. Default: the mean of their probabilities."""

    predicted: ClassVar[int] = 8_000
    """Size of the samples that are predicted together, padding included."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Any) -> Loss:
        """Return the loss of a training batch."""

    def predict(self, model: nn.Module, samples: Sequence[Any], request: Any) -> Sequence[Any]:
        """Return a prediction of each sample, computed in batches of like sizes."""
        device = next(model.parameters()).device

        def work(indices: Sequence[int]) -> Sequence[Any]:
            return self.predictions(model, self.codec.collate([samples[index] for index in indices]).to(device))

        return in_batches([sample.size for sample in samples], self.predicted, work)

    def predictions(self, model: nn.Module, batch: Any) -> Sequence[Any]:
        """Return a prediction of each row of a batch, whose first field is the model's input.

        Default: the number of the most probable class.
        """
        return model(batch[0]).argmax(-1).tolist()  # type: ignore[no-any-return]

    @abstractmethod
    def baselines(self, data: Any, split: str) -> dict[str, Baseline]:
        """Measure simple methods on a split."""

    def check(self, model: nn.Module, request: Any) -> None:  # noqa: B027 (a default)
        """Reject a request that does not fit the model. Default: accept all."""

    @abstractmethod
    def answer(self, model: nn.Module, inputs: Sequence[Any], request: Any, form: Form) -> Sequence[Answer]:
        """Return an answer to each input."""
