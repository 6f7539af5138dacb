"""The call of torch's flex_attention: compiled once, differentiable twice."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import AuxRequest as FlexRequest
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from saccade._call import block_map
from saccade._call.call import Call
from saccade._call.dot_products import product
from saccade._definitions.numerics import broadcast_shapes, tracing
from saccade.auxiliary import AuxRequest
from saccade.backends import reference
from saccade.backends.flex.folding import Fold, Read, folding
from saccade.backends.flex.points import Score, added, permitted
from saccade.masks import Mask
from saccade.normalizers import Softmax
from saccade.scores import ScaledDot

BLOCK = 128  # queries and keys of a block: torch's kernels are tuned for it
VARIANTS = 256  # limit of compiled kinds of calls: masks, biases, sizes, dtypes, backward


def attention(call: Call, *, lse: bool) -> tuple[Tensor, Tensor]:
    """Output `(..., Lq, Dv)` without a sink, and lse `(..., Lq)` or an empty one."""
    assert isinstance(call.normalizer, Softmax)
    query, key, scale, softcap = product(call.score, call.query, call.key)
    tensors, normalizer = (query, key, call.value), replace(call.normalizer, sink=None)
    score, aux = ScaledDot(scale, softcap), AuxRequest(lse=lse)
    call = replace(call, score=score, normalizer=normalizer, aux=aux, cache=None)
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors) and not tracing():
        output: tuple[Tensor, Tensor] = _TwiceDifferentiable.apply(call, *tensors)
        return output
    return forward(call, *tensors)


def forward(call: Call, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """The call as one flex_attention of four dimensions, and back."""
    fold, poison = folding(call), None
    if call.mask is not None or call.bias is not None:
        query, key, value, poison = cleaned(query, key, value, fold)
    rows = query.shape[-2]
    output, lse = kernel()(
        fold.rows(query),
        fold.keys(key),
        fold.keys(value),
        score_function(call, fold, poison),
        None if call.mask is None else block_mask(call.mask, fold),
        fold.groups > 0,
        call.aux.lse,
    )
    return output.reshape(*fold.batch, rows, value.shape[-1]), lse.reshape(*fold.batch, rows) if call.aux.lse else lse


def score_function(call: Call, fold: Fold, poison: Read | None) -> Score:
    """(cap(scale · product) + bias) / T of one query and one key.

    `poison` is NaN for queries and keys that `cleaned` has set to zeros, else 0: only pairs with them become NaN.
    """
    assert isinstance(call.normalizer, Softmax)
    assert isinstance(call.score, ScaledDot)
    assert call.score.scale is not None
    bias, temperature, scale = call.bias, float(call.normalizer.temperature), fold.real(call.score.scale)
    cap = None if call.score.softcap is None else fold.real(call.score.softcap)
    biased = None if bias is None else added(bias, fold)
    sharpness = None if temperature == 1.0 else fold.real(1 / temperature)

    def score(product: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        result = product * scale
        if cap is not None:
            result = cap * torch.tanh(result / cap)
        if poison is not None:
            result = result + poison(b, h, i, j)
        offset = None if biased is None else biased(b, h, i, j)
        result = result if offset is None else result + offset
        result = result if sharpness is None else result * sharpness
        return result if offset is None else torch.where(offset == -torch.inf, -torch.inf, result)

    return score


def block_mask(mask: Mask, fold: Fold, size: int = BLOCK) -> BlockMask:
    """The mask as torch's kernels take it: a function, and lists of blocks of keys."""
    blocks = block_map.mapped(mask.map(lambda tensor, axes: fold.definition(tensor, len(axes))), fold.grid, size)
    shape = broadcast_shapes(blocks.some.shape, (1, 1, 1, 1))
    some, full = blocks.some.expand(shape), blocks.all.expand(shape)
    return BlockMask.from_kv_blocks(
        *ordered(some & ~full),
        *ordered(full),
        BLOCK_SIZE=size,
        mask_mod=permitted(mask, fold),
        seq_lengths=(fold.grid.q_len, fold.grid.k_len),
    )


def ordered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Number of key blocks of each query block `(B, H, blocks)`, and their indices."""
    order = blocks.to(torch.int32).argsort(dim=-1, descending=True, stable=True)
    return blocks.sum(-1, dtype=torch.int32), order.to(torch.int32)


def cleaned(query: Tensor, key: Tensor, value: Tensor, fold: Fold) -> tuple[Tensor, Tensor, Tensor, Read]:
    """Queries, keys and values with finite rows alone, and the poison of their scores.

    A kernel multiplies whole blocks, and 0 · NaN is NaN. A search for keys without an allowed pair would read
    every pair. This reads every number, and the mask decides its pairs.
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
    """flex_attention without its scale, a number that would be compiled in."""
    output, aux = flex_attention(
        query,
        key,
        value,
        score_mod=score,
        block_mask=mask,
        scale=1.0,
        enable_gqa=grouped,
        return_aux=FlexRequest(lse=lse),
        kernel_options={"FORCE_USE_FLEX_ATTENTION": True},  # the one for decoding takes powers of two of groups
    )
    return output, output.new_empty(0) if aux.lse is None else aux.lse


@functools.cache
def compiled() -> Kernel:
    """flex_attention as one kernel, compiled when a kind of call first occurs."""
    options: dict[str, Any] = {}
    if "recompile_limit" in inspect.signature(torch.compile).parameters:  # before torch 2.13 a global setting alone
        options["recompile_limit"] = VARIANTS
    return torch.compile(plain, dynamic=True, fullgraph=True, **options)


def kernel() -> Kernel:
    return plain if tracing() else compiled()


def recorded(call: Call, *tensors: Tensor) -> tuple[tuple[Tensor, Tensor], list[Tensor]]:
    """Results of a call with gradients on, and its inputs."""
    with torch.enable_grad():
        inputs = [tensor.detach().requires_grad_() for tensor in tensors]
        return forward(call, *inputs), inputs


def textbook(call: Call, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    output, aux = reference.run(replace(call, query=query, key=key, value=value))
    return (output,) if aux.lse is None else (output, aux.lse)


class _TwiceDifferentiable(torch.autograd.Function):
    """torch's kernel and its backward, with the reference's derivatives behind them."""

    @staticmethod
    def forward(ctx: Any, call: Call, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(query, key, value)
        ctx.call = call
        ctx.recorded = recorded(call, query, key, value)
        output, lse = (result.detach() for result in ctx.recorded[0])
        if not call.aux.lse:
            ctx.mark_non_differentiable(lse)
        return output, lse

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
        query, key, value = ctx.saved_tensors
        if torch.is_grad_enabled():
            results, pull, *_ = torch.func.vjp(functools.partial(textbook, ctx.call), query, key, value)
            filled = (torch.zeros_like(r) if g is None else g for r, g in zip(results, grads, strict=False))
            return (None, *pull(tuple(filled)))
        # a backward pass frees the buffers of compiled kernels: a second one runs them again
        results, inputs = ctx.recorded or recorded(ctx.call, query, key, value)
        ctx.recorded = None
        outputs = [result for result, grad in zip(results, grads, strict=True) if grad is not None]
        upstream = [grad for grad in grads if grad is not None]
        return (None, *torch.autograd.grad(outputs, inputs, upstream, allow_unused=True)) if outputs else (None,) * 4
