"""Attention of a block of queries in one launch, without weights in memory.

A program passes over the blocks of keys that its mask leaves, and keeps the running sum, maximum and output of its
rows (Milakov, Gimelshein 2018, and Dao et al. 2022, "FlashAttention", algorithm 1).
"""

import triton
import triton.language as tl

from saccade.kernels.triton import kernel
from saccade.kernels.triton.tiles import (
    DOT,
    DROPOUT,
    ENTROPY,
    FACTORS,
    SHIFTS,
    SINKS,
    after_parts,
    cleaned,
    first_part,
    inputs_of,
    last_first,
    next_keys,
    padded,
    rows_of,
    steps_of,
    walk,
)
from saccade.kernels.triton.weights import (
    ENTMAX,
    IDENTITY,
    SIGMOID,
    SOFTMAX,
    SUM,
    finite,
    kept,
    log_of_positive,
    newton_step,
    sparse_weights,
    weights,
)


@kernel
def forward(
    query, key, value, v, q_side, k_side,
    inner, query_1, query_2, key_1, key_2, value_1, value_2, mask_1, mask_2, bias_1, bias_2,
    starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, masks, low, high, firsts, lasts,
    bias, bias_i, bias_j, align,
    order, counts, factors, noise, q_len, k_len, scale, softcap, a, threshold, keep_scale,
    sinks, out, norms, wholes, entropies, top_weights, top_keys, eps, tolerance,
    D: tl.constexpr, E: tl.constexpr, SCORE: tl.constexpr, NORMALIZER: tl.constexpr, BIAS: tl.constexpr,
    MASK: tl.constexpr, FLAGS: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
    TOP: tl.constexpr, COUNT: tl.constexpr,
):  # fmt: skip
    """out = Σ_j w_ij v_j, with statistics of each row.

    Args:
        query, key, value: `(·, Lq, D)`, `(·, Lk, D)`, `(·, Lk, E)`.
        v: of additive scores, `(D,)`, or `(N, D)` with V_OF_ENTRIES.
        q_side, k_side: from `terms.powers`.
        inner, query_1, query_2: entry n reads query (n // inner) · query_1 + (n % inner) · query_2. Other tensors have
            such steps too. Steps of a bias are numbers, not entries.
        starts, ends, q_ids, k_ids, pairs, masks, low, high, firsts, lasts: as `tiles.allowed` takes them.
        bias, bias_i, bias_j: with strides of queries and keys.
        order, counts: as `lists.list_blocks` writes them, read if LISTED.
        factors: `(N, Lq)`: 1 / temperature, or the bias of a sigmoid.
        noise, threshold, keep_scale: `(N, Lq)` int64, as `weights.kept` takes them.
        sinks: `(N, Lq)`.
        out: `(N, Lq, E)`.
        norms, wholes: `(N, Lq)`, as `weights.weights` reads them. Norms of a softmax are lse without the sink.
        entropies: `(N, Lq)`. top_weights, top_keys: `(N, Lq, COUNT)`, falling; key -1 where the weight is 0.
        TOP: a power of two of at least COUNT.
        ROWS, KEYS: of a block.
    """
    WIDTH: tl.constexpr = padded(E)
    FROM: tl.constexpr = first_part(SCORE, key.dtype.element_ty, TOP > 0)  # ties of the largest go by the order of keys
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
    lengths = q_len, k_len
    i = block * ROWS + tl.arange(0, ROWS)
    there, i = i < q_len, tl.minimum(i, q_len - 1)
    row, e = n * q_len + i, tl.arange(0, WIDTH)
    zero = tl.zeros([ROWS], tl.float32)
    factor, dice = zero, zero.to(tl.uint32)
    if (FACTORS | SHIFTS) & FLAGS:
        factor = tl.load(factors + row)
    if DROPOUT & FLAGS:
        dice = tl.load(noise + row).to(tl.uint32)
    left = i
    if SCORE == DOT:
        left = rows_of(inputs[0], i, D, padded(D))
    blocks = walk(order, counts, mask, entry, block, q_len, k_len, ROWS, KEYS, BIAS, MASK, False)
    top, t = zero - float("inf"), zero
    if NORMALIZER >= ENTMAX:
        for part in tl.static_range(FROM, TO):
            for step in range(steps_of(blocks, part)):
                _, _, j, _, _, _, s = next_keys(
                    step, blocks, inputs, left, added, mask, entry, i, factor, lengths, scale, softcap,
                    D, SCORE, BIAS, MASK, FLAGS, PRECISION, KEYS, part,
                )  # fmt: skip
                top = tl.maximum(top, tl.max(tl.where(s == s, s, float("inf")), 1))  # a GPU's maximum passes over NaN
        apart = tl.abs(top) == float("inf")  # nothing is allowed, or the weights are NaN
        empty, top = top == -float("inf"), tl.where(top == float("inf"), float("nan"), finite(top))
        # Σ p falls in t: the solution lies between two trials. Exponentials of several cost more than rounds
        TRIALS: tl.constexpr = 1 if NORMALIZER == ENTMAX else 4
        high_t, c = zero + tl.minimum(tl.log(k_len * 1.0), 1.0 / a), tl.arange(0, TRIALS)
        move = tl.where(apart, 0.0, high_t + 1.0)
        going = tl.max(move) > tolerance
        for attempt in range(64):  # noqa: B007 a `while` fails in Triton 3.6
            if going:
                trial = t[:, None] + (high_t - t)[:, None] * (c[None] * (1.0 / TRIALS))
                masses, slopes = tl.zeros([ROWS, TRIALS], tl.float32), tl.zeros([ROWS, TRIALS], tl.float32)
                for part in tl.static_range(FROM, TO):
                    for step in range(steps_of(blocks, part)):
                        _, _, j, _, _, _, s = next_keys(
                            step, blocks, inputs, left, added, mask, entry, i, factor, lengths, scale, softcap,
                            D, SCORE, BIAS, MASK, FLAGS, PRECISION, KEYS, part,
                        )  # fmt: skip
                        for number in tl.static_range(TRIALS):
                            p, slope = sparse_weights(
                                s, top[:, None], (t + (high_t - t) * (number * (1.0 / TRIALS)))[:, None], a, NORMALIZER
                            )
                            masses += tl.where(c[None] == number, tl.sum(p, 1)[:, None], 0.0)
                            slopes += tl.where(c[None] == number, tl.sum(slope, 1)[:, None], 0.0)
                heavy = masses >= 1.0
                here = c[None] == tl.max(tl.where(heavy, c[None], 0), 1)[:, None]
                low_t = tl.sum(tl.where(here, trial, 0.0), 1)
                high_t = tl.min(tl.where(heavy, high_t[:, None], trial), 1)
                mass, slope = tl.sum(tl.where(here, masses, 0.0), 1), tl.sum(tl.where(here, slopes, 0.0), 1)
                right = newton_step(tl.where(apart, 1.0, mass), tl.where(apart, 1.0, slope), a, NORMALIZER)
                t = tl.minimum(tl.maximum(low_t + right, low_t), tl.maximum(high_t, low_t))
                move = tl.where(apart, 0.0, tl.minimum(t - low_t, high_t - low_t))
                going = tl.max(move) > tolerance
    acc = tl.zeros([ROWS, WIDTH], tl.float32)
    total, moment, below, below_moment = zero, zero, zero, zero
    if TOP > 0:
        best = tl.zeros([ROWS, TOP], tl.float32) - float("inf")
        chosen = tl.zeros([ROWS, TOP], tl.int32) - 1
    for part in tl.static_range(FROM, TO):
        for step in range(steps_of(blocks, part)):
            _, full, j, _, _, _, s = next_keys(
                step, blocks, inputs, left, added, mask, entry, i, factor, lengths, scale, softcap,
                D, SCORE, BIAS, MASK, FLAGS, PRECISION, KEYS, part,
            )  # fmt: skip
            rows = cleaned(rows_of(values, j, E, WIDTH), s, full, part)
            if NORMALIZER == SOFTMAX:
                higher = tl.maximum(top, tl.max(s, 1))
                shift = finite(higher)
                w, rescale = tl.exp(s - shift[:, None]), tl.exp(top - shift)
                if ENTROPY & FLAGS:
                    moved = tl.where(top == -float("inf"), 0.0, top - shift)
                    logs = tl.where(w > 0, w * (s - shift[:, None]), 0.0)
                    moment = rescale * (moment + total * moved) + tl.sum(logs, 1)
                total = total * rescale + tl.sum(w, 1)
                acc = acc * rescale[:, None]
                top = higher
            elif NORMALIZER >= ENTMAX:
                w, _ = sparse_weights(s, top[:, None], t[:, None], a, NORMALIZER)
                total += tl.sum(w, 1)
            else:
                w, _ = weights(s, zero[:, None] + 1.0, factor[:, None], a, NORMALIZER)
                total += tl.sum(w, 1)
            if (ENTROPY & FLAGS) and (NORMALIZER != SOFTMAX):
                moment += tl.sum(w * log_of_positive(w), 1)
                if NORMALIZER == SUM:  # the sum may have either sign
                    minus = tl.maximum(-w, 0.0)
                    below += tl.sum(minus, 1)
                    below_moment += tl.sum(minus * log_of_positive(minus), 1)
            if DROPOUT & FLAGS:
                w = w * kept(dice[:, None], j[None], threshold, keep_scale)
            acc = tl.dot(w.to(rows.dtype), rows, acc, input_precision=PRECISION)
            if TOP > 0:
                best, chosen = larger(s, j, best, chosen, ROWS, TOP)
    safe = tl.where(total == 0, 1.0, total)
    share, entropy, norm, whole = zero + 1.0, -moment, zero, zero
    if NORMALIZER == SOFTMAX:
        lse = tl.where(total == 0, -float("inf"), finite(top) + tl.log(safe))
        norm, whole = lse, lse
        share, entropy = 1.0 / safe, tl.where(total == 0, 0.0, tl.log(safe) - moment / safe)
        if SINKS & FLAGS:
            sink = tl.load(sinks + row)
            left = tl.where(total == 0, 0.0, 1.0 / (1.0 + tl.exp(sink - finite(lse))))
            entropy = left * (entropy - log_of_positive(left))
            share = share * left
            larger_one = tl.maximum(lse, sink)
            distance = tl.where(larger_one == -float("inf"), 0.0, tl.abs(lse - sink))  # NaN stays NaN
            whole = larger_one + tl.log(1.0 + tl.exp(-distance))
    elif NORMALIZER >= ENTMAX:
        share, entropy = tl.where(top == top, 1.0 / safe, top), tl.where(empty, 0.0, tl.log(safe) - moment / safe)
        entropy = tl.where(top == top, entropy, top)
        norm, whole = tl.where(empty, float("inf"), top + t), share
    elif NORMALIZER == SUM:
        divisor = total + eps
        share = tl.where((total == 0) | (divisor == 0), 0.0, 1.0 / tl.where(divisor == 0, 1.0, divisor))
        norm = share
        size = tl.abs(share)
        above = tl.where(share > 0, total + below, below)
        entropy = -size * (tl.where(share > 0, moment, below_moment) + above * log_of_positive(size))
    elif NORMALIZER == SIGMOID:
        whole = factor
    tl.store(norms + row, norm, mask=there)
    if (NORMALIZER >= ENTMAX) or (SINKS & FLAGS):
        tl.store(wholes + row, whole, mask=there)
    if ENTROPY & FLAGS:
        tl.store(entropies + row, entropy, mask=there)
    tl.store(
        out + n * q_len * E + (i[:, None] * E + e[None]), acc * share[:, None], mask=there[:, None] & (e < E)[None]
    )
    for k in tl.static_range(COUNT):
        higher = tl.max(best, 1)
        at = tl.min(tl.where(best == higher[:, None], chosen, 2147483647), 1)
        w, _ = weights(higher, norm, whole, a, NORMALIZER)
        tl.store(top_weights + row * COUNT + k, w, mask=there)
        here = chosen == at[:, None]
        if NORMALIZER != IDENTITY:
            at = tl.where(w == 0, -1, at)
        tl.store(top_keys + row * COUNT + k, at.to(tl.int64), mask=there)
        best, chosen = tl.where(here, -float("inf"), best), tl.where(here, -1, chosen)


@triton.jit
def larger(s, j, best, chosen, ROWS: tl.constexpr, TOP: tl.constexpr):
    """The TOP largest scores so far and their keys, with a tile added.

    Ties go to the lower key.
    """
    higher, lowest = tl.max(s, 1), tl.min(best, 1)
    slots = tl.arange(0, TOP)[None] + tl.zeros([ROWS, TOP], tl.int32)
    while tl.max((higher > lowest).to(tl.int32)) > 0:
        at = tl.min(tl.where(s == higher[:, None], j[None], 2147483647), 1)
        replaced = tl.max(tl.where(best == lowest[:, None], chosen, -2), 1)  # of equals the one of the highest key
        slot = tl.min(tl.where((best == lowest[:, None]) & (chosen == replaced[:, None]), slots, TOP), 1)
        here = (slots == slot[:, None]) & (higher > lowest)[:, None]
        best, chosen = tl.where(here, higher[:, None], best), tl.where(here, at[:, None], chosen)
        s = tl.where(j[None] == at[:, None], -float("inf"), s)
        higher, lowest = tl.max(s, 1), tl.min(best, 1)
    return best, chosen
