"""Weights of entmax for alpha > 2, as `simplex._solve_steep` finds them."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import loops

_STEPS = 80
"""Newton's steps at most: they end before, when the weight no longer falls."""

_TINY = 2.2250738585072014e-308


@loops
def _roots(x: Any, reference: float, a: float) -> float:
    """The sum of [a (x - reference)]^(1/a) over the scores above the reference."""
    total = 0.0
    for j in range(x.size):
        distance = a * (np.float64(x[j]) - reference)
        total += np.exp(np.log(distance) / a) if distance > 0 else 0.0
    return total


@loops
def log_weight(x: float, reference: float, least: float, a: float) -> Any:
    """The logarithm of the weight of x for a > 1, -inf beside the support."""
    if x < reference:
        return -np.inf
    first = a * np.log(least)
    if x == reference:
        return first / a
    second = np.log(a * (x - reference))
    return (max(first, second) + np.log1p(np.exp(-abs(first - second)))) / a


@loops
def least_of(x: Any, a: float) -> tuple[float, float]:
    """The lowest score in the support for a > 1, and its weight; x is sorted."""
    x.sort()
    low, high = 0, x.size - 1
    while low < high:
        middle = (low + high) // 2
        if _roots(x[middle:], np.float64(x[middle]), a) < 1.0:
            high = middle
        else:
            low = middle + 1
    reference = np.float64(x[high])
    least = 1.0 / (x.size - high)
    for _ in range(_STEPS):
        total, slope = -1.0, 0.0
        for j in range(high, x.size):
            power = log_weight(np.float64(x[j]), reference, least, a)
            total += np.exp(power)
            slope += np.exp((a - 1.0) * (np.log(least) - power))
        following = max(least - total / slope, _TINY)
        if not following < least:
            break
        least = following
    return reference, least
