"""Square patches of images at several scales, by means of squares of pixels."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import F, blocks, floats, integers, kernel, loops, rows_of
from saccade.kernels.compiled.functions import add
from saccade.kernels.patches import GLIMPSES, Forward


@loops
def _halved(line: Any, count: int) -> None:
    for i in range(count):
        line[i] = line[2 * i] + line[2 * i + 1]


@loops
def _patch(rows: Any, patch: Any, line: Any, width: int, left: int, side: int) -> None:
    """One row of a patch: means of squares of `side` pixels from `left` on."""
    line[:] = F(0.0)
    first, last = max(0, left), min(width, left + len(line))
    if first < last:
        for row in range(len(rows) // width):
            add(rows[row * width + first : row * width + last], line[first - left : last - left])
    count = len(line)
    while count > len(patch):
        count //= 2
        _halved(line, count)
    scale = F(1.0) / F(side * side)
    for j in range(len(patch)):
        patch[j] = line[j] * scale


@kernel
def forward(t: Forward) -> None:
    pixels, size, widest = t.height * t.width, t.size, t.size << (t.scales - 1)
    line = np.empty(widest, np.float32)
    for block in blocks(t):
        for n in rows_of(block, GLIMPSES, t.glimpses):
            owner, corner = integers(t.owners, n, 1)[0], integers(t.corners, 2 * n, 2)
            for scale in range(t.scales):
                side = 1 << scale
                within = widest // 2 - (size << scale) // 2
                left, top = corner[0] + within, corner[1] + within
                for channel in range(t.channels):
                    image = (owner * t.channels + channel) * pixels
                    start = ((n * t.scales + scale) * t.channels + channel) * size * size
                    for i in range(size):
                        first, last = max(0, top + i * side), min(t.height, top + (i + 1) * side)
                        if first < last:
                            patch = floats(t.patches, start + i * size, size)
                            rows = floats(t.images, image + first * t.width, (last - first) * t.width)
                            _patch(rows, patch, line[: size * side], t.width, left, side)
