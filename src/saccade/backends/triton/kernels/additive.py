"""Additive scores and their gradients, by tiles of queries and keys.

The terms are tanh(q + k) = 1 - 2 r with r = 1 / (1 + e^2q e^2k), four of which share a division:

    v1/x1 + v2/x2 + v3/x3 + v4/x4 = ((v1 x2 + v2 x1) x3 x4 + (v3 x4 + v4 x3) x1 x2) / (x1 x2 x3 x4)

An x above CAP is replaced by CAP, so that the product of four stays in range. If |q| + |k| is at most FREE in all of a
tile there is none. Where an exponential would leave its range the tile is computed by the tangent itself, and where all
of |q| and |k| are small, so that 1 - 2 r would cancel, by a quotient of polynomials.

Tiles in which a mask allows nothing are not computed. Which ones these are the scores' kernel writes down, and the
gradients' kernel, of queries and of keys, looks it up: the map never leaves the device.
"""

import triton
import triton.language as tl

from saccade.backends.triton.kernels import kernel
from saccade.backends.triton.kernels.rows import lanes_of, load, own_rows, piece


@kernel
def powers(
    x, out, out_n, out_i, out_d, sizes,
    R, L, D,
    LIMIT: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """out = e^2x, NaN if |x| > LIMIT. sizes = max |x| over features, ∞ if any is NaN.

    Args:
        x: `(N, L, D)`, R = N L.
        out: as x, of any strides.
        sizes: `(N, L)`.
    """
    r, there = own_rows(R, ROWS)
    starts = (r // L) * out_n + (r % L) * out_i
    lanes = lanes_of(sizes, ROWS, BLOCK)
    for start in range(0, D, BLOCK):
        d, inside = piece(start, D, there, BLOCK)
        y = load(x, r, D, d, inside, 0.0)
        size = tl.abs(y)
        lanes = tl.maximum(lanes, tl.where(size == size, size, float("inf")))
        e = tl.where(size <= LIMIT, tl.exp(2.0 * y), float("nan"))
        tl.store(out + starts[:, None] + d[None].to(tl.int64) * out_d, e, mask=inside)
    tl.store(sizes + r, tl.max(lanes, 1), mask=there)


@triton.jit
def _denominator(left, right, CAP: tl.constexpr):
    """1 + e^2q e^2k, at most CAP (0: no cap). NaN stays NaN."""
    x = 1.0 + left * right
    if CAP > 0:
        x = tl.where(x > CAP, CAP, x)
    return x


@triton.jit
def tanh_near(x):
    """tanh x for |x| ≤ 1/2, by its seventh continued fraction: exact in float64."""
    y = x * x
    over = 1.0 + y * (17325 / 135135 + y * (378 / 135135 + y * (1 / 135135)))
    under = 1.0 + y * (62370 / 135135 + y * (3150 / 135135 + y * (28 / 135135)))
    return x * over / under


@triton.jit
def tanh(x):
    """tanh x for any x: (1 - e) / (1 + e) with e = e^-2|x| where that does not cancel."""
    size = tl.abs(x)
    e = tl.exp(-2.0 * size)
    far = (1.0 - e) / (1.0 + e)
    near = tanh_near(tl.where(size < 0.5, size, 0.0))
    out = tl.where(size < 0.5, near, far)
    return tl.where(x < 0, -out, out)


@triton.jit
def _sum_of_reciprocals(queries, keys, key_d, v, D, total, CAP: tl.constexpr):
    """total + Σ v (1 - 2 r) over features, from e^2q (adjacent), e^2k (key_d apart)."""
    everything = tl.sum(total) * 0.0
    fours = D // 4 * 4
    for d in range(0, fours, 4):
        v0, v1, v2, v3 = tl.load(v + d), tl.load(v + d + 1), tl.load(v + d + 2), tl.load(v + d + 3)
        x0 = _denominator(tl.load(queries + d)[:, None], tl.load(keys)[None], CAP)
        x1 = _denominator(tl.load(queries + d + 1)[:, None], tl.load(keys + key_d)[None], CAP)
        x2 = _denominator(tl.load(queries + d + 2)[:, None], tl.load(keys + 2 * key_d)[None], CAP)
        x3 = _denominator(tl.load(queries + d + 3)[:, None], tl.load(keys + 3 * key_d)[None], CAP)
        first, second = x0 * x1, x2 * x3
        total += ((v0 * x1 + v1 * x0) * second + (v2 * x3 + v3 * x2) * first) / (first * second)
        everything += v0 + v1 + v2 + v3
        keys += 4 * key_d
    for d in range(fours, D):
        weight = tl.load(v + d)
        total += weight / _denominator(tl.load(queries + d)[:, None], tl.load(keys)[None], CAP)
        everything += weight
        keys += key_d
    return everything - 2.0 * total


@triton.jit
def _sum_of_tangents(queries, keys, v, D, total, NEAR: tl.constexpr):
    """total + Σ v tanh(q + k) over features, from pointers to queries and keys."""
    for d in range(D):
        x = tl.load(queries + d)[:, None] + tl.load(keys + d)[None]
        total += tl.load(v + d) * (tanh_near(x) if NEAR else tanh(x))
    return total


@kernel
def scores(
    query, query_powers, query_sizes,
    key, key_powers, key_sizes,
    v, v_n,
    allowed, allowed_n, allowed_i, allowed_j,
    out, reached,
    L, S, D,
    SMALL: tl.constexpr, FREE: tl.constexpr, LIMIT: tl.constexpr, CAP: tl.constexpr,
    MASKED: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """out[n, i, j] = v[n] · tanh(query[n, i] + key[n, j]), 0 in tiles without pairs.

    Args:
        query, query_powers, query_sizes: q `(N, L, D)`, e^2q of the same shape, max |q| of each query `(N, L)`.
        key, key_powers, key_sizes: k `(N, S, D)`, e^2k as `(N, D, S)`, so that neighbouring lanes read neighbouring
            keys, max |k| of each key `(N, S)`.
        v: `(D,)` with v_n = 0, or `(N, D)` with v_n = D.
        allowed: bytes `(N, L, S)`, and their strides.
        out: `(N, L, S)`.
        reached: bytes, of each tile whether something in it is allowed, `(N, tiles of queries, tiles of keys)`; written
            where MASKED.
        SMALL, FREE, LIMIT, CAP: the ranges of |q| and |k|, as `backends.triton.additive` names them.
        ROWS, KEYS: queries and keys of a tile.
    """
    across = tl.cdiv(S, KEYS)
    tiles = tl.cdiv(L, ROWS) * across
    n = (tl.program_id(0) // tiles).to(tl.int64)
    tile = tl.program_id(0) % tiles
    i = ((tile // across) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    j = ((tile % across) * KEYS + tl.arange(0, KEYS)).to(tl.int64)
    both = (i < L)[:, None] & (j < S)[None]
    # beyond the last query and key the last again: the loops need no masks
    i, j = tl.minimum(i, L - 1), tl.minimum(j, S - 1)
    v += n * v_n
    total = tl.zeros([ROWS, KEYS], out.dtype.element_ty)
    needed = 1
    if MASKED:
        flags = tl.load(allowed + n * allowed_n + i[:, None] * allowed_i + j[None] * allowed_j)
        needed = tl.max((flags != 0).to(tl.int32))
        tl.store(reached + tl.program_id(0), needed.to(tl.uint8))
    if needed > 0:
        query_size, key_size = tl.max(tl.load(query_sizes + n * L + i)), tl.max(tl.load(key_sizes + n * S + j))
        queries, keys = query + (n * L + i) * D, key + (n * S + j) * D
        query_e, key_e = query_powers + (n * L + i) * D, key_powers + n * D * S + j
        if (query_size < SMALL) & (key_size < SMALL):
            total = _sum_of_tangents(queries, keys, v, D, total, True)
        elif query_size + key_size <= FREE:
            total = _sum_of_reciprocals(query_e, key_e, S.to(tl.int64), v, D, total, 0)  # a step may leave 32 bits
        elif (query_size <= LIMIT) & (key_size <= LIMIT):
            total = _sum_of_reciprocals(query_e, key_e, S.to(tl.int64), v, D, total, CAP)
        else:
            total = _sum_of_tangents(queries, keys, v, D, total, False)
    tl.store(out + (n * L + i[:, None]) * S + j[None], total, mask=both)


@triton.jit
def _upstream(grad, step, j, rows):
    """One column of a tile's gradients, 0 outside."""
    return tl.load(grad + j * step, mask=rows, other=0.0)


@triton.jit
def _slopes_of_reciprocals(mine, others, step, upstream, chunk, CAP: tl.constexpr):
    """Sums over the j of a chunk of g r (1 - r) and of g r; two r share a division.

    Args:
        mine: e^2x of a tile, `(ROWS, FEATURES)`.
        others, step: pointers to e^2y of j = 0 for each feature, and from one j to the next.
        upstream: pointers to g of j = 0 for each row, from one j to the next, and which rows there are.
        chunk: the first j, the one after the last, and J.
    """
    grad, grad_j, rows = upstream
    start, stop, J = chunk
    slope = tl.zeros_like(mine)
    term = tl.zeros_like(mine)
    for j in range(start, stop, 2):
        after = tl.minimum(j + 1, J - 1)
        g0, k0 = _upstream(grad, grad_j, j, rows), tl.load(others + j * step)
        g1, k1 = _upstream(grad, grad_j, after, rows), tl.load(others + after * step)
        g1 = tl.where(j + 1 < J, g1, 0.0)
        x0, x1 = _denominator(mine, k0[None], CAP), _denominator(mine, k1[None], CAP)
        inverse = 1.0 / (x0 * x1)
        r0, r1 = x1 * inverse, x0 * inverse
        slope += g0[:, None] * (r0 - r0 * r0) + g1[:, None] * (r1 - r1 * r1)
        term += g0[:, None] * r0 + g1[:, None] * r1
    return slope, term


@triton.jit
def _slopes_of_tangents(mine, others, step, upstream, chunk, NEAR: tl.constexpr):
    """Sums over the j of a chunk of g (1 - t²) and of g t, from x and y themselves."""
    grad, grad_j, rows = upstream
    start, stop, _ = chunk
    slope = tl.zeros_like(mine)
    term = tl.zeros_like(mine)
    for j in range(start, stop):
        g = _upstream(grad, grad_j, j, rows)[:, None]
        x = mine + tl.load(others + j * step)[None]
        t = tanh_near(x) if NEAR else tanh(x)
        slope += g * (1.0 - t * t)
        term += g * t
    return slope, term


@kernel
def gradients(
    mine, mine_powers, mine_sizes,
    other, other_powers, other_sizes,
    v, v_n,
    grad, grad_n, grad_i, grad_j,
    reached, reached_n, reached_i, reached_j,
    out, parts,
    I, J, D,
    SMALL: tl.constexpr, LIMIT: tl.constexpr, CAP: tl.constexpr,
    MASKED: tl.constexpr, MINE: tl.constexpr, OTHERS: tl.constexpr,
    WITH_V: tl.constexpr, ROWS: tl.constexpr, FEATURES: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """out[n, i] = v[n] Σ_j grad[n, i, j] (1 - tanh²(mine[n, i] + other[n, j])).

    Args:
        mine, mine_powers, mine_sizes: x `(N, I, D)`, e^2x of the same shape, max |x| of each row `(N, I)`.
        other, other_powers, other_sizes: the same of the other side, `(N, J, D)` and `(N, J)`.
        v: `(D,)` with v_n = 0, or `(N, D)` with v_n = D.
        grad: `(N, I, J)`, and its strides. Tiles without pairs are not read.
        reached: bytes, of each tile of MINE x and OTHERS y whether any pair is allowed, and their strides. Read if
            MASKED.
        out: `(N, I, D)`.
        parts: `(N, tiles of rows, D)`: of the gradient of v, one part a tile of rows, where WITH_V.
        SMALL, LIMIT, CAP: the ranges of |x|, as `backends.triton.additive` names them.
        MINE, OTHERS: multiples of ROWS and CHUNK, unless there is but one tile.
        ROWS, FEATURES, CHUNK: rows and features of a tile, and other rows between two looks at their sizes.
    """
    down, across = tl.cdiv(I, ROWS), tl.cdiv(D, FEATURES)
    n = (tl.program_id(0) // (down * across)).to(tl.int64)
    tile = tl.program_id(0) % (down * across)
    i = ((tile // across) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    d = ((tile % across) * FEATURES + tl.arange(0, FEATURES)).to(tl.int64)
    rows, features = i < I, d < D
    both = rows[:, None] & features[None]
    # beyond the last row and feature the last again, with no upstream gradient
    i, d = tl.minimum(i, I - 1), tl.minimum(d, D - 1)
    # a step along a loop may leave 32 bits
    step, grad_j, reached_j = D.to(tl.int64), grad_j.to(tl.int64), reached_j.to(tl.int64)
    at = (n * I + i[:, None]) * D + d[None]
    x, e = tl.load(mine + at), tl.load(mine_powers + at)
    size = tl.max(tl.load(mine_sizes + n * I + i))
    others, powers = other + n * J * D + d, other_powers + n * J * D + d
    first = grad + n * grad_n + i * grad_i
    upstream = first, grad_j, rows
    slopes = tl.zeros([ROWS, FEATURES], out.dtype.element_ty)
    terms = tl.zeros([ROWS, FEATURES], out.dtype.element_ty)
    reached += n * reached_n + ((tile // across) * ROWS // MINE).to(tl.int64) * reached_i
    for start in range(0, J, CHUNK):
        needed = 1
        if MASKED:
            needed = tl.load(reached + (start // OTHERS) * reached_j).to(tl.int32)
        if needed > 0:
            j = (start + tl.arange(0, CHUNK)).to(tl.int64)
            columns = j < J
            g = tl.load(first[:, None] + j[None] * grad_j, mask=rows[:, None] & columns[None], other=0.0)
            if tl.max((g != 0).to(tl.int32)) > 0:  # forbidden pairs of other tiles have no gradient
                largest = tl.max(tl.load(other_sizes + n * J + j, mask=columns, other=0.0))
                chunk = start, tl.minimum(start + CHUNK, J), J
                if (size < SMALL) & (largest < SMALL):
                    slope, term = _slopes_of_tangents(x, others, step, upstream, chunk, True)
                elif (size <= LIMIT) & (largest <= LIMIT):
                    slope, term = _slopes_of_reciprocals(e, powers, step, upstream, chunk, CAP)
                    slope, term = 4.0 * slope, tl.sum(g, 1)[:, None] - 2.0 * term
                else:
                    slope, term = _slopes_of_tangents(x, others, step, upstream, chunk, False)
                slopes += slope
                terms += term
    weight = tl.load(v + n * v_n + d)
    tl.store(out + (n * I + i[:, None]) * D + d[None], weight[None] * slopes, mask=both)
    if WITH_V:
        tl.store(parts + (n * down + tile // across) * D + d, tl.sum(terms, 0), mask=features)
