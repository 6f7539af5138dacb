"""Lists of the blocks that a mask leaves, made on the device."""

import triton.language as tl

from saccade.kernels.triton import kernel
from saccade.kernels.triton.tiles import BYTES, IDS, INTERVAL, bounds, pair


@kernel
def summarize(
    starts, ends, ids, out,
    length, other_length, blocks, entries,
    INTERVALS: tl.constexpr, DOCUMENTS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Bounds of each block of rows, for `list_blocks`.

    Args:
        starts, ends: `(INTERVALS, entries, length)`, int32.
        ids: `(entries, length)`; read with DOCUMENTS.
        out: `(4 INTERVALS + 2 DOCUMENTS, entries, blocks)`, int32: of each interval the lowest start, the highest end,
            the highest start and the lowest end, then the lowest and the highest id.
        length, other_length: number of rows, and of the positions that intervals are of.
    """
    n, block = (tl.program_id(0) // blocks).to(tl.int64), tl.program_id(0) % blocks
    i = tl.minimum(block * ROWS + tl.arange(0, ROWS), length - 1)
    step, at = (entries * blocks).to(tl.int64), out + tl.program_id(0)
    for u in tl.static_range(INTERVALS):
        row = (u * entries + n) * length + i
        start, end = tl.load(starts + row), tl.load(ends + row)
        some = start < end
        tl.store(at + (4 * u) * step, tl.min(tl.where(some, start, other_length)))
        tl.store(at + (4 * u + 1) * step, tl.max(tl.where(some, end, 0)))
        tl.store(at + (4 * u + 2) * step, tl.max(tl.where(some, start, other_length)))
        tl.store(at + (4 * u + 3) * step, tl.min(tl.where(some, end, 0)))
    if DOCUMENTS:
        names = tl.load(ids + n * length + i)
        tl.store(at + (4 * INTERVALS) * step, tl.min(names))
        tl.store(at + (4 * INTERVALS + 1) * step, tl.max(names))


@kernel
def summarize_pairs(
    pairs, pairs_n, pairs_i, pairs_j, codes, q_len, k_len, q_blocks, k_blocks, ROWS: tl.constexpr, KEYS: tl.constexpr
):
    """codes[n, a, b] = 0, 1 or 2 for none, some or all pairs of two blocks."""
    n = (tl.program_id(0) // (q_blocks * k_blocks)).to(tl.int64)
    rest = tl.program_id(0) % (q_blocks * k_blocks)
    i = tl.minimum((rest // k_blocks) * ROWS + tl.arange(0, ROWS), q_len - 1)
    j = tl.minimum((rest % k_blocks) * KEYS + tl.arange(0, KEYS), k_len - 1)
    used = (tl.load(pairs + n * pairs_n + pair(i[:, None], j[None], pairs_i, pairs_j)) != 0).to(tl.int32)
    tl.store(codes + tl.program_id(0), (tl.max(used) + tl.min(used)).to(tl.uint8))


@kernel
def list_blocks(
    of_queries, of_keys, codes, order, counts, firsts, lasts,
    low, high, q_len, k_len, q_blocks, k_blocks, entries,
    MASK: tl.constexpr, BY_KEY: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr, AT_ONCE: tl.constexpr,
):  # fmt: skip
    """List the blocks of keys for each block of queries, in order.

    With BY_KEY: the blocks of queries for each block of keys.

    Args:
        of_queries, of_keys: from `summarize`; of keys the ids alone.
        codes: from `summarize_pairs`.
        order: `(entries, rows, across)`: numbers of blocks, rising.
        counts: `(3, entries, rows)`: how many, and from where to where in that list all are full. Blocks outside of the
            first such run may be full too.
        firsts, lasts, low, high: as `tiles.allowed` takes them.
    """
    rows, across = q_blocks, k_blocks
    if BY_KEY:
        rows, across = k_blocks, q_blocks
    size = KEYS
    if BY_KEY:
        size = ROWS
    n, row = (tl.program_id(0) // rows).to(tl.int64), tl.program_id(0) % rows
    order += tl.program_id(0).to(tl.int64) * across
    q_step, k_step = (entries * q_blocks).to(tl.int64), (entries * k_blocks).to(tl.int64)
    mask = firsts, firsts, firsts, firsts, firsts, 0, 0, 0, 0, low, high, firsts, lasts
    begin, stop, full_from, full_to = bounds(mask, n, row, q_len, k_len, ROWS, KEYS, MASK, BY_KEY)
    listed, run_from, run_to = 0, across, across
    for first in range(0, across, AT_ONCE):
        other = first + tl.arange(0, AT_ONCE)
        a, b = row + tl.zeros_like(other), tl.minimum(other, across - 1)
        if BY_KEY:
            a, b = b, a
        some = (other < across) & (begin < (other + 1) * size) & (other * size < stop)
        full = (full_from <= other * size) & ((other + 1) * size <= full_to)
        if MASK >= INTERVAL:
            reached, covered = other < 0, other < 0
            for u in tl.static_range(MASK // INTERVAL):
                at = of_queries + 4 * u * q_step + n * q_blocks + a
                lowest, highest = tl.load(at), tl.load(at + q_step)
                last_start, first_end = tl.load(at + 2 * q_step), tl.load(at + 3 * q_step)
                reached = reached | ((lowest < (b + 1) * KEYS) & (highest > b * KEYS))
                covered = covered | ((last_start <= b * KEYS) & (first_end >= tl.minimum((b + 1) * KEYS, k_len)))
            some, full = some & reached, full & covered
        if IDS & MASK:
            at = of_queries + 4 * (MASK // INTERVAL) * q_step + n * q_blocks + a
            q_low, q_high = tl.load(at), tl.load(at + q_step)
            k_low, k_high = tl.load(of_keys + n * k_blocks + b), tl.load(of_keys + k_step + n * k_blocks + b)
            some = some & (q_low <= k_high) & (k_low <= q_high)
            full = full & (q_low == q_high) & (k_low == k_high) & (q_low == k_low)
        if BYTES & MASK:
            code = tl.load(codes + (n * q_blocks + a) * k_blocks + b)
            some, full = some & (code > 0), full & (code == 2)
        some = some.to(tl.int32)
        slot = listed + tl.cumsum(some, 0) - some
        tl.store(order + slot, other, mask=some > 0)
        run_from = tl.minimum(run_from, tl.min(tl.where(full & (some > 0), slot, across)))
        partial = (some > 0) & ~full & (slot > run_from)
        run_to = tl.minimum(run_to, tl.min(tl.where(partial, slot, across)))
        listed += tl.sum(some)
    size = entries * rows
    tl.store(counts + tl.program_id(0), listed)
    tl.store(counts + size + tl.program_id(0), tl.minimum(run_from, listed))
    tl.store(counts + 2 * size + tl.program_id(0), tl.minimum(run_to, listed))
