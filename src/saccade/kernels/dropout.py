"""`Dropout` as in torch.nn, without a mask in memory."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.errors import ArgumentError
from saccade.kernels.threads import Kernel, serves

BLOCK = 1 << 14
"""Numbers in a block of work."""


class Apply(NamedTuple):
    """Table of a dropout. An index with a hash of at least `bound` is kept."""

    numbers: Tensor
    out: Tensor
    size: int
    key: int
    other_key: int
    bound: int
    scale: Tensor


_apply = Kernel("dropout.apply", Apply)


class Dropout(nn.Module):
    r"""0 with probability p, else times \(1 / (1 - p)\), in training alone.

    On a CPU torch draws a number for each of these, one after the other: a quarter of a Transformer's training step.
    Here float32 numbers are dropped by a hash of their index and two words from torch's generator, in all threads at
    once. The backward hashes again: 2 ms instead of 20 for two million numbers with their gradient. p is rounded to a
    multiple of 2^-32. Srivastava et al. 2014, section 4, scaled in training; the hash is MurmurHash3.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        if isinstance(p, bool) or not isinstance(p, int | float) or not 0 <= p < 1:
            raise ArgumentError(f"p: expected a probability from 0 to below 1, got {p}")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.p:
            return x
        if not serves(x):
            return F.dropout(x, self.p)
        dropped: Tensor = _Dropped.apply(x, *torch.randint(2**32, (2,), device="cpu").tolist(), self.p)
        return dropped


class _Dropped(torch.autograd.Function):
    """Dropout, linear in its input, and so its own gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, key: int, other: int, p: float) -> Tensor:
        ctx.settings = key, other, p
        if not serves(x):  # a gradient that is mapped over or watched
            return x * _dropped(torch.ones(x.shape, dtype=torch.float32, device="cpu"), key, other, p).to(x)
        return _dropped(x.contiguous(), key, other, p)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return _Dropped.apply(grad, *ctx.settings), None, None, None


def _dropped(x: Tensor, key: int, other: int, p: float) -> Tensor:
    out = torch.empty_like(x)
    scale = torch.tensor([1 / (1 - p)], dtype=torch.float32, device="cpu")
    bound = min(round(p * 2**32), 2**32 - 1)
    _apply(-(-x.numel() // BLOCK), Apply(x, out, x.numel(), key, other, bound, scale))
    return out
