"""Entmax of rows for any α ≥ 1, sparsemax at 2 and softmax at 1, and its gradient.

With a = α - 1 and z = s - max s the weights are p = [1 + a (z - t)]₊^(1/a), and t is where they sum to one. Their sum
falls in t, and for α ≤ 2 it is convex: Newton's method from t = 0, where the largest weight alone is one, comes nearer
from one side and ends after few passes over the row, for sparsemax exactly. For α > 2 a key at the edge of the support
makes the sum as steep as one likes, so that a step would be nothing: the interval is halved instead.
"""

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

STEPS = tl.constexpr(64)
"""More than halving needs in float64; Newton's method takes 5 to 10."""

# KIND says which α a kernel is compiled for: 1 is α = 2, 2 is α = 1.5, which need no logarithm, and 0 any.


@triton.jit
def _log1p(y):
    """log(1 + y), all digits of a small y kept (Kahan)."""
    u = 1.0 + y
    apart = u != 1.0
    return tl.where(apart, tl.log(tl.where(apart, u, 2.0)) * (y / tl.where(apart, u - 1.0, 1.0)), y)


@triton.jit
def _weight(x, a, KIND: tl.constexpr):
    """p = [1 + a x]₊^(1/a), and p^(1 - a), its derivative by x."""
    if KIND == 1:
        p = tl.where(x > -1.0, 1.0 + x, 0.0)
        slope = tl.where(x > -1.0, 1.0, 0.0).to(p.dtype)
    elif KIND == 2:
        slope = tl.where(x > -2.0, 1.0 + 0.5 * x, 0.0)
        p = slope * slope
    else:
        finite = tl.where(x > -float("inf"), x, 0.0)
        inside = (a * finite > -1.0) & (x > -float("inf"))
        y = tl.where(inside, a * finite, 0.0)
        safe = tl.where(a == 0, 1.0, a)
        p = tl.where(inside, tl.exp(tl.where(a == 0, finite, _log1p(y) / safe)), 0.0)
        slope = p / (1.0 + y)
    return p, slope


