"""Shared parts of kernels of rows: a program has ROWS rows, a warp each on a GPU.

A row is read in pieces of BLOCK keys, and again from the cache. The first pass over a row finds the stretch of pieces
with used keys, and later passes read that alone.

Plain sums over a row are kept by lane and joined behind the loop, so that no lane waits for another in it. Triton 3.6
fails on a sum joined inside a loop and used twice behind it (`TritonGPUOptimizeThreadLocality`).
"""

import triton
import triton.language as tl


@triton.jit
def own_rows(R, ROWS: tl.constexpr):
    """Rows of this program, and a mask of those within R."""
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    return r, r < R


@triton.jit
def piece(start, S, there, BLOCK: tl.constexpr):
    """Keys start .. start + BLOCK - 1, and where they lie inside their rows."""
    j = start + tl.arange(0, BLOCK)
    return j, there[:, None] & (j < S)[None]


@triton.jit
def load(tensor, r, S, j, used, other):
    """A piece of rows of a contiguous `(R, S)` tensor."""
    return tl.load(tensor + r[:, None] * S + j[None], mask=used, other=other)


@triton.jit
def store(tensor, r, S, j, inside, values):
    """Write a piece of rows of a contiguous `(R, S)` tensor."""
    tl.store(tensor + r[:, None] * S + j[None], values, mask=inside)


@triton.jit
def permitted(mask, r, L, j, inside, MASKED: tl.constexpr):
    """Mask of a piece: inside its row and allowed. Row r is n L + i.

    Args:
        mask: bytes `(N, L, S)` and their three strides.
    """
    if MASKED:
        allowed, step_n, step_i, step_j = mask
        begin = allowed + (r // L) * step_n + (r % L) * step_i
        flags = tl.load(begin[:, None] + j[None].to(tl.int64) * step_j, mask=inside, other=0)
        inside = inside & (flags != 0)
    return inside


@triton.jit
def nowhere(S, ROWS: tl.constexpr):
    """Empty stretch of each row: its first piece, and its end."""
    return tl.zeros([ROWS], tl.int32) + S, tl.zeros([ROWS], tl.int32)


@triton.jit
def stretched(stretch, used, start, S, BLOCK: tl.constexpr):
    """Extend the stretch by the piece from key `start` on, in rows that use any of it."""
    begin, end = stretch
    some = tl.max(used.to(tl.int32), 1) > 0
    return tl.minimum(begin, tl.where(some, start, S)), tl.maximum(end, tl.where(some, start + BLOCK, 0))


@triton.jit
def ends(stretch):
    """First and last end of the stretches of all rows in whole pieces, or (S, S)."""
    begin, end = stretch
    low = tl.min(begin, 0)
    return low, tl.maximum(tl.max(end, 0), low)


@triton.jit
def clear(tensor, r, S, there, low, high, zero, BLOCK: tl.constexpr):
    """Write 0 outside of a stretch."""
    for start in range(0, low, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        store(tensor, r, S, j, inside, zero[:, None])
    for start in range(high, S, BLOCK):
        j, inside = piece(start, S, there, BLOCK)
        store(tensor, r, S, j, inside, zero[:, None])


@triton.jit
def zeros(like, ROWS: tl.constexpr):
    """A zero a row, of the dtype of a tensor."""
    return tl.zeros([ROWS], like.dtype.element_ty)


@triton.jit
def lanes_of(like, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """A zero for each of BLOCK keys of a row."""
    return tl.zeros([ROWS, BLOCK], like.dtype.element_ty)
