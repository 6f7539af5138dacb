"""Attention of a block of queries in one launch, without scores or weights in memory.

A program passes over the blocks of keys that its mask leaves, and keeps the running sum, maximum and output of its
rows (Milakov, Gimelshein 2018; Dao et al. 2022, "FlashAttention", algorithm 1). The backward computes the weights
again from lse or the row's sum (Dao et al. 2022, algorithm 4), for queries and then for keys: nothing is added
atomically, so the same call gives the same bits.
"""

import triton
import triton.language as tl

from saccade.backends.triton.kernels import kernel
from saccade.backends.triton.kernels.additive import tanh
from saccade.backends.triton.kernels.tiles import ADDITIVE, DISTANCE, DOT, allowed, rows_of, scores

SOFTMAX, SIGMOID, SUM, IDENTITY = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2), tl.constexpr(3)


@triton.jit
def _finite(x):
    """x, and 0 for the maximum of nothing."""
    return tl.where(x == -float("inf"), 0.0, x)


@triton.jit
def weights_of(s, used, scale, NORMALIZER: tl.constexpr):
    """Weights of a tile from scores, given each row's lse (softmax) or 1 / Σ s."""
    if NORMALIZER == SOFTMAX:
        w = tl.exp(s - scale[:, None])
    elif NORMALIZER == SIGMOID:
        w = 1.0 / (1.0 + tl.exp(-(s + scale[:, None])))
    else:
        w = s * scale[:, None]
    return tl.where(used, w, 0.0)


