"""Entmax of rows for any α ≥ 1, sparsemax at 2 and softmax at 1, and its gradient.

With a = α - 1 and z = s - max s the weights are p = [1 + a (z - t)]₊^(1/a), and t is where they sum to one. Their sum
falls in t, and for α ≤ 2 it is convex: Newton's method from t = 0, where the largest weight alone is one, comes nearer
from one side and ends after few passes over the row, for sparsemax exactly. For α > 2 small weights hang on the last
digits of t, or on none: there the lowest score of the support and its weight are found instead, as by
`simplex._solve_steep`.
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
"""Steps, more than halving needs in float64. Newton's method takes 5 to 20."""

# KIND says which α a kernel is compiled for: 1 is α = 2, 2 is α = 1.5, which need no logarithm, 0 any up to 2, 3 any.


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
def _allowed(scores, mask, rows, start, MASKED: tl.constexpr, BLOCK: tl.constexpr):
    """Scores of the piece from key `start` on, -inf where forbidden.

    Args:
        mask: as `permitted` takes it.
        rows: of this program: which, whether there are such, L and S.
    """
    r, there, L, S = rows
    j, inside = piece(start, S, there, BLOCK)
    return load(scores, r, S, j, permitted(mask, r, L, j, inside, MASKED), -float("inf"))


@triton.jit
def _steep_log(s, lowest, least, a):
    """log p for a > 1, p = [q^a + a (s - r)]^(1/a), from the lowest r and its q."""
    apart = s - lowest
    beyond = apart > 0
    first = a * tl.log(least)
    second = tl.log(tl.where(beyond, a * tl.where(beyond, apart, 1.0), 1.0))
    both = tl.maximum(first, second) + _log1p(tl.exp(-tl.abs(first - second)))
    return tl.where(beyond, both, first) / a


@triton.jit
def _ordered(bits, TYPE: tl.constexpr):
    """Integers in the order of the floats with such bits; and back."""
    if tl.float64 == TYPE:
        return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@triton.jit
