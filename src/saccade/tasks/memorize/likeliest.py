"""Exact most probable answers of independent steps."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Choice", "choices", "different", "ended"]

_TRIED = 100  # answers that are compared for each different text
_ROUNDED = 1e-9  # largest relative rounding error of a cost

_Changed = tuple[tuple[int, int], ...]
"""Steps without their most probable value, and the ranks of their values."""


class Choice(NamedTuple):
    """An answer: bits `(steps, bits)` or symbols `(steps,)`, and its negative log-probability."""

    cost: float
    values: Tensor


def choices(logits: Tensor, *, bits: bool) -> Iterator[Choice]:
    """Yield all answers, the most probable first, equal ones in a fixed order.

    The values of each step or bit are sorted by cost. A heap holds the next answers. Each answer that leaves it is
    followed by those that take the next value at its last changed step, or the second value at a later one.

    Args:
        logits: of bits `(steps, bits)`, or of symbols `(steps, symbols)`.
        bits: whether the logits are of bits.

    Example:
        >>> found = choices(torch.tensor([[2.0, -1.0]]), bits=True)
        >>> [next(found).values.tolist() for _ in range(3)]
        [[[1.0, 0.0]], [[1.0, 1.0]], [[0.0, 0.0]]]
    """
    flat = logits.double()
    if bits:
        flat = torch.stack([torch.zeros_like(flat), flat], -1).flatten(0, 1)
    ranked, order = flat.log_softmax(-1).sort(stable=True, dim=-1, descending=True)
    costs: list[list[float]] = (ranked[:, :1] - ranked).tolist()
    best = -float(ranked[:, 0].sum())
    heap: list[tuple[float, _Changed]] = [(0.0, ())]
    while heap:
        cost, changed = heapq.heappop(heap)
        values = order[:, 0].clone()
        for step, rank in changed:
            values[step] = order[step, rank]
        yield Choice(best + cost, values.view(logits.shape).float() if bits else values)
        for following, more in _following(changed, costs):
            heapq.heappush(heap, (cost + more, following))


def ended(logits: Tensor, end: int) -> Iterator[Choice]:
    """Yield answers before an end symbol, the most probable first, equal ones by length.

    The probability of n symbols is theirs times that of the end behind them. An answer of all steps has no end.

    Args:
        logits: of symbols `(steps, symbols)`.
        end: the end symbol.

    Example:
        >>> sure = torch.tensor([[0.0, 9.0], [9.0, 0.0], [0.0, 0.0]])
        >>> [found.values.tolist() for found in ended(sure, end=0)][:2]
        [[1], []]
    """
    log_probs = logits.double().log_softmax(-1)
    others = torch.cat([log_probs[:, :end], log_probs[:, end + 1 :]], 1)
    costs = [*(-log_probs[:, end]).tolist(), 0.0]
    best = [0.0, *(-others.amax(-1)).cumsum(0).tolist()]

    def of_length(length: int) -> Iterator[Choice]:
        scale = float((others[:length].logsumexp(-1)).sum())  # `choices` normalizes without the end
        for cost, values in choices(others[:length], bits=False):
            yield Choice(cost - scale + costs[length], values + (values >= end))

    return _merged([cost + more for cost, more in zip(best, costs, strict=True)], of_length)


def _merged(best: Sequence[float], of_length: Callable[[int], Iterator[Choice]]) -> Iterator[Choice]:
    """Answers of all lengths, merged. A length is sorted only when its best answer may be the next one."""
    waiting = sorted(((cost * (1 - _ROUNDED) - _ROUNDED, length) for length, cost in enumerate(best)), reverse=True)
    heap: list[tuple[float, int, Choice, Iterator[Choice]]] = []

    def push(length: int, following: Iterator[Choice]) -> None:
        if (choice := next(following, None)) is not None:
            heapq.heappush(heap, (choice.cost, length, choice, following))  # lengths differ: choices are not compared

    while heap or waiting:
        while waiting and (not heap or waiting[-1][0] <= heap[0][0]):
            length = waiting.pop()[1]
            push(length, of_length(length))
        if heap:
            _, length, choice, following = heapq.heappop(heap)
            yield choice
            push(length, following)


def _following(changed: _Changed, costs: Sequence[Sequence[float]]) -> Iterator[tuple[_Changed, float]]:
    """Answers with the next value at the last changed step or the second value at a later one, and added costs."""
    first = 0
    if changed:
        *before, (step, rank) = changed
        if rank + 1 < len(costs[step]):
            yield (*before, (step, rank + 1)), costs[step][rank + 1] - costs[step][rank]
        first = step + 1
    for step in range(first, len(costs)):
        if len(costs[step]) > 1:
            yield (*changed, (step, 1)), costs[step][1]


def different(texts: Iterator[str], count: int) -> list[str]:
    """Return the first different texts. Answers that differ behind an end have the same text.

    >>> different(iter("aab"), 2)
    ['a', 'b']
    """
    unique = dict[str, None]()
    for text in islice(texts, _TRIED * count):
        unique[text] = None
        if len(unique) == count:
            break
    return list(unique)
