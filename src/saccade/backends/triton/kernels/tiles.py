"""Tiles of scores in registers, for every pass of `fused`: a block of queries against a block of keys.

A mask is a union of intervals of keys for each query, equal ids of documents, and bytes of pairs, each of them
optional, all of them necessary. For a block of queries, a block of keys is empty, partial or full. Lists hold the
blocks that are not empty, and full blocks read no mask.
"""

import triton
import triton.language as tl

from saccade.backends.triton.kernels import kernel
from saccade.backends.triton.kernels.additive import tanh, tanh_near

DOT, ADDITIVE, DISTANCE = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
"""q · k; v · tanh(q + k); ‖q − k‖²."""

SLOPE, TABLE, PAIRS = tl.constexpr(1), tl.constexpr(2), tl.constexpr(3)
"""Biases: -slope |i + align - j|; table[clip(j - i - align) + R]; a number for each pair."""


@kernel
def summarize(
    starts, ends, ids, out,
    length, other_length, blocks, entries,
    INTERVALS: tl.constexpr, IDS: tl.constexpr, M: tl.constexpr,
):  # fmt: skip
    """Bounds of each block of rows, for `list_blocks`.

    Args:
        starts, ends: `(INTERVALS, entries, length)`, int32.
        ids: `(entries, length)`.
        out: `(4 INTERVALS + 2 IDS, entries, blocks)`, int32: of each interval the lowest start, the highest end, the
            highest start and the lowest end, then the lowest and the highest id.
        length, other_length: number of rows, and of the positions that intervals are of.
    """
    n, block = (tl.program_id(0) // blocks).to(tl.int64), tl.program_id(0) % blocks
    i = tl.minimum(block * M + tl.arange(0, M), length - 1)
    step, at = entries * blocks, out + tl.program_id(0)
    for u in tl.static_range(INTERVALS):
        row = (u * entries + n) * length + i
        start, end = tl.load(starts + row), tl.load(ends + row)
        some = start < end
        tl.store(at + (4 * u) * step, tl.min(tl.where(some, start, other_length)))
        tl.store(at + (4 * u + 1) * step, tl.max(tl.where(some, end, 0)))
        tl.store(at + (4 * u + 2) * step, tl.max(tl.where(some, start, other_length)))
        tl.store(at + (4 * u + 3) * step, tl.min(tl.where(some, end, 0)))
    if IDS:
        id = tl.load(ids + n * length + i)
        tl.store(at + (4 * INTERVALS) * step, tl.min(id))
        tl.store(at + (4 * INTERVALS + 1) * step, tl.max(id))


@kernel
def summarize_pairs(pairs, pairs_n, pairs_i, pairs_j, codes, q_len, k_len, q_blocks, k_blocks, M: tl.constexpr, N: tl.constexpr):  # fmt: skip
    """codes[n, a, b] = 0, 1 or 2: none, some or all pairs of a block of queries and of keys."""
    n = (tl.program_id(0) // (q_blocks * k_blocks)).to(tl.int64)
    rest = tl.program_id(0) % (q_blocks * k_blocks)
    i = tl.minimum((rest // k_blocks) * M + tl.arange(0, M), q_len - 1).to(tl.int64)
    j = tl.minimum((rest % k_blocks) * N + tl.arange(0, N), k_len - 1).to(tl.int64)
    used = (tl.load(pairs + n * pairs_n + i[:, None].to(tl.int64) * pairs_i + j[None] * pairs_j) != 0).to(tl.int32)
    tl.store(codes + tl.program_id(0), (tl.max(used) + tl.min(used)).to(tl.uint8))


@kernel
def list_blocks(
    of_queries, of_keys, codes,
    order, counts,
    q_blocks, k_blocks, entries, k_len,
    INTERVALS: tl.constexpr, IDS: tl.constexpr, BYTES: tl.constexpr, BY_KEY: tl.constexpr,
    N: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """List the blocks of keys for each block of queries, in order; with BY_KEY those of queries for each of keys.

    Args:
        of_queries, of_keys: from `summarize`; of keys the ids alone.
        codes: from `summarize_pairs`.
        order: `(entries, rows, across)`: 2 b for a partial block b, 2 b + 1 for a full one.
        counts: `(entries, rows)`.
    """
    rows, across = q_blocks, k_blocks
    if BY_KEY:
        rows, across = k_blocks, q_blocks
    n, row = (tl.program_id(0) // rows).to(tl.int64), tl.program_id(0) % rows
    order += tl.program_id(0).to(tl.int64) * across
    q_step, k_step, listed = entries * q_blocks, entries * k_blocks, 0
    for first in range(0, across, B):
        other = first + tl.arange(0, B)
        inside = other < across
        a, b = row + tl.zeros_like(other), tl.minimum(other, across - 1)
        if BY_KEY:
            a, b = b, a
        some, full = inside, inside
        if INTERVALS > 0:
            some, full = other < 0, other < 0
            for u in tl.static_range(INTERVALS):
                at = of_queries + 4 * u * q_step + n * q_blocks + a
                lowest, highest = tl.load(at), tl.load(at + q_step)
                last_start, first_end = tl.load(at + 2 * q_step), tl.load(at + 3 * q_step)
                some = some | ((lowest < (b + 1) * N) & (highest > b * N))
                full = full | ((last_start <= b * N) & (first_end >= tl.minimum((b + 1) * N, k_len)))
            some, full = some & inside, full & inside
        if IDS:
            at = of_queries + 4 * INTERVALS * q_step + n * q_blocks + a
            least, most = tl.load(at), tl.load(at + q_step)
            lowest, highest = tl.load(of_keys + n * k_blocks + b), tl.load(of_keys + k_step + n * k_blocks + b)
            some = some & (least <= highest) & (lowest <= most)
            full = full & (least == most) & (lowest == highest) & (least == lowest)
        if BYTES:
            code = tl.load(codes + (n * q_blocks + a) * k_blocks + b)
            some, full = some & (code > 0), full & (code == 2)
        some = some.to(tl.int32)
        place = listed + tl.cumsum(some, 0) - some
        tl.store(order + place, 2 * other + (full & (some > 0)).to(tl.int32), mask=some > 0)
        listed += tl.sum(some)
    tl.store(counts + tl.program_id(0), listed)


@triton.jit
def allowed(mask, n, i, j, q_len, k_len, INTERVALS: tl.constexpr, IDS: tl.constexpr, BYTES: tl.constexpr):
    """Which pairs of a tile the mask allows, `(M, N)`.

    Args:
        mask: starts and ends `(INTERVALS, entries, Lq)`, ids of queries and keys, bytes with three strides, entries.
        n: entry of the mask.
        i, j: queries and keys, int64, within the lengths.
    """
    starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, entries = mask
    used = (i >= 0)[:, None] & (j >= 0)[None]
    if INTERVALS > 0:
        within = (i < 0)[:, None] & (j < 0)[None]
        for u in tl.static_range(INTERVALS):
            row = (u * entries + n) * q_len + i
            start, end = tl.load(starts + row), tl.load(ends + row)
            within = within | ((j[None] >= start[:, None]) & (j[None] < end[:, None]))
        used = within
    if IDS:
        used = used & (tl.load(q_ids + n * q_len + i)[:, None] == tl.load(k_ids + n * k_len + j)[None])
    if BYTES:
        used = used & (tl.load(pairs + n * pairs_n + i[:, None].to(tl.int64) * pairs_i + j[None] * pairs_j) != 0)
    return used


@triton.jit
def rows_of(tensor, i, D: tl.constexpr, part: tl.constexpr, PART: tl.constexpr):
    """Columns part · PART and so on of rows i, `(M, PART)`, 0 beyond D."""
    d = part * PART + tl.arange(0, PART)
    at = tensor + (i[:, None] * D + d[None])
    if (part + 1) * PART <= D:
        return tl.load(at)
    return tl.load(at, mask=(d < D)[None], other=0.0)


@triton.jit
def products(left, right, i, j, D: tl.constexpr, PART: tl.constexpr, PARTS: tl.constexpr, PRECISION: tl.constexpr):
    """Dot products of rows i of `left` and rows j of `right`, `(M, N)`, in float32."""
    total = tl.dot(rows_of(left, i, D, 0, PART), tl.trans(rows_of(right, j, D, 0, PART)), input_precision=PRECISION)
    for part in tl.static_range(1, PARTS):
        a, b = rows_of(left, i, D, part, PART), rows_of(right, j, D, part, PART)
        total = tl.dot(a, tl.trans(b), total, input_precision=PRECISION)
    return total


@triton.jit
def distances(left, right, i, j, D: tl.constexpr):
    """Squared distances of rows i of `left` and rows j of `right`, `(M, N)`."""
    total = (i * 0).to(tl.float32)[:, None] + (j * 0).to(tl.float32)[None]
    for d in range(D):
        x = tl.load(left + i * D + d).to(tl.float32)[:, None] - tl.load(right + j * D + d).to(tl.float32)[None]
        total += x * x
    return total


@triton.jit
def way_of(sizes, i, j, SMALL: tl.constexpr, LIMIT: tl.constexpr):
    """How a tile of additive terms is computed, from the largest |q| and |k| of its rows.

    0: by quotients of exponentials; 1: by a polynomial, since 1 - 2 r would cancel; 2: by the tangent itself, since an
    exponential would leave its range.
    """
    of_query, of_key = sizes
    q_size, k_size = tl.max(tl.load(of_query + i)), tl.max(tl.load(of_key + j))
    small = (q_size < SMALL) & (k_size < SMALL)
    return tl.where(small, 1, tl.where((q_size <= LIMIT) & (k_size <= LIMIT), 0, 2))


@triton.jit
def _denominator(left, right, CAP: tl.constexpr):
    x = 1.0 + left * right
    return tl.where(x > CAP, CAP, x)


@triton.jit
def terms(inputs, i, j, k_len, D: tl.constexpr, SMALL: tl.constexpr, LIMIT: tl.constexpr, CAP: tl.constexpr):
    r"""v · tanh(q + k) of a tile, `(M, N)`: Σ v - 2 Σ v r with r = 1 / (1 + e^{2q} e^{2k}), four with one division."""
    query, key, v, q_powers, k_powers, q_sizes, k_sizes = inputs
    total = (i * 0).to(tl.float32)[:, None] + (j * 0).to(tl.float32)[None]
    way = way_of((q_sizes, k_sizes), i, j, SMALL, LIMIT)
    if way == 0:
        whole = 0.0
        for d in range(0, D // 4 * 4, 4):
            v0, v1, v2, v3 = tl.load(v + d), tl.load(v + d + 1), tl.load(v + d + 2), tl.load(v + d + 3)
            left, right = q_powers + i * D + d, k_powers + d * k_len + j
            x0 = _denominator(tl.load(left)[:, None], tl.load(right)[None], CAP)
            x1 = _denominator(tl.load(left + 1)[:, None], tl.load(right + k_len)[None], CAP)
            x2 = _denominator(tl.load(left + 2)[:, None], tl.load(right + 2 * k_len)[None], CAP)
            x3 = _denominator(tl.load(left + 3)[:, None], tl.load(right + 3 * k_len)[None], CAP)
            first, second = x0 * x1, x2 * x3
            total += ((v0 * x1 + v1 * x0) * second + (v2 * x3 + v3 * x2) * first) / (first * second)
            whole += v0 + v1 + v2 + v3
        for d in range(D // 4 * 4, D):
            x = _denominator(tl.load(q_powers + i * D + d)[:, None], tl.load(k_powers + d * k_len + j)[None], CAP)
            total += tl.load(v + d) / x
            whole += tl.load(v + d)
        total = whole - 2.0 * total
    else:
        for d in range(D):
            x = tl.load(query + i * D + d).to(tl.float32)[:, None] + tl.load(key + j * D + d).to(tl.float32)[None]
            if way == 1:
                t = tanh_near(x)
            else:
                t = tanh(x)
            total += tl.load(v + d) * t
    return total


@triton.jit
def add_slopes_of_terms(
    ds, inputs, out, parts, i, j, here, k_len,
    D: tl.constexpr, SMALL: tl.constexpr, LIMIT: tl.constexpr, CAP: tl.constexpr, BY_KEY: tl.constexpr,
):  # fmt: skip
    """Add a tile's gradients of queries or keys to `out`, float32 rows of D, and of v to `parts`.

    Gradients by query: v Σ_j ds (1 - t²), and of v: Σ ds t. This program alone writes there, where
    `here` says: rows beyond the last are the last again.
    """
    query, key, v, q_powers, k_powers, q_sizes, k_sizes = inputs
    way = way_of((q_sizes, k_sizes), i, j, SMALL, LIMIT)
    for d in range(D):
        if way == 0:
            x = _denominator(tl.load(q_powers + i * D + d)[:, None], tl.load(k_powers + d * k_len + j)[None], CAP)
            r = 1.0 / x
            t, slope = 1.0 - 2.0 * r, 4.0 * (r - r * r)
        else:
            x = tl.load(query + i * D + d).to(tl.float32)[:, None] + tl.load(key + j * D + d).to(tl.float32)[None]
            if way == 1:
                t = tanh_near(x)
            else:
                t = tanh(x)
            slope = 1.0 - t * t
        weight = tl.load(v + d)
        if BY_KEY:
            at = out + j * D + d
            tl.store(at, tl.load(at) + weight * tl.sum(ds * slope, 0), mask=here)
        else:
            at = out + i * D + d
            tl.store(at, tl.load(at) + weight * tl.sum(ds * slope, 1), mask=here)
            tl.store(parts + d, tl.load(parts + d) + tl.sum(ds * t))


@triton.jit
def biases(bias, i, j, KIND: tl.constexpr):
    """Biases of a tile, `(M, N)`.

    Args:
        bias: numbers of an entry, strides of queries and keys (or the table's radius and nothing), align.
    """
    numbers, step_i, step_j, align = bias
    if KIND == SLOPE:
        return -tl.load(numbers).to(tl.float32) * tl.abs(i[:, None] + align - j[None]).to(tl.float32)
    if KIND == TABLE:
        far = tl.minimum(tl.maximum(j[None] - i[:, None] - align, -step_i), step_i) + step_i
        return tl.load(numbers + far).to(tl.float32)
    return tl.load(numbers + i[:, None].to(tl.int64) * step_i + j[None] * step_j).to(tl.float32)


@triton.jit
def scores(
    inputs, i, j, k_len, scale, softcap,
    D: tl.constexpr, SCORE: tl.constexpr, SOFTCAP: tl.constexpr,
    PART: tl.constexpr, PARTS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Scores of a tile without a bias, `(M, N)`, in float32."""
    if SCORE == DOT:
        s = scale * products(inputs[0], inputs[1], i, j, D, PART, PARTS, PRECISION)
    elif SCORE == DISTANCE:
        s = scale * distances(inputs[0], inputs[1], i, j, D)
    else:
        s = terms(inputs, i, j, k_len, D, 0.25, 43.0, 2147483648.0)
    if SOFTCAP:
        s = softcap * tanh(s / softcap)
    return s