@kernel
def forward(
    query, key, value, v, v_n, owners,
    starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks,
    bias, bias_n, bias_i, bias_j,
    order, counts,
    factors, sinks,
    out, norms, entropies, top_scores, top_indices,
    N, q_len, k_len, q_blocks, k_blocks, scale, softcap, eps,
    D: tl.constexpr, E: tl.constexpr, SCORE: tl.constexpr, NORMALIZER: tl.constexpr, SOFTCAP: tl.constexpr, BIAS: tl.constexpr, FACTORS: tl.constexpr,
    SINKS: tl.constexpr, INTERVALS: tl.constexpr, IDS: tl.constexpr, BYTES: tl.constexpr, LISTED: tl.constexpr,
    ENTROPY: tl.constexpr, TOP: tl.constexpr, PRECISION: tl.constexpr,
    PART: tl.constexpr, PARTS: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """out = Σ_j w_ij v_j with each row's norm: lse, or 1 / (eps + Σ s), or nothing.

    Args:
        query, key, value: `(·, Lq, D)`, `(·, Lk, D)`, `(·, Lk, E)`.
        v, v_n: of additive scores, `(D,)` with v_n = 0, or `(N, D)` with v_n = D.
        owners: `(5, N)`, int32: each entry's query, key, value, mask and bias.
        starts, ... masks: as `tiles.allowed` takes them.
        bias, ...: with three strides.
        order, counts: as `tiles.list_blocks` writes them; read if LISTED.
        factors, sinks: `(N, Lq)`: 1 / temperature, or what is added to a score before the sigmoid; sinks.
        out: `(N, Lq, E)`. norms, entropies: `(N, Lq)`. top_scores, top_indices: `(N, Lq, TOP)`, in no order.
        PART, PARTS: features of one product, and how many parts cover D. WIDTH: features of a value, a power of 2.
        ROWS, KEYS: of a block.
    """
    n, block = (tl.program_id(0) // q_blocks).to(tl.int64), tl.program_id(0) % q_blocks
    i = block * ROWS + tl.arange(0, ROWS)
    there, i = i < q_len, tl.minimum(i, q_len - 1)
    entry = tl.load(owners + 3 * N + n).to(tl.int64)
    inputs = (
        query + tl.load(owners + n).to(tl.int64) * q_len * D,
        key + tl.load(owners + N + n).to(tl.int64) * k_len * D,
        v + n * v_n,
    )
    values = value + tl.load(owners + 2 * N + n).to(tl.int64) * k_len * E
    added = bias + tl.load(owners + 4 * N + n).to(tl.int64) * bias_n, bias_i, bias_j
    mask = starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks
    e = tl.arange(0, WIDTH)
    zero = tl.zeros([ROWS], tl.float32)
    factor = zero + 1.0
    if FACTORS:
        factor = tl.load(factors + n * q_len + i)
    acc = tl.zeros([ROWS, WIDTH], tl.float32)
    top, total, moment = zero - float("inf"), zero, zero
    if TOP > 0:
        best = tl.zeros([ROWS, TOP], tl.float32) - float("inf")
        chosen = tl.zeros([ROWS, TOP], tl.int32) - 1
    count = k_blocks
    if LISTED:
        count = tl.load(counts + entry * q_blocks + block)
        order += (entry * q_blocks + block) * k_blocks
    for step in range(0, count):
        code = 2 * step + 1
        if LISTED:
            code = tl.load(order + step)
        j = (code // 2) * KEYS + tl.arange(0, KEYS)
        inside, j = j < k_len, tl.minimum(j, k_len - 1)
        s = scores(inputs, added, i, j, q_len, scale, softcap, D, SCORE, SOFTCAP, BIAS, PART, PARTS, PRECISION)
        s = tl.where(inside[None], s, -float("inf"))
        rows = tl.load(values + (j[:, None] * E + e[None]), mask=(e < E)[None], other=0.0)
        if code % 2 == 0:
            s = tl.where(allowed(mask, entry, i, j, q_len, k_len, INTERVALS, IDS, BYTES), s, -float("inf"))
            read = tl.max((s != -float("inf")).to(tl.int32), 0) > 0
            rows = tl.where(read[:, None], rows, 0.0)  # 0 times a value that is NaN is NaN
        if NORMALIZER == SOFTMAX:
            if FACTORS:
                s = s * factor[:, None]
            higher = tl.maximum(top, tl.max(s, 1))
            shift = _finite(higher)
            w, rescale = tl.exp(s - shift[:, None]), tl.exp(top - shift)
            if ENTROPY:
                moved = tl.where(top == -float("inf"), 0.0, top - shift)
                moment = rescale * (moment + total * moved) + tl.sum(tl.where(w > 0, w * (s - shift[:, None]), 0.0), 1)
            total = total * rescale + tl.sum(w, 1)
            acc = acc * rescale[:, None]
            top = higher
        elif NORMALIZER == SIGMOID:
            w = 1.0 / (1.0 + tl.exp(-(s + factor[:, None])))
        else:
            w = tl.where(s == -float("inf"), 0.0, s)
            total += tl.sum(w, 1)
        acc = tl.dot(w.to(rows.dtype), rows, acc, input_precision=PRECISION)
        if TOP > 0:
            left = s
            higher = tl.max(left, 1)
            lowest = tl.min(best, 1)
            while tl.max((higher > lowest).to(tl.int32)) > 0:
                at = tl.min(tl.where(left == higher[:, None], j[None], 2147483647), 1)
                # of the lowest the one of the highest index goes: ties go to the lower index
                out_of = tl.max(tl.where(best == lowest[:, None], chosen, -2), 1)
                spare = tl.arange(0, TOP)[None] + tl.zeros([ROWS, TOP], tl.int32)
                slot = tl.min(tl.where((best == lowest[:, None]) & (chosen == out_of[:, None]), spare, TOP), 1)
                here = (spare == slot[:, None]) & (higher > lowest)[:, None]
                best = tl.where(here, higher[:, None], best)
                chosen = tl.where(here, at[:, None], chosen)
                left = tl.where(j[None] == at[:, None], -float("inf"), left)
                higher, lowest = tl.max(left, 1), tl.min(best, 1)
    row = n * q_len + i
    if NORMALIZER == SOFTMAX:
        shift = _finite(top)
        safe = tl.where(total == 0, 1.0, total)
        lse = tl.where(total == 0, -float("inf"), shift + tl.log(safe))
        share = 1.0 / safe
        if SINKS:
            sink = tl.load(sinks + row)
            share = tl.where(total == 0, 0.0, share / (1.0 + tl.exp(sink - _finite(lse))))
        tl.store(norms + row, lse, mask=there)
        if ENTROPY:
            tl.store(entropies + row, tl.where(total == 0, 0.0, tl.log(safe) - moment / safe), mask=there)
        acc = acc * share[:, None]
    elif NORMALIZER == SUM:
        whole = total + eps
        share = tl.where((total == 0) | (whole == 0), 0.0, 1.0 / tl.where(whole == 0, 1.0, whole))
        tl.store(norms + row, share, mask=there)
        acc = acc * share[:, None]
    tl.store(out + n * q_len * E + (i[:, None] * E + e[None]), acc, mask=there[:, None] & (e < E)[None])
    if TOP > 0:
        k = tl.arange(0, TOP)
        tl.store(top_scores + row[:, None] * TOP + k[None], best, mask=there[:, None] & (k >= 0)[None])
        tl.store(top_indices + row[:, None] * TOP + k[None], chosen, mask=there[:, None] & (k >= 0)[None])
