r"""Scores of a tile beside dot products: additive terms and squared distances.

Additive terms are tanh(q + k) = 1 − 2 r with r = 1 / (1 + e^{2q} e^{2k}), four of which share a division:

    v1/x1 + v2/x2 + v3/x3 + v4/x4 = ((v1 x2 + v2 x1) x3 x4 + (v3 x4 + v4 x3) x1 x2) / (x1 x2 x3 x4)

An x above CAP is replaced by CAP, so that the product of four stays in range. If an exponential would leave its range,
the tile takes the tangent itself. If all |q| and |k| are small, 1 − 2 r would cancel, and polynomials serve.
"""

import triton
import triton.language as tl

from saccade.kernels.triton import kernel

SMALL, LIMIT, CAP = tl.constexpr(0.25), tl.constexpr(43.0), tl.constexpr(2147483648.0)
"""Largest |q|, |k| of polynomials and of exponentials, largest 1 + e^{2(q + k)}."""


@kernel
def powers(x, out, rows, length, D, BY_KEY: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """e^2x and, behind the features, max |x|.

    NaN and ∞ stand where exponentials do not serve.

    Args:
        x: `(N, length, D)`, rows = N length.
        out: float32 `(N, length, D + 1)`; with BY_KEY `(N, D + 1, length)`.
        WIDTH: a power of two of at least D.
    """
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, WIDTH)
    inside = (r < rows)[:, None] & (d < D)[None]
    y = tl.load(x + r[:, None] * D + d[None], mask=inside, other=0.0).to(tl.float32)
    size = tl.abs(y)
    e = tl.where(size <= LIMIT, tl.exp(2.0 * y), float("nan"))
    largest = tl.max(tl.where(size == size, size, float("inf")), 1)
    start, step = r * (D + 1), 1
    if BY_KEY:
        start, step = (r // length) * (D + 1) * length + r % length, length
    tl.store(out + start[:, None] + d[None].to(tl.int64) * step, e, mask=inside)
    tl.store(out + start + D * step, largest, mask=r < rows)


@triton.jit
def tanh_near(x):
    """tanh x for |x| ≤ 1/2, by its seventh continued fraction."""
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
def way_of(q_side, k_side, i, j, k_len, D: tl.constexpr):
    """Way to compute a tile of additive terms, by the largest |q| and |k|.

    0: by quotients of exponentials; 1: by polynomials; 2: by the tangent itself.
    """
    q_size = tl.max(tl.load(q_side + i * (D + 1) + D))
    k_size = tl.max(tl.load(k_side + D * k_len + j))
    small = (q_size < SMALL) & (k_size < SMALL)
    return tl.where(small, 1, tl.where((q_size <= LIMIT) & (k_size <= LIMIT), 0, 2))


@triton.jit
def denominators(q_side, k_side, i, j, d, k_len, D: tl.constexpr):
    """1 + e^2q e^2k of feature d, at most CAP; NaN stays NaN."""
    x = 1.0 + tl.load(q_side + i * (D + 1) + d) * tl.load(k_side + d * k_len + j)
    return tl.where(x > CAP, CAP, x)


@triton.jit
def sums(query, key, i, j, d, D: tl.constexpr):
    """q + k of feature d."""
    return tl.load(query + i * D + d).to(tl.float32) + tl.load(key + j * D + d).to(tl.float32)


@triton.jit
def terms(inputs, i, j, k_len, D: tl.constexpr):
    r"""v · tanh(q + k) of a tile, as Σ v − 2 Σ v r with four r a division."""
    query, key, v, q_side, k_side = inputs
    total = (i * 0 + j * 0).to(tl.float32)
    way = way_of(q_side, k_side, i, j, k_len, D)
    if way == 0:
        whole = 0.0
        for d in range(0, D // 4 * 4, 4):
            v0, v1 = tl.load(v + d).to(tl.float32), tl.load(v + d + 1).to(tl.float32)
            v2, v3 = tl.load(v + d + 2).to(tl.float32), tl.load(v + d + 3).to(tl.float32)
            x0 = denominators(q_side, k_side, i, j, d, k_len, D)
            x1 = denominators(q_side, k_side, i, j, d + 1, k_len, D)
            x2 = denominators(q_side, k_side, i, j, d + 2, k_len, D)
            x3 = denominators(q_side, k_side, i, j, d + 3, k_len, D)
            first, second = x0 * x1, x2 * x3
            total += ((v0 * x1 + v1 * x0) * second + (v2 * x3 + v3 * x2) * first) / (first * second)
            whole += v0 + v1 + v2 + v3
        for d in range(D // 4 * 4, D):
            weight = tl.load(v + d).to(tl.float32)
            total += weight / denominators(q_side, k_side, i, j, d, k_len, D)
            whole += weight
        total = whole - 2.0 * total
    else:
        for d in range(D):
            x = sums(query, key, i, j, d, D)
            t = tanh_near(x) if way == 1 else tanh(x)
            total += tl.load(v + d).to(tl.float32) * t
    return total


@triton.jit
def add_slopes(
    ds, sides, way, i, start, length, of_rows, of_v,
    D: tl.constexpr, PADDED: tl.constexpr, OTHERS: tl.constexpr, WITH_V: tl.constexpr,
):  # fmt: skip
    """Add a tile's Σ ds (1 − t²) / 4 to `of_rows`, and Σ ds t to `of_v` WITH_V.

    Args:
        ds: `(M, OTHERS)`, 0 at forbidden pairs.
        sides: tensors of the rows along the first and the second axis.
        way: from `way_of`; where it is 0, no row holds NaN.
        i: rows along the first axis. start, length: the first row along the second axis, and how many there are.
        of_rows, of_v: `(M, PADDED)`.
    """
    mine, others = sides
    d, column = tl.arange(0, PADDED), tl.arange(0, OTHERS)
    x = tl.load(mine + (i[:, None] * D + d[None]), mask=(d < D)[None], other=0.0).to(tl.float32)
    if way == 0:
        x = tl.exp(2.0 * x)
    for step in range(OTHERS):
        other = tl.load(others + tl.minimum(start + step, length - 1) * D + d, mask=d < D, other=0.0).to(tl.float32)
        of_pair = tl.sum(tl.where(column[None] == step, ds, 0.0), 1)[:, None]
        if way == 0:
            r = 1.0 / tl.minimum(1.0 + x * tl.exp(2.0 * other)[None], CAP)
            t, quarter = 1.0 - 2.0 * r, r - r * r
        else:
            y = tl.where(of_pair != 0, x + other[None], 0.0)  # forbidden rows may hold NaN
            t = tanh_near(y) if way == 1 else tanh(y)
            quarter = 0.25 - 0.25 * (t * t)
        of_rows += quarter * of_pair
        if WITH_V:
            of_v += t * of_pair
    return of_rows, of_v


@triton.jit
def distances(query, key, i, j, D: tl.constexpr):
    """Squared distances of rows i of `query` and rows j of `key`."""
    total = (i * 0 + j * 0).to(tl.float32)
    for d in range(D):
        x = tl.load(query + i * D + d).to(tl.float32) - tl.load(key + j * D + d).to(tl.float32)
        total += x * x
    return total
