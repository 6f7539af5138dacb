"""A few queries at a time: additive scores, softmax and read in one kernel, as a decoder's steps need them.

What a step costs is what it starts; here that is one kernel forward and one backward, and the reads of one memory add
their gradients to one sum. The weights are kept for the backward.
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade._call.call import Call, Widened
from saccade._definitions.numerics import HALF, tracing, transforming, wide
from saccade._definitions.structure import aligned
from saccade.backends.cpu.folding import Folded, folded
from saccade.backends.cpu.step_kernels import defined, forward, gradients
from saccade.kernels.sums import Sums, by_definition
from saccade.kernels.threads import serves
from saccade.masks import Dense, Mask
from saccade.normalizers import Softmax
from saccade.scores import Additive, exponentials

__all__ = ["MemorySums", "Steps", "attention", "fits", "folded_step", "run", "serves_step"]

FEW, PAIRS = 8, (1 << 10) - 1
"""Queries of a sequence, or pairs of a query and a key, up to which a call is a step: with more, packing the keys
pays.
"""

MANY, TERMS = 1 << 12, 10**6
"""Pairs up to which a read of a memory, which has its sums to share, is a step nevertheless, and any call of fewer
terms, for which what begins and ends with a block is too much.
"""


def serves_step(call: Call) -> bool:
    """Whether a call is a step."""
    return call.soft() and not call.asks() and fits(call)


def fits(call: Call) -> bool:
    """Whether the weights of a call are those of a step, whatever is read by them."""
    normalizer = call.normalizer
    if tracing() or transforming():  # sizes may be symbols, which nothing may depend on
        return False
    length, width = call.query.shape[-2], call.key.shape[-2]
    if not isinstance(call.score, Additive) or not isinstance(normalizer, Softmax):
        return False
    if length > FEW and length * width > _pairs(call):
        return False
    plain = normalizer.sink is None and not isinstance(normalizer.temperature, Tensor)
    more = call.bias is not None or call.gate is not None or call.dropout_p
    tensors = call.query, call.key, call.value, call.score.v
    served = plain and not more and serves(*tensors, dtypes=(torch.float32, *HALF))
    return served and not (call.mask is not None and _copies(call, call.mask))


def _pairs(call: Call) -> int:
    """How many pairs of a sequence are a step, of more than a few queries."""
    return MANY if call.state is not None or call.pairs * call.query.shape[-1] < TERMS else PAIRS


def _copies(call: Call, mask: Mask) -> bool:
    """Whether keys would be copied, because several queries share them under masks of their own."""
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
    if call.query.dtype in HALF:
        return _widened(call).to(call.value.dtype)
    shape = (*call.batch, call.query.shape[-2], call.value.shape[-1])
    inputs, temperature, own = folded_step(call)
    shared = None if call.state is None else call.state.of(Steps)
    if shared is not None and call.cache is not None:
        shared.keep(call, inputs, temperature, own=own)
    return attention(*inputs, temperature, shared if own else None).reshape(shape)


def folded_step(call: Call) -> tuple[Folded, float, bool]:
    """The tensors of a step, folded, and its temperature; and whether key and value are as the call has them: reads of
    a memory share their sums where they are its own, not folded or expanded for this query.
    """
    assert isinstance(call.score, Additive)
    assert isinstance(call.normalizer, Softmax)
    powers = exponentials(call.key.detach()) if call.cache is None else call.cache
    mask = None if call.mask is None else call.mask.dense(call.grid())
    inputs = folded(call.batch, call.query, call.key, call.value, call.score.v, powers, mask)
    own = inputs.key.shape == call.key.shape and inputs.value.shape == call.value.shape
    return inputs, float(call.normalizer.temperature), own


def _widened(call: Call) -> Tensor:
    """The output in float32, keys and values of a memory converted once for all its reads."""
    key, value = (Widened() if call.state is None else call.state.of(Widened)).pair(call.key, call.value)
    call = replace(call, key=key, value=value, state=None)
    return run(call.map(lambda tensor, axes: wide(tensor)))


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    v: Tensor,
    powers: Tensor,
    mask: Tensor | None,
    temperature: float,
    steps: "Steps | None" = None,
) -> Tensor:
    r"""Fused \(\sum_j \operatorname{softmax}_j(v^\top \tanh(q_i + k_j) / T)\, \mathrm{value}_j\).

    Args:
        query: `(N, Lq, D)`.
        key: `(N, Lk, D)`.
        value: `(N, Lk, Dv)`.
        v: `(D,)`, or `(N, D)`.
        powers: `saccade.scores.exponentials` of the key; no gradient passes through them.
        mask: boolean `(N or 1, Lq or 1, Lk)`, or None.
        temperature: T.
        steps: what the reads of one memory share, these key and value.

    Returns:
        `(N, Lq, Dv)`.
    """
    tensors = query, key, value, v
    if not torch.is_grad_enabled() or not any(tensor.requires_grad for tensor in tensors):
        return forward(*tensors, powers, mask, temperature)[0]
    gate, sums = (None, None) if steps is None else steps.of(key, value)
    found: Tensor = _Attention.apply(*tensors, gate, sums, powers, mask, temperature)
    return found


class Steps:
    """What the reads of one memory share: how the last one was done, and where their gradients of its key and value
    are summed. The memory's `BackendState` has it.
    """

    def __init__(self) -> None:
        self._made: tuple[Tensor, MemorySums] | None = None
        self._last: _Step | None = None

    def of(self, key: Tensor, value: Tensor) -> "tuple[Tensor | None, MemorySums | None]":
        """The gate of key and value, always the same, and its sums; None where neither learns.

        Args:
            key, value: the memory's, `(N, Lk, D)` and `(N, Lk, Dv)`, not folded into another shape.
        """
        if not (key.requires_grad or value.requires_grad):
            return None, None
        if self._made is None:
            sums = MemorySums()
            self._made = sums.gate(key, value), sums
        return self._made

    def keep(self, call: Call, inputs: Folded, temperature: float, *, own: bool) -> None:
        """How a step was done, for the next of the same shape, where folding is a matter of shapes alone.

        Args:
            call: the step.
            inputs: its tensors, folded.
            temperature: its softmax's.
            own: whether key and value are as the memory has them.
        """
        self._last = None
        if call.query.shape[:-2] != call.batch or not (call.mask is None or type(call.mask) is Dense):
            return
        assert isinstance(call.score, Additive)
        assert call.cache is not None
        mask = None if call.mask is None else call.mask.allowed
        given = _Parts(call.key, call.value, call.score.v, call.cache, mask)
        folds = _Parts(inputs.key, inputs.value, inputs.v, inputs.powers, inputs.mask)
        folds = folds._replace(key=call.key, value=call.value) if own else folds
        if inputs.v.shape == call.score.v.shape:
            folds = folds._replace(v=call.score.v)
        last = _Step(call.query.shape, inputs.query.shape, given, folds, given.shapes(), temperature, own)
        self._last = last if last.stands() else None

    def again(self, query: object, mask: Tensor | None, normalizer: object) -> Tensor | None:
        """The soft read of a query as the last step was done; None where this may be another.

        Checking and folding a call costs more than a small step itself.

        Args:
            query: whatever was given as the query.
            mask: the memory's own.
            normalizer: whatever was given.
        """
        last = self._last
        if last is None or last.given.mask is not mask or type(normalizer) is not Softmax:
            return None
        if normalizer.sink is not None or isinstance(normalizer.temperature, Tensor):
            return None
        if normalizer.temperature != last.temperature or not isinstance(query, Tensor) or query.shape != last.shape:
            return None
        key, value, v, powers, mask = last.parts
        if not serves(query, key, value, v, powers) or not last.stands():
            return None
        learns = query.requires_grad or key.requires_grad or value.requires_grad or v.requires_grad
        query = query.reshape(last.folded)
        if not learns or not torch.is_grad_enabled():
            output = forward(query, key, value, v, powers, mask, last.temperature)[0]
        elif last.own:
            output = attention(query, key, value, v, powers, mask, last.temperature, self)
        else:
            return None
        return output.reshape(*last.shape[:-1], output.shape[-1])


class _Parts(NamedTuple):
    """The tensors of a step beside its query."""

    key: Tensor
    value: Tensor
    v: Tensor
    powers: Tensor
    mask: Tensor | None

    def shapes(self) -> tuple[torch.Size, ...]:
        return tuple(part.shape for part in self if part is not None)


class _Step(NamedTuple):
    """How a step was done.

    Args:
        shape, folded: the shapes of its query, given and folded.
        given: the memory's tensors.
        parts: the same, folded: views of them.
        shapes: those of `given` then.
        temperature: of its softmax.
        own: whether key and value were not folded into another shape.
    """

    shape: torch.Size
    folded: torch.Size
    given: _Parts
    parts: _Parts
    shapes: tuple[torch.Size, ...]
    temperature: float
    own: bool

    def stands(self) -> bool:
        """Whether what was folded is still what is given, which whoever replaces a tensor's data may have changed."""
        pairs = zip(self.given, self.parts, strict=True)
        views = all(old is new or _same_memory(old, new) for old, new in pairs)
        return views and self.given.shapes() == self.shapes


