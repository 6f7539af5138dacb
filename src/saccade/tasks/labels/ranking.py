"""Classes of an input with their probabilities, the most probable first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError

__all__ = ["Ranking", "label_numbers", "probabilities"]


@dataclass(frozen=True)
class Ranking:
    r"""Probabilities of classes.

    Args:
        labels: names of the classes.
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
        """Numbers of the classes, the most probable first, then the lower number."""
        return torch.argsort(self.probabilities, descending=True, stable=True).tolist()

    @property
    def best(self) -> int:
        """Number of the most probable class."""
        return self.order[0]

    @property
    def title(self) -> str:
        """The most probable class and its probability, for the title of a picture."""
        return f"{self.labels[self.best]} {float(self.probabilities[self.best]):.2f}"

    def lines(self, count: int) -> list[str]:
        """Return the most probable classes, each with a tab and its probability."""
        return [f"{self.labels[number]}\t{self.probabilities[number]:.4f}" for number in self.order[:count]]

    def to_json(self, count: int) -> dict[str, Any]:
        """Return the most probable classes and all probabilities as JSON."""
        rounded = [round(probability, 6) for probability in self.probabilities.tolist()]
        best = [{"label": self.labels[number], "probability": rounded[number]} for number in self.order[:count]]
        return {"answers": best, "probabilities": dict(zip(self.labels, rounded, strict=True))}


def probabilities(logits: Tensor) -> Tensor:
    """Return the softmax of logits `(..., classes)`, float64 on the CPU."""
    return logits.double().softmax(-1).cpu()


def label_numbers(labels: Sequence[str], targets: Sequence[str], split: str) -> list[int]:
    """Return the numbers of the labels of some examples.

    Args:
        labels: all labels of the run. The number of a label is its index.
        targets: labels of the examples.
        split: of the examples, for the message.

    Raises:
        ArgumentError: for a label that the run does not have.

    Example:
        >>> label_numbers(["bad", "good"], ["good", "good"], "test")
        [1, 1]
    """
    numbers = {label: number for number, label in enumerate(labels)}
    for label in targets:
        if label not in numbers:
            expected = f"expected labels of the run ({', '.join(labels):.80})"
            raise ArgumentError(f"--data: {expected}, got {label!r:.60} in {split}; correct it, or leave its rows out")
    return [numbers[label] for label in targets]
