"""Gradients of `fused.forward`: of a block of queries, and of a block of keys and values.

Weights are computed again from each row's statistics (Dao et al. 2022, "FlashAttention", algorithm 4), for queries and
then for keys. Nothing is added atomically, so the same call gives the same bits.
"""

import triton
import triton.language as tl

from saccade.kernels.triton import kernel
from saccade.kernels.triton.terms import add_slopes
from saccade.kernels.triton.tiles import (  # fmt: skip
    ADDITIVE,
    DISTANCE,
    DOT,
    DROPOUT,
    ENTROPY,
    FACTORS,
    SHIFTS,
    SINKS,
    SLOPE,
    SOFTCAP,
    TABLE,
    code_of,
    inputs_of,
    next_keys,
    padded,
    rows_of,
    scores,
    values_of,
    walk,
)
from saccade.kernels.triton.weights import (
    ENTMAX,
    IDENTITY,
    SIGMOID,
    finite,
    kept,
    log_of_positive,
    weights,
)

OF_OUTPUT, OF_LSE, OF_RECEIVED, OF_WEIGHTS, OF_SUMS, PULL, LEARNS = (
    tl.constexpr(128),
    tl.constexpr(256),
    tl.constexpr(512),
    tl.constexpr(1024),
    tl.constexpr(2048),
    tl.constexpr(4096),
    tl.constexpr(8192),
)
"""More parts of FLAGS: which gradients come, whether δ takes a pass of its own, and whether the bias learns."""


