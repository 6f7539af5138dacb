"""The call with the keys alone that its few queries can reach under their mask.

So a decoder's step costs its window, not its memory.

    Window, Around, Causal, Lengths, Prefix, Intervals, Packed ──bounds──▶ first and last key of each batch entry
    call ──restrict_keys──▶ Near.call, as many keys for all entries ──run──▶ results ──widened──▶ results of all keys

Blocks (`backends.blockwise.plan`) find the keys of many queries. Here a key beyond the bounds costs nothing, not even a
block.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from torch import Tensor
from torch.autograd import forward_ad

from saccade import biases, masks
from saccade._call import windows
from saccade._call.call import Call, opaque
from saccade._definitions.numerics import recorded, valueless, wide
from saccade._definitions.structure import Axes, Grid
from saccade._dispatch.choose import Plan, Planning, Result, Running
from saccade._plainly import is_plain
from saccade.auxiliary import AuxOutput
from saccade.backends.cpu.draws import serves_draws
from saccade.backends.cpu.steps import serves_step
from saccade.masks import Mask
from saccade.masks.base import Contiguous
from saccade.reads import TopK
from saccade.scores import Location

_WIDE = 2.0**50  # keys around a centre beyond which places lose digits

FEW = 64
"""Largest number of queries that share keys. More of them are blocks."""

LEAST = 256
"""Smallest number of keys for a window. Of fewer keys, a call takes all."""

COPIED = 64
"""Least windows in a memory for copies: a kernel of steps skips forbidden keys."""

Bound: TypeAlias = int | Tensor
"""An int, or int64 `(...)` for each entry of the batch."""


def bounds(mask: Mask, grid: Grid) -> tuple[Bound, Bound]:
    """The first key that a mask may allow to any query, and the key behind the last."""
    if isinstance(mask, masks.Both | masks.Either):
        (start, end), (other_start, other_end) = bounds(mask.first, grid), bounds(mask.second, grid)
        both = isinstance(mask, masks.Both)
        return _extreme(start, other_start, largest=both), _extreme(end, other_end, largest=not both)
    if isinstance(mask, masks.Around) and mask.radius <= _WIDE:  # a key more and float32's rounding on both sides
        center = wide(mask.center) if mask.center.is_floating_point() else mask.center
        center, edge = center.double(), mask.radius + 1 + grid.k_len * 2.0**-22
        missing, outside = center.isnan(), float(grid.k_len) + edge
        least = center.masked_fill(missing, torch.inf).amin(-1).clamp(-outside, outside)
        greatest = center.masked_fill(missing, -torch.inf).amax(-1).clamp(-outside, outside)
        return (least - edge).floor().long(), (greatest + edge).ceil().long() + 1
    if not isinstance(mask, Contiguous):
        return 0, grid.k_len
    lower, upper = mask.interval(grid, 0)
    upper = upper if grid.q_len == 1 else mask.interval(grid, grid.q_len - 1)[1]
    lower, upper = 0 if lower is None else lower, grid.k_len if upper is None else upper
    lower = lower.amin((-2, -1)) if isinstance(lower, Tensor) else lower
    return lower, upper.amax((-2, -1)) if isinstance(upper, Tensor) else upper


def _extreme(left: Bound, right: Bound, *, largest: bool) -> Bound:
    if isinstance(left, int) and isinstance(right, int):
        return max(left, right) if largest else min(left, right)
    tensors = (torch.as_tensor(bound, device="cpu") for bound in (left, right))
    return torch.maximum(*tensors) if largest else torch.minimum(*tensors)


@dataclass(frozen=True)
class Near:
    """A call with the keys alone that its queries can reach."""

    call: Call  # with mask, bias and gate laid out
    first: Bound  # the first of the keys in the whole call
    k_len: int  # keys of the whole call

    def __len__(self) -> int:
        return self.call.key.shape[-2]

    def widened(self, aux: AuxOutput) -> AuxOutput:
        """Statistics of all keys from those of the range: weights are 0 elsewhere."""
        top = aux.top if aux.top is None else (aux.top[0], self._counted(aux.top[1], 2))
        index = None if aux.index is None else self._counted(aux.index, 1)
        weights = None if aux.weights is None else self._spread(aux.weights, 2)
        received = None if aux.received is None else self._spread(aux.received, 1)
        return replace(aux, weights=weights, index=index, top=top, received=received)

    def _counted(self, index: Tensor, axes: int) -> Tensor:
        """Indices of the range's keys as those of all keys."""
        first = self.first[(..., *(None,) * axes)] if isinstance(self.first, Tensor) else self.first
        return torch.where(index < 0, index, index + first)

    def _spread(self, values: Tensor, axes: int) -> Tensor:
        if not isinstance(self.first, Tensor):
            return torch.nn.functional.pad(values, (self.first, self.k_len - self.first - len(self)))
        index = self._counted(torch.arange(len(self), device=values.device), axes)
        return values.new_zeros(*values.shape[:-1], self.k_len).scatter(-1, index.expand(values.shape), values)


