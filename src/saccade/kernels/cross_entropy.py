"""What the tokens that follow cost, on the mean and each, without all logits in memory at once."""

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.errors import ArgumentError, ShapeError
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import Kernel, serves

__all__ = ["linear_cross_entropies", "linear_cross_entropy"]

_ROWS = 4  # in a block, as compiled.cross_entropy has it
_CHUNK = 512  # rows of logits in memory: enough for a product at full speed
_forward = Kernel("cross_entropy:forward")


def linear_cross_entropy(
    features: Tensor, weight: Tensor, bias: Tensor, target: Tensor, label_smoothing: float = 0.0
) -> Tensor:
    r"""Mean cross-entropy of a linear output layer, \(x = W f + b\), with smoothed labels:

    .. math::
        \frac{1}{N} \sum_n \Big( \operatorname{lse}(x_n) - (1 - \varepsilon)\, x_{n y_n}
            - \frac{\varepsilon}{V} \sum_c x_{nc} \Big)

    as `torch.nn.functional.cross_entropy` has it. Float32 on a CPU is computed some rows at a time, and a row's logits
    become its gradient while they are in the cache: two thirds of the time, and no tensor of `(N, V)`.

    Args:
        features: f, `(N, D)`.
        weight: W, `(V, D)`.
        bias: b, `(V,)`.
        target: y, int64 `(N,)`, from 0 to V - 1.
        label_smoothing: \(\varepsilon\).

    Raises:
        ShapeError: shapes that do not fit.
        ArgumentError: a target outside the rows of W.

    Source:
        Szegedy et al. 2016, "Rethinking the Inception Architecture", section 7; that the gradient is made in the
        forward, Hsu et al. 2024, "Liger Kernel", section 3.2.

    Example:
        >>> weight, target = torch.zeros(4, 2), torch.tensor([1, 3])
        >>> f"{linear_cross_entropy(torch.ones(2, 2), weight, torch.zeros(4), target):.4f}"
        '1.3863'
    """
    return linear_cross_entropies(features, weight, bias, target, label_smoothing)[0]


def linear_cross_entropies(
    features: Tensor, weight: Tensor, bias: Tensor, target: Tensor, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Return `linear_cross_entropy`, and what it is the mean of, which no gradient passes through.

    Args: as for `linear_cross_entropy`.

    Returns:
        A number, and `(N,)`.

    Raises:
        ShapeError, ArgumentError: likewise.

    Example:
        >>> weight, target = torch.zeros(4, 2), torch.tensor([1, 3])
        >>> mean, each = linear_cross_entropies(torch.ones(2, 2), weight, torch.zeros(4), target)
        >>> f"{mean:.4f}", each
        ('1.3863', tensor([1.3863, 1.3863]))
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


def _mean(features: Tensor, weight: Tensor, bias: Tensor, target: Tensor, label_smoothing: float) -> Tensor:
    return _plain(features, weight, bias, target, label_smoothing).mean()


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, target: Tensor, label_smoothing: float
    ) -> tuple[Tensor, Tensor]:
        count, wanted = len(features), any(ctx.needs_input_grad)
        losses, numbers = features.new_empty(count), features.new_tensor([label_smoothing, 1 / count])
        room = features.new_empty(min(count, _CHUNK), len(weight))
        target, bias = target.contiguous(), bias.contiguous()
        grads: tuple[Tensor, ...] = ()
        if wanted:
            grads = torch.empty_like(features), torch.empty_like(weight), torch.zeros_like(bias)
        for first in range(0, count, _CHUNK):
            part = slice(first, min(count, first + _CHUNK))
            rows = part.stop - first
            logits = torch.mm(features[part], weight.T, out=room[:rows])
            _forward(-(-rows // _ROWS), logits, target[part], losses[part], numbers, rows, len(weight), bias)
            if wanted:
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
            definition = partial(_mean, target=target, label_smoothing=ctx.label_smoothing)
            return *by_definition(definition, (features, weight, bias), ctx.needs_input_grad[:3], grad), None, None
        return *(part * grad for part in grads), None, None
