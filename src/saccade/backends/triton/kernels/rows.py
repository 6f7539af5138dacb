"""What the kernels of rows share: a program has ROWS rows, a warp each on a GPU, and BLOCK of their keys at once.

A row is read in pieces of BLOCK keys, whatever its length: what is needed more than once comes from the cache. The
first pass over a row finds the stretch of pieces outside of which nothing is wanted, and later ones read that alone.

Plain sums over a row are kept by lane and joined behind the loop: no lane waits for another in it, and Triton 3.6 fails
on one that is joined inside a loop and used twice behind it (`TritonGPUOptimizeThreadLocality`).
"""

import triton
import triton.language as tl


@triton.jit
def own_rows(R, ROWS: tl.constexpr):
    """The rows of this program, and which of them there are."""
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    return r, r < R


@triton.jit
def piece(start, S, there, BLOCK: tl.constexpr):
    """Keys start .. start + BLOCK - 1, and where they lie inside their rows."""
    j = start + tl.arange(0, BLOCK)
    return j, there[:, None] & (j < S)[None]


@triton.jit
def load(tensor, r, S, j, wanted, other):
    """A piece of rows of a contiguous `(R, S)` tensor."""
    return tl.load(tensor + r[:, None] * S + j[None], mask=wanted, other=other)


@triton.jit
def store(tensor, r, S, j, inside, found):
    """Write a piece of rows of a contiguous `(R, S)` tensor."""
    tl.store(tensor + r[:, None] * S + j[None], found, mask=inside)


@triton.jit
def permitted(mask, r, L, j, inside, MASKED: tl.constexpr):
    """Where a piece lies inside and is allowed by a mask, row r being n L + i.

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
    """The stretch of each row before any piece was looked at: where it begins, and where it ends."""
    return tl.zeros([ROWS], tl.int32) + S, tl.zeros([ROWS], tl.int32)


@triton.jit
def stretched(stretch, wanted, start, S, BLOCK: tl.constexpr):
    """The stretch with the piece from key `start` on, in rows where something of it is wanted."""
    begin, end = stretch
    some = tl.max(wanted.to(tl.int32), 1) > 0
    return tl.minimum(begin, tl.where(some, start, S)), tl.maximum(end, tl.where(some, start + BLOCK, 0))


@triton.jit
def ends(stretch):
    """Where the stretch of all rows of the program begins and ends: whole pieces, or S and S."""
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
