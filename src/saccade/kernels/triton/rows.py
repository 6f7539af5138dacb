"""Entmax of rows of scores in memory, and its gradient.

A program has ROWS rows, in pieces of PIECE keys. If a piece holds a row (WHOLE), it stays in registers. A longer row is
read again in each pass.
"""

import triton
import triton.language as tl

from saccade.kernels.triton import kernel
from saccade.kernels.triton.weights import ENTMAX15, SPARSEMAX, newton_step, sparse_weights


@triton.jit
def program_rows(rows, ROWS: tl.constexpr):
    """Rows of this program, in 64 bits, and whether they exist."""
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    return r, r < rows


@triton.jit
def piece(tensor, r, there, start, keys, PIECE: tl.constexpr):
    """Addresses of PIECE keys of contiguous rows from `start`, and whether they exist."""
    j = start + tl.arange(0, PIECE)
    return tensor + r[:, None] * keys + j[None], there[:, None] & (j < keys)[None]


@triton.jit
def allowed_scores(
    scores, mask, r, there, start, keys, held, MASKED: tl.constexpr, PIECE: tl.constexpr, HELD: tl.constexpr
):
    """Scores of a piece, -inf at forbidden keys, and whether they are allowed.

    With HELD: `held`.
    """
    if HELD:
        return held
    at, used = piece(scores, r, there, start, keys, PIECE)
    if MASKED:
        allowed, middle, inner, outer_step, middle_step, inner_step, key_step = mask
        row = r // inner // middle * outer_step + r // inner % middle * middle_step + r % inner * inner_step
        j = start + tl.arange(0, PIECE)
        used = used & (tl.load(allowed + (row[:, None] + j[None].to(tl.int64) * key_step), mask=used, other=0) != 0)
    return tl.load(at, mask=used, other=-float("inf")), used


@kernel
def entmax(
    scores, weights,
    allowed, middle, inner, outer_step, middle_step, inner_step, key_step,
    rows, keys, a,
    MASKED: tl.constexpr, NORMALIZER: tl.constexpr, ROWS: tl.constexpr, PIECE: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    """weights = [1 + a (s - max - t)]₊^(1/a) / Σ, where t gives Σ = 1.

    Newton's method from t = 0, where the sum is at least 1, rises to t. The division mends rounding.

    Args:
        scores, weights: `(rows, keys)`.
        allowed: bytes. Row (o · middle + m) · inner + i has steps o · outer_step + m · middle_step + i · inner_step.
        a: α - 1, above 0 and at most 1.
    """
    r, there = program_rows(rows, ROWS)
    mask = allowed, middle, inner, outer_step, middle_step, inner_step, key_step
    held = allowed_scores(scores, mask, r, there, 0, keys, 0, MASKED, PIECE, False)
    end = keys
    if WHOLE:
        end = PIECE
    tops, some = tl.full([ROWS, PIECE], -float("inf"), tl.float32), tl.zeros([ROWS, PIECE], tl.int32)
    for start in range(0, end, PIECE):
        s, used = allowed_scores(scores, mask, r, there, start, keys, held, MASKED, PIECE, WHOLE)
        tops = tl.maximum(tops, tl.where(s != s, float("inf"), s))
        some = some | used.to(tl.int32)
    top, empty = tl.max(tops, 1), tl.max(some, 1) == 0
    apart = tl.abs(top) == float("inf")  # nothing is allowed, or the weights are NaN
    top = tl.where(apart, 0.0, top)
    t, mass, rising = tl.zeros([ROWS], tl.float32), tl.full([ROWS], 1.0, tl.float32), ~apart
    while tl.max(rising.to(tl.int32)) > 0:
        masses, slopes = tl.zeros([ROWS, PIECE], tl.float32), tl.zeros([ROWS, PIECE], tl.float32)
        for start in range(0, end, PIECE):
            s, _ = allowed_scores(scores, mask, r, there, start, keys, held, MASKED, PIECE, WHOLE)
            p, slope = sparse_weights(s, top[:, None], t[:, None], a, NORMALIZER)
            masses, slopes = masses + p, slopes + slope
        # the others stay, so that no row depends on its neighbours
        mass, slope = tl.where(rising, tl.sum(masses, 1), mass), tl.where(rising, tl.sum(slopes, 1), 1.0)
        risen = t + newton_step(mass, slope, a, NORMALIZER)
        rising = rising & (risen > t)
        t = tl.where(rising, risen, t)
    share, fill = 1.0 / mass, tl.where(empty, 0.0, float("nan"))
    for start in range(0, end, PIECE):
        s, _ = allowed_scores(scores, mask, r, there, start, keys, held, MASKED, PIECE, WHOLE)
        p, _ = sparse_weights(s, top[:, None], t[:, None], a, NORMALIZER)
        at, inside = piece(weights, r, there, start, keys, PIECE)
        tl.store(at, tl.where(apart[:, None], fill[:, None], p * share[:, None]), mask=inside)


@triton.jit
def slopes_and_grads(
    weights, grads, r, there, start, keys, a, held, NORMALIZER: tl.constexpr, PIECE: tl.constexpr, HELD: tl.constexpr
):
    """p^(1 - a) of a piece, 0 if p = 0, and gradients of p; `held` if HELD."""
    if HELD:
        return held
    at, inside = piece(weights, r, there, start, keys, PIECE)
    p = tl.load(at, mask=inside, other=0.0)
    used = p > 0
    if NORMALIZER == SPARSEMAX:
        slope = tl.where(used, 1.0, 0.0)
    elif NORMALIZER == ENTMAX15:
        slope = tl.sqrt(tl.where(used, p, 0.0))
    else:
        slope = tl.where(used, tl.exp((1.0 - a) * tl.log(tl.where(used, p, 1.0))), 0.0)
    at, inside = piece(grads, r, there, start, keys, PIECE)
    return slope, tl.load(at, mask=inside, other=0.0)


@kernel
def entmax_gradient(
    weights, grads, scores_grad, rows, keys, a,
    NORMALIZER: tl.constexpr, ROWS: tl.constexpr, PIECE: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    """scores_grad = u (grads - Σ u grads / Σ u), with u = p^(1 - a) of weights p.

    Peters et al. 2019, proposition 2.
    """
    r, there = program_rows(rows, ROWS)
    held = slopes_and_grads(weights, grads, r, there, 0, keys, a, 0, NORMALIZER, PIECE, False)
    end = keys
    if WHOLE:
        end = PIECE
    totals, products = tl.zeros([ROWS, PIECE], tl.float32), tl.zeros([ROWS, PIECE], tl.float32)
    for start in range(0, end, PIECE):
        u, grad = slopes_and_grads(weights, grads, r, there, start, keys, a, held, NORMALIZER, PIECE, WHOLE)
        totals, products = totals + u, products + u * grad
    total = tl.sum(totals, 1)
    mean = tl.sum(products, 1) / tl.where(total == 0, 1.0, total)
    for start in range(0, end, PIECE):
        u, grad = slopes_and_grads(weights, grads, r, there, start, keys, a, held, NORMALIZER, PIECE, WHOLE)
        at, inside = piece(scores_grad, r, there, start, keys, PIECE)
        tl.store(at, tl.where(u > 0, u * (grad - mean[:, None]), 0.0), mask=inside)