def run(call: Call, backend: str, rest: Running) -> Result:
    """Output and statistics of the reachable keys. A named reference gets all."""
    near = None if backend == "reference" else restrict_keys(call)
    if near is None:
        return rest(call, backend)
    output, aux = rest(near.call, backend)
    return output, near.widened(aux)


def plan(call: Call, backend: str, rest: Planning) -> Plan:
    """The plan of the same call."""
    near = None if backend == "reference" else restrict_keys(call)
    if near is None:
        return rest(call, backend)
    easier = rest(near.call, backend)
    if easier.pairs is None:
        return easier
    return replace(easier, pairs=easier.pairs._replace(all=easier.pairs.all // len(near) * near.k_len))


def restrict_keys(call: Call) -> Near | None:
    """The call with the keys alone that its few queries can reach under its mask.

    None if that saves little, or if nothing may depend on values. With dropout all keys stay: a weight is dropped by
    its key's position in the call.
    """
    if call.mask is None or recorded() or valueless(call.query) or is_plain():
        return None
    q_len, k_len = call.query.shape[-2], call.key.shape[-2]
    if k_len < LEAST or not 0 < q_len <= FEW or call.dropout_p > 0 or call.query.device.type != "cpu":
        return None
    if 0 in call.batch or isinstance(call.score, Location) or not opaque(replace(call, state=None, once=None)):
        return None  # a score by place has a row of weights a key
    aligned = call.aligned()
    assert aligned.mask is not None
    least = max(1, min(call.aux.top, k_len), call.read.k if isinstance(call.read, TopK) else 1)
    first, width = _range(*bounds(aligned.mask, aligned.grid()), k_len, least)
    if 2 * width > k_len:
        return None
    if isinstance(first, Tensor) and COPIED * width > k_len and (serves_step(call) or serves_draws(call)):
        return None
    return Near(_reached(call, aligned, first, width), first, k_len)


def _range(start: Bound, end: Bound, k_len: int, least: int) -> tuple[Bound, int]:
    """First key of each entry, an int if they agree, and a number of keys ≥ `least`."""
    if isinstance(start, int) and isinstance(end, int):
        start = min(max(start, 0), k_len)
        width = min(k_len, max(least, min(end, k_len) - start))
        return min(start, k_len - width), width
    first, last = (torch.as_tensor(bound, device="cpu").clamp(0, k_len) for bound in (start, end))
    width = min(k_len, max(least, int((last - first).max())))
    first = first.clamp(max=k_len - width)
    lowest = int(first.min())
    return (lowest if lowest == int(first.max()) else first), width


def _reached(call: Call, aligned: Call, first: Bound, width: int) -> Call:
    """The aligned call with `width` keys, and summed gradients of its memory."""
    kept = call.learns() or forward_ad._current_level >= 0
    learns = torch.is_grad_enabled() and (call.key.requires_grad or call.value.requires_grad)
    summed = None
    if learns and call.state is not None:
        rank = len(call.batch)
        summed = call.state.of(windows.Windows).of(call.key, call.value, first, width, rank)
        aligned = replace(aligned, key=aligned.key.detach(), value=aligned.value.detach())
    k_index = torch.arange(width, device="cpu")[None] + (first[..., None, None] if isinstance(first, Tensor) else first)

    def taken(tensor: Tensor, axes: Axes) -> Tensor:
        dim = tensor.ndim - len(axes) + axes.index("k") if "k" in axes else -1
        if dim < 0 or tensor.shape[dim] == 1:
            return tensor
        whole = axes[0] == "k" and len(axes) == 2  # key, value, cache
        return windows.taken(tensor, dim, first, width, f"window {axes[1]}" if whole and not kept else None)

    near, grid = aligned.map(taken), aligned.grid()._replace(k_index=k_index)
    dtype, mask, bias, gate = wide(call.query).dtype, near.mask, near.bias, near.gate
    assert mask is not None
    allowed = mask.dense(grid)
    key, value = (near.key, near.value) if summed is None else summed
    return replace(
        near,
        key=key,
        value=value,
        mask=masks.Dense(allowed),
        bias=None if bias is None else biases.Dense(bias.values(grid, dtype)),
        gate=None if gate is None else biases.Weights(gate.factor(grid, dtype, allowed)),
        state=None,
        once=None,
    )
