"""Sums of weights over queries, draws, and the weights, all computed again."""

import triton.language as tl

from saccade.kernels.triton import kernel
from saccade.kernels.triton.tiles import (
    ALL,
    DOT,
    DROPOUT,
    after_parts,
    block_of,
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
)
from saccade.kernels.triton.weights import kept
from saccade.kernels.triton.weights import weights as weights_of


@kernel
def received(
    query, key, value, v, q_side, k_side,
    inner, query_1, query_2, key_1, key_2, value_1, value_2, mask_1, mask_2, bias_1, bias_2,
    starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks, low, high, firsts, lasts,
    bias, bias_i, bias_j, align,
    order, counts, factors, noise, q_len, k_len, scale, softcap, a, threshold, keep_scale,
    norms, wholes, out,
    D: tl.constexpr, E: tl.constexpr, SCORE: tl.constexpr, NORMALIZER: tl.constexpr, BIAS: tl.constexpr,
    MASK: tl.constexpr, FLAGS: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """out[n, j] = Σ_i w_ij, from each row's statistics; lists by key."""
    FROM: tl.constexpr = first_part(SCORE, key.dtype.element_ty)
    TO: tl.constexpr = after_parts(FROM)
    k_blocks = tl.cdiv(k_len, KEYS)
    n, block = (tl.program_id(0) // k_blocks).to(tl.int64), tl.program_id(0) % k_blocks
    n_1, n_2 = n // inner, n % inner
    entry = n_1 * mask_1 + n_2 * mask_2
    of_query, of_key = n_1 * query_1 + n_2 * query_2, n_1 * key_1 + n_2 * key_2
    inputs = inputs_of(query, key, v, q_side, k_side, n, of_query, of_key, q_len, k_len, D, FLAGS)
    added = bias + (n_1 * bias_1 + n_2 * bias_2), bias_i, bias_j, align
    mask = starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks, low, high, firsts, lasts
    lengths = q_len, k_len
    j = block * KEYS + tl.arange(0, KEYS)
    inside, j = j < k_len, tl.minimum(j, k_len - 1)
    sums, left = tl.zeros([KEYS], tl.float32), j
    if SCORE == DOT:
        left = rows_of(inputs[1], j, D, padded(D))
    blocks = walk(order, counts, mask, entry, block, q_len, k_len, ROWS, KEYS, BIAS, MASK, True)
    for part in tl.static_range(FROM, TO):
        for step in range(steps_of(blocks, part)):
            other, full = block_of(step, blocks, MASK, part)
            i = other * ROWS + tl.arange(0, ROWS)
            rows, i = (i < q_len)[None], tl.minimum(i, q_len - 1)
            row = n * q_len + i
            norm, whole, factor, _ = statistics_of(norms, wholes, factors, noise, row, NORMALIZER, FLAGS)
            right = i
            if SCORE == DOT:
                right = rows_of(inputs[0], i, D, padded(D))
            _, _, s = scores(
                inputs, left, right, added, mask, entry, full, i[None], j[:, None], rows, factor[None], lengths, scale,
                softcap, D, SCORE, BIAS, MASK, FLAGS, PRECISION, part,
            )  # fmt: skip
            w, _ = weights_of(s, norm[None], whole[None], a, NORMALIZER)
            sums += tl.sum(w, 1)
    tl.store(out + n * k_len + j, sums, mask=inside)


@kernel
def read(
    query, key, value, v, q_side, k_side,
    inner, query_1, query_2, key_1, key_2, value_1, value_2, mask_1, mask_2, bias_1, bias_2,
    starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks, low, high, firsts, lasts,
    bias, bias_i, bias_j, align,
    order, counts, factors, noise, q_len, k_len, scale, softcap, a, threshold, keep_scale,
    norms, wholes, uniform, out, logs,
    D: tl.constexpr, E: tl.constexpr, SCORE: tl.constexpr, NORMALIZER: tl.constexpr, BIAS: tl.constexpr,
    MASK: tl.constexpr, FLAGS: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
    DRAW: tl.constexpr,
):  # fmt: skip
    """The weights, out[n, i, j], or with DRAW one key of each row, out[n, i].

    A draw from weights after dropout is the first key with a running sum of weights above u Σ w, or -1 if not Σ w > 0.
    It takes two passes, since the sum is needed first. u Σ w may round up to the whole sum: then the last key with a
    weight is drawn. Beside it comes its log probability, logs[n, i], 0 for a row without a draw.
    """
    q_blocks = tl.cdiv(q_len, ROWS)
    n, block = (tl.program_id(0) // q_blocks).to(tl.int64), last_first(q_blocks)
    n_1, n_2 = n // inner, n % inner
    entry = n_1 * mask_1 + n_2 * mask_2
    of_query, of_key = n_1 * query_1 + n_2 * query_2, n_1 * key_1 + n_2 * key_2
    inputs = inputs_of(query, key, v, q_side, k_side, n, of_query, of_key, q_len, k_len, D, FLAGS)
    added = bias + (n_1 * bias_1 + n_2 * bias_2), bias_i, bias_j, align
    mask = starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks, low, high, firsts, lasts
    lengths = q_len, k_len
    i = block * ROWS + tl.arange(0, ROWS)
    there, i = i < q_len, tl.minimum(i, q_len - 1)
    row = n * q_len + i
    norm, whole, factor, dice = statistics_of(norms, wholes, factors, noise, row, NORMALIZER, FLAGS)
    left = i
    if SCORE == DOT:
        left = rows_of(inputs[0], i, D, padded(D))
    total, bound, picked = tl.zeros([ROWS], tl.float32), tl.zeros([ROWS], tl.float32), tl.zeros([ROWS], tl.float32)
    chosen, last, last_weight = tl.zeros([ROWS], tl.int32) - 1, tl.zeros([ROWS], tl.int32) - 1, picked
    blocks = walk(order, counts, mask, entry, block, q_len, k_len, ROWS, KEYS, BIAS, MASK, False)
    for turn in tl.static_range(2 if DRAW else 1):
        if turn == 1:
            bound = total * tl.load(uniform + row)
            total = total * 0.0
        for step in range(steps_of(blocks, ALL)):
            start, _, j, _, _, _, s = next_keys(
                step, blocks, inputs, left, added, mask, entry, i, factor, lengths, scale, softcap,
                D, SCORE, BIAS, MASK, FLAGS, PRECISION, KEYS, ALL,
            )  # fmt: skip
            w, _ = weights_of(s, norm[:, None], whole[:, None], a, NORMALIZER)
            if DRAW:
                if DROPOUT & FLAGS:
                    w = w * kept(dice[:, None], j[None], threshold, keep_scale)
                if turn == 1:
                    running = total[:, None] + tl.cumsum(w, 1)
                    first = tl.min(tl.where((running > bound[:, None]) & (w > 0), j[None], 2147483647), 1)
                    here = (chosen < 0) & (first < 2147483647)
                    chosen = tl.where(here, first, chosen)
                    picked = tl.where(here, tl.max(tl.where(j[None] == first[:, None], w, 0.0), 1), picked)
                    final = tl.max(tl.where(w > 0, j[None], -1), 1)
                    last_weight = tl.where(
                        final >= 0, tl.max(tl.where(j[None] == final[:, None], w, 0.0), 1), last_weight
                    )
                    last = tl.maximum(last, final)
                total += tl.sum(w, 1)
            else:
                inside = start + tl.arange(0, KEYS) < k_len
                tl.store(out + (row[:, None] * k_len + j[None]), w, mask=there[:, None] & inside[None])
    if DRAW:
        alive = total > 0
        picked = tl.where(chosen < 0, last_weight, picked)
        tl.store(out + row, tl.where(alive, tl.where(chosen < 0, last, chosen), -1), mask=there)
        safe = tl.where(alive, total, 1.0)
        tl.store(logs + row, tl.where(alive, tl.log(tl.where(alive, picked, 1.0)) - tl.log(safe), 0.0), mask=there)
