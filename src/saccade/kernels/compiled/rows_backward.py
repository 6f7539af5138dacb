"""Gradients of rows of scores, from those of the weights. A table begins as those of `rows` do."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import exp, kernel, log, loops, numbers, take
from saccade.kernels.compiled.rows import sum_of

_LARGEST, _MOST = float(np.finfo(np.float32).max) / 2**24, float(np.finfo(np.float64).max) / 2**24
"""Gradients beyond them become these: sums over many keys are still numbers of the dtype."""

_STEEPEST = 1e280
"""What slopes beyond it become: sums of products with them are finite, and ∞ − ∞ is NaN."""


@loops
def slopes_of(weights: Any, a: float, slopes: Any) -> None:
    """p^(1-a) where p > 0: the derivative of a weight by its own score at a fixed threshold."""
    zero, one = type(a)(0), type(a)(1)
    if a == 0:
        for j in range(weights.size):
            slopes[j] = weights[j]
    elif a == 1:
        for j in range(weights.size):
            slopes[j] = one if weights[j] > zero else zero
    elif a == 0.5:
        for j in range(weights.size):
            slopes[j] = np.sqrt(weights[j])
    else:
        for j in range(weights.size):
            p = weights[j]
            slopes[j] = exp((one - a) * log(p if p > zero else one)) if p > zero else zero


@loops
def dot(first: Any, second: Any) -> float:
    """The sum of products of two rows."""
    total = first.dtype.type(0)
    for j in range(first.size):
        total += first[j] * second[j]
    return total


@loops
def centered(grads: Any, mean: float, factor: float, slopes: Any) -> None:
    """Slopes become gradients."""
    for j in range(slopes.size):
        slopes[j] = slopes[j] * (grads[j] - mean) * factor if slopes[j] != 0 else slopes[j]


@loops
def steep(weights: Any, grads: Any, a: float, factor: float, slopes: Any) -> None:
    """The gradients of a > 1, whose slopes may be beyond any number, to `slopes`: see `simplex.gradient_of_scores`."""
    one, least, k = np.float64(1), np.inf, -1
    for j in range(weights.size):
        if weights[j] > 0 and weights[j] < least:
            least, k = weights[j], j
    if k < 0:
        slopes[:] = weights  # zeros, or NaN
        return
    power, mass, mean, total = one - np.float64(a), 0.0, 0.0, 0.0
    for j in range(weights.size):
        if weights[j] > 0:
            log = np.log(np.float64(weights[j]))
            apart, share = np.float64(grads[j]) - grads[k], np.exp(power * (log - np.log(np.float64(least))))
            mass += share
            mean += share * apart
            total += min(np.exp(power * log), _STEEPEST) * apart if j != k else 0.0
    mean /= mass
    for j in range(weights.size):
        found = 0.0
        if weights[j] > 0:
            slope = min(np.exp(power * np.log(np.float64(weights[j]))), _STEEPEST)
            found = -total / mass if j == k else slope * ((np.float64(grads[j]) - grads[k]) - mean)
        most = _LARGEST if weights.itemsize == 4 else _MOST
        slopes[j] = min(max(found * factor, -most), most)


@loops
def _differentiate(table: Any, kind: Any) -> None:
    """8 weights, 9 gradients of the weights, 10 gradients of the scores, 11 and 12 as for `_weigh`, 13 gradients of
    lse, if 14 is 1.
    """
    width, factor, zero = table[2], numbers(table[11], 0, 1, kind)[0], type(kind)(0)
    while True:
        block = take(table)
        if block >= table[1]:
            return
        for i in range(block * table[4], min(table[3], (block + 1) * table[4])):
            weights, grads = numbers(table[8], i * width, width, kind), numbers(table[9], i * width, width, kind)
            slopes, a = numbers(table[10], i * width, width, kind), numbers(table[11], 1 + i * table[12], 1, kind)[0]
            if a > 1:
                steep(weights, grads, a, type(a)(1), slopes)
                continue
            slopes_of(weights, a, slopes)
            total = sum_of(slopes)
            if total == zero:
                continue
            mean = dot(slopes, grads)
            mean = mean if a == 0 else mean / total
            if table[14]:
                mean -= numbers(table[13], i, 1, kind)[0]
            centered(grads, mean, factor, slopes)


@kernel
def differentiate(table: Any) -> None:
    """Gradients of rows of float32 scores: see `_differentiate`."""
    _differentiate(table, np.float32(0))


@kernel
def differentiate_double(table: Any) -> None:
    """The same of float64."""
    _differentiate(table, np.float64(0))
