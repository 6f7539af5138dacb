"""Gradients of `fused.forward`, by blocks of queries and by blocks of keys.

Weights are computed again from each row's statistics (Dao et al. 2022, "FlashAttention", algorithm 4), for queries and
then for keys. Nothing is added atomically, so the same call gives the same bits.
"""

import triton
import triton.language as tl

from saccade.kernels.triton import kernel
from saccade.kernels.triton.terms import add_slopes, way_of
from saccade.kernels.triton.tiles import (
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
    after_parts,
    block_of,
    cleaned,
    first_part,
    inputs_of,
    last_first,
    next_keys,
    padded,
    rows_of,
    scores,
    statistics_of,
    steps_of,
    walk,
)  # fmt: skip
from saccade.kernels.triton.weights import (
    ENTMAX,
    IDENTITY,
    SIGMOID,
    finite,
    kept,
    log_of_positive,
    weights,
)

OF_OUTPUT, OF_LSE, OF_RECEIVED, OF_WEIGHTS, PULL, LEARNS = (
    tl.constexpr(128),
    tl.constexpr(256),
    tl.constexpr(512),
    tl.constexpr(1024),
    tl.constexpr(2048),
    tl.constexpr(4096),
)
"""More parts of FLAGS: gradients of results, a pass for δ, a bias that learns."""


@triton.jit
def gradients_of_weights(dp, w, keep, upstream, row, n, j, k_len, FLAGS: tl.constexpr, PICKS: tl.constexpr):
    """Gradients of a tile's weights.

    Args:
        dp: products of the output's gradients and values.
        keep: dropout's factors of weights.
        upstream: gradients of entropies, of received, of weights, and those of picked keys with their indices.
        row: row of each query.
    """
    entropy_grads, received_grads, weights_grads, pick_keys, pick_grads = upstream
    if DROPOUT & FLAGS:
        dp = dp * keep
    if OF_RECEIVED & FLAGS:
        dp += tl.load(received_grads + n * k_len + j)
    if OF_WEIGHTS & FLAGS:
        dp += tl.load(weights_grads + row * k_len + j)
    for k in range(PICKS):
        dp += tl.where(j == tl.load(pick_keys + row * PICKS + k), tl.load(pick_grads + row * PICKS + k), 0.0)
    if ENTROPY & FLAGS:
        dp -= tl.where(w > 0, tl.load(entropy_grads + row) * (1.0 + log_of_positive(w)), 0.0)
    return dp


@triton.jit
def slopes_of_lse(s, norm, lse_grads):
    """Gradients of scores by an lse beside a sink: its weights have no sink."""
    return tl.where(s == -float("inf"), 0.0, tl.load(lse_grads) * tl.exp(s - finite(norm)))


