"""Exact most probable answers of independent steps."""

import heapq
from collections.abc import Iterator

import torch
from torch import Tensor

__all__ = ["likeliest"]

_Changes = tuple[tuple[int, int], ...]
"""Steps without their most probable value, and the ranks of their values."""


def likeliest(logits: Tensor, *, bits: bool = False, end: int | None = None) -> Iterator[tuple[float, Tensor]]:
    """Yield all answers with negative log-probabilities, the most probable first.

    The values of each step or bit are sorted by cost. A heap holds the next answers. Each answer popped from it
    pushes its successors, with the next value at its last changed step, or the second value at a later step.

    With an end symbol, answers have any length, and their probability includes that of the end behind them. An answer
    of all steps has no end.

    Args:
        logits: of bits `(steps, bits)`, or of symbols `(steps, symbols)`.
        bits: whether the logits are of bits.
        end: the symbol that ends an answer, or None.

    Example:
        >>> answers = likeliest(torch.tensor([[2.0, -1.0]]), bits=True)
        >>> [next(answers)[1].tolist() for _ in range(3)]
        [[[1.0, 0.0]], [[1.0, 1.0]], [[0.0, 0.0]]]
        >>> certain = torch.tensor([[0.0, 9.0], [9.0, 0.0], [0.0, 0.0]])
        >>> [values.tolist() for _, values in likeliest(certain, end=0)][:2]
        [[1], []]
    """
    flat = logits.double()
    if bits:
        flat = torch.stack([torch.zeros_like(flat), flat], -1).flatten(0, 1)
    log_probs, symbols = flat.log_softmax(-1), torch.arange(flat.shape[-1])
    ends = {len(flat): 0.0}  # the cost of the end behind each possible length
    if end is not None:
        ends |= dict(enumerate((-log_probs[:, end]).tolist()))
        symbols = symbols[symbols != end]
    ranked, order = log_probs[:, symbols].sort(stable=True, dim=-1, descending=True)
    best, costs = [0.0, *(-ranked[:, 0]).cumsum(0).tolist()], (ranked[:, :1] - ranked).tolist()
    heap: list[tuple[float, int, _Changes]] = [(best[length] + cost, length, ()) for length, cost in ends.items()]
    heapq.heapify(heap)
    while heap:
        cost, length, changes = heapq.heappop(heap)
        ranks = torch.zeros(length, dtype=torch.long)
        for step, rank in changes:
            ranks[step] = rank
        values = symbols[order[:length].gather(1, ranks[:, None])[:, 0]]
        yield cost, values.view(logits.shape).float() if bits else values
        for following, more in _following(changes, costs[:length]):
            heapq.heappush(heap, (cost + more, length, following))


def _following(changes: _Changes, costs: list[list[float]]) -> Iterator[tuple[_Changes, float]]:
    """Successors of an answer and their added costs.

    They have the next value at the last changed step, or the second value at a later step.
    """
    first = 0
    if changes:
        *before, (step, rank) = changes
        if rank + 1 < len(costs[step]):
            yield (*before, (step, rank + 1)), costs[step][rank + 1] - costs[step][rank]
        first = step + 1
    for step in range(first, len(costs)):
        if len(costs[step]) > 1:
            yield (*changes, (step, 1)), costs[step][1]
