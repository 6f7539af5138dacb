"""Attention in linear memory: blocks of queries, forward and again backward.

Not a backend, but the shared part of several. A backend brings its `Engine`, which computes a block. Built-in
definitions run as one `torch.autograd.Function` whose tensors are the leaves of the call's tree. Under a compiler its
forward and backward are opaque operators, so that one graph serves all lengths. Second derivatives recompute through
the reference. Any other callable runs as one checkpoint a block.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor
from torch.autograd import forward_ad

from saccade._call.call import Call, closing_over, opaque
from saccade._call.dot_products import product
from saccade._definitions.numerics import tracing, transforming, wide
from saccade._definitions.structure import encode, foreign
from saccade.auxiliary import AuxOutput, AuxRequest
from saccade.backends import reference
from saccade.backends.blockwise.blocks import INTEGERS, forward, reached_results, result_names
from saccade.backends.blockwise.callables import checkpointed
from saccade.backends.blockwise.engine import Engine, Whole
from saccade.backends.blockwise.function import Blockwise, applied, forward_op
from saccade.backends.blockwise.plan import pairs
from saccade.backends.offers import Answer, Offer, Pairs, Refusal
from saccade.scores import Cosine, ScaledDot

__all__ = ["Engine", "Whole", "counted", "offer", "peak_bytes", "recorded", "run", "unsupported"]


def offer(engine: Engine, call: Call, unwise: str | None = None) -> Answer:
    """The answer of a backend by blocks alone, with a reason to avoid it, if any."""
    reason = unsupported(call)
    if reason is not None:
        return Refusal(reason)
    return Offer(partial(peak_bytes, engine), partial(counted, engine), unwise)


def unsupported(call: Call) -> str | None:
    """Reason against blocks for the call, or None."""
    if tracing() and transforming():
        return "a compiler inside a torch.func transform does not see which gradients its blocks are asked for"
    if tracing() and not opaque(call):
        return "a callable cannot cross into an opaque operator; torch.compile fuses the reference instead"
    if not tracing() and forward_ad._current_level >= 0 and call.built_in:
        return "its blocks are differentiated backward, and this is in forward mode"
    return None


def peak_bytes(engine: Engine, call: Call) -> int:
    """Memory beside inputs and output: a block's scores and results, float32 copies."""
    size = 8 if call.query.dtype == torch.float64 else 4
    block = min(call.pairs, max(engine.budget(call), call.key.shape[-2]))
    return size * (block * 6 + call.key.numel() + call.value.numel() + call.query.numel())


def counted(engine: Engine, call: Call) -> Pairs:
    return pairs(call, engine.budget(call), all_of_them=False)


def run(engine: Engine, call: Call) -> tuple[Tensor, AuxOutput]:
    if not call.built_in or foreign(call) or closing_over(call):
        return checkpointed(engine, call)
    return recorded(engine, normalized_once(call).aligned())


def recorded(engine: Engine, call: Call) -> tuple[Tensor, AuxOutput]:
    """Run a call of built-in definitions as one Function.

    Under a transform the call is aligned.
    """
    if not call.aux.weights:
        results = apply(engine, call)
        top = (results.pop("top_values"), results.pop("top_indices")) if call.aux.top else None
        return results.pop("output"), AuxOutput(top=top, **results)
    weighing = replace(call, aux=AuxRequest(weights=True, lse=call.aux.lse))
    statistics = apply(engine, weighing)
    grid = call.grid()
    allowed = reference.allowed_keys(call, grid) if call.mask is not None or call.bias is not None else None
    call = reference.cleaned(call) if reference.untrusted(call) else call
    # compilers and transforms do not look into operators and rules, but this read is outside of them: by the definition
    read = reference.read if tracing() or transforming() else engine.read
    return read(call, grid, statistics.pop("weights"), allowed, statistics)


def normalized_once(call: Call) -> Call:
    """The call with unit vectors already made for a cosine, once for all blocks."""
    if not isinstance(call.score, Cosine) or call.mask is None:
        return call
    call = reference.cleaned(call) if reference.untrusted(call) else call
    query, key, scale, _ = product(call.score, wide(call.query), wide(call.key))
    return replace(call, query=query, key=key, score=ScaledDot(scale))


def apply(engine: Engine, call: Call) -> dict[str, Tensor]:
    """The results, as outputs of one Function if a gradient is needed."""
    names = result_names(call)
    reached = reached_results(call, names)
    moving = any(reached) and (transforming() or torch.is_grad_enabled())
    results: Sequence[Tensor]
    if tracing():
        results = traced(engine, call, len(names) if moving else None)
    elif moving:
        settings = engine.name, call, not transforming(), len(names), engine.keeps
        results = applied(Blockwise, settings, [leaf.tensor for leaf in call.leaves()])
    else:
        results = forward(engine, call)
    named = dict(zip(names, results, strict=False))  # without the residuals
    if moving:
        for name, moves in zip(names, reached, strict=True):
            if not (moves or name in INTEGERS):
                named[name] = named[name].detach()
    return named


def traced(engine: Engine, call: Call, count: int | None) -> Sequence[Tensor]:
    """Results by an opaque operator, `count` of them of a Function for gradients."""
    numbers: list[float] = []
    skeleton = encode(call, numbers)
    tensors = [leaf.tensor for leaf in call.leaves()]
    tensors.append(torch.tensor(numbers, dtype=torch.float64, device="cpu"))
    # self-attention passes a tensor twice, but a compiler expects every input of a Function once
    tensors = [t.view_as(t) if any(t is other for other in tensors[:i]) else t for i, t in enumerate(tensors)]
    if count is not None:
        return Blockwise.apply(engine.name, skeleton, False, count, engine.keeps, *tensors)  # type: ignore[no-any-return]
    results: Sequence[Tensor] = forward_op(tensors, skeleton, engine.name)
    return results
