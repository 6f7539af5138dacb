"""Rows of scores and weights by kernels, with derivatives by kernels too.

Weights differentiate once: blocks with second derivatives go through the reference.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.auxiliary import entropy as plain_entropy
from saccade.backends.triton.launch import flags, launch_rows
from saccade.kernels.sums import by_definition
from saccade.reads import largest as definition

__all__ = ["draw", "entmax", "entropy", "largest", "softmax"]

ROUNDS = 16
"""Limit of largest weights by the kernel, with a pass each. For more, torch sorts."""


def softmax(scores: Tensor, allowed: Tensor | None) -> tuple[Tensor, Tensor]:
    r"""Weights \(e^{s_j - \mathrm{lse}}\) and lse of each row, over allowed keys.

    An empty row has weights 0 and lse −inf.

    Args:
        scores: `(..., L, S)`.
        allowed: boolean, broadcastable to the scores, or None.

    Returns:
        weights `(..., L, S)`, lse `(..., L)`.
    """
    weights_and_lse: tuple[Tensor, Tensor] = _Softmax.apply(scores, allowed)
    return weights_and_lse


def entmax(scores: Tensor, allowed: Tensor | None, alpha: float | Tensor) -> Tensor:
    r"""Weights \([(\alpha - 1) s_j - \tau]_+^{1 / (\alpha - 1)}\) over allowed keys.

    Peters, Niculae, Martins 2019, equation 10. 2 is sparsemax, 1 softmax.

    Args:
        scores: `(..., L, S)`.
        allowed: boolean, broadcastable to the scores, or None.
        alpha: a number, or a tensor that broadcasts against `(..., L, 1)`, for which there is a gradient.
    """
    alphas = alpha if isinstance(alpha, Tensor) else scores.new_full((1,), alpha)  # made there: nothing is copied to it
    alphas = alphas.to(scores.dtype).expand(*scores.shape[:-1], 1)[..., 0]
    kind = 3 if isinstance(alpha, Tensor) or alpha > 2 else {2.0: 1, 1.5: 2}.get(alpha, 0)
    weights: Tensor = _Entmax.apply(scores, allowed, alphas, kind)
    return weights


def entropy(weights: Tensor) -> Tensor:
    """−Σ w log w of each row, `(..., L)`, with 0 log 0 = 0 and derivative 0."""
    entropies: Tensor = _Entropy.apply(weights)
    return entropies


def largest(weights: Tensor, count: int, allowed: Tensor | None) -> tuple[Tensor, Tensor]:
    """The largest weights of each row among allowed keys, and their indices.

    Both are `(..., L, min(count, S))`, falling, equals by index, 0 and −1 beyond the allowed keys.
    """
    count = min(count, weights.shape[-1])
    if count > ROUNDS:
        return definition(weights, count, None if allowed is None else allowed.expand(weights.shape))
    indices = _indices(weights.detach().contiguous(), count, allowed)
    return weights.gather(-1, indices.clamp(min=0)).masked_fill(indices < 0, 0.0), indices


def _indices(weights: Tensor, count: int, allowed: Tensor | None) -> Tensor:
    from saccade.backends.triton.kernels import statistics

    length, width = weights.shape[-2:]
    indices = torch.empty((*weights.shape[:-1], count), dtype=torch.int64, device=weights.device)
    mask, masked = flags(allowed, weights.shape, weights)
    rows = indices.numel() // count if count else 0
    arguments = weights, indices, *mask, rows, length, width, count
    launch_rows(statistics.largest, rows, width, *arguments, MASKED=masked)
    return indices


def draw(weights: Tensor, uniform: Tensor) -> Tensor:
    """The first key of each row with a cumulative weight above u · Σ w, or −1.

    Args:
        weights: `(..., L, S)`, not negative.
        uniform: u, broadcastable to `(..., L)`, in [0, 1).
    """
    from saccade.backends.triton.kernels import statistics

    weights = weights.detach().contiguous()
    uniform = uniform.to(weights.dtype).expand(weights.shape[:-1]).contiguous()
    index = torch.empty(uniform.shape, dtype=torch.int64, device=weights.device)
    rows, width = index.numel(), weights.shape[-1]
    launch_rows(statistics.draw, rows, width, weights, uniform, index, rows, width)
    return index


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, allowed: Tensor | None) -> tuple[Tensor, Tensor]:
        from saccade.backends.triton.kernels import softmax as kernels

        scores = scores.contiguous()
        length, width = scores.shape[-2:]
        weights, lse = torch.empty_like(scores), scores.new_empty(scores.shape[:-1])
        mask, masked = flags(allowed, scores.shape, scores)
        arguments = scores, weights, lse, *mask, lse.numel(), length, width
        launch_rows(kernels.softmax, lse.numel(), width, *arguments, MASKED=masked)
        ctx.save_for_backward(weights)
        return weights, lse

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, lse_grad: Tensor) -> tuple[Tensor, None]:
        from saccade.backends.triton.kernels import softmax as kernels

        weights = ctx.saved_tensors[0].contiguous()  # hooks on saved tensors may change strides
        scores_grad = torch.empty_like(weights)
        rows = lse_grad.numel()
        arguments = weights, grad.contiguous(), lse_grad.contiguous(), scores_grad, rows, weights.shape[-1]
        launch_rows(kernels.softmax_gradient, rows, weights.shape[-1], *arguments)
        return scores_grad, None


class _Entmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, allowed: Tensor | None, alpha: Tensor, kind: int) -> Tensor:
        from saccade.backends.triton.kernels import entmax as kernels

        scores, alpha = scores.contiguous(), alpha.contiguous()
        length, width = scores.shape[-2:]
        weights = torch.empty_like(scores)
        mask, masked = flags(allowed, scores.shape, scores)
        rows, tolerance = alpha.numel(), 2 * torch.finfo(scores.dtype).eps
        arguments = scores, weights, alpha, tolerance, *mask, rows, length, width
        launch_rows(kernels.entmax, rows, width, *arguments, MASKED=masked, KIND=kind)
        ctx.kind = kind
        ctx.save_for_backward(weights, alpha)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from saccade.backends.triton.kernels import entmax as kernels

        weights, alpha = (part.contiguous() for part in ctx.saved_tensors)
        learns = ctx.needs_input_grad[2]
        scores_grad, alpha_grad = torch.empty_like(weights), torch.empty_like(alpha)
        rows = alpha.numel()
        arguments = weights, grad.contiguous(), scores_grad, alpha, alpha_grad, rows, weights.shape[-1]
        launch_rows(kernels.entmax_gradient, rows, weights.shape[-1], *arguments, KIND=ctx.kind, LEARNS=learns)
        return scores_grad, None, alpha_grad if learns else None, None


class _Entropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor) -> Tensor:
        from saccade.backends.triton.kernels import statistics

        ctx.save_for_backward(weights)
        entropies = weights.new_empty(weights.shape[:-1])
        arguments = weights.contiguous(), entropies, entropies.numel(), weights.shape[-1]
        launch_rows(statistics.entropy, entropies.numel(), weights.shape[-1], *arguments)
        return entropies

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor | None:
        from saccade.backends.triton.kernels import statistics

        (weights,) = ctx.saved_tensors
        if torch.is_grad_enabled():  # weights that are returned are read outside the blocks
            return by_definition(plain_entropy, (weights,), (True,), grad)[0]
        weights_grad = torch.empty(weights.shape, dtype=weights.dtype, device=weights.device)
        arguments = weights.contiguous(), grad.contiguous(), weights_grad, grad.numel(), weights.shape[-1]
        launch_rows(statistics.entropy_gradient, grad.numel(), weights.shape[-1], *arguments)
        return weights_grad