def _edge(
    scores, mask, rows,
    top, a,
    low_key, high_key, TYPE: tl.constexpr, MASKED: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The lowest score of the support and its weight, in rows of a > 1.

    A score s is in the support if Σ [a (s_i - s)]₊^(1/a) < 1. The least such number is found by halving between
    integers in the order of floats, to the last digit.
    """
    DOUBLE: tl.constexpr = tl.float64 == TYPE
    BITS: tl.constexpr = tl.int64 if DOUBLE else tl.int32
    TINY: tl.constexpr = 2.3e-308 if DOUBLE else 1.2e-38
    steep = a > 1.0
    a = tl.where(steep, a, 1.0)
    high = _ordered(top.to(BITS, bitcast=True), TYPE)
    low = tl.where(steep, _ordered((top - 2.0 / a).to(BITS, bitcast=True), TYPE), high)
    while tl.max((low + 1 < high).to(tl.int32)) > 0:
        middle = (low & high) + ((low ^ high) >> 1)  # the sum may not fit
        edge = _ordered(middle, TYPE).to(TYPE, bitcast=True)
        sums = tl.zeros([ROWS, BLOCK], TYPE)
        for start in range(low_key, high_key, BLOCK):
            s = _allowed(scores, mask, rows, start, MASKED, BLOCK)
            distance = a[:, None] * (s - edge[:, None])
            above = distance > 0
            sums += tl.where(above, tl.exp(tl.log(tl.where(above, distance, 1.0)) / a[:, None]), 0.0)
        belongs = tl.sum(sums, 1) < 1.0
        low, high = tl.where(belongs, low, middle), tl.where(belongs, middle, high)
    edge = _ordered(high, TYPE).to(TYPE, bitcast=True)
    nearest, counts = tl.zeros([ROWS, BLOCK], TYPE) + top[:, None], tl.zeros([ROWS, BLOCK], TYPE)
    for start in range(low_key, high_key, BLOCK):
        s = _allowed(scores, mask, rows, start, MASKED, BLOCK)
        belongs = s >= edge[:, None]
        nearest = tl.minimum(nearest, tl.where(belongs, s, top[:, None]))
        counts += tl.where(belongs, 1.0, 0.0)
    lowest = tl.min(nearest, 1)
    least, step, falls = 1.0 / tl.maximum(tl.sum(counts, 1), 1.0), 0, 1
    while (step < STEPS) & (falls > 0):
        sums, slopes = tl.zeros([ROWS, BLOCK], TYPE), tl.zeros([ROWS, BLOCK], TYPE)
        for start in range(low_key, high_key, BLOCK):
            s = _allowed(scores, mask, rows, start, MASKED, BLOCK)
            belongs = s >= lowest[:, None]
            log = _steep_log(tl.where(belongs, s, lowest[:, None]), lowest[:, None], least[:, None], a[:, None])
            sums += tl.where(belongs, tl.exp(log), 0.0)
            slopes += tl.where(belongs, tl.exp((a[:, None] - 1.0) * (tl.log(least)[:, None] - log)), 0.0)
        following = tl.maximum(least - (tl.sum(sums, 1) - 1.0) / tl.maximum(tl.sum(slopes, 1), 1.0), TINY)
        nearer = steep & (following < least)
        least = tl.where(nearer, following, least)
        falls = tl.max(nearer.to(tl.int32))
        step += 1
    return lowest, least


@triton.jit
def _weights(s, top, t, a, edge, KIND: tl.constexpr):
    """The weights of a piece, before they are divided by their sum."""
    p, _ = _weight((s - top[:, None]) - t[:, None], a[:, None], KIND)
    if KIND == 3:
        lowest, least = edge
        belongs = s >= lowest[:, None]
        safe = tl.where(a > 1.0, a, 1.0)
        log = _steep_log(tl.where(belongs, s, lowest[:, None]), lowest[:, None], least[:, None], safe[:, None])
        p = tl.where((a > 1.0)[:, None], tl.where(belongs, tl.exp(log), 0.0), p)
    return p


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
        used = permitted(mask, r, L, j, inside, MASKED)
        stretch = stretched(stretch, used, start, S, BLOCK)
        lanes = tl.maximum(lanes, load(scores, r, S, j, used, -float("inf")))
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
    move, step = tl.where(empty | (a > 1.0), 0.0, high + 1.0), 0
    while (step < STEPS) & (tl.max(move) > tolerance):
        sums, slopes = lanes_of(weights, ROWS, BLOCK), lanes_of(weights, ROWS, BLOCK)
        for start in range(low_key, high_key, BLOCK):
            s = _allowed(scores, mask, rows, start, MASKED, BLOCK)
            p, dp = _weight((s - top[:, None]) - t[:, None], a[:, None], KIND)
            sums += p
            slopes += dp
        total, slope = tl.sum(sums, 1), tl.sum(slopes, 1)
        heavy = total >= 1.0
        low = tl.where(heavy, t, low)
        high = tl.where(heavy, high, t)
        newton = t + (total - 1.0) / tl.where(empty, 1.0, slope)
        new = tl.where((newton >= low) & (newton <= high), newton, 0.5 * (low + high))
        move = tl.where(empty | (a > 1.0), 0.0, tl.abs(new - t))
        t = new
        step += 1
    edge = top, zero + 1.0
    if KIND == 3:
        TYPE: tl.constexpr = weights.dtype.element_ty
        edge = _edge(scores, mask, rows, top, a, low_key, high_key, TYPE, MASKED, ROWS, BLOCK)
    sums = lanes_of(weights, ROWS, BLOCK)
    for start in range(low_key, high_key, BLOCK):
        sums += _weights(_allowed(scores, mask, rows, start, MASKED, BLOCK), top, t, a, edge, KIND)
    safe = tl.where(empty, 1.0, tl.sum(sums, 1))
    clear(weights, r, S, there, low_key, high_key, zero, BLOCK)
    for start in range(low_key, high_key, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        p = _weights(_allowed(scores, mask, rows, start, MASKED, BLOCK), top, t, a, edge, KIND)
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
    """p^(1 - a) where p > 0, else 0; the largest number where it is beyond the dtype."""
    if KIND == 1:
        slope = tl.where(p > 0, 1.0, 0.0).to(p.dtype)
    elif KIND == 2:
        slope = tl.sqrt(p)
    else:
        CAP: tl.constexpr = 709.0 if p.dtype == tl.float64 else 88.0
        slope = tl.where(p > 0, tl.exp(tl.minimum((1.0 - a) * tl.log(tl.where(p > 0, p, 1.0)), CAP)), 0.0)
    return slope


@kernel
def entmax_gradient(
    weights, grad, out,
    alpha, alpha_out,
    R, S,
    KIND: tl.constexpr, LEARNS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """out_j = g_j (u_j - Σ g u / Σ g), g = p^(1 - a) on the support, u the gradient.

    If α learns, alpha_out = Σ u c - Σ g u Σ c / Σ g with c = -p log² p (e^-y - 1 + y) / y² and y = a log p. For a far
    from 0, c = p (1 / a - log p) / a, which differs from that by a multiple of g.

    Where a may be above 1 the steepest key k, of the least weight, may have a slope beyond all others: u is taken
    from u_k on, Σ g / g_k of the logarithms, and out_k makes Σ out = 0.

    Peters, Niculae, Martins 2019, proposition 2; Correia, Niculae, Martins 2019, proposition 1.

    Args:
        weights, grad, out: `(R, S)`.
        alpha, alpha_out: `(R,)`, read if KIND is 0 or 3, written if LEARNS.
    """
    r, there = own_rows(R, ROWS)
    zero, stretch = zeros(out, ROWS), nowhere(S, ROWS)
    a, least, steepest, pull = zero, zero + 1.0, tl.zeros([ROWS], tl.int32) - 1, zero
    if KIND == 0 or KIND == 3:
        a = tl.load(alpha + r, mask=there, other=2.0) - 1.0
    if KIND == 3:
        lanes = lanes_of(out, ROWS, BLOCK) + 2.0
        positions = tl.zeros([ROWS, BLOCK], tl.int32) + S
        for start in range(0, S, BLOCK):
            j, inside = piece(start, S, there, BLOCK)
            p = load(weights, r, S, j, inside, 0.0)
            less = (p > 0) & (p < lanes)
            lanes = tl.where(less, p, lanes)
            positions = tl.where(less, j[None], positions)
        lowest = tl.min(lanes, 1)
        has = (a > 1.0) & (lowest < 2.0)
        nearest = tl.min(tl.where(lanes == lowest[:, None], positions, S), 1)
        steepest = tl.where(has, nearest, -1)
        least = tl.where(has, lowest, 1.0)
        pull = tl.load(grad + r * S + steepest, mask=there & has, other=0.0)
    slopes, pulls, rest = lanes_of(out, ROWS, BLOCK), lanes_of(out, ROWS, BLOCK), lanes_of(out, ROWS, BLOCK)
    changes, gains = lanes_of(out, ROWS, BLOCK), lanes_of(out, ROWS, BLOCK)
    for start in range(0, S, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        p = load(weights, r, S, j, inside, 0.0)
        stretch = stretched(stretch, p != 0, start, S, BLOCK)
        u = load(grad, r, S, j, p > 0, 0.0) - pull[:, None]
        slope = _slope(p / least[:, None], a[:, None], KIND)
        slopes += slope
        pulls += slope * u
        if LEARNS:
            log = tl.log(tl.where(p > 0, p, 1.0))
            far = a[:, None] > 0.5
            divisor = tl.where(far, a[:, None], 1.0)
            near = -p * log * log * _second_order(tl.where(far, 0.0, a[:, None] * log))
            change = tl.where(far, p * (1.0 / divisor - log) / divisor, near)
            changes += change
            gains += change * u
    mass = tl.sum(slopes, 1)
    mean = tl.sum(pulls, 1) / tl.where(mass == 0, 1.0, mass)
    low, high = ends(stretch)
    clear(out, r, S, there, low, high, zero, BLOCK)
    CAP: tl.constexpr = 1e301 if out.dtype.element_ty == tl.float64 else 2e31  # sums of many are finite
    for start in range(low, high, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        p = load(weights, r, S, j, inside, 0.0)
        u = load(grad, r, S, j, p > 0, 0.0) - pull[:, None]
        gradient = _slope(p, a[:, None], KIND) * (u - mean[:, None])
        if KIND == 3:
            gradient = tl.minimum(tl.maximum(gradient, -CAP), CAP)
            here = j[None] == steepest[:, None]
            rest += tl.where(here | (p == 0), 0.0, gradient / S)
            inside = inside & ~here
        store(out, r, S, j, inside, gradient)
    if KIND == 3:
        left = tl.minimum(tl.maximum(-tl.sum(rest, 1) * S, -CAP), CAP)
        tl.store(out + r * S + steepest, left, mask=there & (steepest >= 0))
    if LEARNS:
        tl.store(alpha_out + r, tl.sum(gains, 1) - mean * tl.sum(changes, 1), mask=there)
