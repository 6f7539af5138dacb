"""Additive scores, softmax and read for rows of queries in turn, both ways.

The terms are tanh(q + k) = 1 - 2 r with r = 1 / x, x = 1 + e^2q e^2k, read in the order of memory. An x above 2^100 is
replaced by it, so that its reciprocal may be estimated. r then differs by less than 1e-30.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import F, apart, blocks, flags, floats, inline, kernel, loops
from saccade.kernels.compiled.all_pairs import tangents, tangents_near
from saccade.kernels.compiled.functions import add, add_times, exp, quotient, tanh, tanh_near
from saccade.kernels.compiled.lanes import bounded
from saccade.kernels.compiled.rows import sum_of
from saccade.kernels.compiled.rows_backward import dot
from saccade.kernels.steps import Backward, Forward, Inputs

SMALL = F(0.25)
"""Bound of |q| and |k|: below it, 1 - 2 r would cancel, and a polynomial serves."""

LIMIT = F(43.0)
"""Beyond this |x|, e^2x leaves the normal numbers; keys beyond it have NaN for it."""

CAP = F(2.0**100)
"""Bound of x."""

IDENTITY, DIRECT, NEAR = 0, 1, 2


@loops
def _reciprocals(left: Any, right: Any, v: Any) -> Any:
    """The sum of v r."""
    cap, total = CAP, F(0.0)
    for i in range(left.size):
        total += quotient(v[i], bounded(F(1.0) + left[i] * right[i], cap))
    return total


@loops
def _within(numbers: Any, bound: float) -> Any:
    """Whether all of them are within a bound; NaN is not."""
    count = 0
    for i in range(numbers.size):
        count += abs(numbers[i]) <= bound
    return count == numbers.size


@loops
def _all_within(keys: Any, allowed: Any, size: int, bound: float) -> bool:
    for j in range(allowed.size):  # noqa: SIM110 (Numba compiles no generator expressions)
        if allowed[j] and not _within(keys[j * size : (j + 1) * size], bound):
            return False
    return True


@loops
def _powers(query: Any, powers: Any) -> None:
    for i in range(query.size):
        powers[i] = exp(F(2.0) * query[i])


@loops
def _scores(query: Any, keys: Any, powers: Any, v: Any, allowed: Any, room: Any, scores: Any) -> int:
    """Write the scores of a query: how they were computed."""
    size = query.size
    if _within(query, SMALL) and _all_within(keys, allowed, size, SMALL):
        for j in range(allowed.size):
            if allowed[j]:
                scores[j] = tangents_near(query, keys[j * size : (j + 1) * size], v)
        return NEAR
    if _within(query, LIMIT):
        whole, total, check = sum_of(v), F(0.0), F(0.0)
        _powers(query, room)
        for j in range(allowed.size):
            if allowed[j]:
                total = whole - F(2.0) * _reciprocals(room, powers[j * size : (j + 1) * size], v)
                scores[j] = total
                check += total
        if check - check == F(0.0):
            return IDENTITY
    for j in range(allowed.size):
        if allowed[j]:
            scores[j] = tangents(query, keys[j * size : (j + 1) * size], v)
    return DIRECT


@loops
def _soft(scores: Any, allowed: Any, temperature: float) -> None:
    """Scores become weights; zeros where nothing is allowed."""
    largest, total = F(-np.inf), F(0.0)
    for j in range(scores.size):
        if allowed[j]:
            scores[j] = scores[j] / temperature
            largest = max(largest, scores[j])
    for j in range(scores.size):
        scores[j] = exp(scores[j] - largest) if allowed[j] else F(0.0)
        total += scores[j]
    if total > F(0.0) or total != total:
        for j in range(scores.size):
            scores[j] = scores[j] / total if allowed[j] else F(0.0)


@inline
def _mask(x: Inputs, n: int, i: int) -> Any:
    return flags(x.mask, n * x.mask_stride + i * x.row_stride, x.width)


@kernel
def forward(t: Forward) -> None:
    x = t.inputs
    length, width, size, out, temperature = x.length, x.width, x.features, x.out, floats(x.temperature, 0, 1)[0]
    for n in blocks(t):
        keys, powers = floats(x.key, n * width * size, width * size), floats(x.powers, n * width * size, width * size)
        values = floats(x.value, n * width * out, width * out)
        v, room = floats(x.v, n * x.v_stride, size), floats(t.room, n * size, size)
        for i in range(length):
            row, allowed = n * length + i, _mask(x, n, i)
            weights, output = floats(t.weights, row * width, width), floats(t.output, row * out, out)
            way = _scores(floats(x.query, row * size, size), keys, powers, v, allowed, room, weights)
            flags(t.ways, row, 1)[0] = way
            _soft(weights, allowed, temperature)
            output[:] = F(0.0)
            for j in range(width):
                if allowed[j]:
                    add_times(weights[j], values[j * out : (j + 1) * out], output)


@loops
def _terms(way: int, query: Any, key: Any, terms: Any) -> None:
    if way == DIRECT:
        for i in range(query.size):
            terms[i] = tanh(query[i] + key[i])
    else:
        for i in range(query.size):
            terms[i] = tanh_near(query[i] + key[i])


@loops
def _slopes(terms: Any, v: Any, factor: float) -> None:
    """Terms become factor times v times the tangent's derivative."""
    for i in range(terms.size):
        terms[i] = factor * v[i] * (F(1.0) - terms[i] * terms[i])