@triton.jit
def _deformed(
    scores, mask, rows,
    top, t, a,
    start, MASKED: tl.constexpr, KIND: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """p and p^(1 - a) of the piece from key `start` on, at z - t.

    Args:
        mask: as `permitted` takes it.
        rows: of this program: which, whether there are such, L and S.
        top, t, a: of each row, the largest score, the threshold and α - 1.
    """
    r, there, L, S = rows
    j, inside = piece(start, S, there, BLOCK)
    wanted = permitted(mask, r, L, j, inside, MASKED)
    s = load(scores, r, S, j, wanted, -float("inf"))
    p, slope = _weight((s - top[:, None]) - t[:, None], a[:, None], KIND)
    return p, slope, j, inside


@kernel
def entmax(
    scores, weights,
    alpha, tolerance,
    allowed, allowed_n, allowed_i, allowed_j,
    R, L, S,
    MASKED: tl.constexpr, KIND: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """weights[r] = entmax of scores[r] over allowed keys; 0 where there is none.

    Args:
        scores, weights: `(R, S)`, R = N L.
        alpha: `(R,)`; not read where KIND says what it is.
        tolerance: how near to the last threshold the next one has to be, for it to be the last.
        allowed: bytes `(N, L, S)`, and their strides.
    """
    r, there = own_rows(R, ROWS)
    mask, rows = (allowed, allowed_n, allowed_i, allowed_j), (r, there, L, S)
    zero, stretch = zeros(weights, ROWS), nowhere(S, ROWS)
    lanes = lanes_of(weights, ROWS, BLOCK) - float("inf")
    for start in range(0, S, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        wanted = permitted(mask, r, L, j, inside, MASKED)
        stretch = stretched(stretch, wanted, start, S, BLOCK)
        lanes = tl.maximum(lanes, load(scores, r, S, j, wanted, -float("inf")))
    top = tl.max(lanes, 1)
    low_key, high_key = ends(stretch)
    empty = top == -float("inf")
    top = tl.where(empty, 0.0, top)
    if KIND == 1:
        a = zero + 1.0
    elif KIND == 2:
        a = zero + 0.5
    else:
        a = tl.load(alpha + r, mask=there, other=2.0) - 1.0
    low, t = zero, zero
    # at the upper end every weight is at most 1 / S
    high = tl.minimum(tl.log(zero + S), tl.where(a == 0, float("inf"), 1.0 / tl.where(a == 0, 1.0, a)))
    move, step = tl.where(empty, 0.0, high + 1.0), 0
    while (step < STEPS) & (tl.max(move) > tolerance):
        sums, slopes = lanes_of(weights, ROWS, BLOCK), lanes_of(weights, ROWS, BLOCK)
        for start in range(low_key, high_key, BLOCK):
            p, dp, j, inside = _deformed(scores, mask, rows, top, t, a, start, MASKED, KIND, BLOCK)
            sums += p
            slopes += dp
        total, slope = tl.sum(sums, 1), tl.sum(slopes, 1)
        heavy = total >= 1.0
        low = tl.where(heavy, t, low)
        high = tl.where(heavy, high, t)
        newton = t + (total - 1.0) / tl.where(empty, 1.0, slope)
        trusted = (newton >= low) & (newton <= high) & (a <= 1.0)
        new = tl.where(trusted, newton, 0.5 * (low + high))
        move = tl.where(empty, 0.0, tl.abs(new - t))
        t = new
        step += 1
    sums = lanes_of(weights, ROWS, BLOCK)
    for start in range(low_key, high_key, BLOCK):
        p, dp, j, inside = _deformed(scores, mask, rows, top, t, a, start, MASKED, KIND, BLOCK)
        sums += p
    safe = tl.where(empty, 1.0, tl.sum(sums, 1))
    clear(weights, r, S, there, low_key, high_key, zero, BLOCK)
    for start in range(low_key, high_key, BLOCK):
        p, dp, j, inside = _deformed(scores, mask, rows, top, t, a, start, MASKED, KIND, BLOCK)
        store(weights, r, S, j, inside, p / safe[:, None])


@triton.jit
def _second_order(y):
    """(e^-y - 1 + y) / y², by its series near 0, where α = 1 is the softmax."""
    near = tl.abs(y) < 1e-2
    safe = tl.where(near, 1.0, y)
    series = 0.5 - y / 6.0 + y * y / 24.0 - y * y * y / 120.0
    return tl.where(near, series, (tl.exp(-safe) - 1.0 + safe) / (safe * safe))


@triton.jit
def _slope(p, a, KIND: tl.constexpr):
    """p^(1 - a) where p > 0, else 0."""
    if KIND == 1:
        slope = tl.where(p > 0, 1.0, 0.0).to(p.dtype)
    elif KIND == 2:
        slope = tl.sqrt(p)
    else:
        slope = tl.where(p > 0, tl.exp((1.0 - a) * tl.log(tl.where(p > 0, p, 1.0))), 0.0)
    return slope


@kernel
def entmax_gradient(
    weights, grad, found,
    alpha, alpha_found,
    R, S,
    KIND: tl.constexpr, LEARNS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """found_j = g_j (u_j - Σ g u / Σ g) with g = p^(1 - a) on the support and u the gradient of the weights; where α
    learns, alpha_found = Σ u c - Σ g u Σ c / Σ g with c = -p log² p (e^-y - 1 + y) / y², y = a log p.

    Peters, Niculae, Martins 2019, proposition 2; Correia, Niculae, Martins 2019, proposition 1.

    Args:
        weights, grad, found: `(R, S)`.
        alpha, alpha_found: `(R,)`; read where KIND is 0, written where LEARNS.
    """
    r, there = own_rows(R, ROWS)
    zero, stretch = zeros(found, ROWS), nowhere(S, ROWS)
    a = zero
    if KIND == 0:
        a = tl.load(alpha + r, mask=there, other=2.0) - 1.0
    slopes, pulls = lanes_of(found, ROWS, BLOCK), lanes_of(found, ROWS, BLOCK)
    changes, gains = lanes_of(found, ROWS, BLOCK), lanes_of(found, ROWS, BLOCK)
    for start in range(0, S, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        p = load(weights, r, S, j, inside, 0.0)
        stretch = stretched(stretch, p != 0, start, S, BLOCK)
        u = load(grad, r, S, j, p > 0, 0.0)
        slope = _slope(p, a[:, None], KIND)
        slopes += slope
        pulls += slope * u
        if LEARNS:
            log = tl.log(tl.where(p > 0, p, 1.0))
            change = -p * log * log * _second_order(a[:, None] * log)
            changes += change
            gains += change * u
    mass = tl.sum(slopes, 1)
    mean = tl.sum(pulls, 1) / tl.where(mass == 0, 1.0, mass)
    low, high = ends(stretch)
    clear(found, r, S, there, low, high, zero, BLOCK)
    for start in range(low, high, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        p = load(weights, r, S, j, inside, 0.0)
        u = load(grad, r, S, j, p > 0, 0.0)
        store(found, r, S, j, inside, _slope(p, a[:, None], KIND) * (u - mean[:, None]))
    if LEARNS:
        tl.store(alpha_found + r, tl.sum(gains, 1) - mean * tl.sum(changes, 1), mask=there)
