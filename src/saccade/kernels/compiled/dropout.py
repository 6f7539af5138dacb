"""Dropout whose mask is a function of a seed and the place: it is never in memory, and the backward makes it again."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import floats, inline, kernel, loops, take

ROWS = 1 << 14
"""Numbers in a block of work."""

U = np.uint32


@inline
def _turned(word: Any, places: Any) -> Any:
    return U(U(word << U(places)) | (word >> U(32 - places)))


@loops
def _kept(numbers: Any, out: Any, first: Any, key: Any, other: Any, bound: Any, scale: Any) -> None:
    """The MurmurHash3 of each place under two keys, one word a place; what is below the bound is dropped."""
    for i in range(len(numbers)):
        word = U(U(first + i) * U(0xCC9E2D51))  # Numba makes 64 bits of two words of 32
        word = U(_turned(word, 15) * U(0x1B873593)) ^ key
        word = U(U(_turned(word, 13) * U(5)) + U(0xE6546B64)) ^ other
        word = U((word ^ (word >> U(16))) * U(0x85EBCA6B))
        word = U((word ^ (word >> U(13))) * U(0xC2B2AE35))
        word = word ^ (word >> U(16))
        out[i] = numbers[i] * scale if word >= bound else numbers[i] * np.float32(0.0)


@kernel
def apply(table: Any) -> None:
    """[taken, blocks, numbers, out, count, key, other key, bound, scale's address]."""
    count, scale = table[4], floats(table[8], 1)[0]
    while True:
        block = take(table)
        if block >= table[1]:
            return
        first = block * ROWS
        size = min(ROWS, count - first)
        place = floats(table[2] + 4 * first, size), floats(table[3] + 4 * first, size)
        # a place of more than 32 bits has its upper ones in the key: no block has places on both sides of such a bound
        _kept(*place, first, U(table[5]) ^ U(first >> 32), U(table[6]), U(table[7]), scale)
