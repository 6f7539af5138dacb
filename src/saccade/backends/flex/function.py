"""The call of torch's flex_attention: clean inputs in, compiled once for all lengths, differentiable twice."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import AuxRequest as FlexRequest
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from saccade._call.call import Call
from saccade._call.dot_products import product
from saccade._definitions.numerics import tracing
from saccade.auxiliary import AuxRequest
from saccade.backends import reference
from saccade.backends.flex.blocks import block_mask
from saccade.backends.flex.folding import Fold, Read, folding
from saccade.backends.flex.points import Modifier, Score, added
from saccade.normalizers import Softmax
from saccade.scores import ScaledDot

VARIANTS = 256
"""How many kinds of calls (masks, biases, head dimensions, dtypes, with a backward or not) kernels are compiled for."""


class Settings(NamedTuple):
    """What of a call is no query, key or value: none of it gets a gradient here."""

    call: Call
    scale: float
    softcap: float | None
    lse: bool


def attention(call: Call, *, lse: bool) -> tuple[Tensor, Tensor]:
    """Output `(..., Lq, Dv)` and, where it is asked for, lse `(..., Lq)`; else an empty tensor."""
    query, key, scale, softcap = product(call.score, call.query, call.key)
    assert not isinstance(softcap, Tensor)
    settings = Settings(call, scale, softcap, lse)
    tensors = query, key, call.value
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors) and not tracing():
        output: tuple[Tensor, Tensor] = _TwiceDifferentiable.apply(settings, *tensors)
        return output
    return forward(settings, *tensors)


def forward(settings: Settings, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """The call as one flex_attention of four dimensions, and back."""
    call = settings.call
    fold = folding(call)
    poison = None
    if call.mask is not None or call.bias is not None:
        query, key, value, poison = cleaned(query, key, value, fold)
    rows = query.shape[-2]
    output, lse = kernel()(
        fold.rows(query),
        fold.keys(key),
        fold.keys(value),
        modifier(settings, fold, poison).score(),
        None if call.mask is None else block_mask(call.mask, fold),
        fold.groups > 0,
        settings.lse,
    )
    return output.reshape(*fold.batch, rows, value.shape[-1]), lse.reshape(*fold.batch, rows) if settings.lse else lse


def modifier(settings: Settings, fold: Fold, poison: Read | None) -> Modifier:
    """What the call does to each score."""
    normalizer, bias = settings.call.normalizer, settings.call.bias
    assert isinstance(normalizer, Softmax)
    temperature = float(normalizer.temperature)
    return Modifier(
        scale=fold.real(settings.scale),
        cap=None if settings.softcap is None else fold.real(settings.softcap),
        bias=None if bias is None else added(bias, fold),
        sharpness=None if temperature == 1.0 else fold.real(1 / temperature),
        poison=poison,
    )


def cleaned(query: Tensor, key: Tensor, value: Tensor, fold: Fold) -> tuple[Tensor, Tensor, Tensor, Read]:
    """Zeros for queries, and for keys with their values, that hold anything but finite numbers, and what that poisons.

    A kernel multiplies whole blocks, and 0 · NaN would let a forbidden key through. Which keys somebody may attend to
    would take a look at every pair; this takes one at every number, and leaves the mask to tell whom it concerns.
    """
    lost = [~tensor.detach().isfinite().all(-1) for tensor in (query, key, value)]
    clean = [t.masked_fill(gone[..., None], 0.0) for t, gone in zip((query, key, value), lost, strict=True)]
    rows, columns = (
        fold.read(torch.where(gone, torch.nan, fold.real(0.0)), axis)
        for gone, axis in ((lost[0], "q"), (lost[1] | lost[2], "k"))
    )
    return clean[0], clean[1], clean[2], lambda b, h, i, j: rows(b, h, i, j) + columns(b, h, i, j)


Kernel = Callable[[Tensor, Tensor, Tensor, Score, BlockMask | None, bool, bool], tuple[Tensor, Tensor]]


def plain(
    query: Tensor, key: Tensor, value: Tensor, score: Score, mask: BlockMask | None, grouped: bool, lse: bool
) -> tuple[Tensor, Tensor]:
    """flex_attention, the scale left to the score: a number here would be compiled in."""
    output, aux = flex_attention(
        query,
        key,
        value,
        score_mod=score,
        block_mask=mask,
        scale=1.0,
        enable_gqa=grouped,
        return_aux=FlexRequest(lse=lse),
        kernel_options={"FORCE_USE_FLEX_ATTENTION": True},  # the one for decoding wants powers of two of groups
    )
    return output, output.new_empty(0) if aux.lse is None else aux.lse


@functools.cache
def compiled() -> Kernel:
    """flex_attention as one kernel, compiled when a kind of call first occurs."""
    options: dict[str, Any] = {"recompile_limit": VARIANTS}
    known = inspect.signature(torch.compile).parameters  # before torch 2.13 the limit was a global setting alone
    return torch.compile(plain, dynamic=True, fullgraph=True, **{k: v for k, v in options.items() if k in known})


def kernel() -> Kernel:
    """Compiled by us, or by whoever compiles us."""
    return plain if tracing() else compiled()


def recorded(settings: Settings, *tensors: Tensor) -> tuple[tuple[Tensor, Tensor], list[Tensor]]:
    """The results of a call with gradients on, and the inputs that they are for."""
    with torch.enable_grad():
        inputs = [tensor.detach().requires_grad_() for tensor in tensors]
        return forward(settings, *inputs), inputs


def textbook(settings: Settings, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    """The same by the definition."""
    assert isinstance(settings.call.normalizer, Softmax)
    call = replace(
        settings.call,
        query=query,
        key=key,
        value=value,
        score=ScaledDot(settings.scale, settings.softcap),
        normalizer=replace(settings.call.normalizer, sink=None),
        aux=AuxRequest(lse=settings.lse),
        cache=None,
    )
    output, found = reference.run(call)
    return (output,) if found.lse is None else (output, found.lse)


class _TwiceDifferentiable(torch.autograd.Function):
    """torch's kernel with its own backward, and the reference where the backward itself is to be differentiated."""

    @staticmethod
    def forward(ctx: Any, settings: Settings, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(query, key, value)
        ctx.settings = settings
        ctx.recorded = recorded(settings, query, key, value)
        output, lse = (result.detach() for result in ctx.recorded[0])
        if not settings.lse:
            ctx.mark_non_differentiable(lse)
        return output, lse

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
        query, key, value = ctx.saved_tensors
        if torch.is_grad_enabled():
            results, pull, *_ = torch.func.vjp(functools.partial(textbook, ctx.settings), query, key, value)
            filled = (torch.zeros_like(r) if g is None else g for r, g in zip(results, grads, strict=False))
            return (None, *pull(tuple(filled)))
        # Compiled kernels give their buffers away in a backward pass: a second one runs them anew.
        results, inputs = ctx.recorded or recorded(ctx.settings, query, key, value)
        ctx.recorded = None
        wanted = [result for result, grad in zip(results, grads, strict=True) if grad is not None]
        given = [grad for grad in grads if grad is not None]
        return (None, *torch.autograd.grad(wanted, inputs, given, allow_unused=True)) if wanted else (None,) * 4
