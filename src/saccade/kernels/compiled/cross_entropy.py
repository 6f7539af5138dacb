"""Cross-entropy of rows of logits, and its gradient in their place."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import F, exp, floats, integers, kernel, largest, loops, take

ROWS = 4
"""Rows in a block of work."""


@loops
def _row(logits: Any, bias: Any, target: int, smoothing: float, scale: float) -> float:
    """The loss of a row; the products become logits, and these scale times its gradient."""
    size = logits.size
    total = F(0.0)
    for i in range(size):
        logits[i] += bias[i]
        total += logits[i]
    top = largest(logits)
    wanted, normalizer = logits[target], F(0.0)
    for i in range(size):
        logits[i] = exp(logits[i] - top)
        normalizer += logits[i]
    factor, least = scale / normalizer, scale * smoothing / F(size)
    for i in range(size):
        logits[i] = logits[i] * factor - least
    logits[target] -= scale * (F(1.0) - smoothing)
    log_sum = F(np.log(normalizer)) + top
    spread = smoothing * total / F(size) if smoothing != F(0.0) else F(0.0)  # 0 times a logit of -inf would be NaN
    return log_sum - (F(1.0) - smoothing) * wanted - spread


@kernel
def forward(table: Any) -> None:
    """[taken, blocks, logits, targets, losses, numbers (smoothing, scale), rows, size, bias]."""
    rows, size = table[6], table[7]
    targets, losses, numbers = integers(table[3], rows), floats(table[4], rows), floats(table[5], 2)
    bias = floats(table[8], size)
    while True:
        block = take(table)
        if block >= table[1]:
            return
        for n in range(block * ROWS, min(rows, (block + 1) * ROWS)):
            losses[n] = _row(floats(table[2] + 4 * n * size, size), bias, targets[n], numbers[0], numbers[1])
