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
from saccade.backends.triton.kernels.tiles import ADDITIVE, DISTANCE, SLOPE, TABLE, add_slopes_of_terms, allowed, biases, scores

SOFTMAX, SIGMOID, SUM, IDENTITY, ENTMAX = (
    tl.constexpr(0),
    tl.constexpr(1),
    tl.constexpr(2),
    tl.constexpr(3),
    tl.constexpr(4),
)


@triton.jit
def _finite(x):
    """x, and 0 for the maximum of nothing."""
    return tl.where(x == -float("inf"), 0.0, x)


@triton.jit
def masked_scores(
    inputs, added, mask, entry, code, i, j, inside, factor, q_len, k_len, scale, softcap,
    D: tl.constexpr, SCORE: tl.constexpr, SOFTCAP: tl.constexpr, BIAS: tl.constexpr, FACTORS: tl.constexpr,
    INTERVALS: tl.constexpr, IDS: tl.constexpr, BYTES: tl.constexpr,
    PART: tl.constexpr, PARTS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Scores of a tile times each row's factor, -inf where nothing is allowed.

    The mask comes after the scores: in the other order the registers do not suffice.
    """
    s = scores(inputs, i, j, k_len, scale, softcap, D, SCORE, SOFTCAP, PART, PARTS, PRECISION)
    if BIAS > 0:
        s += biases(added, i, j, BIAS)
    if FACTORS:
        s = s * factor[:, None]
    s = tl.where(inside, s, -float("inf"))
    if code % 2 == 0:
        s = tl.where(allowed(mask, entry, i, j, q_len, k_len, INTERVALS, IDS, BYTES), s, -float("inf"))
    return s


@triton.jit
def sparse_weights(s, top, t, a, KIND: tl.constexpr):
    """p = [1 + a (s - top - t)]₊^(1/a), and p^(1 - a), its derivative by s."""
    inside = 1.0 + a * ((s - top[:, None]) - t[:, None])
    used = inside > 0
    if KIND == 1:
        p, slope = tl.where(used, inside, 0.0), tl.where(used, 1.0, 0.0)
    elif KIND == 2:
        slope = tl.where(used, inside, 0.0)
        p = slope * slope
    else:
        log = tl.log(tl.where(used, inside, 1.0)) / a
        p, slope = tl.where(used, tl.exp(log), 0.0), tl.where(used, tl.exp((1.0 - a) * log), 0.0)
    return p, slope


@kernel
def forward(
    query, key, value, v, v_n, q_powers, k_powers, q_sizes, k_sizes, owners,
    starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks,
    bias, bias_n, bias_i, bias_j, align,
    order, counts,
    factors, sinks,
    out, norms, wholes, entropies, top_scores, top_indices,
    N, q_len, k_len, q_blocks, k_blocks, scale, softcap, eps, a, tolerance,
    D: tl.constexpr, E: tl.constexpr, SCORE: tl.constexpr, NORMALIZER: tl.constexpr, SOFTCAP: tl.constexpr, BIAS: tl.constexpr, FACTORS: tl.constexpr,
    SINKS: tl.constexpr, INTERVALS: tl.constexpr, IDS: tl.constexpr, BYTES: tl.constexpr, LISTED: tl.constexpr,
    ENTROPY: tl.constexpr, TOP: tl.constexpr, KIND: tl.constexpr, PRECISION: tl.constexpr,
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
    of_query, of_key = tl.load(owners + n).to(tl.int64), tl.load(owners + N + n).to(tl.int64)
    inputs = (
        query + of_query * q_len * D,
        key + of_key * k_len * D,
        v + n * v_n,
        q_powers + of_query * q_len * D,
        k_powers + of_key * k_len * D,
        q_sizes + of_query * q_len,
        k_sizes + of_key * k_len,
    )
    values = value + tl.load(owners + 2 * N + n).to(tl.int64) * k_len * E
    added = bias + tl.load(owners + 4 * N + n).to(tl.int64) * bias_n, bias_i, bias_j, align
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
    if NORMALIZER == ENTMAX:
        for step in range(0, count):
            code = 2 * step + 1
            if LISTED:
                code = tl.load(order + step)
            j = (code // 2) * KEYS + tl.arange(0, KEYS)
            inside, j = j < k_len, tl.minimum(j, k_len - 1)
            s = masked_scores(
                inputs, added, mask, entry, code, i, j, inside[None], factor, q_len, k_len, scale, softcap,
                D, SCORE, SOFTCAP, BIAS, FACTORS and NORMALIZER != SIGMOID, INTERVALS, IDS, BYTES, PART, PARTS, PRECISION,
            )  # fmt: skip
            top = tl.maximum(top, tl.max(s, 1))
        empty, top = top == -float("inf"), _finite(top)
        # Σ p falls in t, and is convex: Newton's method from the left stays on the left
        low, high = zero, zero + tl.minimum(tl.log(k_len * 1.0), 1.0 / a)
        new, rounds, c = zero, 0, tl.arange(0, 4)
        move = tl.where(empty, 0.0, high + 1.0)
        while (rounds < 64) & (tl.max(move) > tolerance):
            trial = new[:, None] + (high - new)[:, None] * (c[None] * 0.25)
            sums, slopes = tl.zeros([ROWS, 4], tl.float32), tl.zeros([ROWS, 4], tl.float32)
            for step in range(0, count):
                code = 2 * step + 1
                if LISTED:
                    code = tl.load(order + step)
                j = (code // 2) * KEYS + tl.arange(0, KEYS)
                inside, j = j < k_len, tl.minimum(j, k_len - 1)
                s = masked_scores(
                    inputs, added, mask, entry, code, i, j, inside[None], factor, q_len, k_len, scale, softcap,
                    D, SCORE, SOFTCAP, BIAS, FACTORS and NORMALIZER != SIGMOID, INTERVALS, IDS, BYTES, PART, PARTS, PRECISION,
                )  # fmt: skip
                for number in tl.static_range(4):
                    t = new + (high - new) * (number * 0.25)
                    p, slope = sparse_weights(s, top, t, a, KIND)
                    sums += tl.where(c[None] == number, tl.sum(p, 1)[:, None], 0.0)
                    slopes += tl.where(c[None] == number, tl.sum(slope, 1)[:, None], 0.0)
            heavy = sums >= 1.0
            at = tl.max(tl.where(heavy, c[None], 0), 1)
            here = c[None] == at[:, None]
            low = tl.sum(tl.where(here, trial, 0.0), 1)
            high = tl.min(tl.where(heavy, high[:, None], trial), 1)
            total_here, slope_here = tl.sum(tl.where(here, sums, 0.0), 1), tl.sum(tl.where(here, slopes, 0.0), 1)
            step_right = (total_here - 1.0) / tl.where(empty, 1.0, slope_here)
            new = tl.minimum(tl.maximum(low + step_right, low), tl.maximum(high, low))
            move = tl.where(empty, 0.0, tl.minimum(new - low, high - low))
            rounds += 1
        t = new
    for step in range(0, count):
        code = 2 * step + 1
        if LISTED:
            code = tl.load(order + step)
        j = (code // 2) * KEYS + tl.arange(0, KEYS)
        inside, j = j < k_len, tl.minimum(j, k_len - 1)
        s = masked_scores(
            inputs, added, mask, entry, code, i, j, inside[None], factor, q_len, k_len, scale, softcap,
            D, SCORE, SOFTCAP, BIAS, FACTORS and NORMALIZER != SIGMOID, INTERVALS, IDS, BYTES, PART, PARTS, PRECISION,
        )  # fmt: skip
        rows = tl.load(values + (j[:, None] * E + e[None]), mask=(e < E)[None], other=0.0)
        if code % 2 == 0:
            read = tl.max((s != -float("inf")).to(tl.int32), 0) > 0
            rows = tl.where(read[:, None], rows, 0.0)  # 0 times a value that is NaN is NaN
        if NORMALIZER == SOFTMAX:
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
        elif NORMALIZER == ENTMAX:
            w, _ = sparse_weights(s, top, t, a, KIND)
            total += tl.sum(w, 1)
            if ENTROPY:
                moment += tl.sum(tl.where(w > 0, w * tl.log(tl.where(w > 0, w, 1.0)), 0.0), 1)
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
    elif NORMALIZER == ENTMAX:
        safe = tl.where(total == 0, 1.0, total)
        tl.store(norms + row, tl.where(empty, float("inf"), top + t), mask=there)
        tl.store(wholes + row, 1.0 / safe, mask=there)
        if ENTROPY:
            tl.store(entropies + row, tl.where(empty, 0.0, tl.log(safe) - moment / safe), mask=there)
        acc = acc / safe[:, None]
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


@triton.jit
def _slopes(
    s, dp, lse, whole, delta, entropy, entropy_grad, a,
    KIND: tl.constexpr, NORMALIZER: tl.constexpr, SINKS: tl.constexpr, ENTROPY: tl.constexpr,
):  # fmt: skip
    """Weights of a tile, and gradients of its scores (-inf: forbidden) from those of its weights.

    Args:
        s: scores times the row's factor. dp: gradients of weights.
        lse, whole: lse without and with the sink, or 1 / (eps + Σ s), or what is added before the sigmoid.
        delta: Σ_j w_j dp_j, less the gradient of lse.
    """
    there = s != -float("inf")
    if NORMALIZER == SOFTMAX:
        w = tl.exp(s - _finite(whole)[:, None])
        ds = w * (dp - delta[:, None])
        if ENTROPY:
            p = w
            if SINKS:
                p = tl.exp(s - lse[:, None])
            ds -= tl.where(there, entropy_grad[:, None] * p * (s - lse[:, None] + entropy[:, None]), 0.0)
    elif NORMALIZER == SIGMOID:
        w = 1.0 / (1.0 + tl.exp(-(s + whole[:, None])))
        ds = w * (1.0 - w) * dp
    elif NORMALIZER == ENTMAX:
        w, slope = sparse_weights(s, lse, lse * 0.0, a, KIND)
        w = w * whole[:, None]
        if ENTROPY:  # H = -Σ w log w
            dp = dp - entropy_grad[:, None] * tl.log(tl.where(w > 0, w, 1.0))
        ds = slope * (dp - delta[:, None])
    elif NORMALIZER == SUM:
        w = tl.where(there, s * whole[:, None], 0.0)
        ds = tl.where(there, whole[:, None] * (dp - delta[:, None]), 0.0)
    else:
        w = tl.where(there, s, 0.0)
        ds = tl.where(there, dp, 0.0)
    return w, ds


@kernel
def backward(
    query, key, value, v, v_n, q_powers, k_powers, q_sizes, k_sizes, owners,
    starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks,
    bias, bias_n, bias_i, bias_j, align,
    order, counts,
    factors, norms, wholes, deltas, entropies, entropy_grads, grads,
    query_grad, key_grad, value_grad, factor_grad, v_parts, slope_grad, table_parts, pairs_grad,
    N, q_len, k_len, q_blocks, k_blocks, scale, softcap, a,
    D: tl.constexpr, E: tl.constexpr, SCORE: tl.constexpr, NORMALIZER: tl.constexpr, KIND: tl.constexpr, SOFTCAP: tl.constexpr,
    BIAS: tl.constexpr, FACTORS: tl.constexpr, SINKS: tl.constexpr, ENTROPY: tl.constexpr,
    INTERVALS: tl.constexpr, IDS: tl.constexpr, BYTES: tl.constexpr, LISTED: tl.constexpr, PRECISION: tl.constexpr,
    PART: tl.constexpr, PARTS: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
    BY_KEY: tl.constexpr, BIAS_LEARNS: tl.constexpr,
):  # fmt: skip
    """Gradients of a block of queries; with BY_KEY those of a block of keys and values.

    Args: as of `forward`, and
        grads: of the output, `(N, Lq, E)`.
        query_grad, key_grad, value_grad: `(N, Lq, D)`, `(N, Lk, D)`, `(N, Lk, E)`. factor_grad: `(N, Lq)`.
    """
    mine, others = q_blocks, k_blocks
    if BY_KEY:
        mine, others = k_blocks, q_blocks
    n, block = (tl.program_id(0) // mine).to(tl.int64), tl.program_id(0) % mine
    entry = tl.load(owners + 3 * N + n).to(tl.int64)
    of_query, of_key = tl.load(owners + n).to(tl.int64), tl.load(owners + N + n).to(tl.int64)
    inputs = (
        query + of_query * q_len * D,
        key + of_key * k_len * D,
        v + n * v_n,
        q_powers + of_query * q_len * D,
        k_powers + of_key * k_len * D,
        q_sizes + of_query * q_len,
        k_sizes + of_key * k_len,
    )
    values = value + tl.load(owners + 2 * N + n).to(tl.int64) * k_len * E
    added = bias + tl.load(owners + 4 * N + n).to(tl.int64) * bias_n, bias_i, bias_j, align
    mask = starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks
    upstream, row = grads + n * q_len * E, n * q_len
    e, d = tl.arange(0, WIDTH), tl.arange(0, PART * PARTS)
    if BY_KEY:
        of_mine, mass = tl.zeros([KEYS, PART * PARTS], tl.float32), tl.zeros([KEYS], tl.float32)
        of_value = tl.zeros([KEYS, WIDTH], tl.float32)
    else:
        of_mine, mass = tl.zeros([ROWS, PART * PARTS], tl.float32), tl.zeros([ROWS], tl.float32)
        of_factor, of_slope = tl.zeros([ROWS], tl.float32), tl.zeros([ROWS], tl.float32)
        tables = table_parts + (n * q_blocks + block) * (2 * bias_i + 1)
    count = others
    if LISTED:
        count = tl.load(counts + entry * mine + block)
        order += (entry * mine + block) * others
    if (NORMALIZER == ENTMAX) & (not BY_KEY):  # Σ u dp / Σ u, u the slopes, which the keys' launch reads
        i = block * ROWS + tl.arange(0, ROWS)
        rows, i = i < q_len, tl.minimum(i, q_len - 1)
        factor = tl.zeros([ROWS], tl.float32) + 1.0
        if FACTORS:
            factor = tl.load(factors + row + i)
        lse, whole = tl.load(norms + row + i), tl.load(wholes + row + i)
        entropy_grad = lse
        if ENTROPY:
            entropy_grad = tl.load(entropy_grads + row + i)
        do = tl.load(upstream + (i[:, None] * E + e[None]), mask=(e < E)[None], other=0.0)
        mass, pull = lse * 0.0, tl.zeros([ROWS], tl.float32)
        mass = tl.zeros([ROWS], tl.float32)
        for step in range(0, count):
            code = 2 * step + 1
            if LISTED:
                code = tl.load(order + step)
            j = (code // 2) * KEYS + tl.arange(0, KEYS)
            inside, j = j < k_len, tl.minimum(j, k_len - 1)
            s = masked_scores(
                inputs, added, mask, entry, code, i, j, inside[None], factor, q_len, k_len, scale, softcap,
                D, SCORE, SOFTCAP, BIAS, FACTORS and NORMALIZER != SIGMOID, INTERVALS, IDS, BYTES, PART, PARTS, PRECISION,
            )  # fmt: skip
            vs = tl.load(values + (j[:, None] * E + e[None]), mask=(e < E)[None], other=0.0)
            if code % 2 == 0:
                vs = tl.where((tl.max((s != -float("inf")).to(tl.int32), 0) > 0)[:, None], vs, 0.0)
            dp = tl.dot(do, tl.trans(vs), input_precision=PRECISION)
            _, ds = _slopes(s, dp, lse, whole, pull * 0.0, lse, entropy_grad, a, KIND, NORMALIZER, SINKS, ENTROPY)
            _, u = _slopes(s, s * 0.0 + 1.0, lse, whole, pull * 0.0, lse, lse, a, KIND, NORMALIZER, SINKS, False)
            mass += tl.sum(tl.where(s != -float("inf"), u, 0.0), 1)
            pull += tl.sum(ds, 1)
        tl.store(deltas + row + i, pull / tl.where(mass == 0, 1.0, mass), mask=rows)
    for step in range(0, count):
        code = 2 * step + 1
        if LISTED:
            code = tl.load(order + step)
        of_queries, of_keys = block, code // 2
        if BY_KEY:
            of_queries, of_keys = of_keys, of_queries
        i, j = of_queries * ROWS + tl.arange(0, ROWS), of_keys * KEYS + tl.arange(0, KEYS)
        rows, inside = i < q_len, j < k_len
        i, j = tl.minimum(i, q_len - 1), tl.minimum(j, k_len - 1)
        raw = scores(inputs, i, j, k_len, scale, softcap, D, SCORE, SOFTCAP, PART, PARTS, PRECISION)
        s = raw
        if BIAS > 0:
            s += biases(added, i, j, BIAS)
        biased, factor = s, tl.zeros([ROWS], tl.float32) + 1.0
        if FACTORS and NORMALIZER != SIGMOID:
            factor = tl.load(factors + row + i)
            s = s * factor[:, None]
        s = tl.where(rows[:, None] & inside[None], s, -float("inf"))
        do = tl.load(upstream + (i[:, None] * E + e[None]), mask=(e < E)[None], other=0.0)
        vs = tl.load(values + (j[:, None] * E + e[None]), mask=(e < E)[None], other=0.0)
        if BY_KEY:
            x = tl.load(inputs[0] + (i[:, None] * D + d[None]), mask=(d < D)[None], other=0.0)
        else:
            x = tl.load(inputs[1] + (j[:, None] * D + d[None]), mask=(d < D)[None], other=0.0)
        if code % 2 == 0:
            s = tl.where(allowed(mask, entry, i, j, q_len, k_len, INTERVALS, IDS, BYTES), s, -float("inf"))
            used = (s != -float("inf")).to(tl.int32)
            vs = tl.where((tl.max(used, 0) > 0)[:, None], vs, 0.0)
            if BY_KEY:
                x = tl.where((tl.max(used, 1) > 0)[:, None], x, 0.0)
            else:
                x = tl.where((tl.max(used, 0) > 0)[:, None], x, 0.0)
        lse, whole, delta = tl.load(norms + row + i), tl.load(wholes + row + i), tl.load(deltas + row + i)
        entropy, entropy_grad = lse, lse
        if ENTROPY:
            entropy, entropy_grad = tl.load(entropies + row + i), tl.load(entropy_grads + row + i)
        dp = tl.dot(do, tl.trans(vs), input_precision=PRECISION)
        w, ds = _slopes(s, dp, lse, whole, delta, entropy, entropy_grad, a, KIND, NORMALIZER, SINKS, ENTROPY)
        if FACTORS and NORMALIZER != SIGMOID:
            if not BY_KEY:
                of_factor += tl.sum(tl.where(ds != 0, ds * biased, 0.0), 1)
            ds = ds * factor[:, None]
        if FACTORS and (NORMALIZER == SIGMOID) and not BY_KEY:
            of_factor += tl.sum(ds, 1)
        if BIAS_LEARNS and not BY_KEY:
            if BIAS == SLOPE:
                of_slope -= tl.sum(ds * tl.abs(i[:, None] + align - j[None]).to(tl.float32), 1)
            elif BIAS == TABLE:
                far = tl.minimum(tl.maximum(j[None] - i[:, None] - align, -bias_i), bias_i) + bias_i
                for place in range(tl.min(far), tl.max(far) + 1):
                    tl.store(tables + place, tl.load(tables + place) + tl.sum(tl.where(far == place, ds, 0.0)))
            else:
                at = pairs_grad + (n * q_len + i[:, None]) * k_len + j[None]
                tl.store(at, ds, mask=rows[:, None] & inside[None])
        if SOFTCAP:
            ds = tl.where(ds != 0, ds * (1.0 - (raw / softcap) * (raw / softcap)), 0.0)
        if BY_KEY:
            of_value = tl.dot(tl.trans(w).to(do.dtype), do, of_value, input_precision=PRECISION)
        if SCORE == ADDITIVE:
            into = query_grad + n * q_len * D
            if BY_KEY:
                into = key_grad + n * k_len * D
            parts = v_parts + (n * q_blocks + block) * D
            here = rows
            if BY_KEY:
                here = inside
            add_slopes_of_terms(ds, inputs, into, parts, i, j, here, k_len, D, 0.25, 43.0, 2147483648.0, BY_KEY)
        elif BY_KEY:
            of_mine = tl.dot(tl.trans(ds).to(x.dtype), x, of_mine, input_precision=PRECISION)
            mass += tl.sum(ds, 0)
        else:
            of_mine = tl.dot(ds.to(x.dtype), x, of_mine, input_precision=PRECISION)
            mass += tl.sum(ds, 1)
    if BY_KEY:
        j = block * KEYS + tl.arange(0, KEYS)
        inside = (j < k_len)[:, None]
        if SCORE != ADDITIVE:
            at = j[:, None] * D + d[None]
            if SCORE == DISTANCE:  # 2 Σ ds (k - q)
                x = tl.load(inputs[1] + at, mask=inside & (d < D)[None], other=0.0).to(tl.float32)
                of_mine = 2.0 * (mass[:, None] * x - of_mine)
            tl.store(key_grad + n * k_len * D + at, scale * of_mine, mask=inside & (d < D)[None])
        tl.store(value_grad + n * k_len * E + (j[:, None] * E + e[None]), of_value, mask=inside & (e < E)[None])
    else:
        i = block * ROWS + tl.arange(0, ROWS)
        inside = (i < q_len)[:, None]
        if SCORE != ADDITIVE:
            at = i[:, None] * D + d[None]
            if SCORE == DISTANCE:
                x = tl.load(inputs[0] + at, mask=inside & (d < D)[None], other=0.0).to(tl.float32)
                of_mine = 2.0 * (mass[:, None] * x - of_mine)
            tl.store(query_grad + n * q_len * D + at, scale * of_mine, mask=inside & (d < D)[None])
        if FACTORS:
            tl.store(factor_grad + row + i, of_factor, mask=i < q_len)
        if BIAS_LEARNS and BIAS == SLOPE:
            tl.store(slope_grad + row + i, of_slope, mask=i < q_len)


@kernel
def columns(
    query, key, value, v, v_n, q_powers, k_powers, q_sizes, k_sizes, owners,
    starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks,
    bias, bias_n, bias_i, bias_j, align,
    order, counts,
    factors, norms, wholes, out,
    N, q_len, k_len, q_blocks, k_blocks, scale, softcap, a,
    D: tl.constexpr, E: tl.constexpr, SCORE: tl.constexpr, NORMALIZER: tl.constexpr, KIND: tl.constexpr, SOFTCAP: tl.constexpr,
    BIAS: tl.constexpr, FACTORS: tl.constexpr, SINKS: tl.constexpr,
    INTERVALS: tl.constexpr, IDS: tl.constexpr, BYTES: tl.constexpr, LISTED: tl.constexpr, PRECISION: tl.constexpr,
    PART: tl.constexpr, PARTS: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """out[n, j] = Σ_i w_ij, from each row's norm; lists by key."""
    n, block = (tl.program_id(0) // k_blocks).to(tl.int64), tl.program_id(0) % k_blocks
    entry = tl.load(owners + 3 * N + n).to(tl.int64)
    of_query, of_key = tl.load(owners + n).to(tl.int64), tl.load(owners + N + n).to(tl.int64)
    inputs = (
        query + of_query * q_len * D,
        key + of_key * k_len * D,
        v + n * v_n,
        q_powers + of_query * q_len * D,
        k_powers + of_key * k_len * D,
        q_sizes + of_query * q_len,
        k_sizes + of_key * k_len,
    )
    added = bias + tl.load(owners + 4 * N + n).to(tl.int64) * bias_n, bias_i, bias_j, align
    mask = starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks
    j = block * KEYS + tl.arange(0, KEYS)
    inside, j = j < k_len, tl.minimum(j, k_len - 1)
    sums, count, row = tl.zeros([KEYS], tl.float32), q_blocks, n * q_len
    if LISTED:
        count = tl.load(counts + entry * k_blocks + block)
        order += (entry * k_blocks + block) * q_blocks
    for step in range(0, count):
        code = 2 * step + 1
        if LISTED:
            code = tl.load(order + step)
        i = (code // 2) * ROWS + tl.arange(0, ROWS)
        rows, i = i < q_len, tl.minimum(i, q_len - 1)
        factor = tl.zeros([ROWS], tl.float32) + 1.0
        if FACTORS:
            factor = tl.load(factors + row + i)
        s = masked_scores(
            inputs, added, mask, entry, code, i, j, rows[:, None] & inside[None], factor, q_len, k_len, scale, softcap,
            D, SCORE, SOFTCAP, BIAS, FACTORS and NORMALIZER != SIGMOID, INTERVALS, IDS, BYTES, PART, PARTS, PRECISION,
        )  # fmt: skip
        lse, whole = tl.load(norms + row + i), tl.load(wholes + row + i)
        w, _ = _slopes(s, s, lse, whole, whole, whole, whole, a, KIND, NORMALIZER, SINKS, False)
        sums += tl.sum(w, 0)
    tl.store(out + n * k_len + block * KEYS + tl.arange(0, KEYS), sums, mask=inside)


@kernel
def draw(
    query, key, value, v, v_n, q_powers, k_powers, q_sizes, k_sizes, owners,
    starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks,
    bias, bias_n, bias_i, bias_j, align,
    order, counts,
    factors, norms, wholes, uniform, out,
    N, q_len, k_len, q_blocks, k_blocks, scale, softcap, a,
    D: tl.constexpr, E: tl.constexpr, SCORE: tl.constexpr, NORMALIZER: tl.constexpr, KIND: tl.constexpr, SOFTCAP: tl.constexpr,
    BIAS: tl.constexpr, FACTORS: tl.constexpr, SINKS: tl.constexpr,
    INTERVALS: tl.constexpr, IDS: tl.constexpr, BYTES: tl.constexpr, LISTED: tl.constexpr, PRECISION: tl.constexpr,
    PART: tl.constexpr, PARTS: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """out[n, i] = the first key with a running sum of weights above u Σ w, -1 if Σ w = 0.

    Two passes: the sum of the weights as they are added here, and the key. u Σ w may round up to the whole sum: then
    the last key with a weight is drawn.
    """
    n, block = (tl.program_id(0) // q_blocks).to(tl.int64), tl.program_id(0) % q_blocks
    i = block * ROWS + tl.arange(0, ROWS)
    there, i = i < q_len, tl.minimum(i, q_len - 1)
    entry = tl.load(owners + 3 * N + n).to(tl.int64)
    of_query, of_key = tl.load(owners + n).to(tl.int64), tl.load(owners + N + n).to(tl.int64)
    inputs = (
        query + of_query * q_len * D,
        key + of_key * k_len * D,
        v + n * v_n,
        q_powers + of_query * q_len * D,
        k_powers + of_key * k_len * D,
        q_sizes + of_query * q_len,
        k_sizes + of_key * k_len,
    )
    added = bias + tl.load(owners + 4 * N + n).to(tl.int64) * bias_n, bias_i, bias_j, align
    mask = starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks
    row = n * q_len
    factor = tl.zeros([ROWS], tl.float32) + 1.0
    if FACTORS:
        factor = tl.load(factors + row + i)
    lse, whole = tl.load(norms + row + i), tl.load(wholes + row + i)
    count = k_blocks
    if LISTED:
        count = tl.load(counts + entry * q_blocks + block)
        order += (entry * q_blocks + block) * k_blocks
    total, bound = tl.zeros([ROWS], tl.float32), tl.zeros([ROWS], tl.float32)
    chosen, last = tl.zeros([ROWS], tl.int32) - 1, tl.zeros([ROWS], tl.int32) - 1
    for turn in tl.static_range(2):
        if turn == 1:
            bound = total * tl.load(uniform + row + i)
            total = total * 0.0
        for step in range(0, count):
            code = 2 * step + 1
            if LISTED:
                code = tl.load(order + step)
            j = (code // 2) * KEYS + tl.arange(0, KEYS)
            inside, j = j < k_len, tl.minimum(j, k_len - 1)
            s = masked_scores(
                inputs, added, mask, entry, code, i, j, inside[None], factor, q_len, k_len, scale, softcap,
                D, SCORE, SOFTCAP, BIAS, FACTORS and NORMALIZER != SIGMOID, INTERVALS, IDS, BYTES, PART, PARTS, PRECISION,
            )  # fmt: skip
            w, _ = _slopes(s, s, lse, whole, whole, whole, whole, a, KIND, NORMALIZER, SINKS, False)
            if turn == 1:
                sums = total[:, None] + tl.cumsum(w, 1)
                first = tl.min(tl.where((sums > bound[:, None]) & (w > 0), j[None], 2147483647), 1)
                chosen = tl.where((chosen < 0) & (first < 2147483647), first, chosen)
                last = tl.maximum(last, tl.max(tl.where(w > 0, j[None], -1), 1))
            total += tl.sum(w, 1)
    tl.store(out + row + i, tl.where(chosen < 0, last, chosen), mask=there)
