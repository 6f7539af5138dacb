"""Entropy, largest entries and draws of rows of weights."""

import triton
import triton.language as tl

from saccade.backends.triton.kernels import kernel
from saccade.backends.triton.kernels.rows import (
    ends,
    lanes_of,
    load,
    nowhere,
    own_rows,
    permitted,
    piece,
    store,
    stretched,
    zeros,
)


@triton.jit
def _log_of_positive(w):
    return tl.log(tl.where(w > 0, w, 1.0))


@kernel
def entropy(weights, out, R, S, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """out = -Σ w log w, 0 log 0 = 0."""
    r, there = own_rows(R, ROWS)
    lanes = lanes_of(out, ROWS, BLOCK)
    for start in range(0, S, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        w = load(weights, r, S, j, inside, 0.0)
        lanes += w * _log_of_positive(w)
    tl.store(out + r, -tl.sum(lanes, 1), mask=there)


@kernel
def entropy_gradient(weights, grad, out, R, S, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """found_j = -g (1 + log w_j), 0 where w_j is."""
    r, there = own_rows(R, ROWS)
    g = tl.load(grad + r, mask=there, other=0.0)[:, None]
    for start in range(0, S, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        w = load(weights, r, S, j, inside, 0.0)
        store(out, r, S, j, inside, tl.where(w > 0, -g * (1.0 + _log_of_positive(w)), 0.0))


@kernel
def largest(
    weights, indices,
    allowed, allowed_n, allowed_i, allowed_j,
    R, L, S, K,
    MASKED: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Indices `(R, K)` of the largest allowed weights, ties by index, then -1.

    Each takes one pass over the row, for the largest weight behind the last one in that order.

    Args:
        weights, indices: `(R, S)`, `(R, K)`, R = N L.
        allowed: bytes `(N, L, S)`, and their strides.
    """
    mask = allowed, allowed_n, allowed_i, allowed_j
    r, there = own_rows(R, ROWS)
    zero, none = zeros(weights, ROWS), tl.full([ROWS], -1, tl.int32)
    last, at = zero + float("inf"), none
    low, high = S * 0, S * 1
    for k in range(K):
        best, index, stretch = zero - float("inf"), none, nowhere(S, ROWS)
        for start in range(low, high, BLOCK):
            j, inside = piece(start, S, there, BLOCK)
            used = permitted(mask, r, L, j, inside, MASKED)
            stretch = stretched(stretch, used, start, S, BLOCK)
            w = load(weights, r, S, j, used, -float("inf"))
            after = (w < last[:, None]) | ((w == last[:, None]) & (j[None] > at[:, None]))
            w = tl.where(after, w, -float("inf"))
            maximum = tl.max(w, 1)
            where = tl.min(tl.where((w == maximum[:, None]) & (w > -float("inf")), j[None], S), 1)
            index = tl.where(maximum > best, where, index)
            best = tl.maximum(maximum, best)
        tl.store(indices + r * K + k, index.to(tl.int64), mask=there)
        last, at = best, index
        low, high = ends(stretch)


@kernel
def draw(weights, uniform, index, R, S, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """index = first j with a running sum above u Σ w and w > 0, or -1 if not Σ w > 0."""
    r, there = own_rows(R, ROWS)
    none, stretch = tl.full([ROWS], -1, tl.int32), nowhere(S, ROWS)
    lanes = lanes_of(weights, ROWS, BLOCK)
    for start in range(0, S, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        w = load(weights, r, S, j, inside, 0.0)
        stretch = stretched(stretch, w > 0, start, S, BLOCK)
        lanes += w
    total = tl.sum(lanes, 1)
    threshold = tl.load(uniform + r, mask=there, other=0.0) * total
    before, drawn = total * 0.0, none + 1 + S
    last = none  # the last of positive weight, for where u Σ w rounds up to Σ w
    low, high = ends(stretch)
    for start in range(low, high, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        w = load(weights, r, S, j, inside, 0.0)
        exceeds = (before[:, None] + tl.cumsum(w, 1) > threshold[:, None]) & (w > 0)
        drawn = tl.minimum(drawn, tl.min(tl.where(exceeds, j[None], S), 1))
        last = tl.maximum(last, tl.max(tl.where(w > 0, j[None], -1), 1))
        before += tl.sum(w, 1)
    drawn = tl.where(drawn == S, last, drawn)
    drawn = tl.where(total > 0, drawn, -1)
    tl.store(index + r, drawn.to(tl.int64), mask=there)
