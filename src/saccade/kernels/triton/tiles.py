"""Tiles of scores in registers: a block of queries by a block of keys.

Queries lie along one axis of a tile and keys along the other. The rows that a program keeps lie along the first axis.
Passes over blocks of keys have queries there, `(M, 1)` and `(1, N)`, and passes over blocks of queries have keys there.
Functions of a tile take positions i and j that broadcast to it.

A mask is a union of intervals of keys for each query, a band about the diagonal, an interval of keys for all queries,
equal ids of documents, and bytes of pairs. Each part is optional, and all of those present are necessary. A program
visits the blocks that the mask does not empty, from a range that it computes or from a list. Those of one run in it are
full: they read no mask. With products of half types, one loop goes over the others and a second over the full run:
without a branch the blocks to come are loaded ahead. Else one loop takes all in order, since a second costs registers.
"""

import triton
import triton.language as tl

from saccade.kernels.triton.terms import distances, tanh, terms
from saccade.kernels.triton.weights import ENTMAX, SIGMOID

DOT, ADDITIVE, DISTANCE = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
"""Scores: q · k; v · tanh(q + k); ‖q − k‖²."""

SLOPE, TABLE, PAIRS = tl.constexpr(1), tl.constexpr(2), tl.constexpr(3)
"""Biases: -slope |i + align - j|, table[clip(j - i - align) + R], or of pairs."""

IDS, BYTES, BAND, FIRST, LISTED = tl.constexpr(1), tl.constexpr(2), tl.constexpr(4), tl.constexpr(8), tl.constexpr(16)
END, INTERVAL = tl.constexpr(32), tl.constexpr(64)
"""Parts of a mask, added up to MASK, with INTERVAL for each interval of a query."""

MASKED, FULL, ALL = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
"""Parts of a walk.

They are the blocks that read the mask, those of the full run, or all in order.
"""

SOFTCAP, FACTORS, SINKS, ENTROPY, DROPOUT, V_OF_ENTRIES, SHIFTS = (
    tl.constexpr(1),
    tl.constexpr(2),
    tl.constexpr(4),
    tl.constexpr(8),
    tl.constexpr(16),
    tl.constexpr(32),
    tl.constexpr(64),
)
"""Parts of a call, added up to FLAGS.

Rows have FACTORS of scores, or SHIFTS of a sigmoid. V_OF_ENTRIES: v differs by entry.
"""


@triton.jit
def last_first(q_blocks):
    """This program's block of queries, from the last to the first.

    A causal mask leaves most keys to the last blocks, so they begin first.
    """
    return q_blocks - 1 - tl.program_id(0) % q_blocks


@triton.jit
def inputs_of(query, key, v, q_side, k_side, n, of_query, of_key, q_len, k_len, D: tl.constexpr, FLAGS: tl.constexpr):
    """Query, key, v, and both sides of additive terms of entry n.

    It reads queries of entry `of_query` and keys of entry `of_key`.
    """
    if V_OF_ENTRIES & FLAGS:
        v += n * D
    q_side, k_side = q_side + of_query * q_len * (D + 1), k_side + of_key * k_len * (D + 1)
    return query + of_query * q_len * D, key + of_key * k_len * D, v, q_side, k_side


