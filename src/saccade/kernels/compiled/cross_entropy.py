"""Cross-entropy of rows of logits, and its gradient in their place."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import F, blocks, floats, integers, kernel, loops, rows_of
from saccade.kernels.compiled.functions import exp, largest_of
from saccade.kernels.cross_entropy import ROWS, Forward


@loops
def _row(logits: Any, bias: Any, target: int, smoothing: float, scale: float) -> Any:
    """Return the loss of a row. Its products become logits, then scaled gradients."""
    size = logits.size
    total = F(0.0)
    for i in range(size):
        logits[i] += bias[i]
        total += logits[i]
    top = largest_of(logits)
    score, normalizer = logits[target], F(0.0)
    for i in range(size):
        logits[i] = exp(logits[i] - top)
        normalizer += logits[i]
    factor, least = scale / normalizer, scale * smoothing / F(size)
    for i in range(size):
        logits[i] = logits[i] * factor - least
    logits[target] -= scale * (F(1.0) - smoothing)
    log_sum = F(np.log(normalizer)) + top
    spread = smoothing * total / F(size) if smoothing != F(0.0) else F(0.0)  # 0 · -inf is NaN
    return log_sum - (F(1.0) - smoothing) * score - spread


@kernel
def forward(t: Forward) -> None:
    size, targets, losses = t.size, integers(t.targets, 0, t.rows), floats(t.losses, 0, t.rows)
    bias, parameters = floats(t.bias, 0, size), floats(t.parameters, 0, 2)
    for block in blocks(t):
        for n in rows_of(block, ROWS, t.rows):
            losses[n] = _row(floats(t.logits, n * size, size), bias, targets[n], parameters[0], parameters[1])
