"""Routes of a mixture of experts: tokens choose experts, or experts tokens.

A route is a function from tokens and gates to pairs of a token and an expert, and to two measures of balance.
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

_AT_ONCE = 1 << 19  # logits in a block on a CPU


class Routes(NamedTuple):
    """Choices of gates.

    Args:
        pairs: of tokens and experts, before any is dropped.
        importance: the sum of each expert's weights, `(experts,)`.
        load: the expected number of tokens of each expert, `(experts,)`.
        lse: log Σ exp H(x), `(tokens,)`, if one gate compares all experts.
    """

    pairs: Pairs
    importance: Tensor
    load: Tensor
    lse: Tensor | None = None


def by_tokens(tokens: Tensor, gate: Tensor, noise: Tensor | None, k: int, there: Tensor | None) -> Routes:
    """Each token takes k experts: Shazeer et al. 2017, equations 3 to 6, and 10.

    Args:
        tokens: `(tokens, features)`, 0 for padding.
        gate: W_g, `(experts, features)`.
        noise: W_noise, `(experts, features)`; None draws none.
        k: experts of a token.
        there: False for padding, boolean `(tokens,)`, or None.

    >>> by_tokens(torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, 1.0]]), None, 1, None).pairs.expert.tolist()
    [0, 1]
    """
    parts = _in_parts(tokens, gate, noise, k, there)
    experts, weight, lse = (torch.cat([part[field] for part in parts]) for field in (0, 1, 3))
    pairs, load = _paired(experts, weight, there), parts[0].load
    for part in parts[1:]:
        load = load + part.load
    return Routes(pairs, _summed(pairs, gate.shape[0]), load, lse)


class _Part(NamedTuple):
    """Choices of the gate for some tokens."""

    experts: Tensor
    weight: Tensor
    load: Tensor
    lse: Tensor


def _in_parts(tokens: Tensor, gate: Tensor, noise: Tensor | None, k: int, there: Tensor | None) -> list[_Part]:
    """Choices of the gate for blocks of tokens.

    Tensors of tokens × experts then fit a CPU's cache. The backward pass computes the gate again.
    """
    size = max(1, _AT_ONCE // gate.shape[0])
    if tracing() or tokens.device.type != "cpu" or tokens.shape[0] <= size:
        return [_part(tokens, gate, noise, k, there)]
    masks = [None] * -(-tokens.shape[0] // size) if there is None else there.split(size)
    parts = []
    for some, mask in zip(tokens.split(size), masks, strict=True):
        part: Any = (
            checkpoint(_part, some, gate, noise, k, mask, use_reentrant=False)
            if torch.is_grad_enabled()
            else _part(some, gate, noise, k, mask)
        )
        parts.append(part)
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
    """Each token takes k groups and k experts in each of them.

    Shazeer et al. 2017, equations 12 to 14. A group's gate is computed only for the tokens of the group.

    Args:
        tokens: `(tokens, features)`, 0 for padding.
        first: the gate of groups and its noise, `(groups, features)` each.
        second: the gates of experts and their noise, `(experts, features)` each, sorted by group.
        k: groups of a token, and its experts in each.
        there: as for `by_tokens`.

    >>> tokens, gate, gates = torch.ones(1, 1), torch.tensor([[0.0], [9.0]]), torch.tensor([[5.0], [4.0], [1.0], [2.0]])
    >>> by_groups(tokens, (gate, None), (gates, None), 1, None).pairs.expert.tolist()
    [3]
    """
    groups, size = first[0].shape[0], second[0].shape[0] // first[0].shape[0]
    choice = choose(tokens @ first[0].mT, None if first[1] is None else tokens @ first[1].mT, k)
    came = _paired(choice.experts, choice.weight, there)
    gates = [gate.view(groups, size, -1) for gate in second if gate is not None]
    logits = _within_groups(tokens, came, torch.cat(gates, 1))
    within = choose(logits[:, :size], logits[:, size:] if second[1] is not None else None, k)
    pairs = Pairs(
        came.token.repeat_interleave(k),
        (came.expert[:, None] * size + within.experts).flatten(),
        (came.weight[:, None] * within.weight).flatten(),
        came.kept.repeat_interleave(k),
    )
    probability = _masked(within.probability, came.kept)
    load = probability.new_zeros(groups, size).index_add(0, came.expert, probability)
    count = load.new_zeros(groups).index_add(0, came.expert, came.kept.to(load.dtype))
    share = _masked(choice.probability, there).sum(0) / count.clamp(min=1)
    return Routes(pairs, _summed(pairs, groups * size), (share[:, None] * load).flatten())


def by_experts(tokens: Tensor, gate: Tensor, capacity: Callable[[Any], Any], there: Tensor | None) -> Routes:
    """Each expert takes its tokens of largest weight.

    Zhou et al. 2022, equations 1 to 3. Experts are queries here, tokens are keys, and the read is `TopK`.

    Args:
        tokens: `(tokens, features)`, 0 for padding.
        gate: `(experts, features)`.
        capacity: from the number of tokens, an int or a tensor, to tokens of an expert.
        there: as for `by_tokens`.

    >>> by_experts(torch.eye(2), torch.eye(2), lambda count: count // 2, None).pairs.token.tolist()
    [0, 1]
    """
    weights, count = (tokens @ gate.mT).softmax(-1).mT, tokens.shape[0]
    limit = min(count, capacity(count))
    weight, token = largest(weights, limit, None if there is None else there.expand(weights.shape))
    inside = token >= 0
    if there is not None:
        inside = inside & (torch.arange(limit, device=tokens.device) < capacity(there.sum()))
    weight = weight.masked_fill(~inside, 0.0)
    expert = torch.arange(gate.shape[0], device=tokens.device)[:, None].expand_as(token)
    pairs = Pairs(token.clamp(min=0).flatten(), expert.flatten(), weight.flatten(), inside.flatten())
    return Routes(pairs, weight.sum(1), inside.sum(1).to(weight.dtype))


def described(aux: AuxRequest, routes: Routes, kept: Pairs, shape: torch.Size, num_experts: int) -> AuxOutput:
    """The requested statistics of weights of experts.

    Args:
        aux: a request that these routes define.
        routes: of the gate.
        kept: its pairs without the dropped ones.
        shape: of the tokens, `(..., L)`.
        num_experts: the number of experts.

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
    """Logits of pairs of a token and a group, by gates `(groups, logits, features)`."""
    group, order = came.expert.sort(stable=True)
    groups = torch.arange(gates.shape[0], device=group.device)
    ends = torch.searchsorted(group, groups, right=True, out_int32=True)
    logits = grouped_product(tokens.index_select(0, came.token[order]), gates.mT, ends)
    return torch.empty_like(logits).index_copy(0, order, logits)


def _paired(experts: Tensor, weight: Tensor, there: Tensor | None) -> Pairs:
    """Pairs of each token and each expert of its row."""
    count, k = experts.shape
    token = torch.arange(count, device=experts.device).repeat_interleave(k)
    kept = torch.ones_like(token, dtype=torch.bool) if there is None else there.repeat_interleave(k)
    return Pairs(token, experts.flatten(), weight.flatten().masked_fill(~kept, 0.0), kept)


def _summed(pairs: Pairs, num_experts: int) -> Tensor:
    """Importance of each expert, the sum of its weights, equation 6."""
    return pairs.weight.new_zeros(num_experts).index_add(0, pairs.expert, pairs.weight)


def _masked(rows: Tensor, there: Tensor | None) -> Tensor:
    return rows if there is None else rows.masked_fill(~there[:, None], 0.0)
