"""`topk_log_probs`: the likeliest tokens of an output layer, without all of them."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.errors import ArgumentError
from saccade.kernels.threads import Kernel, serves

_ROWS = 512  # rows whose logits are in memory at once
_FEW = 4, 47  # between these numbers of rows W fᵀ, transposed, takes a third less than f Wᵀ (AVX-512)


class Forward(NamedTuple):
    """Table of the largest log-probabilities. A block is a row."""

    products: Tensor  # W f, `(rows, size)`. They are overwritten
    size: int
    bias: Tensor
    token: int  # its log-probabilities are `log_probs`
    many: int
    values: Tensor
    tokens: Tensor
    log_probs: Tensor


_forward = Kernel("topk.forward", Forward)


@dataclass(frozen=True)
class Logits:
    """Logits `(rows, vocabulary)` of an output layer, W f + b, not computed yet."""

    features: Tensor
    weight: Tensor
    bias: Tensor

    def dense(self) -> Tensor:
        return F.linear(self.features, self.weight, self.bias)


def dense(logits: Logits | Tensor) -> Tensor:
    """Logits as a tensor `(rows, vocabulary)`, computed if they are not yet."""
    return logits.dense() if isinstance(logits, Logits) else logits


def topk_log_probs(logits: Logits | Tensor, count: int, token: int) -> tuple[Tensor, Tensor, Tensor]:
    """The `count` largest log-probabilities of each row, their tokens, and `token`'s.

    Ties come in the order of their tokens if a kernel sorts them, and in any order if torch does.
    """
    size = logits.bias.numel() if isinstance(logits, Logits) else logits.shape[-1]
    if not 0 <= token < size or not 1 <= count <= size:
        expected = f"a count from 1 to {size} and a token from 0 to {size - 1}"
        raise ArgumentError(f"count, token: expected {expected}, got {count} and {token}")
    if isinstance(logits, Logits):
        tensors = logits.features, logits.weight, logits.bias
        learns = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
        fits = logits.weight.shape == (size, logits.features.shape[-1]) and logits.bias.ndim == 1
        if len(logits.features) and fits and not learns and serves(*tensors):
            parts = [_of_rows(rows, logits, count, token) for rows in logits.features.split(_ROWS)]
            values, tokens, log_probs = parts[0] if len(parts) == 1 else map(torch.cat, zip(*parts, strict=True))
            return values, tokens, log_probs
    log_probs = dense(logits).float().log_softmax(-1)  # torch takes twice as long for the logsumexp alone, on a CPU
    values, tokens = log_probs.topk(count)
    return values, tokens, log_probs[:, token]


def _of_rows(features: Tensor, layer: Logits, count: int, token: int) -> tuple[Tensor, Tensor, Tensor]:
    rows, size = len(features), len(layer.weight)
    if _FEW[0] <= rows <= _FEW[1]:
        product = torch.mm(layer.weight, features.T).T.contiguous()
    else:
        product = torch.mm(features, layer.weight.T)
    values, log_probs = features.new_empty(rows, count), features.new_empty(rows)
    tokens = features.new_empty(rows, count, dtype=torch.int64)
    _forward(rows, Forward(product, size, layer.bias.contiguous(), token, count, values, tokens, log_probs))
    return values, tokens, log_probs
