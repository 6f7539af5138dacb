"""Sparsemax and entmax of rows of scores on a GPU, by `kernels.triton.rows`."""

import math
from typing import Any

import torch
from torch import Tensor

from saccade._definitions import simplex
from saccade._definitions.numerics import HALF
from saccade.kernels.launch import MISSING, launch, triton_kernels
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import serves

DEVICE = "cuda"
PIECE = 4096
"""Most keys of a row that registers hold, a power of two."""
PAIRS = 1024
"""Pairs of a program of several short rows."""
_DTYPES = {torch.float32, *HALF, torch.bool}


def serves_rows(alpha: float | Tensor, *tensors: Tensor) -> bool:
    """Whether `entmax` serves scores and a mask with this α, half types as float32."""
    if MISSING or isinstance(alpha, Tensor) or not 1 < alpha <= 2:
        return False
    return serves(*tensors, dtypes=_DTYPES, device=DEVICE) and len({part.device for part in tensors}) == 1


def entmax(scores: Tensor, alpha: float, mask: Tensor | None) -> Tensor:
    r"""\([(\alpha - 1) s_j - \tau]_+^{1 / (\alpha - 1)}\) of float32 scores, 1 < α ≤ 2."""
    weights: Tensor = _Entmax.apply(scores, mask, alpha)
    return weights


class _Entmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, mask: Tensor | None, alpha: float) -> Tensor:
        weights = torch.empty_like(scores, memory_format=torch.contiguous_format)
        flags = (weights, *[1] * 6) if mask is None else _flags(mask.expand(scores.shape))
        _launch(triton_kernels("rows").entmax, alpha, (scores.contiguous(), weights, *flags), MASKED=mask is not None)
        ctx.alpha = alpha
        ctx.save_for_backward(scores, mask, weights)
        return weights

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, None, None]:
        scores, mask, weights = ctx.saved_tensors
        if torch.is_grad_enabled() or not serves(grad, dtypes=(torch.float32,), device=weights.device.type):
            allowed = None if mask is None else mask.expand(scores.shape)
            formula = simplex.sparsemax if ctx.alpha == 2 else lambda *rows: simplex.entmax(rows[0], ctx.alpha, rows[1])
            return by_definition(lambda scores: formula(scores, allowed), (scores,), (True,), grad)[0], None, None
        weights = weights.contiguous()  # hooks on saved tensors may change strides
        scores_grad = torch.empty_like(weights)
        _launch(triton_kernels("rows").entmax_gradient, ctx.alpha, (weights, grad.contiguous(), scores_grad))
        return scores_grad, None, None


def _launch(kernel: Any, alpha: float, arguments: tuple[Any, ...], **constants: Any) -> None:
    """Run a kernel over the rows of its first argument."""
    kinds, keys = triton_kernels("weights"), arguments[0].shape[-1]
    rows, size = arguments[0].numel() // max(keys, 1), min(PIECE, 1 << (keys - 1).bit_length())
    together = max(1, PAIRS // size)
    constants["NORMALIZER"] = {2.0: kinds.SPARSEMAX, 1.5: kinds.ENTMAX15}.get(alpha, kinds.ENTMAX).value
    constants.update(ROWS=together, PIECE=size, WHOLE=keys <= size, num_warps=8 if size > 2048 else 4)
    launch(kernel, -(-rows // together), *arguments, rows, keys, alpha - 1, **constants)


def _flags(mask: Tensor) -> tuple[Any, ...]:
    """Bytes of a mask `(..., keys)`, lengths and steps of its dimensions."""
    dims: list[tuple[int, int]] = []
    for length, step in zip(mask.shape[:-1], mask.stride()[:-1], strict=True):
        if dims and dims[-1][1] == length * step:
            dims[-1] = dims[-1][0] * length, step
        elif length > 1:
            dims.append((length, step))
    if len(dims) > 3:
        mask = mask.contiguous()
        dims = [(math.prod(mask.shape[:-1]), mask.shape[-1])]
    (_, outer), (middle, middle_step), (inner, inner_step) = [(1, 0)] * (3 - len(dims)) + dims
    return mask.view(torch.uint8), middle, inner, outer, middle_step, inner_step, mask.stride(-1)
