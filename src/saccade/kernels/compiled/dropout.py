"""Dropout by a hash of seed and index, computed again in the backward."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import blocks, floats, inline, kernel, loops
from saccade.kernels.dropout import BLOCK, Apply

U = np.uint32


@inline
def _turned(word: Any, bits: Any) -> Any:
    return U(U(word << U(bits)) | (word >> U(32 - bits)))


@loops
def _kept(numbers: Any, out: Any, first: Any, key: Any, other: Any, bound: Any, scale: Any) -> None:
    """Drop numbers if the MurmurHash3 of their index is below the bound."""
    for i in range(len(numbers)):
        word = U(U(first + i) * U(0xCC9E2D51))  # Numba makes 64 bits of two words of 32
        word = U(_turned(word, 15) * U(0x1B873593)) ^ key
        word = U(U(_turned(word, 13) * U(5)) + U(0xE6546B64)) ^ other
        word = U((word ^ (word >> U(16))) * U(0x85EBCA6B))
        word = U((word ^ (word >> U(13))) * U(0xC2B2AE35))
        word = word ^ (word >> U(16))
        out[i] = numbers[i] * scale if word >= bound else numbers[i] * np.float32(0.0)


@kernel
def apply(t: Apply) -> None:
    scale = floats(t.scale, 0, 1)[0]
    for block in blocks(t):
        first = block * BLOCK
        size = min(BLOCK, t.size - first)
        arrays = floats(t.numbers, first, size), floats(t.out, first, size)
        # An index of more than 32 bits has its upper ones in the key. No block has indices on both sides of 2^32.
        _kept(*arrays, first, U(t.key) ^ U(first >> 32), U(t.other_key), U(t.bound), scale)
