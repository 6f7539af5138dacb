"""The classes of one input with their probabilities, the most probable first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError

__all__ = ["Ranking", "label_numbers", "probabilities"]


@dataclass(frozen=True)
class Ranking:
    r"""How probable each class is.

    Args:
        labels: their names.
        probabilities: `(labels,)`, float64 on the CPU.

    Example:
        >>> ranking = Ranking(("bad", "good"), torch.tensor([0.25, 0.75]))
        >>> ranking.lines(1), ranking.best
        (['good\t0.7500'], 1)
    """

    labels: tuple[str, ...]
    probabilities: Tensor

    @property
    def order(self) -> list[int]:
        """The numbers of the classes, the most probable first; of two that are as probable, the lower number."""
        return torch.argsort(self.probabilities, descending=True, stable=True).tolist()

    @property
    def best(self) -> int:
        """The number of the most probable class."""
        return self.order[0]

    @property
    def title(self) -> str:
        """The most probable class and its probability, for a picture's title."""
        return f"{self.labels[self.best]} {float(self.probabilities[self.best]):.2f}"

    def lines(self, count: int) -> list[str]:
        """Return the most probable classes, each with a tab and its probability."""
        return [f"{self.labels[number]}\t{self.probabilities[number]:.4f}" for number in self.order[:count]]

    def to_json(self, count: int) -> dict[str, Any]:
        """Return the most probable classes and the probabilities of all, as JSON has them."""
        rounded = [round(probability, 6) for probability in self.probabilities.tolist()]
        best = [{"label": self.labels[number], "probability": rounded[number]} for number in self.order[:count]]
        return {"answers": best, "probabilities": dict(zip(self.labels, rounded, strict=True))}


def probabilities(logits: Tensor) -> Tensor:
    """Return the probabilities of classes, float64 on the CPU, of logits `(..., classes)`."""
    return logits.double().softmax(-1).cpu()


def label_numbers(labels: Sequence[str], found: Sequence[str], split: str) -> list[int]:
    """Return the numbers of some labels.

    Args:
        labels: all labels of the run; a label's number is its place.
        found: labels of examples.
        split: the examples are of, for the message.

    Raises:
        ArgumentError: if one is none of the run's.

    Example:
        >>> label_numbers(["bad", "good"], ["good", "good"], "test")
        [1, 1]
    """
    numbers: Mapping[str, int] = {label: number for number, label in enumerate(labels)}
    for label in found:
        if label not in numbers:
            known = ", ".join(labels)
            raise ArgumentError(
                f"--data: the label {label!r:.60} of the {split} split is none of the run's: {known:.80}"
            )
    return [numbers[label] for label in found]
