"""Square patches of images at several scales, each pixel the mean of what it covers."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import F, floats, integers, kernel, loops, take

PLACES = 16
"""Places in a block of work."""


@loops
def _added(line: Any, total: Any) -> None:
    for i in range(len(line)):
        total[i] += line[i]


@loops
def _halved(line: Any, count: int) -> None:
    for i in range(count):
        line[i] = line[2 * i] + line[2 * i + 1]


@loops
def _patch(rows: Any, patch: Any, line: Any, width: int, left: int, side: int) -> None:
    """One row of pixels of a patch, each the sum of `side` columns of rows of the image, from `left` on."""
    line[:] = F(0.0)
    first, last = max(0, left), min(width, left + len(line))
    if first < last:
        for row in range(len(rows) // width):
            _added(rows[row * width + first : row * width + last], line[first - left : last - left])
    count = len(line)
    while count > len(patch):
        count //= 2
        _halved(line, count)
    scale = F(1.0) / F(side * side)
    for j in range(len(patch)):
        patch[j] = line[j] * scale


@kernel
def forward(table: Any) -> None:
    """[taken, blocks, images, owners, corners, found, places, channels, height, width, size, scales].

    Owners are the images' numbers, corners those of the widest patch, x and y; found is
    `(places, scales, channels, size, size)`, of zeros.
    """
    places, channels, height, width, size, scales = table[6], table[7], table[8], table[9], table[10], table[11]
    pixels, line = height * width, np.empty(size << (scales - 1), np.float32)
    while True:
        block = take(table)
        if block >= table[1]:
            return
        for place in range(block * PLACES, min(places, (block + 1) * PLACES)):
            owner, corner = integers(table[3] + 8 * place, 1)[0], integers(table[4] + 16 * place, 2)
            for scale in range(scales):
                side = 1 << scale
                within = (size << (scales - 1)) // 2 - (size << scale) // 2
                left, top = corner[0] + within, corner[1] + within
                for channel in range(channels):
                    image = table[2] + 4 * (owner * channels + channel) * pixels
                    found = table[5] + 4 * ((place * scales + scale) * channels + channel) * size * size
                    for i in range(size):
                        first, last = max(0, top + i * side), min(height, top + (i + 1) * side)
                        if first >= last:
                            continue
                        patch = floats(found + 4 * i * size, size)
                        rows = floats(image + 4 * first * width, (last - first) * width)
                        _patch(rows, patch, line[: size * side], width, left, side)
