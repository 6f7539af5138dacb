"""Weights of a tile from its scores and its rows' statistics, and dropout."""

import triton
import triton.language as tl

SOFTMAX, SIGMOID, SUM, IDENTITY = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2), tl.constexpr(3)
ENTMAX, SPARSEMAX, ENTMAX15 = tl.constexpr(4), tl.constexpr(5), tl.constexpr(6)
"""Normalizers, the last three for entmax of α below 2, of α = 2 and of α = 3/2."""


@triton.jit
def finite(x):
    """x, and 0 for the maximum of nothing."""
    return tl.where(x == -float("inf"), 0.0, x)


@triton.jit
def log_of_positive(w):
    """log w, and 0 for w ≤ 0."""
    return tl.log(tl.where(w > 0, w, 1.0))


@triton.jit
def sparse_weights(s, top, t, a, NORMALIZER: tl.constexpr):
    """p = [1 + a (s - top - t)]₊^(1/a), and p^(1 - a), its derivative by s."""
    y = a * ((s - top) - t)
    inside = 1.0 + y
    used = inside > 0
    if NORMALIZER == SPARSEMAX:
        p, slope = tl.where(used, inside, 0.0), tl.where(used, 1.0, 0.0)
    elif NORMALIZER == ENTMAX15:
        slope = tl.where(used, inside, 0.0)
        p = slope * slope
    else:
        inverse = 1.0 / tl.where(used, inside, 1.0)
        log = tl.log(tl.where(used, inside, 1.0)) + (y - (inside - 1.0)) * inverse  # of 1 + y, not of its rounding
        p = tl.where(used, tl.exp(log * (1.0 / a)), 0.0)
        slope = p * inverse
    return p, slope


@triton.jit
def newton_step(mass, slope, a, NORMALIZER: tl.constexpr):
    """Newton's step of t for Σ^a = 1, from Σ and -dΣ/dt: Σ (1 - Σ^-a) / (a slope).

    Σ^a is a norm of [1 + a (s - top - t)]₊, so it is convex in t: from Σ ≥ 1, steps rise to the solution. If all scores
    are equal, one step suffices.
    """
    if NORMALIZER == SPARSEMAX:
        change = mass - 1.0
    elif NORMALIZER == ENTMAX15:
        change = 2.0 * (mass - tl.sqrt(mass))
    else:
        log = tl.log(mass)
        y = a * log
        near = log * (1.0 - y * (0.5 - y * (1.0 / 6 - y * (1.0 / 24))))  # without cancellation
        change = mass * tl.where(y < 0.1, near, (1.0 - tl.exp(-y)) / a)
    return change / slope


@triton.jit
def weights(s, norm, whole, a, NORMALIZER: tl.constexpr):
    """Weights of a tile and their slopes u, both 0 where s = -inf.

    Gradients of scores are u (dp - δ).

    Args:
        s: scores times the row's factor. norm and whole broadcast against them.
        norm: max + t of entmax, or 1 / (eps + Σ s).
        whole: lse with the sink, 1 / Σ p of entmax, or the bias of a sigmoid.
    """
    there = s != -float("inf")
    if NORMALIZER == SOFTMAX:
        w = tl.exp(s - finite(whole))
        u = w
    elif NORMALIZER == SIGMOID:
        w = 1.0 / (1.0 + tl.exp(-(s + whole)))
        u = w * (1.0 - w)
    elif NORMALIZER == SUM:
        w, u = tl.where(there, s * norm, 0.0), tl.where(there, norm, 0.0)
    elif NORMALIZER == IDENTITY:
        w, u = tl.where(there, s, 0.0), tl.where(there, 1.0, 0.0)
    else:
        w, u = sparse_weights(s, norm, tl.zeros_like(norm), a, NORMALIZER)
        w = w * whole
    return w, u


@triton.jit
def kept(noise, j, threshold, scale):
    """Dropout's factors of weights: `scale` if a weight is kept, else 0.

    The hash is that of `backends.reference.dropout`.

    Args:
        noise: of each row, uint32; j: keys. Both broadcast to the tile.
        threshold: p 2³² - 2³¹, to compare signed numbers.
    """
    bits = noise ^ (j.to(tl.uint32) * 0x5BD1E995)
    bits = (bits ^ (bits >> 16)) * 0x7FEB352D
    bits = (bits ^ (bits >> 16)) * 0x45D9F3B5
    bits = bits ^ (bits >> 15)
    return tl.where((bits ^ 0x80000000).to(tl.int32, bitcast=True) >= threshold, scale, 0.0)
