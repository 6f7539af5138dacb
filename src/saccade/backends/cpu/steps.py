"""A few queries at a time: additive scores, softmax and read in one kernel.

Starting operations dominates the time of a step. Here one kernel runs forward and one backward, and the reads of one
memory add their gradients to one sum. The weights are kept for the backward.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade._call.call import Call, Widened
from saccade._definitions.numerics import HALF, tracing, transforming, wide
from saccade._definitions.structure import aligned
from saccade.backends.cpu.step_kernels import MemorySums, Read, forward
from saccade.backends.folding import Folded, folded
from saccade.kernels.threads import serves
from saccade.masks import Dense, Mask
from saccade.normalizers import Softmax
from saccade.scores import Additive, exponentials

# Limits of a step: queries of a sequence, or pairs. More would repay packed keys.
FEW, PAIRS = 8, (1 << 10) - 1
# Limits of a step over a memory: pairs, or terms. A block has more overhead.
MANY, TERMS = 1 << 12, 10**6


def serves_step(call: Call) -> bool:
    """Whether a call is a step."""
    return call.soft() and not call.asks() and fits(call)


def fits(call: Call) -> bool:
    """Whether the weights of a call are those of a step, with any read."""
    normalizer = call.normalizer
    if tracing() or transforming():  # sizes may be symbols, and decisions must not depend on them
        return False
    length, width = call.query.shape[-2], call.key.shape[-2]
    if not isinstance(call.score, Additive) or not isinstance(normalizer, Softmax):
        return False
    if length > FEW:
        large = call.state is None and call.pairs * call.query.shape[-1] >= TERMS
        if length * width > (PAIRS if large else MANY):
            return False
    plain = normalizer.sink is None and not isinstance(normalizer.temperature, Tensor)
    more = call.bias is not None or call.gate is not None or call.dropout_p
    tensors = call.query, call.key, call.value, call.score.v
    served = plain and not more and serves(*tensors, dtypes=(torch.float32, *HALF))
    return served and not (call.mask is not None and _copies_keys(call, call.mask))


def _copies_keys(call: Call, mask: Mask) -> bool:
    """Whether folding copies shared keys, because masks differ."""
    rank, part = len(call.batch), ("rows", "columns")
    allowed = aligned(mask.dense(call.grid()), part, rank)
    tensors = [aligned(tensor, part, rank) for tensor in (call.key, call.value)]
    inner = True  # dimensions that become rows
    for dim in range(rank - 1, -1, -1):
        shared = all(tensor.shape[dim] == 1 for tensor in tensors)
        inner = inner and shared and allowed.shape[dim] == allowed.shape[-2] == 1
        if call.batch[dim] > 1 and not inner and any(tensor.shape[dim] == 1 for tensor in tensors):
            return True
    return False


def run(call: Call) -> Tensor:
    """The output of a step; half types are computed in float32."""
    if call.query.dtype in HALF:  # a memory converts its keys and values once for all reads
        key, value = (Widened() if call.state is None else call.state.of(Widened)).pair(call.key, call.value)
        widened = replace(call, key=key, value=value, state=None).map(lambda tensor, axes: wide(tensor))
        return run(widened).to(call.value.dtype)
    shape = (*call.batch, call.query.shape[-2], call.value.shape[-1])
    inputs, temperature, unfolded = folded_step(call)
    shared = None if call.state is None else call.state.of(Steps)
    if shared is not None and call.cache is not None:
        shared.keep(call, inputs, temperature, unfolded=unfolded)
    return attention(inputs, temperature, shared if unfolded else None).reshape(shape)


def folded_step(call: Call) -> tuple[Folded, float, bool]:
    """Folded tensors, temperature, and whether key and value keep their shapes."""
    assert isinstance(call.score, Additive)
    assert isinstance(call.normalizer, Softmax)
    powers = exponentials(call.key.detach()) if call.cache is None else call.cache
    mask = None if call.mask is None else call.mask.dense(call.grid())
    inputs = folded(call.batch, call.query, call.key, call.value, call.score.v, powers, mask)
    unfolded = inputs.key.shape == call.key.shape and inputs.value.shape == call.value.shape
    return inputs, float(call.normalizer.temperature), unfolded


def attention(inputs: Folded, temperature: float, steps: "Steps | None" = None) -> Tensor:
    """Output `(N, Lq, Dv)` of a step; `steps` of the memory of its key and value."""
    if not torch.is_grad_enabled() or not any(tensor.requires_grad for tensor in inputs[:4]):
        return forward(inputs, temperature)[0]
    gate, sums = (None, None) if steps is None else steps.of(inputs.key, inputs.value)
    output: Tensor = Read.apply(*inputs[:4], gate, sums, *inputs[4:], temperature, None)
    return output


class Steps:
    """State of a memory's reads: the last step, and sums of gradients."""

    def __init__(self) -> None:
        self._made: tuple[Tensor, MemorySums] | None = None
        self._last: _Step | None = None

    def of(self, key: Tensor, value: Tensor) -> "tuple[Tensor | None, MemorySums | None]":
        """Gate and sums of key and value, the same at every read, or None."""
        if not (key.requires_grad or value.requires_grad):
            return None, None
        if self._made is None:
            sums = MemorySums()
            self._made = sums.gate(key, value), sums
        return self._made

    def keep(self, call: Call, inputs: Folded, temperature: float, *, unfolded: bool) -> None:
        """Keep a step for the next of its shape, if folding depends on shapes alone."""
        self._last = None
        if call.query.shape[:-2] != call.batch or not (call.mask is None or type(call.mask) is Dense):
            return
        assert isinstance(call.score, Additive)
        mask = None if call.mask is None else call.mask.allowed
        tensors = call.key, call.value, call.score.v, call.cache, mask
        key, value = (call.key, call.value) if unfolded else (inputs.key, inputs.value)
        v = call.score.v if inputs.v.shape == call.score.v.shape else inputs.v
        views = key, value, v, inputs.powers, inputs.mask
        last = _Step(call.query.shape, inputs.query.shape, tensors, views, _shapes(tensors), temperature, unfolded)
        self._last = last if last.valid() else None

    def again(self, query: object, mask: Tensor | None, normalizer: object) -> Tensor | None:
        """Soft read of a query like the last step, or None if it may differ."""
        last = self._last
        if last is None or last.tensors[4] is not mask or type(normalizer) is not Softmax:
            return None
        if normalizer.sink is not None or isinstance(normalizer.temperature, Tensor):
            return None
        if normalizer.temperature != last.temperature or not isinstance(query, Tensor) or query.shape != last.shape:
            return None
        key, value, v, powers, mask = last.views
        if not serves(query, key, value, v, powers) or not last.valid():
            return None
        learns = query.requires_grad or key.requires_grad or value.requires_grad or v.requires_grad
        inputs = Folded(query.reshape(last.folded), key, value, v, powers, mask)
        if not learns or not torch.is_grad_enabled():
            output = forward(inputs, last.temperature)[0]
        elif last.unfolded:
            output = attention(inputs, last.temperature, self)
        else:
            return None
        return output.reshape(*last.shape[:-1], output.shape[-1])


class _Step(NamedTuple):
    """A step of a memory."""

    shape: torch.Size  # of its query
    folded: torch.Size  # of its folded query
    tensors: tuple[Any, ...]  # key, value, v, powers and mask of the memory
    views: tuple[Any, ...]  # folded views of them
    shapes: list[torch.Size]  # of the tensors at that step
    temperature: float
    unfolded: bool  # whether key and value keep their shapes

    def valid(self) -> bool:
        """Whether views still share memory with tensors, despite a replaced `data`."""
        for tensor, view in zip(self.tensors, self.views, strict=True):
            if tensor is not view and (tensor is None or view is None or tensor.data_ptr() != view.data_ptr()):
                return False
        return _shapes(self.tensors) == self.shapes


def _shapes(tensors: tuple[Any, ...]) -> list[torch.Size]:
    return [tensor.shape for tensor in tensors if tensor is not None]