@loops
def _identity_gradients(
    left: Any, right: Any, v: Any, share: float, query_grad: Any, key_grad: Any, v_grad: Any
) -> None:
    """Add a key's part to the gradients of query, key and v. `share` is its score's."""
    apart()
    cap = CAP
    for i in range(left.size):
        r = quotient(F(1.0), bounded(F(1.0) + left[i] * right[i], cap))
        slope = F(4.0) * share * v[i] * (r - r * r)
        # tanh = 1 - 2 r, and the ones add nothing: the gradients of a row's scores sum to zero
        v_grad[i] -= F(2.0) * share * r
        query_grad[i] += slope
        key_grad[i] += slope


@loops
def _shares(grad: Any, values: Any, weights: Any, allowed: Any, temperature: float, shares: Any) -> None:
    """Gradients of a row's scores, from the output's."""
    out, mean = grad.size, F(0.0)
    for j in range(weights.size):
        if allowed[j]:
            shares[j] = dot(grad, values[j * out : (j + 1) * out])
            mean += weights[j] * shares[j]
    for j in range(weights.size):
        shares[j] = weights[j] * (shares[j] - mean) / temperature if allowed[j] else F(0.0)


@loops
def _differentiate(
    way: int, query: Any, memory: tuple[Any, ...], allowed: Any, shares: Any, room: Any, grads: tuple[Any, ...]
) -> None:
    """Gradients of a row's query, key and v. Those of key and v are added to."""
    size, (keys, powers, v), (query_grad, keys_grad, v_grad) = query.size, memory, grads
    left, terms = room[:size], room[size:]
    if way == IDENTITY:
        _powers(query, left)
    query_grad[:] = F(0.0)
    for j in range(allowed.size):
        if not allowed[j]:
            continue
        at = slice(j * size, (j + 1) * size)
        if way == IDENTITY:
            _identity_gradients(left, powers[at], v, shares[j], query_grad, keys_grad[at], v_grad)
            continue
        _terms(way, query, keys[at], terms)
        add_times(shares[j], terms, v_grad)
        _slopes(terms, v, shares[j])
        add(terms, query_grad)
        add(terms, keys_grad[at])


@kernel
def backward(t: Backward) -> None:
    x = t.inputs
    length, width, size, out, temperature = x.length, x.width, x.features, x.out, floats(x.temperature, 0, 1)[0]
    for n in blocks(t):
        keys, powers = floats(x.key, n * width * size, width * size), floats(x.powers, n * width * size, width * size)
        values, v = floats(x.value, n * width * out, width * out), floats(x.v, n * x.v_stride, size)
        room = floats(t.room, n * (2 * size + width), 2 * size + width)
        shares = room[2 * size :]
        keys_grad, v_grad = floats(t.key_grad, n * width * size, width * size), floats(t.v_grad, n * size, size)
        for i in range(length):
            row, allowed = n * length + i, _mask(x, n, i)
            query, query_grad = floats(x.query, row * size, size), floats(t.query_grad, row * size, size)
            if t.weights:
                grad, weights = floats(t.grad, row * out, out), floats(t.weights, row * width, width)
                _shares(grad, values, weights, allowed, temperature, shares)
            else:
                shares[:] = floats(t.grad, row * width, width)
            way = flags(t.ways, row, 1)[0]
            grads = query_grad, keys_grad, v_grad
            _differentiate(way, query, (keys, powers, v), allowed, shares, room[: 2 * size], grads)
