"""Additive scores without a tanh a term, in plain PyTorch, tile by tile.

    Σ_d v_d tanh(q_d + k_d)  =  Σ_d v_d  −  2 Σ_d v_d r_d,    r_d = 1 / (1 + e^{2 q_d} e^{2 k_d})

One multiply-add and one reciprocal a term replace a tanh. The exponentials are computed once, not once a pair. In the
backward tanh' = 4 r (1 − r). Outside the exponential's range the tanh of q + k is computed. If both are small, 1 − 2r
would cancel: tanh(q + k) = (tanh q + tanh k) / (1 + tanh q · tanh k) is as cheap and keeps every digit.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from saccade._definitions.numerics import broadcast_shapes, valueless
from saccade._definitions.structure import Axes
from saccade.backends.folding import folded
from saccade.scores import Additive, exponentials

TILE = 1 << 18  # terms a tile: its two buffers stay in the cache of one core
SMALL = 0.25  # bound of max |q| and max |k| for the addition theorem


@dataclass(frozen=True)
class FusedAdditive(Additive):
    """`Additive` by the identity; `powers` are e^{2k}, prepared once for all blocks."""

    axes: ClassVar[dict[str, Axes]] = {"v": ("d",), "powers": ("k", "d")}
    powers: Tensor

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        batch, length = broadcast_shapes(query.shape[:-2], key.shape[:-2], self.v.shape[:-1]), query.shape[-2]
        v = self.v.to(query.dtype)
        query, key, _, v, powers, _ = folded(batch, query, key, key, v, self.powers, None)
        scores: Tensor = _AdditiveScores.apply(query, key, v, powers)
        return scores.reshape(*batch, length, key.shape[-2])


class _AdditiveScores(torch.autograd.Function):
    """Scores (N, L, S) of query (N, L, D), key (N, S, D) and v (D) or (N, D)."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, v: Tensor, powers: Tensor) -> Tensor:
        readable = query.numel() and key.numel() and not (valueless(query) or valueless(key))
        small = readable and all(bool(part.abs().amax() < SMALL) for part in (query, key))
        kind = "small" if small else "identity"
        scores = score_tiles(kind, query, key, v, powers)
        if kind == "identity" and not valueless(scores) and not bool(torch.isfinite(scores.sum())):
            kind = "direct"
            scores = score_tiles(kind, query, key, v, powers)
        ctx.kind = kind
        ctx.save_for_backward(query, key, v, powers)
        return scores

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, v, powers = ctx.saved_tensors
        if torch.is_grad_enabled():  # for a second derivative, which tiles do not have
            return (*torch.func.vjp(lambda query, key, v: Additive(v)(query, key), query, key, v)[1](grad), None)
        return (*gradient_tiles(ctx.kind, grad, query, key, v, powers), None)


def sides(kind: str, query: Tensor, key: Tensor, powers: Tensor) -> tuple[Tensor, Tensor]:
    """The sides of a tile: e^{2q} and e^{2k}, tanh q and tanh k, or q and k."""
    if kind == "identity":
        return exponentials(query), powers
    return (query.tanh(), key.tanh()) if kind == "small" else (query, key)


def tiles(query: Tensor, key: Tensor) -> list[tuple[slice, slice, slice]]:
    """Slices of batch, queries and keys, with about TILE terms."""
    (batch, length, dim), width = query.shape, key.shape[-2]
    keys = max(1, min(width, TILE // max(dim, 1)))
    rows = max(1, min(length, TILE // max(keys * dim, 1)))
    heads = max(1, min(batch, TILE // max(rows * keys * dim, 1)))
    return [
        (slice(n, n + heads), slice(i, i + rows), slice(j, j + keys))
        for n in range(0, batch, heads)
        for i in range(0, length, rows)
        for j in range(0, width, keys)
    ]


def tile_terms(kind: str, left: Tensor, right: Tensor, room: Tensor) -> Tensor:
    """(n, i, j, D): r = 1 / (1 + e^{2(q + k)}) for the identity, else tanh(q + k)."""
    left, right = left[:, :, None, :], right[:, None, :, :]
    if kind == "identity":
        shape = broadcast_shapes(left.shape, right.shape)
        terms = room[: math.prod(shape)].view(shape)
        return torch.addcmul(torch.ones((), dtype=left.dtype, device=left.device), left, right, out=terms).reciprocal_()
    if kind == "small":
        return (left + right).div_(torch.addcmul(torch.ones((), dtype=left.dtype, device=left.device), left, right))
    return (left + right).tanh_()


def score_tiles(kind: str, query: Tensor, key: Tensor, v: Tensor, powers: Tensor) -> Tensor:
    if not query.shape[-1]:
        return query.new_zeros(query.shape[0], query.shape[1], key.shape[1])
    left, right = sides(kind, query, key, powers)
    room = query.new_empty(max(TILE, query.shape[-1]))  # shared: fresh memory costs more than the arithmetic
    scores = query.new_empty(query.shape[0], query.shape[1], key.shape[1])
    for n, i, j in tiles(query, key):
        terms = tile_terms(kind, left[n, i], right[n, j], room)
        scores[n, i, j] = (terms @ v) if v.ndim == 1 else (terms @ v[n, None, :, None])[..., 0]
    if kind == "identity":
        total = v.sum(-1) if v.ndim == 1 else v.sum(-1)[:, None, None]
        scores.mul_(-2).add_(total)
    return scores


def gradient_tiles(
    kind: str, grad: Tensor, query: Tensor, key: Tensor, v: Tensor, powers: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    left, right = sides(kind, query, key, powers)
    room, more = (query.new_empty(max(TILE, query.shape[-1])) for _ in range(2))
    grad_query, grad_key, grad_v = torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(v)
    for n, i, j in tiles(query, key):
        terms, upstream = tile_terms(kind, left[n, i], right[n, j], room), grad[n, i, j]
        # Σ g · term for v. Then the terms become g times the tanh's derivative (for the identity a quarter of it)
        if v.ndim == 1:
            grad_v += upstream.reshape(1, -1).mm(terms.reshape(-1, terms.shape[-1]))[0]
        else:
            grad_v[n] += (upstream.reshape(len(terms), 1, -1) @ terms.flatten(1, 2))[:, 0]
        if kind == "identity":
            slope = torch.addcmul(terms, terms, terms, value=-1, out=more[: terms.numel()].view(terms.shape))
        else:
            slope = 1 - terms * terms
        slope.mul_(upstream[..., None])
        grad_query[n, i] += slope.sum(2)
        grad_key[n, j] += slope.sum(1) if slope.shape[1] > 1 else slope[:, 0]
    factor = 4 * v if kind == "identity" else v
    factor = factor if v.ndim == 1 else factor[:, None]
    if kind == "identity":
        total = grad.sum() if v.ndim == 1 else grad.sum((1, 2))[:, None]
        grad_v = total - 2 * grad_v
    return grad_query.mul_(factor), grad_key.mul_(factor), grad_v