@triton.jit
def gradients_of_weights(
    w, do, vs, upstream, row, n, i, j, k_len, keep,
    FLAGS: tl.constexpr, PICKS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Gradients of a tile's weights, `(M, N)`.

    Args:
        do, vs: rows of the output's gradient, and of values.
        upstream: gradients of entropies, of received, of weights, of sums of dropped weights, and those of picked keys
            with their indices.
        row: row of each query. keep: what dropout multiplies weights by.
    """
    entropy_grads, received_grads, weights_grads, sums_grads, pick_keys, pick_grads = upstream
    dp = tl.zeros_like(w)
    if OF_OUTPUT & FLAGS:
        dp = tl.dot(do, tl.trans(vs), input_precision=PRECISION)
    if OF_SUMS & FLAGS:
        dp += tl.load(sums_grads + row)[:, None]
    if DROPOUT & FLAGS:
        dp = dp * keep
    if OF_RECEIVED & FLAGS:
        dp += tl.load(received_grads + n * k_len + j)[None]
    if OF_WEIGHTS & FLAGS:
        dp += tl.load(weights_grads + row[:, None] * k_len + j[None])
    for k in range(PICKS):
        picked, grad = tl.load(pick_keys + row * PICKS + k), tl.load(pick_grads + row * PICKS + k)
        dp += tl.where(j[None] == picked[:, None], grad[:, None], 0.0)
    if ENTROPY & FLAGS:
        dp -= tl.where(w > 0, tl.load(entropy_grads + row)[:, None] * (1.0 + log_of_positive(w)), 0.0)
    return dp


@kernel
def backward(
    query, key, value, v, q_side, k_side,
    inner, query_1, query_2, key_1, key_2, value_1, value_2, mask_1, mask_2, bias_1, bias_2,
    starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks, low, high, firsts, lasts,
    bias, bias_i, bias_j, align,
    order, counts, factors, noise, q_len, k_len, scale, softcap, a, threshold, keep_scale,
    norms, wholes, entropies, deltas, output,
    grads, lse_grads, entropy_grads, received_grads, weights_grads, sums_grads, pick_keys, pick_grads,
    mine_grad, value_grad, factor_grad, v_parts, bias_grad,
    D: tl.constexpr, E: tl.constexpr, SCORE: tl.constexpr, NORMALIZER: tl.constexpr, BIAS: tl.constexpr,
    MASK: tl.constexpr, FLAGS: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
    PICKS: tl.constexpr, BY_KEY: tl.constexpr,
):  # fmt: skip
    """Gradients of a block of queries, after their δ; with BY_KEY those of a block of keys and values.

    Args: as of `fused.forward`, and
        deltas: `(N, Lq)`, written for queries and read for keys: gradients of scores are u (dp - δ).
        output, grads: `(N, Lq, E)`.
        lse_grads, entropy_grads, sums_grads: `(N, Lq)`. received_grads: `(N, Lk)`. weights_grads: `(N, Lq, Lk)`.
        pick_keys, pick_grads: `(N, Lq, PICKS)`: keys of single weights, -1 for none, and their gradients.
        mine_grad: of queries `(N, Lq, D)`, or of keys `(N, Lk, D)`. value_grad: `(N, Lk, E)`. factor_grad: `(N, Lq)`.
        v_parts: `(N, blocks of queries, D)`.
        bias_grad: of slopes `(N, Lq)`; of tables `(N, blocks of queries, 2 R + 1)`, added to; or `(N, Lq, Lk)`.
    """
    WIDTH: tl.constexpr = padded(E)
    FEATURES: tl.constexpr = padded(D)
    q_blocks, mine = tl.cdiv(q_len, ROWS), tl.cdiv(q_len, ROWS)
    if BY_KEY:
        mine = tl.cdiv(k_len, KEYS)
    n, block = (tl.program_id(0) // mine).to(tl.int64), tl.program_id(0) % mine
    n_1, n_2 = n // inner, n % inner
    entry = n_1 * mask_1 + n_2 * mask_2
    of_query, of_key = n_1 * query_1 + n_2 * query_2, n_1 * key_1 + n_2 * key_2
    inputs = inputs_of(query, key, v, q_side, k_side, n, of_query, of_key, q_len, k_len, D, FLAGS)
    values = value + (n_1 * value_1 + n_2 * value_2) * k_len * E
    added = bias + (n_1 * bias_1 + n_2 * bias_2), bias_i, bias_j, align
    mask = starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks, low, high, firsts, lasts
    upstream = entropy_grads, received_grads, weights_grads, sums_grads, pick_keys, pick_grads
    lengths = q_len, k_len
    e, d = tl.arange(0, WIDTH), tl.arange(0, FEATURES)
    count, blocks = walk(order, counts, mask, entry, block, q_len, k_len, ROWS, KEYS, MASK, BY_KEY)
    SIZE: tl.constexpr = ROWS if BY_KEY else KEYS
    MINE: tl.constexpr = KEYS if BY_KEY else ROWS
    of_mine, sums = tl.zeros([MINE, FEATURES], tl.float32), tl.zeros([MINE], tl.float32)
    of_value, of_v = tl.zeros([MINE, WIDTH], tl.float32), tl.zeros([FEATURES], tl.float32)
    of_factor, of_slope = tl.zeros([MINE], tl.float32), tl.zeros([MINE], tl.float32)
    delta = tl.zeros([ROWS], tl.float32)
    if (not BY_KEY) and (NORMALIZER != SIGMOID) and (NORMALIZER != IDENTITY):
        i = block * ROWS + tl.arange(0, ROWS)
        rows, i = i < q_len, tl.minimum(i, q_len - 1)
        row = n * q_len + i
        norm = tl.load(norms + row)
        whole = norm
        if (NORMALIZER >= ENTMAX) or (SINKS & FLAGS):
            whole = tl.load(wholes + row)
        do = rows_of(grads + n * q_len * E, i, E, WIDTH)
        if PULL & FLAGS:
            factor, dice, mass, left = delta, delta.to(tl.uint32), delta, i
            if SCORE == DOT:
                left = rows_of(inputs[0], i, D, FEATURES)
            if FACTORS & FLAGS:
                factor = tl.load(factors + row)
            if DROPOUT & FLAGS:
                dice = tl.load(noise + row).to(tl.uint32)
            for step in range(count):
                code, j, s = next_keys(
                    step, blocks, inputs, left, added, mask, entry, i, factor, lengths, scale, softcap,
                    D, SCORE, BIAS, MASK, FLAGS, PRECISION, KEYS,
                )  # fmt: skip
                vs = values_of(values, s, j, code, E)
                w, u = weights(s, norm, whole, a, NORMALIZER)
                keep = w
                if DROPOUT & FLAGS:
                    keep = kept(dice, j, threshold, keep_scale)
                dp = gradients_of_weights(w, do, vs, upstream, row, n, i, j, k_len, keep, FLAGS, PICKS, PRECISION)
                if NORMALIZER >= ENTMAX:
                    delta += tl.sum(tl.where(u != 0, u * dp, 0.0), 1)
                    mass += tl.sum(u, 1)
                else:
                    delta += tl.sum(tl.where(w != 0, w * dp, 0.0), 1)
            if NORMALIZER >= ENTMAX:
                delta = delta / tl.where(mass == 0, 1.0, mass)
        else:
            if OF_OUTPUT & FLAGS:
                out = rows_of(output + n * q_len * E, i, E, WIDTH)
                delta = tl.sum(do.to(tl.float32) * out.to(tl.float32), 1)
            if ENTROPY & FLAGS:  # of a softmax without a sink: Σ w (1 + log w) = 1 - H
                delta += tl.load(entropy_grads + row) * (tl.load(entropies + row) - 1.0)
        if OF_LSE & FLAGS:
            delta -= tl.load(lse_grads + row) * tl.exp(finite(whole) - finite(norm))
        tl.store(deltas + row, delta, mask=rows)
    for step in range(count):
        code = code_of(step, blocks, SIZE, MASK, BIAS)
        if BY_KEY:
            i, j = (code // 2) * ROWS + tl.arange(0, ROWS), block * KEYS + tl.arange(0, KEYS)
        else:
            i, j = block * ROWS + tl.arange(0, ROWS), (code // 2) * KEYS + tl.arange(0, KEYS)
        rows, inside = i < q_len, j < k_len
        i, j = tl.minimum(i, q_len - 1), tl.minimum(j, k_len - 1)
        row = n * q_len + i
        norm = tl.load(norms + row)
        whole, factor, keep = norm, tl.zeros_like(norm), norm
        if (NORMALIZER >= ENTMAX) or (SINKS & FLAGS):
            whole = tl.load(wholes + row)
        if (FACTORS | SHIFTS) & FLAGS:
            factor = tl.load(factors + row)
        if NORMALIZER == SIGMOID:
            whole = factor
        left, right = i, j
        if (SCORE != ADDITIVE) and ((SCORE == DOT) or BY_KEY):
            left = rows_of(inputs[0], i, D, FEATURES)
        if (SCORE != ADDITIVE) and ((SCORE == DOT) or (not BY_KEY)):
            right = rows_of(inputs[1], j, D, FEATURES)
        raw, biased, s = scores(
            inputs, left, right, added, mask, entry, code, i, j, rows[:, None] & inside[None], factor, lengths, scale,
            softcap, D, SCORE, BIAS, MASK, FLAGS, PRECISION,
        )  # fmt: skip
        do, vs = rows_of(grads + n * q_len * E, i, E, WIDTH), values_of(values, s, j, code, E)
        if SCORE != ADDITIVE:  # noqa: SIM102 (known when compiled)
            if code % 2 == 0:  # 0 times NaN is NaN
                used = (s != -float("inf")).to(tl.int32)
                if BY_KEY:
                    left = tl.where((tl.max(used, 1) > 0)[:, None], left, 0.0)
                else:
                    right = tl.where((tl.max(used, 0) > 0)[:, None], right, 0.0)
        w, u = weights(s, norm, whole, a, NORMALIZER)
        dropped = w
        if DROPOUT & FLAGS:
            keep = kept(tl.load(noise + row).to(tl.uint32), j, threshold, keep_scale)
            dropped = w * keep
        dp = gradients_of_weights(w, do, vs, upstream, row, n, i, j, k_len, keep, FLAGS, PICKS, PRECISION)
        if (NORMALIZER != SIGMOID) and (NORMALIZER != IDENTITY):
            if BY_KEY:
                delta = tl.load(deltas + row)
            dp = dp - delta[:, None]
        ds = tl.where(u != 0, u * dp, 0.0)
        if (not BY_KEY) and ((SCORE == ADDITIVE) or (BIAS == TABLE)):  # which add over rows
            ds = tl.where(rows[:, None], ds, 0.0)
        if BY_KEY:
            if OF_OUTPUT & FLAGS:
                of_value = tl.dot(tl.trans(dropped).to(do.dtype), do, of_value, input_precision=PRECISION)
        elif SHIFTS & FLAGS:
            of_factor += tl.sum(ds, 1)
        elif FACTORS & FLAGS:
            of_factor += tl.sum(tl.where(ds != 0, ds * biased, 0.0), 1)
        if FACTORS & FLAGS:
            ds = ds * factor[:, None]
        if (LEARNS & FLAGS) and (not BY_KEY):
            if BIAS == SLOPE:
                of_slope -= tl.sum(ds * tl.abs(i[:, None] + align - j[None]).to(tl.float32), 1)
            elif BIAS == TABLE:
                table = bias_grad + (n * q_blocks + block) * (2 * bias_i + 1)
                add_diagonals(ds, table, block * ROWS + align, (code // 2) * KEYS, bias_i, ROWS, KEYS)
            else:
                tl.store(bias_grad + (row[:, None] * k_len + j[None]), ds, mask=rows[:, None] & inside[None])
        if SOFTCAP & FLAGS:
            ds = tl.where(ds != 0, ds * (1.0 - (raw / softcap) * (raw / softcap)), 0.0)
        if SCORE == ADDITIVE:
            of_mine, of_v = add_slopes(ds, inputs, of_mine, of_v, i, j, k_len, D, FEATURES, BY_KEY)
        elif BY_KEY:
            of_mine = tl.dot(tl.trans(ds).to(left.dtype), left, of_mine, input_precision=PRECISION)
            sums += tl.sum(ds, 0)
        else:
            of_mine = tl.dot(ds.to(right.dtype), right, of_mine, input_precision=PRECISION)
            sums += tl.sum(ds, 1)
    at, length = block * MINE + tl.arange(0, MINE), q_len * 1
    if BY_KEY:
        length = k_len * 1
    inside, m = (at < length), tl.minimum(at, length - 1)
    if SCORE == DISTANCE:  # of queries 2 Σ ds (q - k)
        side = inputs[0]
        if BY_KEY:
            side = inputs[1]
        of_mine = 2.0 * (sums[:, None] * rows_of(side, m, D, FEATURES).to(tl.float32) - of_mine)
    if SCORE != ADDITIVE:
        of_mine = scale * of_mine
    tl.store(mine_grad + n * length * D + (m[:, None] * D + d[None]), of_mine, mask=inside[:, None] & (d < D)[None])
    if BY_KEY:
        tl.store(
            value_grad + n * k_len * E + (m[:, None] * E + e[None]), of_value, mask=inside[:, None] & (e < E)[None]
        )
    else:
        if (FACTORS | SHIFTS) & FLAGS:
            tl.store(factor_grad + n * q_len + m, of_factor, mask=inside)
        if (LEARNS & FLAGS) and (BIAS == SLOPE):
            tl.store(bias_grad + n * q_len + m, of_slope, mask=inside)
        if SCORE == ADDITIVE:
            tl.store(v_parts + (n * q_blocks + block) * D + d, of_v, mask=d < D)


@triton.jit
def add_diagonals(ds, table, i, j, radius, ROWS: tl.constexpr, KEYS: tl.constexpr):
    """Add the sums of a tile's diagonals to a table of 2 R + 1, the outer ones to its ends.

    This program alone writes there. The barrier keeps its threads from reading before others have written.

    Args:
        i, j: the first query, with align, and the first key.
    """
    SPAN: tl.constexpr = 2 * (ROWS if ROWS > KEYS else KEYS)
    r, far = tl.arange(0, ROWS)[:, None], tl.arange(0, SPAN)[None] - ROWS
    column = r + far
    skewed = tl.gather(ds, tl.minimum(tl.maximum(column, 0), KEYS - 1), 1)
    sums = tl.sum(tl.where((column >= 0) & (column < KEYS), skewed, 0.0), 0)
    far = j - i + tl.arange(0, SPAN) - ROWS
    inner = (far > -radius) & (far < radius)
    at = table + tl.where(inner, far + radius, 0)
    before = tl.load(at, mask=inner, other=0.0)
    first, last = tl.load(table), tl.load(table + 2 * radius)
    tl.debug_barrier()
    tl.store(at, before + sums, mask=inner)
    below, above = tl.sum(tl.where(far <= -radius, sums, 0.0)), tl.sum(tl.where(far >= radius, sums, 0.0))
    if radius == 0:
        tl.store(table, first + tl.sum(sums))
    else:
        tl.store(table, first + below)
        tl.store(table + 2 * radius, last + above)
    tl.debug_barrier()
