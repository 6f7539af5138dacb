"""Dispatch of tokens to experts: pairs of both, sorted by expert.

    pairs ──drop──▶ Pairs ──sort by expert──▶ rows ──grouped products──▶ rows ──add up by token──▶ outputs

There is no loop over experts: the cost follows from the number of pairs.
"""

from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from saccade._definitions.numerics import tracing, valueless

__all__ = ["Drop", "Pairs", "limit", "sort"]

Drop: TypeAlias = Literal["weight", "order"]


class Pairs(NamedTuple):
    """Pairs of a token and one of its experts.

    Args:
        token: int64 `(pairs,)`.
        expert: int64 `(pairs,)`.
        weight: of the expert's output in the token's, `(pairs,)`; 0 unless the pair is kept.
        kept: boolean `(pairs,)`: neither padding nor dropped.
    """

    token: Tensor
    expert: Tensor
    weight: Tensor
    kept: Tensor


def sort(pairs: Pairs, num_experts: int) -> tuple[Pairs, Tensor]:
    """Sort pairs by expert, and return the end of each expert, int32 `(experts,)`.

    Pairs that are not kept come last. An eager call on a CPU leaves them out. Under a compiler or on a GPU their number
    is not available, so they go to the last expert, with weight 0.

    >>> ordered, ends = sort(Pairs(*map(torch.tensor, ([0, 1], [1, 0], [1.0, 1.0], [True, True]))), 2)
    >>> ordered.token.tolist(), ends.tolist()
    ([1, 0], [1, 2])
    """
    key = pairs.expert.masked_fill(~pairs.kept, num_experts)
    key, order = key.sort(stable=True)
    if not tracing() and key.device.type == "cpu" and not valueless(key):
        count = int(pairs.kept.sum())
        key, order = key[:count], order[:count]
    key = key.clamp(max=num_experts - 1)
    experts = torch.arange(num_experts, device=key.device)
    ends = torch.searchsorted(key, experts, right=True, out_int32=True)
    return Pairs(*(part.index_select(0, order) for part in pairs)), ends


def limit(pairs: Pairs, num_experts: int, capacity: Tensor, drop: Drop) -> Pairs:
    """Drop pairs beyond the capacity of an expert.

    Args:
        pairs: some of which are kept.
        num_experts: how many experts there are.
        capacity: the largest number of pairs of an expert, int64 `()`.
        drop: "weight" drops the smallest weights, "order" the last pairs.

    >>> pairs = Pairs(*map(torch.tensor, ([0, 1, 2], [0, 0, 1], [0.5, 0.75, 1.0], [True, True, True])))
    >>> limit(pairs, 2, torch.tensor(1), "weight").kept.tolist()
    [False, True, True]
    >>> limit(pairs, 2, torch.tensor(1), "order").kept.tolist()
    [True, False, True]
    """
    first = torch.arange(pairs.token.shape[0], device=pairs.token.device)
    if drop == "weight":
        first = pairs.weight.detach().argsort(descending=True, stable=True)
    key = pairs.expert.masked_fill(~pairs.kept, num_experts)[first]
    key, order = key.sort(stable=True)
    start = torch.searchsorted(key, key)
    fits = torch.arange(key.shape[0], device=key.device) - start < capacity
    kept = pairs.kept & torch.zeros_like(pairs.kept).scatter(0, first[order], fits)
    return pairs._replace(kept=kept, weight=pairs.weight.masked_fill(~kept, 0.0))
