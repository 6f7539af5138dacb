"""Who chooses whom in a mixture of experts: tokens their experts, groups and then experts of these, or experts tokens.

Each is a function of tokens and gates to pairs of a token and an expert, and to the two measures of balance.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from saccade._definitions.numerics import tracing
from saccade.auxiliary import AuxOutput, AuxRequest, entropy, top
from saccade.kernels.grouped import grouped_product
from saccade.nn._dispatch import Pairs
from saccade.nn.gating import choose
from saccade.reads import largest

__all__ = ["Routes", "by_experts", "by_groups", "by_tokens", "described"]

_AT_ONCE = 1 << 19  # logits that are computed at once on a CPU


class Routes(NamedTuple):
    """What gates say.

    Args:
        pairs: which tokens go to which experts, before any is dropped.
        importance: the sum of each expert's weights, `(experts,)`.
        load: how many tokens each may expect, `(experts,)`.
        lse: log Σ exp H(x), `(tokens,)`, where one gate compares all experts.
    """

    pairs: Pairs
    importance: Tensor
    load: Tensor
    lse: Tensor | None = None


def by_tokens(tokens: Tensor, gate: Tensor, noise: Tensor | None, k: int, there: Tensor | None) -> Routes:
    """Each token takes k experts: Shazeer et al. 2017, equations 3 to 6, and 10.

    Args:
        tokens: `(tokens, features)`, those that are not there 0.
        gate: W_g, `(experts, features)`.
        noise: W_noise, likewise; None draws none.
        k: how many experts a token takes.
        there: which tokens there are, boolean `(tokens,)`; None: all.

    >>> by_tokens(torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, 1.0]]), None, 1, None).pairs.expert.tolist()
    [0, 1]
    """
    parts = _in_parts(tokens, gate, noise, k, there)
    experts, weight, lse = (torch.cat([part[place] for part in parts]) for place in (0, 1, 3))
    pairs, load = _paired(experts, weight, there), parts[0].load
    for part in parts[1:]:
        load = load + part.load
    return Routes(pairs, _summed(pairs, gate.shape[0]), load, lse)


class _Part(NamedTuple):
    """What the gate says of some tokens."""

    experts: Tensor
    weight: Tensor
    load: Tensor
    lse: Tensor


def _in_parts(tokens: Tensor, gate: Tensor, noise: Tensor | None, k: int, there: Tensor | None) -> list[_Part]:
    """The gate's choice for parts of the tokens, so that what is as large as tokens times experts stays in a
    processor's cache: it is not kept for the backward, which asks the gate once more.
    """
    size = max(1, _AT_ONCE // gate.shape[0])
    if tracing() or tokens.device.type != "cpu" or tokens.shape[0] <= size:
        return [_part(tokens, gate, noise, k, there)]
    masks = [None] * -(-tokens.shape[0] // size) if there is None else there.split(size)
    parts = []
    for some, mask in zip(tokens.split(size), masks, strict=True):
        found: Any = (
            checkpoint(_part, some, gate, noise, k, mask, use_reentrant=False)
            if torch.is_grad_enabled()
            else _part(some, gate, noise, k, mask)
        )
        parts.append(found)
    return parts


def _part(tokens: Tensor, gate: Tensor, noise: Tensor | None, k: int, there: Tensor | None) -> _Part:
    choice = choose(tokens @ gate.mT, None if noise is None else tokens @ noise.mT, k)
    load = _masked(choice.probability, there).sum(0)
    return _Part(choice.experts, choice.weight, load, choice.logits.logsumexp(-1))


def by_groups(
    tokens: Tensor,
    first: tuple[Tensor, Tensor | None],
    second: tuple[Tensor, Tensor | None],
    k: int,
    there: Tensor | None,
) -> Routes:
    """Each token takes k groups and k experts in each: Shazeer et al. 2017, equations 12 to 14.

    A group's gate is asked for the tokens that came to the group alone.

    Args:
        tokens: `(tokens, features)`, those that are not there 0.
        first: the gate of groups and its noise, `(groups, features)` each.
        second: the gates of their experts and their noise, `(experts, features)` each, those of a group together.
        k: how many groups a token takes, and how many experts of each.
        there: as for `by_tokens`.

    >>> tokens, gate, gates = torch.ones(1, 1), torch.tensor([[0.0], [9.0]]), torch.tensor([[5.0], [4.0], [1.0], [2.0]])
    >>> by_groups(tokens, (gate, None), (gates, None), 1, None).pairs.expert.tolist()
    [3]
    """
    groups, each = first[0].shape[0], second[0].shape[0] // first[0].shape[0]
    choice = choose(tokens @ first[0].mT, None if first[1] is None else tokens @ first[1].mT, k)
    came = _paired(choice.experts, choice.weight, there)
    logits = _within_groups(tokens, came, torch.cat([gate.view(groups, each, -1) for gate in _given(second)], 1))
    within = choose(logits[:, :each], logits[:, each:] if second[1] is not None else None, k)
    pairs = Pairs(
        came.token.repeat_interleave(k),
        (came.expert[:, None] * each + within.experts).flatten(),
        (came.weight[:, None] * within.weight).flatten(),
        came.kept.repeat_interleave(k),
    )
    probability = _masked(within.probability, came.kept)
    load = probability.new_zeros(groups, each).index_add(0, came.expert, probability)
    count = load.new_zeros(groups).index_add(0, came.expert, came.kept.to(load.dtype))
    share = _masked(choice.probability, there).sum(0) / count.clamp(min=1)
    return Routes(pairs, _summed(pairs, groups * each), (share[:, None] * load).flatten())


def by_experts(tokens: Tensor, gate: Tensor, capacity: Callable[[Any], Any], there: Tensor | None) -> Routes:
    """Each expert takes the tokens that weigh most with it: Zhou et al. 2022, equations 1 to 3.

    Experts are queries here, tokens are keys, of which a read takes the largest.

    Args:
        tokens: `(tokens, features)`, those that are not there 0.
        gate: `(experts, features)`.
        capacity: from the number of tokens, an int or a tensor, to how many an expert takes.
        there: as for `by_tokens`.

    >>> by_experts(torch.eye(2), torch.eye(2), lambda count: count // 2, None).pairs.token.tolist()
    [0, 1]
    """
    weights, count = (tokens @ gate.mT).softmax(-1).mT, tokens.shape[0]
    most = min(count, capacity(count))
    found, token = largest(weights, most, None if there is None else there.expand(weights.shape))
    inside = token >= 0
    if there is not None:
        inside = inside & (torch.arange(most, device=tokens.device) < capacity(there.sum()))
    found = found.masked_fill(~inside, 0.0)
    expert = torch.arange(gate.shape[0], device=tokens.device)[:, None].expand_as(token)
    pairs = Pairs(token.clamp(min=0).flatten(), expert.flatten(), found.flatten(), inside.flatten())
    return Routes(pairs, found.sum(1), inside.sum(1).to(found.dtype))


def described(aux: AuxRequest, routes: Routes, kept: Pairs, shape: torch.Size, num_experts: int) -> AuxOutput:
    """What was asked for, of the weights of experts.

    Args:
        aux: what was asked for, defined for these routes.
        routes: of the gate.
        kept: its pairs, less those that were dropped.
        shape: of the tokens, `(..., L)`.
        num_experts: how many experts there are.

    >>> routes = by_tokens(torch.eye(2), torch.eye(2), None, 1, None)
    >>> described(AuxRequest(weights=True), routes, routes.pairs, torch.Size([2]), 2).weights.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def dense(pairs: Pairs) -> Tensor:
        empty = pairs.weight.new_zeros(math.prod(shape) * num_experts)
        return empty.index_add(0, pairs.token * num_experts + pairs.expert, pairs.weight).view(*shape, num_experts)

    weights = dense(kept)
    return AuxOutput(
        weights=weights if aux.weights else None,
        lse=routes.lse.view(shape) if aux.lse and routes.lse is not None else None,
        index=top(*largest(weights, 1, None))[1][..., 0] if aux.index else None,
        entropy=entropy(dense(routes.pairs)) if aux.entropy else None,
        top=top(*largest(weights, aux.top, None)) if aux.top else None,
        received=weights.sum(-2) if aux.received else None,
    )


def _within_groups(tokens: Tensor, came: Pairs, gates: Tensor) -> Tensor:
    """The logits of each pair of a token and a group, by the group's gate `(groups, logits, features)`."""
    group, order = came.expert.sort(stable=True)
    groups = torch.arange(gates.shape[0], device=group.device)
    ends = torch.searchsorted(group, groups, right=True, out_int32=True)
    found = grouped_product(tokens.index_select(0, came.token[order]), gates.mT, ends)
    return torch.empty_like(found).index_copy(0, order, found)


def _given(gates: tuple[Tensor, Tensor | None]) -> list[Tensor]:
    return [gate for gate in gates if gate is not None]


def _paired(experts: Tensor, weight: Tensor, there: Tensor | None) -> Pairs:
    """Each token with each expert of its row."""
    count, k = experts.shape
    token = torch.arange(count, device=experts.device).repeat_interleave(k)
    kept = torch.ones_like(token, dtype=torch.bool) if there is None else there.repeat_interleave(k)
    return Pairs(token, experts.flatten(), weight.flatten().masked_fill(~kept, 0.0), kept)


def _summed(pairs: Pairs, num_experts: int) -> Tensor:
    """What each expert is weighted with in all, equation 6."""
    return pairs.weight.new_zeros(num_experts).index_add(0, pairs.expert, pairs.weight)


def _masked(rows: Tensor, there: Tensor | None) -> Tensor:
    return rows if there is None else rows.masked_fill(~there[:, None], 0.0)
