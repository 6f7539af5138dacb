"""What permuting the positions does to single layers, in float64: nothing, to rounding, or something."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from saccade import masks
from saccade.biases import Alibi
from saccade.models.positions import slopes, waves
from saccade.nn import AttentionPool, MultiheadAttention

__all__ = ["HOLDS", "LAYERS", "Layer", "deviation"]

HOLDS = 1e-12  # a deviation below it is rounding; what depends on the order deviates by far more than its root
_BATCH, _LENGTH, _WIDTH, _HEADS, _PERMUTATIONS = 3, 12, 16, 4, 20
Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Layer:
    """A layer and what is said of it.

    Args:
        kind: "equivariant": a permuted input gives the permuted output; or "invariant": it gives the same one.
        holds: whether the layer is that, by its definition.
        make: returns the function, `(batch, length, width)` to `(batch, length or less, width)`.
    """

    kind: str
    holds: bool
    make: Callable[[], Function]


def _self_attention(rotary: float | None = None, **options: Any) -> Function:
    module = MultiheadAttention(_WIDTH, _HEADS, rotary_base=rotary)
    return lambda x: module.to(x)(x, **options)


def _with_waves() -> Function:
    module = _self_attention()
    return lambda x: module(x + waves(torch.arange(x.shape[1]), _WIDTH).to(x))


def _with_distances() -> Function:
    module = MultiheadAttention(_WIDTH, _HEADS)
    return lambda x: module.to(x)(x, bias=Alibi(slopes(_HEADS).to(x)))


def _one_query() -> Function:
    module, query = MultiheadAttention(_WIDTH, _HEADS), torch.randn(_BATCH, 1, _WIDTH)
    return lambda x: module.to(x)(query.to(x), x)


def _pool() -> Function:
    module = AttentionPool(_WIDTH)
    return lambda x: module.to(x)(x)


def _recurrent(last: bool) -> Function:
    module = nn.GRU(_WIDTH, _WIDTH, batch_first=True)
    return lambda x: module.to(x)(x)[0][:, -1 if last else 0 :]


def _convolution() -> Function:
    module = nn.Conv1d(_WIDTH, _WIDTH, 3, padding=1)
    return lambda x: module.to(x)(x.mT).mT


LAYERS = {
    "self-attention": Layer("equivariant", True, _self_attention),
    "attention of one query to all": Layer("invariant", True, _one_query),
    "attention pooling": Layer("invariant", True, _pool),
    "self-attention, sinusoidal positions": Layer("equivariant", False, _with_waves),
    "self-attention, rotary positions": Layer("equivariant", False, lambda: _self_attention(10_000.0)),
    "self-attention, ALiBi": Layer("equivariant", False, _with_distances),
    "self-attention, causal mask": Layer("equivariant", False, lambda: _self_attention(mask=masks.Causal())),
    "GRU": Layer("equivariant", False, lambda: _recurrent(last=False)),
    "GRU, last state": Layer("invariant", False, lambda: _recurrent(last=True)),
    "convolution": Layer("equivariant", False, _convolution),
}


def deviation(name: str, seed: int = 1) -> float:
    r"""Return how far a layer is from what its kind says, at most over twenty permutations \(\pi\):

    .. math:: \max_\pi \frac{\|f(\pi x) - \pi f(x)\|_\infty}{\|f(x)\|_\infty}

    with \(f(x)\) in place of \(\pi f(x)\) for an invariant one. Weights and x are drawn, all numbers are float64.

    Args:
        name: one of `LAYERS`.
        seed: of weights, x and permutations.

    Example:
        >>> deviation("attention pooling") < HOLDS < deviation("convolution")
        True
    """
    layer = LAYERS[name]
    with torch.random.fork_rng([]), torch.no_grad():
        torch.manual_seed(seed)
        function, x = layer.make(), torch.randn(_BATCH, _LENGTH, _WIDTH, dtype=torch.float64)
        straight, found = function(x), 0.0
        for _ in range(_PERMUTATIONS):
            order = torch.randperm(_LENGTH)
            expected = straight[:, order] if layer.kind == "equivariant" else straight
            found = max(found, float((function(x[:, order]) - expected).abs().max() / straight.abs().max()))
    return found
