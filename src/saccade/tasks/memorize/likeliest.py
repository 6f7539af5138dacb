"""The likeliest answers, exactly: what is said at one step does not depend on what was said at another."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Choice", "choices", "different", "ended"]

_TRIED = 100  # likeliest answers that are looked at for each that is wanted, since several may read alike
_ROUNDED = 1e-9  # by what share of it, at the most, a cost is rounded


_Changed = tuple[tuple[int, int], ...]
"""Places at which not the likeliest is said, and the rank of what is said there."""


class Choice(NamedTuple):
    """One answer.

    Args:
        cost: by how much the logarithm of its probability is below 0.
        values: bits `(steps, bits)` or symbols `(steps,)`, as logits are of one or the other.
    """

    cost: float
    values: Tensor


def choices(logits: Tensor, *, bits: bool) -> Iterator[Choice]:
    """Give the answers that logits make possible, the most probable first; of equal ones in a fixed order.

    Each step, or bit, has its alternatives sorted by what they cost; answers come from a heap of them, of which each is
    followed by those that take one alternative further at the last place that was changed or behind it.

    Args:
        logits: of bits `(steps, bits)`, or of symbols `(steps, symbols)`.
        bits: which of both.

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
        taken = order[:, 0].clone()
        for place, rank in changed:
            taken[place] = order[place, rank]
        yield Choice(best + cost, taken.view(logits.shape).float() if bits else taken)
        for following, more in _following(changed, costs):
            heapq.heappush(heap, (cost + more, following))


def ended(logits: Tensor, end: int) -> Iterator[Choice]:
    """Give what may be said up to an end, the most probable first: what the steps behind it say does not count.

    What is said with n symbols costs what these do and the end behind them; with as many as there are steps, no end.

    Args:
        logits: of symbols `(steps, symbols)`.
        end: the symbol that ends.

    Example:
        >>> sure = torch.tensor([[0.0, 9.0], [9.0, 0.0], [0.0, 0.0]])
        >>> [found.values.tolist() for found in ended(sure, end=0)][:2]
        [[1], []]
    """
    log_probs = logits.double().log_softmax(-1)
    said = log_probs.clone()
    said[:, end] = -torch.inf
    costs = [*(-log_probs[:, end]).tolist(), 0.0]
    best = [0.0, *(-said.amax(-1)).cumsum(0).tolist()]  # of what is said before the end

    def of_length(length: int) -> Iterator[Choice]:
        others = torch.cat([said[:length, :end], said[:length, end + 1 :]], 1)  # without the end
        lost = float((others.logsumexp(-1)).sum())  # choices count as if there were no end
        for cost, values in choices(others, bits=False):
            yield Choice(cost - lost + costs[length], values + (values >= end))

    return _merged([cost + more for cost, more in zip(best, costs, strict=True)], of_length)


def _merged(best: Sequence[float], of_length: Callable[[int], Iterator[Choice]]) -> Iterator[Choice]:
    """What is said of all lengths, the most probable first, of equal ones the shortest.

    Each length sorts all its logits, and begins no sooner than its best answer, whose cost is known, may be the next.
    """
    waiting = sorted(((cost * (1 - _ROUNDED) - _ROUNDED, length) for length, cost in enumerate(best)), reverse=True)
    heap: list[tuple[float, int, Choice, Iterator[Choice]]] = []

    def follow(length: int, found: Iterator[Choice]) -> None:
        if (choice := next(found, None)) is not None:
            heapq.heappush(heap, (choice.cost, length, choice, found))  # one a length: no more is compared

    while heap or waiting:
        while waiting and (not heap or waiting[-1][0] <= heap[0][0]):
            length = waiting.pop()[1]
            follow(length, of_length(length))
        if heap:
            _, length, choice, found = heapq.heappop(heap)
            yield choice
            follow(length, found)


def _following(changed: _Changed, costs: Sequence[Sequence[float]]) -> Iterator[tuple[_Changed, float]]:
    """What is one alternative further at the last changed place, or at one behind it, and what that costs."""
    first = 0
    if changed:
        *before, (place, rank) = changed
        if rank + 1 < len(costs[place]):
            yield (*before, (place, rank + 1)), costs[place][rank + 1] - costs[place][rank]
        first = place + 1
    for place in range(first, len(costs)):
        if len(costs[place]) > 1:
            yield (*changed, (place, 1)), costs[place][1]


def different(texts: Iterator[str], count: int) -> list[str]:
    """Return the first texts that differ: what is said behind an end makes no other answer.

    >>> different(iter("aab"), 2)
    ['a', 'b']
    """
    found = dict[str, None]()
    for text in islice(texts, _TRIED * count):
        found[text] = None
        if len(found) == count:
            break
    return list(found)
