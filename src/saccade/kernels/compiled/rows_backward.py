"""Gradients of rows of scores, from those of the weights."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import blocks, kernel, loops, numbers, rows_of
from saccade.kernels.compiled.functions import exp, log
from saccade.kernels.compiled.rows import sum_of
from saccade.kernels.weights import Differentiate

_LARGEST_32, _LARGEST_64 = float(np.finfo(np.float32).max) / 2**24, float(np.finfo(np.float64).max) / 2**24
"""Bounds of gradients: sums over many keys stay finite in the dtype."""

_STEEPEST = 1e280
"""Bound of slopes: sums of products with them are finite, and ∞ − ∞ is NaN."""


@loops
def slopes_of(weights: Any, a: float, slopes: Any) -> None:
    """p^(1-a) if p > 0: a weight's derivative by its score at a fixed threshold."""
    zero, unity = type(a)(0), type(a)(1)
    if a == 0:
        for j in range(weights.size):
            slopes[j] = weights[j]
    elif a == 1:
        for j in range(weights.size):
            slopes[j] = unity if weights[j] > zero else zero
    elif a == 0.5:
        for j in range(weights.size):
            slopes[j] = np.sqrt(weights[j])
    else:
        for j in range(weights.size):
            p = weights[j]
            slopes[j] = exp((unity - a) * log(p if p > zero else unity)) if p > zero else zero


@loops
def dot(first: Any, second: Any) -> Any:
    total = first.dtype.type(0)
    for j in range(first.size):
        total += first[j] * second[j]
    return total


@loops
def centered(grads: Any, mean: float, factor: float, slopes: Any) -> None:
    for j in range(slopes.size):
        slopes[j] = slopes[j] * (grads[j] - mean) * factor if slopes[j] != 0 else slopes[j]


@loops
def steep(weights: Any, grads: Any, a: float, factor: float, slopes: Any) -> None:
    """Gradients for a > 1, with unbounded slopes: see `simplex.gradient_of_scores`."""
    unity, least, k = np.float64(1), np.inf, -1
    for j in range(weights.size):
        if weights[j] > 0 and weights[j] < least:
            least, k = weights[j], j
    if k < 0:
        slopes[:] = weights  # zeros, or NaN
        return
    power, mass, mean, total = unity - np.float64(a), 0.0, 0.0, 0.0
    for j in range(weights.size):
        if weights[j] > 0:
            log = np.log(np.float64(weights[j]))
            apart, share = np.float64(grads[j]) - grads[k], np.exp(power * (log - np.log(np.float64(least))))
            mass += share
            mean += share * apart
            total += min(np.exp(power * log), _STEEPEST) * apart if j != k else 0.0
    mean /= mass
    for j in range(weights.size):
        gradient = 0.0
        if weights[j] > 0:
            slope = min(np.exp(power * np.log(np.float64(weights[j]))), _STEEPEST)
            gradient = -total / mass if j == k else slope * ((np.float64(grads[j]) - grads[k]) - mean)
        bound = _LARGEST_32 if weights.itemsize == 4 else _LARGEST_64
        slopes[j] = min(max(gradient * factor, -bound), bound)


@kernel
def differentiate(t: Differentiate, kind: Any) -> None:
    width, factor, zero = t.rows.width, numbers(t.parameters, 0, 1, kind)[0], type(kind)(0)
    for block in blocks(t):
        for i in rows_of(block, t.rows.block, t.rows.length):
            weights, grads = numbers(t.weights, i * width, width, kind), numbers(t.grads, i * width, width, kind)
            slopes, a = numbers(t.slopes, i * width, width, kind), numbers(t.parameters, 1 + i * t.a_stride, 1, kind)[0]
            if a > 1:
                steep(weights, grads, a, type(a)(1), slopes)
                continue
            slopes_of(weights, a, slopes)
            total = sum_of(slopes)
            if total == zero:
                continue
            mean = dot(slopes, grads)
            mean = mean if a == 0 else mean / total
            if t.lse_grad:
                mean -= numbers(t.lse_grad, i, 1, kind)[0]
            centered(grads, mean, factor, slopes)