@kernel
def queries(
    query, key, value, v, q_side, k_side,
    inner, query_1, query_2, key_1, key_2, value_1, value_2, mask_1, mask_2, bias_1, bias_2,
    starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks, low, high, firsts, lasts,
    bias, bias_i, bias_j, align,
    order, counts, factors, noise, q_len, k_len, scale, softcap, a, threshold, keep_scale,
    norms, wholes, deltas, grads,
    entropy_grads, received_grads, weights_grads, pick_keys, pick_grads, lse_grads,
    entropies, output, query_grad, factor_grad, v_parts, bias_grad,
    D: tl.constexpr, E: tl.constexpr, SCORE: tl.constexpr, NORMALIZER: tl.constexpr, BIAS: tl.constexpr,
    MASK: tl.constexpr, FLAGS: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
    PICKS: tl.constexpr,
):  # fmt: skip
    """δ and gradients of a block of queries.

    The first arguments are those of `fused.forward`.

    Args:
        deltas: `(N, Lq)`, written here and read for keys. Gradients of scores are u (dp - δ).
        output, grads: `(N, Lq, E)`.
        lse_grads, entropy_grads: `(N, Lq)`. received_grads: `(N, Lk)`. weights_grads: `(N, Lq, Lk)`.
        pick_keys, pick_grads: `(N, Lq, PICKS)`: keys of single weights, -1 for none, and their gradients.
        query_grad: `(N, Lq, D)`. factor_grad: `(N, Lq)`. v_parts: `(N, blocks of queries, D)`.
        bias_grad: slopes `(N, Lq)`, sums of tables `(N, blocks of queries, 2 R + 1)`, or pairs `(N, Lq, Lk)`.
    """
    WIDTH: tl.constexpr = padded(E)
    FEATURES: tl.constexpr = padded(D)
    FROM: tl.constexpr = first_part(SCORE, key.dtype.element_ty)
    TO: tl.constexpr = after_parts(FROM)
    q_blocks = tl.cdiv(q_len, ROWS)
    n, block = (tl.program_id(0) // q_blocks).to(tl.int64), last_first(q_blocks)
    n_1, n_2 = n // inner, n % inner
    entry = n_1 * mask_1 + n_2 * mask_2
    of_query, of_key = n_1 * query_1 + n_2 * query_2, n_1 * key_1 + n_2 * key_2
    inputs = inputs_of(query, key, v, q_side, k_side, n, of_query, of_key, q_len, k_len, D, FLAGS)
    values = value + (n_1 * value_1 + n_2 * value_2) * k_len * E
    added = bias + (n_1 * bias_1 + n_2 * bias_2), bias_i, bias_j, align
    mask = starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks, low, high, firsts, lasts
    upstream = entropy_grads, received_grads, weights_grads, pick_keys, pick_grads
    upstream_rows, lengths = grads + n * q_len * E, (q_len, k_len)
    d, i = tl.arange(0, FEATURES), block * ROWS + tl.arange(0, ROWS)
    there, i = i < q_len, tl.minimum(i, q_len - 1)
    row = n * q_len + i
    norm, whole, factor, dice = statistics_of(norms, wholes, factors, noise, row, NORMALIZER, FLAGS)
    do, left = i, i
    if OF_OUTPUT & FLAGS:
        do = rows_of(upstream_rows, i, E, WIDTH)
    if SCORE == DOT:
        left = rows_of(inputs[0], i, D, FEATURES)
    blocks = walk(order, counts, mask, entry, block, q_len, k_len, ROWS, KEYS, BIAS, MASK, False)
    delta = tl.zeros([ROWS], tl.float32)
    if PULL & FLAGS:
        mass = tl.zeros([ROWS], tl.float32)
        for part in tl.static_range(FROM, TO):
            for step in range(steps_of(blocks, part)):
                _, _, j, right, _, _, s = next_keys(
                    step, blocks, inputs, left, added, mask, entry, i, factor, lengths, scale, softcap,
                    D, SCORE, BIAS, MASK, FLAGS, PRECISION, KEYS, part,
                )  # fmt: skip
                w, u = weights(s, norm[:, None], whole[:, None], a, NORMALIZER)
                dp, keep = tl.zeros([ROWS, KEYS], tl.float32), w
                if OF_OUTPUT & FLAGS:
                    dp = tl.dot(do, tl.trans(rows_of(values, j, E, WIDTH)), input_precision=PRECISION)
                if DROPOUT & FLAGS:
                    keep = kept(dice[:, None], j[None], threshold, keep_scale)
                dp = gradients_of_weights(dp, w, keep, upstream, row[:, None], n, j[None], k_len, FLAGS, PICKS)
                if NORMALIZER >= ENTMAX:
                    delta += tl.sum(tl.where(u != 0, u * dp, 0.0), 1)
                    mass += tl.sum(u, 1)
                else:
                    delta += tl.sum(tl.where(w != 0, w * dp, 0.0), 1)
        if NORMALIZER >= ENTMAX:
            delta = delta / tl.where(mass == 0, 1.0, mass)
    elif (NORMALIZER != SIGMOID) and (NORMALIZER != IDENTITY):
        if OF_OUTPUT & FLAGS:
            out = rows_of(output + n * q_len * E, i, E, WIDTH)
            delta = tl.sum(do.to(tl.float32) * out.to(tl.float32), 1)
        if ENTROPY & FLAGS:  # of a softmax without a sink: Σ w (1 + log w) = 1 - H
            delta += tl.load(entropy_grads + row) * (tl.load(entropies + row) - 1.0)
    if (OF_LSE & FLAGS) and ((SINKS & FLAGS) == 0):
        delta -= tl.load(lse_grads + row)
    tl.store(deltas + row, delta, mask=there)
    of_query, sums = tl.zeros([ROWS, FEATURES], tl.float32), tl.zeros([ROWS], tl.float32)
    of_factor, of_slope, of_v = sums, sums, of_query
    for part in tl.static_range(FROM, TO):
        for step in range(steps_of(blocks, part)):
            start, full, j, right, raw, biased, s = next_keys(
                step, blocks, inputs, left, added, mask, entry, i, factor, lengths, scale, softcap,
                D, SCORE, BIAS, MASK, FLAGS, PRECISION, KEYS, part,
            )  # fmt: skip
            w, u = weights(s, norm[:, None], whole[:, None], a, NORMALIZER)
            dp, keep = tl.zeros([ROWS, KEYS], tl.float32), w
            if OF_OUTPUT & FLAGS:
                dp = tl.dot(do, tl.trans(rows_of(values, j, E, WIDTH)), input_precision=PRECISION)
            if DROPOUT & FLAGS:
                keep = kept(dice[:, None], j[None], threshold, keep_scale)
            dp = gradients_of_weights(dp, w, keep, upstream, row[:, None], n, j[None], k_len, FLAGS, PICKS)
            ds = tl.where(u != 0, u * (dp - delta[:, None]), 0.0)
            if (OF_LSE & FLAGS) and (SINKS & FLAGS):
                ds += slopes_of_lse(s, norm[:, None], lse_grads + row[:, None])
            if (SCORE == ADDITIVE) or (BIAS == TABLE):  # which add over rows
                ds = tl.where(there[:, None], ds, 0.0)
            if SHIFTS & FLAGS:
                of_factor += tl.sum(ds, 1)
            if FACTORS & FLAGS:
                of_factor += tl.sum(tl.where(ds != 0, ds * biased, 0.0), 1)
                ds = ds * factor[:, None]
            if LEARNS & FLAGS:
                if BIAS == SLOPE:
                    of_slope -= tl.sum(ds * tl.abs(i[:, None] + align - j[None]).to(tl.float32), 1)
                elif BIAS == TABLE:
                    table = bias_grad + (n * q_blocks + block) * (2 * bias_i + 1)
                    add_diagonals(ds, table, block * ROWS + align, start, bias_i, ROWS, KEYS)
                else:
                    inside = start + tl.arange(0, KEYS) < k_len
                    tl.store(bias_grad + (row[:, None] * k_len + j[None]), ds, mask=there[:, None] & inside[None])
            if SOFTCAP & FLAGS:
                ds = tl.where(ds != 0, ds * (1.0 - (raw / softcap) * (raw / softcap)), 0.0)
            if SCORE == ADDITIVE:
                way = way_of(inputs[3], inputs[4], i, j, k_len, D)
                of_query, of_v = add_slopes(
                    ds, inputs[:2], way, i, start, k_len, of_query, of_v, D, FEATURES, KEYS, True
                )
            else:
                if SCORE == DISTANCE:
                    right = rows_of(inputs[1], j, D, FEATURES)
                    sums += tl.sum(ds, 1)
                right = cleaned(right, s, full, part)
                of_query = tl.dot(ds.to(right.dtype), right, of_query, input_precision=PRECISION)
    if SCORE == DISTANCE:  # 2 Σ ds (q - k)
        of_query = 2.0 * (sums[:, None] * rows_of(inputs[0], i, D, FEATURES).to(tl.float32) - of_query)
    if SCORE == ADDITIVE:
        of_query = of_query * (4.0 * tl.load(inputs[2] + d, mask=d < D, other=0.0).to(tl.float32))[None]
    else:
        of_query = scale * of_query
    at = query_grad + n * q_len * D + (i[:, None] * D + d[None])
    tl.store(at, of_query, mask=there[:, None] & (d < D)[None])
    if (FACTORS | SHIFTS) & FLAGS:
        tl.store(factor_grad + row, of_factor, mask=there)
    if (LEARNS & FLAGS) and (BIAS == SLOPE):
        tl.store(bias_grad + row, of_slope, mask=there)
    if SCORE == ADDITIVE:
        tl.store(v_parts + (n * q_blocks + block) * D + d, tl.sum(of_v, 0), mask=d < D)


@kernel
def keys(
    query, key, value, v, q_side, k_side,
    inner, query_1, query_2, key_1, key_2, value_1, value_2, mask_1, mask_2, bias_1, bias_2,
    starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks, low, high, firsts, lasts,
    bias, bias_i, bias_j, align,
    order, counts, factors, noise, q_len, k_len, scale, softcap, a, threshold, keep_scale,
    norms, wholes, deltas, grads,
    entropy_grads, received_grads, weights_grads, pick_keys, pick_grads, lse_grads,
    key_grad, value_grad,
    D: tl.constexpr, E: tl.constexpr, SCORE: tl.constexpr, NORMALIZER: tl.constexpr, BIAS: tl.constexpr,
    MASK: tl.constexpr, FLAGS: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
    PICKS: tl.constexpr,
):  # fmt: skip
    """Gradients of a block of keys and values, after those of queries.

    The first arguments are those of `queries`.

    Args:
        key_grad: `(N, Lk, D)`. value_grad: `(N, Lk, E)`.
    """
    WIDTH: tl.constexpr = padded(E)
    FEATURES: tl.constexpr = padded(D)
    FROM: tl.constexpr = first_part(SCORE, key.dtype.element_ty)
    TO: tl.constexpr = after_parts(FROM)
    k_blocks = tl.cdiv(k_len, KEYS)
    n, block = (tl.program_id(0) // k_blocks).to(tl.int64), tl.program_id(0) % k_blocks
    n_1, n_2 = n // inner, n % inner
    entry = n_1 * mask_1 + n_2 * mask_2
    of_query, of_key = n_1 * query_1 + n_2 * query_2, n_1 * key_1 + n_2 * key_2
    inputs = inputs_of(query, key, v, q_side, k_side, n, of_query, of_key, q_len, k_len, D, FLAGS)
    values = value + (n_1 * value_1 + n_2 * value_2) * k_len * E
    added = bias + (n_1 * bias_1 + n_2 * bias_2), bias_i, bias_j, align
    mask = starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks, low, high, firsts, lasts
    upstream = entropy_grads, received_grads, weights_grads, pick_keys, pick_grads
    upstream_rows, lengths = grads + n * q_len * E, (q_len, k_len)
    d, e, j = tl.arange(0, FEATURES), tl.arange(0, WIDTH), block * KEYS + tl.arange(0, KEYS)
    inside, j = j < k_len, tl.minimum(j, k_len - 1)
    vs, right = rows_of(values, j, E, WIDTH), j
    if SCORE == DOT:
        right = rows_of(inputs[1], j, D, FEATURES)
    of_key, sums = tl.zeros([KEYS, FEATURES], tl.float32), tl.zeros([KEYS], tl.float32)
    of_value = tl.zeros([KEYS, WIDTH], tl.float32)
    blocks = walk(order, counts, mask, entry, block, q_len, k_len, ROWS, KEYS, BIAS, MASK, True)
    for part in tl.static_range(FROM, TO):
        for step in range(steps_of(blocks, part)):
            other, full = block_of(step, blocks, MASK, part)
            start = other * ROWS
            i = start + tl.arange(0, ROWS)
            there, i = i < q_len, tl.minimum(i, q_len - 1)
            row = n * q_len + i
            norm, whole, factor, dice = statistics_of(norms, wholes, factors, noise, row, NORMALIZER, FLAGS)
            left = i
            if SCORE != ADDITIVE:
                left = rows_of(inputs[0], i, D, FEATURES)
            raw, _, s = scores(
                inputs, right, left, added, mask, entry, full, i[None], j[:, None], there[None], factor[None], lengths,
                scale, softcap, D, SCORE, BIAS, MASK, FLAGS, PRECISION, part,
            )  # fmt: skip
            w, u = weights(s, norm[None], whole[None], a, NORMALIZER)
            do, keep = i, w
            dp, dropped = tl.zeros([KEYS, ROWS], tl.float32), w
            if OF_OUTPUT & FLAGS:
                do = rows_of(upstream_rows, i, E, WIDTH)
                dp = tl.dot(vs, tl.trans(do), input_precision=PRECISION)
            if DROPOUT & FLAGS:
                keep = kept(dice[None], j[:, None], threshold, keep_scale)
                dropped = w * keep
            if OF_OUTPUT & FLAGS:
                of_value = tl.dot(dropped.to(do.dtype), do, of_value, input_precision=PRECISION)
            dp = gradients_of_weights(dp, w, keep, upstream, row[None], n, j[:, None], k_len, FLAGS, PICKS)
            ds = tl.where(u != 0, u * (dp - tl.load(deltas + row)[None]), 0.0)
            if (OF_LSE & FLAGS) and (SINKS & FLAGS):
                ds += slopes_of_lse(s, norm[None], lse_grads + row[None])
            if FACTORS & FLAGS:
                ds = ds * factor[None]
            if SOFTCAP & FLAGS:
                ds = tl.where(ds != 0, ds * (1.0 - (raw / softcap) * (raw / softcap)), 0.0)
            if SCORE == ADDITIVE:
                way = way_of(inputs[3], inputs[4], i, j, k_len, D)
                of_key, _ = add_slopes(
                    ds, (inputs[1], inputs[0]), way, j, start, q_len, of_key, of_key,
                    D, FEATURES, ROWS, False,
                )  # fmt: skip
            else:
                if SCORE == DISTANCE:
                    sums += tl.sum(ds, 1)
                left = cleaned(left, s, full, part)
                of_key = tl.dot(ds.to(left.dtype), left, of_key, input_precision=PRECISION)
    if SCORE == DISTANCE:  # 2 Σ ds (k - q)
        of_key = 2.0 * (sums[:, None] * rows_of(inputs[1], j, D, FEATURES).to(tl.float32) - of_key)
    if SCORE == ADDITIVE:
        of_key = of_key * (4.0 * tl.load(inputs[2] + d, mask=d < D, other=0.0).to(tl.float32))[None]
    else:
        of_key = scale * of_key
    at = key_grad + n * k_len * D + (j[:, None] * D + d[None])
    tl.store(at, of_key, mask=inside[:, None] & (d < D)[None])
    at = value_grad + n * k_len * E + (j[:, None] * E + e[None])
    tl.store(at, of_value, mask=inside[:, None] & (e < E)[None])


@triton.jit
def add_diagonals(ds, table, i, j, radius, ROWS: tl.constexpr, KEYS: tl.constexpr):
    """Add the sums of a tile's diagonals to a table of 2 R + 1.

    The outer diagonals go to its ends. This program alone writes there. The barrier keeps its threads from reading
    before others have written.

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