def _same_memory(old: Tensor | None, new: Tensor | None) -> bool:
    return old is not None and new is not None and old.data_ptr() == new.data_ptr()


class MemorySums(Sums[dict[str, Any]]):
    """The gradients of a memory's key and value, over all reads of it: of values by what was drawn, and by weights with
    the gradients of what was read, whose product is made once.
    """

    def start(self) -> dict[str, Any]:
        return {"key": None, "drawn": None, "weights": [], "grads": []}

    def finish(self, total: dict[str, Any]) -> tuple[Tensor | None, Tensor | None]:
        value = total["drawn"]
        if total["grads"]:
            read = torch.cat(total["weights"], 1).mT @ torch.cat(total["grads"], 1)
            value = read if value is None else value + read
        return total["key"], value


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        v: Tensor,
        gate: Tensor | None,
        sums: MemorySums | None,
        powers: Tensor,
        mask: Tensor | None,
        temperature: float,
    ) -> Tensor:
        output, weights, kinds = forward(query, key, value, v, powers, mask, temperature)
        ctx.temperature, ctx.sums = temperature, sums
        ctx.save_for_backward(query, key, value, v, powers, mask, weights, kinds)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        query, key, value, v, powers, mask, weights, kinds = ctx.saved_tensors
        if torch.is_grad_enabled() or not serves(grad):  # a second derivative is to follow, or many at once
            definition = partial(_definition, mask=mask, temperature=ctx.temperature)
            return (*by_definition(definition, (query, key, value, v), ctx.needs_input_grad[:4], grad), *[None] * 5)
        summing = ctx.sums is not None and ctx.needs_input_grad[4]
        total = ctx.sums.current() if summing else None
        weights, grad = weights.contiguous(), grad.contiguous()  # hooks on saved tensors may change strides
        inputs, known = Folded(query, key, value, v, powers, mask), None if total is None else total["key"]
        query_grad, key_grad, v_grad = gradients(inputs, grad, weights, kinds, ctx.temperature, known)
        if total is None:
            value_grad = weights.mT @ grad if ctx.needs_input_grad[2] else None
            return query_grad, key_grad, value_grad, v_grad, *[None] * 5
        total["key"] = key_grad
        total["weights"].append(weights)
        total["grads"].append(grad)
        return query_grad, None, None, v_grad, grad.new_zeros(()), *[None] * 4


def _definition(
    query: Tensor, key: Tensor, value: Tensor, v: Tensor, *, mask: Tensor | None, temperature: float
) -> Tensor:
    """The same by the formula."""
    weights, value, _ = defined(query, key, value, v, mask, temperature)
    return weights @ value
