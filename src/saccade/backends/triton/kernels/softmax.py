"""Softmax of rows and their lse, and its gradient, each in two passes."""

import triton
import triton.language as tl

from saccade.backends.triton.kernels import kernel
from saccade.backends.triton.kernels.rows import (
    clear,
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
def _finite(x):
    """x, and 0 for the maximum of nothing."""
    return tl.where(x == -float("inf"), 0.0, x)


@kernel
def softmax(
    scores, weights, lse,
    allowed, allowed_n, allowed_i, allowed_j,
    R, L, S,
    MASKED: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """weights = e^(s_j - lse), lse = log Σ e^s over allowed keys, or 0 and -inf.

    Args:
        scores, weights, lse: `(R, S)`, `(R, S)`, `(R,)`, R = N L.
        allowed: bytes `(N, L, S)`, and their strides.
    """
    mask = allowed, allowed_n, allowed_i, allowed_j
    r, there = own_rows(R, ROWS)
    zero, stretch = zeros(lse, ROWS), nowhere(S, ROWS)
    total, top = zero, zero - float("inf")
    for start in range(0, S, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        used = permitted(mask, r, L, j, inside, MASKED)
        stretch = stretched(stretch, used, start, S, BLOCK)
        s = load(scores, r, S, j, used, -float("inf"))
        higher = tl.maximum(top, tl.max(s, 1))
        shift = _finite(higher)
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(s - shift[:, None]), 1)
        top = higher
    shift = _finite(top)
    safe = tl.where(total == 0, 1.0, total)
    low, high = ends(stretch)
    clear(weights, r, S, there, low, high, zero, BLOCK)
    for start in range(low, high, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        used = permitted(mask, r, L, j, inside, MASKED)
        s = load(scores, r, S, j, used, -float("inf"))
        store(weights, r, S, j, inside, tl.exp(s - shift[:, None]) / safe[:, None])
    tl.store(lse + r, tl.where(total == 0, -float("inf"), shift + tl.log(safe)), mask=there)


@kernel
def softmax_gradient(weights, grad, lse_grad, out, R, S, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """out_j = w_j (g_j - Σ w g + g_lse). Gradients of weights of 0 are not read."""
    r, there = own_rows(R, ROWS)
    shift = tl.load(lse_grad + r, mask=there, other=0.0)
    zero, stretch = zeros(out, ROWS), nowhere(S, ROWS)
    lanes = lanes_of(out, ROWS, BLOCK)
    for start in range(0, S, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        w = load(weights, r, S, j, inside, 0.0)
        stretch = stretched(stretch, w != 0, start, S, BLOCK)
        lanes += w * load(grad, r, S, j, w != 0, 0.0)
    shift -= tl.sum(lanes, 1)
    low, high = ends(stretch)
    clear(out, r, S, there, low, high, zero, BLOCK)
    for start in range(low, high, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        w = load(weights, r, S, j, inside, 0.0)
        g = load(grad, r, S, j, w != 0, 0.0)
        store(out, r, S, j, inside, tl.where(w != 0, w * (g + shift[:, None]), 0.0))
