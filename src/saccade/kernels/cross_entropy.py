"""Cross-entropy of a linear output layer, without all logits in memory at once."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.errors import ArgumentError, ShapeError
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import Kernel, serves

ROWS = 4
"""Rows in a block of work."""

_CHUNK = 512  # rows of logits in memory: enough for a product at full speed


class Forward(NamedTuple):
    """Table of the losses. W f in `logits` becomes the gradient of the logits."""

    logits: Tensor
    targets: Tensor
    losses: Tensor
    parameters: Tensor  # the label smoothing, and a factor of the gradient
    rows: int
    size: int
    bias: Tensor


_forward = Kernel("cross_entropy.forward", Forward)


def linear_cross_entropies(
    features: Tensor, weight: Tensor, bias: Tensor, target: Tensor, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    r"""Mean cross-entropy of a linear output layer, and all losses without gradients.

    .. math::
        \frac{1}{N} \sum_n \Big( \operatorname{lse}(x_n) - (1 - \varepsilon)\, x_{n y_n}
            - \frac{\varepsilon}{V} \sum_c x_{nc} \Big) \qquad x = W f + b

    Float32 on a CPU is computed some rows at a time, and a row's logits become its gradient while they are in the
    cache. That takes two thirds of the time, and no tensor of `(N, V)`. Szegedy et al. 2016, "Rethinking the Inception
    Architecture", section 7. Gradient in the forward: Hsu et al. 2024, "Liger Kernel", section 3.2.
    """
    rows, dim, size = len(features), features.shape[-1], len(weight)
    if target.shape != (rows,):
        raise ShapeError(f"target: expected one a row of features, ({rows},), got shape {tuple(target.shape)}")
    if features.ndim != 2 or weight.shape != (size, dim) or bias.shape != (size,):
        shapes = ", ".join(str(tuple(part.shape)) for part in (features, weight, bias))
        raise ShapeError(f"features, weight, bias: expected (N, D), (V, D) and (V,), got {shapes}")
    if rows and (int(target.min()) < 0 or int(target.max()) >= size):
        raise ArgumentError(f"target: expected tokens from 0 to {size - 1}, got some outside; leave padding out")
    if rows and target.dtype == torch.int64 and serves(features, weight, bias):
        mean, losses = _LinearCrossEntropy.apply(features, weight, bias, target, label_smoothing)
        return mean, losses
    losses = _plain(features, weight, bias, target, label_smoothing)
    return losses.mean(), losses.detach()


def _plain(features: Tensor, weight: Tensor, bias: Tensor, target: Tensor, label_smoothing: float) -> Tensor:
    logits = F.linear(features, weight, bias)
    return F.cross_entropy(logits, target, reduction="none", label_smoothing=label_smoothing)


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, target: Tensor, label_smoothing: float
    ) -> tuple[Tensor, Tensor]:
        count, differentiates = len(features), any(ctx.needs_input_grad)
        losses, parameters = features.new_empty(count), features.new_tensor([label_smoothing, 1 / count])
        room = features.new_empty(min(count, _CHUNK), len(weight))
        target, bias = target.contiguous(), bias.contiguous()
        grads: tuple[Tensor, ...] = ()
        if differentiates:
            grads = torch.empty_like(features), torch.empty_like(weight), torch.zeros_like(bias)
        for first in range(0, count, _CHUNK):
            part = slice(first, min(count, first + _CHUNK))
            rows = part.stop - first
            logits = torch.mm(features[part], weight.T, out=room[:rows])
            table = Forward(logits, target[part], losses[part], parameters, rows, len(weight), bias)
            _forward(-(-rows // ROWS), table)
            if differentiates:
                torch.mm(logits, weight, out=grads[0][part])
                grads[1].addmm_(logits.T, features[part], beta=float(first > 0))
                grads[2].add_(logits.sum(0))
        ctx.save_for_backward(features, weight, bias, target, *grads)
        ctx.label_smoothing = label_smoothing
        ctx.mark_non_differentiable(losses)
        return losses.mean(), losses

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Any, ...]:
        features, weight, bias, target, *grads = ctx.saved_tensors
        if torch.is_grad_enabled() or not serves(grad):

            def definition(features: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
                return _plain(features, weight, bias, target, ctx.label_smoothing).mean()

            return *by_definition(definition, (features, weight, bias), ctx.needs_input_grad[:3], grad), None, None
        return *(part * grad for part in grads), None, None
