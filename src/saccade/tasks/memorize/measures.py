"""What is measured of what was said: bits or symbols that are right, and questions answered without a fault."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from torch import Tensor
from torch.nn import functional as F

from saccade.tasks.groups import by_group
from saccade.train.task import Metric

__all__ = ["HEADLINE", "Said", "cost", "judged", "measured"]

HEADLINE = "accuracy"


@dataclass(frozen=True)
class Said:
    """What was said to one question.

    Args:
        asked: how many bits or symbols are wanted.
        wrong: of these, how many are others.
        bits: what the right ones cost by the probabilities that were given to them, in bits; of symbols 0.
    """

    asked: int
    wrong: int
    bits: float = 0.0


def cost(logits: Tensor, targets: Tensor) -> Tensor:
    """Return what the right answers cost, in nats, a number a bit or symbol.

    Args:
        logits: of bits `(steps, bits)`, or of symbols `(steps, symbols)`.
        targets: bits `(steps, bits)` float, or symbols `(steps,)` int64.
    """
    if targets.is_floating_point():
        return F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    return F.cross_entropy(logits, targets, reduction="none")


def judged(logits: Tensor, targets: Tensor) -> Said:
    """Return how what was said at the steps that were asked differs from what is right; shapes as for `cost`.

    >>> import torch
    >>> judged(torch.tensor([[2.0, -2.0]]), torch.tensor([[1.0, 1.0]]))
    Said(asked=2, wrong=1, bits=3.2...)
    """
    if not targets.is_floating_point():
        return Said(len(targets), int((logits.argmax(-1) != targets).sum()))
    bits = float(cost(logits.double(), targets.double()).sum()) / math.log(2)
    return Said(targets.numel(), int(((logits > 0) != (targets > 0)).sum()), bits)


def measured(
    said: Sequence[Said], groups: Sequence[str], *, vectors: bool
) -> tuple[dict[str, Metric], dict[str, dict[str, float]]]:
    """Return what is measured of all questions, and of each group of them.

    Args:
        said: to each question.
        groups: of each, "" for none.
        vectors: whether bits were said: then their errors and their cost a question are measured too.

    Returns:
        "accuracy", the share of a question's bits or symbols that are right, the mean over questions, and
        "exact_match", the share of questions without a fault; of bits "bit_error", the share of all that are wrong, and
        "bits", what a question costs.

    Example:
        >>> metrics, parts = measured([Said(8, 0, 1.0), Said(8, 4, 9.0)], ["20", "40"], vectors=True)
        >>> metrics["bit_error"], parts["bit_error"], metrics["bits"]
        (0.25, {'20': 0.0, '40': 0.5}, 5.0)
    """
    measures = _OF_BITS if vectors else _OF_SYMBOLS
    metrics: dict[str, Metric] = {name: of(said) for name, of in measures.items()}
    if not any(groups):
        return metrics, {}
    names = [""] * len(said)
    return metrics, {name: by_group(_of_all(of), names, said, groups) for name, of in measures.items()}


def _of_all(of: "_Measure") -> Callable[[Sequence[str], Sequence[Said]], float]:
    return lambda _, said: of(said)


def _accuracy(said: Sequence[Said]) -> float:
    return 1 - math.fsum(one.wrong / max(1, one.asked) for one in said) / max(1, len(said))


def _exact(said: Sequence[Said]) -> float:
    return sum(not one.wrong for one in said) / max(1, len(said))


def _bits(said: Sequence[Said]) -> float:
    return math.fsum(one.bits for one in said) / max(1, len(said))


def _error(said: Sequence[Said]) -> float:
    return sum(one.wrong for one in said) / max(1, sum(one.asked for one in said))


_Measure: TypeAlias = Callable[[Sequence[Said]], float]
_OF_SYMBOLS: dict[str, _Measure] = {"accuracy": _accuracy, "exact_match": _exact}
_OF_BITS: dict[str, _Measure] = {**_OF_SYMBOLS, "bit_error": _error, "bits": _bits}
