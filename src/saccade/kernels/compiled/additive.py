"""Additive scores, softmax and read of one row of queries after another, forward and backward.

The terms are tanh(q + k) = 1 - 2 r with r = 1 / x, x = 1 + e^2q e^2k, read in the order of memory. An x above 2^100 is
taken for it, so that its reciprocal may be estimated; its r differs from the true one by less than 1e-30.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import (
    F,
    apart,
    exp,
    flags,
    floats,
    inline,
    kernel,
    loops,
    quotient,
    take,
    tanh,
    tanh_near,
)

SMALL = F(0.25)
"""Where |q| and |k| are all below this, 1 - 2 r would cancel: the polynomial of tanh is taken alone."""

LIMIT = F(43.0)
"""Beyond this |x|, e^2x leaves the normal numbers; keys beyond it have NaN for it."""

MOST = F(2.0**100)
"""What x is bounded by."""

IDENTITY, DIRECT, NEAR = 0, 1, 2


@inline
def _bounded(x: float, most: float) -> float:
    return most if x > most else x  # written so that NaN stays NaN


@loops
def _reciprocals(left: Any, right: Any, v: Any) -> float:
    """The sum of v r."""
    most, total = MOST, F(0.0)
    for i in range(left.size):
        total += quotient(v[i], _bounded(F(1.0) + left[i] * right[i], most))
    return total


@loops
def _tangents(query: Any, key: Any, v: Any) -> float:
    total = F(0.0)
    for i in range(query.size):
        total += v[i] * tanh(query[i] + key[i])
    return total


@loops
def _tangents_near(query: Any, key: Any, v: Any) -> float:
    total = F(0.0)
    for i in range(query.size):
        total += v[i] * tanh_near(query[i] + key[i])
    return total


@loops
def _within(numbers: Any, bound: float) -> bool:
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
def _total(numbers: Any) -> float:
    total = F(0.0)
    for i in range(numbers.size):
        total += numbers[i]
    return total


@loops
def _powers(query: Any, powers: Any) -> None:
    for i in range(query.size):
        powers[i] = exp(F(2.0) * query[i])


@loops
def _scores(query: Any, keys: Any, powers: Any, v: Any, allowed: Any, room: Any, scores: Any) -> int:
    """The scores of a query, and which way they were computed."""
    size = query.size
    if _within(query, SMALL) and _all_within(keys, allowed, size, SMALL):
        for j in range(allowed.size):
            if allowed[j]:
                scores[j] = _tangents_near(query, keys[j * size : (j + 1) * size], v)
        return NEAR
    if _within(query, LIMIT):
        whole, total, check = _total(v), F(0.0), F(0.0)
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
            scores[j] = _tangents(query, keys[j * size : (j + 1) * size], v)
    return DIRECT


@loops
def _add(target: Any, numbers: Any, factor: float) -> None:
    apart()
    for i in range(target.size):
        target[i] += factor * numbers[i]


@loops
def _dot(first: Any, second: Any) -> float:
    total = F(0.0)
    for i in range(first.size):
        total += first[i] * second[i]
    return total


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


@kernel
def forward(table: Any) -> None:
    """[taken, batch, query, key, powers, value, v, v's step, mask, its step a batch entry, its step a query, output,
    weights, kinds, room, queries, keys, features, value's features, numbers (temperature)].
    """
    length, width, size, out = table[15], table[16], table[17], table[18]
    temperature = floats(table[19], 1)[0]
    while True:
        n = take(table)
        if n >= table[1]:
            return
        keys = floats(table[3] + 4 * n * width * size, width * size)
        powers = floats(table[4] + 4 * n * width * size, width * size)
        values = floats(table[5] + 4 * n * width * out, width * out)
        v, room = floats(table[6] + 4 * n * table[7], size), floats(table[14] + 4 * n * size, size)
        for i in range(length):
            row = n * length + i
            allowed = flags(table[8] + n * table[9] + i * table[10], width)
            weights, output = floats(table[12] + 4 * row * width, width), floats(table[11] + 4 * row * out, out)
            kind = _scores(floats(table[2] + 4 * row * size, size), keys, powers, v, allowed, room, weights)
            flags(table[13] + row, 1)[0] = kind
            _soft(weights, allowed, temperature)
            output[:] = F(0.0)
            for j in range(width):
                if allowed[j]:
                    _add(output, values[j * out : (j + 1) * out], weights[j])


@loops
def _terms(kind: int, query: Any, key: Any, terms: Any) -> None:
    """The tangents."""
    if kind == DIRECT:
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
    """What a key whose score has the gradient `share` adds to the gradients of query, key and v, in one pass."""
    apart()
    most = MOST
    for i in range(left.size):
        r = quotient(F(1.0), _bounded(F(1.0) + left[i] * right[i], most))
        slope = F(4.0) * share * v[i] * (r - r * r)
        # tanh = 1 - 2 r, and the ones add nothing: the gradients of a row's scores sum to zero
        v_grad[i] -= F(2.0) * share * r
        query_grad[i] += slope
        key_grad[i] += slope


@loops
def _shares(grad: Any, values: Any, weights: Any, allowed: Any, temperature: float, shares: Any) -> None:
    """The gradient of the scores, from that of the output."""
    out, mean = grad.size, F(0.0)
    for j in range(weights.size):
        if allowed[j]:
            shares[j] = _dot(grad, values[j * out : (j + 1) * out])
            mean += weights[j] * shares[j]
    for j in range(weights.size):
        shares[j] = weights[j] * (shares[j] - mean) / temperature if allowed[j] else F(0.0)


@loops
def _differentiate(
    kind: int,
    query: Any,
    keys: Any,
    powers: Any,
    v: Any,
    allowed: Any,
    shares: Any,
    left: Any,
    terms: Any,
    query_grad: Any,
    keys_grad: Any,
    v_grad: Any,
) -> None:
    """What the gradients of a row's scores make of those of query, key and v, the last two added to."""
    size = query.size
    if kind == IDENTITY:
        _powers(query, left)
    query_grad[:] = F(0.0)
    for j in range(allowed.size):
        if not allowed[j]:
            continue
        at = slice(j * size, (j + 1) * size)
        if kind == IDENTITY:
            _identity_gradients(left, powers[at], v, shares[j], query_grad, keys_grad[at], v_grad)
            continue
        _terms(kind, query, keys[at], terms)
        _add(v_grad, terms, shares[j])
        _slopes(terms, v, shares[j])
        _add(query_grad, terms, F(1.0))
        _add(keys_grad[at], terms, F(1.0))


@kernel
def backward(table: Any) -> None:
    """As `forward` up to 19, but 11 is the output's gradient, and the room has two rows of features and one of keys;
    then the gradients of [query, key, v], one v a batch entry, those of key and v to be added to. Without weights (0 in
    12), 11 is the gradient of the scores, which sums to zero in each row as that of any softmax does.
    """
    length, width, size, out = table[15], table[16], table[17], table[18]
    temperature = floats(table[19], 1)[0]
    while True:
        n = take(table)
        if n >= table[1]:
            return
        keys = floats(table[3] + 4 * n * width * size, width * size)
        powers = floats(table[4] + 4 * n * width * size, width * size)
        values = floats(table[5] + 4 * n * width * out, width * out)
        v = floats(table[6] + 4 * n * table[7], size)
        room = floats(table[14] + 4 * n * (2 * size + width), 2 * size + width)
        left, terms, shares = room[:size], room[size : 2 * size], room[2 * size :]
        keys_grad = floats(table[21] + 4 * n * width * size, width * size)
        v_grad = floats(table[22] + 4 * n * size, size)
        for i in range(length):
            row = n * length + i
            allowed = flags(table[8] + n * table[9] + i * table[10], width)
            query, query_grad = floats(table[2] + 4 * row * size, size), floats(table[20] + 4 * row * size, size)
            if table[12]:
                grad, weights = floats(table[11] + 4 * row * out, out), floats(table[12] + 4 * row * width, width)
                _shares(grad, values, weights, allowed, temperature, shares)
            else:
                shares[:] = floats(table[11] + 4 * row * width, width)
            kind = flags(table[13] + row, 1)[0]
            _differentiate(kind, query, keys, powers, v, allowed, shares, left, terms, query_grad, keys_grad, v_grad)