@triton.jit
def bounds(
    mask, n, block, q_len, k_len,
    ROWS: tl.constexpr, KEYS: tl.constexpr, MASK: tl.constexpr, BY_KEY: tl.constexpr,
):  # fmt: skip
    """Ranges of keys of a block of queries, by the band and the entry's interval.

    With BY_KEY: ranges of queries of a block of keys.

    Returns:
        begin, stop: outside of this range they forbid all pairs of the block.
        full_from, full_to: within this range they allow all pairs of the block.
    """
    low, high, firsts, lasts = mask[9], mask[10], mask[11], mask[12]
    begin, stop = 0 * k_len, k_len * 1
    if BY_KEY:
        stop = q_len * 1
    full_from, full_to = begin, stop
    if BAND & MASK:
        if BY_KEY:
            first, last = block * KEYS, tl.minimum(block * KEYS + KEYS, k_len) - 1
            begin, stop = tl.maximum(begin, first - high + 1), tl.minimum(stop, last - low + 1)
            full_from, full_to = tl.maximum(full_from, last - high + 1), tl.minimum(full_to, first - low + 1)
        else:
            first, last = block * ROWS, tl.minimum(block * ROWS + ROWS, q_len) - 1
            begin, stop = tl.maximum(begin, first + low), tl.minimum(stop, last + high)
            full_from, full_to = tl.maximum(full_from, last + low), tl.minimum(full_to, first + high)
    if (FIRST | END) & MASK:
        entry_from, entry_to = 0 * k_len, k_len * 1
        if FIRST & MASK:
            entry_from = tl.load(firsts + n).to(tl.int32)
        if END & MASK:
            entry_to = tl.load(lasts + n).to(tl.int32)
        if BY_KEY:
            first, last = block * KEYS, tl.minimum(block * KEYS + KEYS, k_len) - 1
            stop = tl.where((entry_from <= last) & (entry_to > first), stop, 0)
            full_to = tl.where((entry_from <= first) & (entry_to > last), full_to, 0)
        else:
            begin, stop = tl.maximum(begin, entry_from), tl.minimum(stop, entry_to)
            full_from, full_to = tl.maximum(full_from, entry_from), tl.minimum(full_to, entry_to)
    return begin, stop, full_from, full_to


