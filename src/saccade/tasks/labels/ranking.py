"""Labels of an input with their probabilities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError

__all__ = ["Ranking", "label_numbers", "probabilities"]


@dataclass(frozen=True)
class Ranking:
    r"""Probability of each label.

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
        """Numbers of the labels, the most probable first, and the lower of two equal ones."""
        return torch.argsort(self.probabilities, descending=True, stable=True).tolist()

    @property
    def best(self) -> int:
        """Number of the most probable label."""
        return self.order[0]

    @property
    def title(self) -> str:
        """The most probable label and its probability, for the title of a picture."""
        return f"{self.labels[self.best]} {float(self.probabilities[self.best]):.2f}"

    def lines(self, count: int) -> list[str]:
        """Return the most probable labels, each with a tab and its probability."""
        return [f"{self.labels[number]}\t{self.probabilities[number]:.4f}" for number in self.order[:count]]

    def to_json(self, count: int) -> dict[str, Any]:
        """Return the most probable labels and all probabilities, as JSON."""
        rounded = [round(probability, 6) for probability in self.probabilities.tolist()]
        best = [{"label": self.labels[number], "probability": rounded[number]} for number in self.order[:count]]
        return {"answers": best, "probabilities": dict(zip(self.labels, rounded, strict=True))}


def probabilities(logits: Tensor) -> Tensor:
    """Return probabilities, float64 on the CPU, of logits `(..., labels)`."""
    return logits.double().softmax(-1).cpu()


def label_numbers(labels: Sequence[str], examples: Sequence[str], split: str) -> list[int]:
    """Return the numbers of the labels of examples.

    Args:
        labels: all labels of the run. The number of a label is its index.
        examples: a label each.
        split: of the examples, for the message.

    Raises:
        ArgumentError: if the run lacks a label.

    Example:
        >>> label_numbers(["bad", "good"], ["good", "good"], "test")
        [1, 1]
    """
    numbers: Mapping[str, int] = {label: number for number, label in enumerate(labels)}
    for label in examples:
        if label not in numbers:
            where = f"--data: the label {label!r:.60} of the {split} split"
            raise ArgumentError(f"{where} is none of the run's: {', '.join(labels):.80}")
    return [numbers[label] for label in examples]
