"""Routes of a mixture of experts: pairs of a token and an expert.

    tokens ──by_tokens, by_groups, by_experts──▶ pairs ──limit──▶ kept pairs ──sort──▶ pairs by expert

There is no loop over experts: the cost follows from the number of pairs. Padding is 0 in `tokens` and False in `there`.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from saccade._definitions.numerics import tracing, valueless
from saccade.auxiliary import AuxOutput, AuxRequest, entropy, top
from saccade.kernels.grouped import grouped_product
from saccade.nn.gating import choose
from saccade.reads import largest

Drop: TypeAlias = Literal["weight", "order"]

_AT_ONCE = 1 << 19  # logits in a block on a CPU


class Pairs(NamedTuple):
    """Pairs of a token and one of its experts, four tensors `(pairs,)`."""

    token: Tensor
    expert: Tensor
    weight: Tensor  # of the expert's output in the token's; 0 unless the pair is kept
    kept: Tensor  # neither padding nor dropped


class Routes(NamedTuple):
    """Choices of gates, with two measures of balance."""

    pairs: Pairs  # before any is dropped
    importance: Tensor  # the sum of each expert's weights, `(experts,)`
    load: Tensor  # the expected number of tokens of each expert, `(experts,)`
    lse: Tensor | None = None  # log Σ exp H(x), `(tokens,)`, if one gate compares all experts


def by_tokens(tokens: Tensor, gate: Tensor, noise: Tensor | None, k: int, there: Tensor | None) -> Routes:
    """Each token takes k experts: Shazeer et al. 2017, equations 3 to 6, and 10."""

    def chosen(tokens: Tensor, there: Tensor | None) -> tuple[Tensor, ...]:
        choice = choose(tokens @ gate.mT, None if noise is None else tokens @ noise.mT, k)
        return choice.experts, choice.weight, choice.logits.logsumexp(-1), _masked(choice.probability, there).sum(0)

    size = max(1, _AT_ONCE // gate.shape[0])
    if tracing() or tokens.device.type != "cpu" or tokens.shape[0] <= size:
        parts = [chosen(tokens, there)]
    else:  # tensors of tokens × experts that fit a CPU's cache; the backward pass computes the gate again
        block: Any = partial(checkpoint, chosen, use_reentrant=False) if torch.is_grad_enabled() else chosen
        masks = [None] * -(-tokens.shape[0] // size) if there is None else there.split(size)
        parts = [block(some, mask) for some, mask in zip(tokens.split(size), masks, strict=True)]
    *of_tokens, loads = zip(*parts, strict=True)
    experts, weight, lse = map(torch.cat, of_tokens)
    pairs = _paired(experts, weight, there)
    return Routes(pairs, _importance(pairs, gate.shape[0]), sum(loads[1:], loads[0]), lse)


def by_groups(
    tokens: Tensor,
    first: tuple[Tensor, Tensor | None],
    second: tuple[Tensor, Tensor | None],
    k: int,
    there: Tensor | None,
) -> Routes:
    """Each token takes k groups and k experts in each of them.

    Shazeer et al. 2017, equations 12 to 14. `first` is the gate of groups and its noise, `second` those of experts,
    sorted by group. A group's gate is computed only for the tokens of the group.
    """
    groups, size = first[0].shape[0], second[0].shape[0] // first[0].shape[0]
    choice = choose(tokens @ first[0].mT, None if first[1] is None else tokens @ first[1].mT, k)
    came = _paired(choice.experts, choice.weight, there)
    gates = torch.cat([gate.view(groups, size, -1) for gate in second if gate is not None], 1)
    group, order = came.expert.sort(stable=True)
    logits = grouped_product(tokens.index_select(0, came.token[order]), gates.mT, _ends(group, groups))
    logits = torch.empty_like(logits).index_copy(0, order, logits)
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
    return Routes(pairs, _importance(pairs, groups * size), (share[:, None] * load).flatten())


def by_experts(tokens: Tensor, gate: Tensor, capacity: Callable[[Any], Any], there: Tensor | None) -> Routes:
    """Each expert takes `capacity(count)` tokens of largest weight.

    Zhou et al. 2022, equations 1 to 3. Experts are queries here, tokens are keys, and the read is `TopK`.
    """
    weights, count = (tokens @ gate.mT).softmax(-1).mT, tokens.shape[0]
    taken = min(count, capacity(count))
    weight, token = largest(weights, taken, None if there is None else there.expand(weights.shape))
    inside = token >= 0
    if there is not None:
        inside = inside & (torch.arange(taken, device=tokens.device) < capacity(there.sum()))
    weight = weight.masked_fill(~inside, 0.0)
    expert = torch.arange(gate.shape[0], device=tokens.device)[:, None].expand_as(token)
    pairs = Pairs(token.clamp(min=0).flatten(), expert.flatten(), weight.flatten(), inside.flatten())
    return Routes(pairs, weight.sum(1), inside.sum(1).to(weight.dtype))


def limit(pairs: Pairs, num_experts: int, capacity: Tensor, drop: Drop) -> Pairs:
    """Drop pairs beyond a capacity: the smallest weights, or the last pairs."""
    first = torch.arange(pairs.token.shape[0], device=pairs.token.device)
    if drop == "weight":
        first = pairs.weight.detach().argsort(descending=True, stable=True)
    key = pairs.expert.masked_fill(~pairs.kept, num_experts)[first]
    key, order = key.sort(stable=True)
    start = torch.searchsorted(key, key)
    fits = torch.arange(key.shape[0], device=key.device) - start < capacity
    kept = pairs.kept & torch.zeros_like(pairs.kept).scatter(0, first[order], fits)
    return pairs._replace(kept=kept, weight=pairs.weight.masked_fill(~kept, 0.0))


def sort(pairs: Pairs, num_experts: int) -> tuple[Pairs, Tensor]:
    """Sort pairs by expert, and return the end of each expert, int32 `(experts,)`.

    Pairs that are not kept come last. An eager call on a CPU leaves them out. Under a compiler or on a GPU their number
    is not available, so they go to the last expert, with weight 0.
    """
    key = pairs.expert.masked_fill(~pairs.kept, num_experts)
    key, order = key.sort(stable=True)
    if not tracing() and key.device.type == "cpu" and not valueless(key):
        count = int(pairs.kept.sum())
        key, order = key[:count], order[:count]
    ends = _ends(key.clamp(max=num_experts - 1), num_experts)
    return Pairs(*(part.index_select(0, order) for part in pairs)), ends


def described(aux: AuxRequest, routes: Routes, kept: Pairs, shape: torch.Size, num_experts: int) -> AuxOutput:
    """The requested statistics of weights of experts, for tokens of `shape`."""

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


def _paired(experts: Tensor, weight: Tensor, there: Tensor | None) -> Pairs:
    """Pairs of each token and each expert of its row `(tokens, k)`."""
    count, k = experts.shape
    token = torch.arange(count, device=experts.device).repeat_interleave(k)
    kept = torch.ones_like(token, dtype=torch.bool) if there is None else there.repeat_interleave(k)
    return Pairs(token, experts.flatten(), weight.flatten().masked_fill(~kept, 0.0), kept)


def _ends(rising: Tensor, count: int) -> Tensor:
    """End of each of `count` groups in a rising tensor of groups."""
    return torch.searchsorted(rising, torch.arange(count, device=rising.device), right=True, out_int32=True)


def _importance(pairs: Pairs, num_experts: int) -> Tensor:
    """The sum of each expert's weights, equation 6."""
    return pairs.weight.new_zeros(num_experts).index_add(0, pairs.expert, pairs.weight)


def _masked(rows: Tensor, there: Tensor | None) -> Tensor:
    return rows if there is None else rows.masked_fill(~there[:, None], 0.0)