@triton.jit
def walk(
    order, counts, mask, n, block, q_len, k_len,
    ROWS: tl.constexpr, KEYS: tl.constexpr, BIAS: tl.constexpr, MASK: tl.constexpr, BY_KEY: tl.constexpr,
):  # fmt: skip
    """Blocks of keys of a block of queries, for `steps_of` and `block_of`.

    No block is full under a bias of PAIRS, since -inf forbids.

    With BY_KEY: blocks of queries of a block of keys.

    Args:
        n: entry of the mask.

    Returns:
        The list, or the first block of a range; the number of blocks; which of them are the full run.
    """
    if LISTED & MASK:
        mine, others = tl.cdiv(q_len, ROWS), tl.cdiv(k_len, KEYS)
        if BY_KEY:
            mine, others = others, mine
        row, size = n * mine + block, mask[8] * mine
        count, full_from = tl.load(counts + row), tl.load(counts + size + row)
        full_to = tl.load(counts + 2 * size + row)
        if BIAS == PAIRS:
            full_to = full_from
        return order + row * others, 0, count, full_from, full_to
    begin, stop, full_from, full_to = bounds(mask, n, block, q_len, k_len, ROWS, KEYS, MASK, BY_KEY)
    if MASK >= INTERVAL:
        row = n * q_len + tl.minimum(block * ROWS + tl.arange(0, ROWS), q_len - 1)
        starts, ends = tl.load(mask[0] + row), tl.load(mask[1] + row)
        some = starts < ends
        starts, ends = tl.where(some, starts, k_len), tl.where(some, ends, 0)
        begin, stop = tl.maximum(begin, tl.min(starts)), tl.minimum(stop, tl.max(ends))
        full_from, full_to = tl.maximum(full_from, tl.max(starts)), tl.minimum(full_to, tl.min(ends))
    size = KEYS
    if BY_KEY:
        size = ROWS
    first = begin // size
    count = tl.maximum(tl.cdiv(stop, size) - first, 0)
    full_from = tl.minimum(tl.maximum(tl.cdiv(full_from, size) - first, 0), count)
    full_to = tl.maximum(tl.minimum(full_to // size - first, count), full_from)
    if BIAS == PAIRS:
        full_to = full_from
    return order, first, count, full_from, full_to


@triton.constexpr_function
def first_part(score, dtype, ordered=False):
    """Parts of a walk are those from this one to the one before `after_parts`."""
    return ALL if ordered or score != DOT or dtype == tl.float32 else MASKED


@triton.constexpr_function
def after_parts(first):
    return first + (1 if first == ALL else 2)


@triton.jit
def steps_of(blocks, PART: tl.constexpr):
    """Number of blocks in a part of a walk."""
    _, _, count, full_from, full_to = blocks
    if PART == ALL:
        return count
    if PART == FULL:
        return full_to - full_from
    return count - (full_to - full_from)


@triton.jit
def block_of(step, blocks, MASK: tl.constexpr, PART: tl.constexpr):
    """The next block of a part of a walk, and whether it is full."""
    order, first, _, full_from, full_to = blocks
    if PART == FULL:
        step += full_from
    elif PART == MASKED:
        step += tl.where(step < full_from, 0, full_to - full_from)
    full = (full_from <= step) & (step < full_to)
    if LISTED & MASK:
        return tl.load(order + step), full
    return first + step, full


@triton.jit
def allowed(mask, n, i, j, q_len, k_len, MASK: tl.constexpr):
    """The allowed pairs of a tile.

    Args:
        mask: starts and ends `(U, entries, Lq)`, ids of queries and of keys, bytes with three strides, entries, low
            and high of the band, first and last of each entry.
        n: entry of the mask.
        i, j: queries and keys, within the lengths.
    """
    starts, ends, q_ids, k_ids, pairs, pairs_n, pairs_i, pairs_j, entries, low, high, firsts, lasts = mask
    used = (i >= 0) & (j >= 0)
    if MASK >= INTERVAL:
        within = (i < 0) & (j < 0)
        for u in tl.static_range(MASK // INTERVAL):
            row = (u * entries + n) * q_len + i
            start, end = tl.load(starts + row), tl.load(ends + row)
            within = within | ((j >= start) & (j < end))
        used = within
    if BAND & MASK:
        used = used & (j >= i + low) & (j < i + high)
    if FIRST & MASK:
        used = used & (j >= tl.load(firsts + n))
    if END & MASK:
        used = used & (j < tl.load(lasts + n))
    if IDS & MASK:
        used = used & (tl.load(q_ids + n * q_len + i) == tl.load(k_ids + n * k_len + j))
    if BYTES & MASK:
        used = used & (tl.load(pairs + n * pairs_n + pair(i, j, pairs_i, pairs_j)) != 0)
    return used


@triton.jit
def pair(i, j, step_i, step_j):
    """Offsets of pairs, in 64 bits."""
    return i.to(tl.int64) * step_i + j.to(tl.int64) * step_j


@triton.jit
def rows_of(tensor, i, D: tl.constexpr, FEATURES: tl.constexpr):
    """Rows i of a tensor of rows of D, `(M, FEATURES)`, 0 beyond D."""
    d = tl.arange(0, FEATURES)
    at = tensor + (i[:, None] * D + d[None])
    if D == FEATURES:
        return tl.load(at)
    return tl.load(at, mask=(d < D)[None], other=0.0)


@triton.constexpr_function
def padded(length):
    """Lanes of a row: a power of two, and at least 16."""
    return max(16, 1 << (length - 1).bit_length())


@triton.jit
def biases(bias, i, j, BIAS: tl.constexpr):
    """Biases of a tile.

    Args:
        bias: numbers of an entry, strides of queries and keys (or the table's radius and nothing), align.
    """
    numbers, step_i, step_j, align = bias
    if BIAS == SLOPE:
        return -tl.load(numbers).to(tl.float32) * tl.abs(i + align - j).to(tl.float32)
    if BIAS == TABLE:
        return tl.load(numbers + table_index(bias, i, j)).to(tl.float32)
    return tl.load(numbers + pair(i, j, step_i, step_j)).to(tl.float32)


@triton.jit
def table_index(bias, i, j):
    """Indices of a tile's distances in a table of 2 R + 1."""
    _, radius, _, align = bias
    return tl.minimum(tl.maximum(j - i - align, -radius), radius) + radius


@triton.jit
def scores(
    inputs, left, right, bias, mask, entry, full, i, j, there, factor, lengths, scale, softcap,
    D: tl.constexpr, SCORE: tl.constexpr, BIAS: tl.constexpr, MASK: tl.constexpr, FLAGS: tl.constexpr,
    PRECISION: tl.constexpr, PART: tl.constexpr,
):  # fmt: skip
    """Scores of a tile in float32: plain, with bias, and with factors and mask.

    The mask comes last: in the other order the registers do not suffice.

    Args:
        left, right: for dot products, rows along the first and the second axis.
        there: which pairs lie within the lengths; the others are -inf, unless the block is full.
        factor: of each query.
    """
    q_len, k_len = lengths
    if SCORE == DOT:
        raw = scale * tl.dot(left, tl.trans(right), input_precision=PRECISION)
    elif SCORE == DISTANCE:
        raw = scale * distances(inputs[0], inputs[1], i, j, D)
    else:
        raw = terms(inputs, i, j, k_len, D)
    if SOFTCAP & FLAGS:
        raw = softcap * tanh(raw / softcap)
    biased = raw
    if BIAS > 0:
        added = biases(bias, i, j, BIAS)
        biased = raw + added
        if BIAS == PAIRS:
            biased = tl.where(added == -float("inf"), added, biased)  # also beside NaN
    s = biased
    if FACTORS & FLAGS:
        s = s * factor
    if PART == MASKED:
        s = tl.where(there & allowed(mask, entry, i, j, q_len, k_len, MASK), s, -float("inf"))
    elif PART == ALL:  # noqa: SIM102 the first condition is a constant
        if not full:
            s = tl.where(there & allowed(mask, entry, i, j, q_len, k_len, MASK), s, -float("inf"))
    return raw, biased, s


@triton.jit
def statistics_of(norms, wholes, factors, noise, row, NORMALIZER: tl.constexpr, FLAGS: tl.constexpr):
    """Norm, whole, factor and noise of rows."""
    norm = tl.load(norms + row)
    whole, factor, dice = norm, tl.zeros_like(norm), tl.zeros_like(norm).to(tl.uint32)
    if (NORMALIZER >= ENTMAX) or (SINKS & FLAGS):
        whole = tl.load(wholes + row)
    if (FACTORS | SHIFTS) & FLAGS:
        factor = tl.load(factors + row)
    if NORMALIZER == SIGMOID:
        whole = factor
    if DROPOUT & FLAGS:
        dice = tl.load(noise + row).to(tl.uint32)
    return norm, whole, factor, dice


@triton.jit
def next_keys(
    step, blocks, inputs, left, bias, mask, entry, i, factor, lengths, scale, softcap,
    D: tl.constexpr, SCORE: tl.constexpr, BIAS: tl.constexpr, MASK: tl.constexpr, FLAGS: tl.constexpr,
    PRECISION: tl.constexpr, KEYS: tl.constexpr, PART: tl.constexpr,
):  # fmt: skip
    """The next block of keys.

    Returns:
        Its first key, whether it is full, its keys, their rows, and three `scores`.
    """
    block, full = block_of(step, blocks, MASK, PART)
    start = block * KEYS
    j = start + tl.arange(0, KEYS)
    inside, j = (j < lengths[1])[None], tl.minimum(j, lengths[1] - 1)
    right = left
    if SCORE == DOT:
        right = rows_of(inputs[1], j, D, padded(D))
    raw, biased, s = scores(
        inputs, left, right, bias, mask, entry, full, i[:, None], j[None], inside, factor[:, None], lengths, scale,
        softcap, D, SCORE, BIAS, MASK, FLAGS, PRECISION, PART,
    )  # fmt: skip
    return start, full, j, right, raw, biased, s


@triton.jit
def cleaned(rows, s, full, PART: tl.constexpr):
    """Rows along the second axis of a tile, 0 for rows without an allowed pair.

    0 times NaN is NaN.
    """
    if PART == MASKED:
        rows = only_used(rows, s)
    elif PART == ALL:  # noqa: SIM102 the first condition is a constant
        if not full:
            rows = only_used(rows, s)
    return rows


@triton.jit
def only_used(rows, s):
    used = tl.max((s != -float("inf")).to(tl.int32), 0) > 0
    return tl.where(used[:, None], rows, 0.0)
