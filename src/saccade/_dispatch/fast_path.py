"""Three shortcuts past the full path of a call (`passes.full_path`).

    attend(query, key, value)      `plain`: everything else at its default, tensors of one shape
    attend(..., score=Additive(v)) `additive`: everything else at its default, float32 tensors of one batch on a CPU
    memory.read(query)             `Steps.again`: a query like the last one that this memory was read with

Checking a call, building its tree and choosing a backend take 30 to 100 µs. A call this small computes for 10. A
shortcut leaves these out if types, shapes and flags alone show which backend would be chosen. It returns None for
everything else, so that errors have one source, and gives the same bits as the full path (tests compare them).
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from saccade._call.call import SCALED_DOT, SOFT, SOFTMAX, Arguments
from saccade._definitions.checks import ambiguous
from saccade._definitions.numerics import tracing, transforming
from saccade._plainly import is_plain
from saccade.backends import sdpa
from saccade.backends.cpu import unmasked
from saccade.backends.cpu.steps import Steps
from saccade.backends.sdpa.derivatives import keeping_elsewhere, twice_differentiable
from saccade.masks import Causal
from saccade.reads import Soft
from saccade.scores import Additive

_ON_GPU = torch.float32, torch.float16, torch.bfloat16


def shortcut(arguments: Arguments) -> Tensor | None:
    """The output of a small usual call, or None: the full path is to be taken."""
    query, key, value, score, mask, bias, gate, normalizer, read, dropout_p, aux, backend, memory, _, state = arguments
    if not bias is gate is aux is None or dropout_p != 0:
        return None
    if state is not None:
        steps = mask is None and type(read) is Soft and backend in ("auto", "cpu") and not tracing()
        return state.of(Steps).again(query, memory, normalizer) if steps else None
    if normalizer is not SOFTMAX or read is not SOFT or backend != "auto" or memory is not None:
        return None
    if score is SCALED_DOT:
        return plain(query, key, value, mask)
    return additive(query, key, value, score) if mask is None else None


def plain(query: Tensor, key: Tensor, value: Tensor, mask: object) -> Tensor | None:
    r"""\(\operatorname{softmax}(q k^\top / \sqrt{D})\, v\) of three tensors of a shape.

    Shapes are `(L, D)` to `(B, H, L, D)`, dtypes float32 and on a GPU half types. The mask is None, causal, or on a CPU
    without gradients a boolean tensor.
    """
    is_causal = type(mask) is Causal and mask.align is None
    if not (mask is None or is_causal or type(mask) is Tensor) or not type(query) is type(key) is type(value) is Tensor:
        return None
    if query.is_nested or key.is_nested or value.is_nested or not query.shape == key.shape == value.shape:
        return None
    if not 2 <= query.ndim <= 4 or not query.numel() or tracing() or is_plain() or not _alike(query, key, value):
        return None
    recorded = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)
    if recorded and keeping_elsewhere():
        return None
    missing = 4 - query.ndim
    looked_at = query.is_cpu and not (mask is None or is_causal or recorded)
    dense = _dense(mask, query.shape) if looked_at else None
    if mask is not None and not is_causal and dense is None:
        return None
    if missing:
        first = (None,) * missing
        query, key, value = query[first], key[first], value[first]
    output = scaled_dot_product_attention(query, key, value, dense, is_causal=is_causal)
    if recorded:
        twice_differentiable(output)
    if dense is not None:
        flat = output.view(-1) if output.is_contiguous() else output.reshape(-1)
        if not math.isfinite(torch.dot(flat, flat).item()):
            return None  # NaN of forbidden keys may have come through: the full path cleans it
    return output[(0,) * missing] if missing else output


def additive(query: Tensor, key: Tensor, value: Tensor, score: object) -> Tensor | None:
    r"""\(\operatorname{softmax}(v^\top \tanh(q_i + k_j))\) times the values.

    Tensors of one batch that share v, float32 on a CPU, a million terms and more.
    """
    if type(score) is not Additive or not type(query) is type(key) is type(value) is Tensor:
        return None
    if tracing() or query.is_nested or key.is_nested or value.is_nested:  # none of these has sizes to compare
        return None
    return unmasked.alone(query, key, value, score.v)


def _alike(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether torch's kernels serve dense tensors as they are, without autocast."""
    if not query.layout == key.layout == value.layout == torch.strided or not query.dtype == key.dtype == value.dtype:
        return False
    if transforming() or not query.device == key.device == value.device or torch.is_autocast_enabled(query.device.type):
        return False
    if query.is_cpu:
        return query.dtype == torch.float32 and not sdpa.rounding()
    return query.is_cuda and query.dtype in _ON_GPU


def _dense(mask: object, shape: torch.Size) -> Tensor | None:
    """A boolean tensor of four dimensions for torch's kernel, or None."""
    if type(mask) is not Tensor or mask.dtype != torch.bool or not mask.is_cpu:
        return None
    if mask.is_nested or mask.layout != torch.strided:
        return None
    if not 2 <= mask.ndim <= len(shape) or ambiguous(mask.shape, shape) or 4 * mask.numel() > sdpa.LAYOUT_LIMIT:
        return None
    sizes = (*shape[:-1], shape[-2])[len(shape) - mask.ndim :]
    fits = all(m in (1, s) for m, s in zip(mask.shape, sizes, strict=True))
    return mask[(None,) * (4 - mask.ndim)] if fits else None
