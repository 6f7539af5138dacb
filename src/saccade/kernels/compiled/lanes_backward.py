"""The gradients of additive scores, from the packed tensors of `lanes`.

    dv = sum g (1 - 2 r)      dq = 4 v sum_j g r (1 - r)      dk = 4 v sum_i g r (1 - r)

A block is two features of a batch entry. There are whole fours of queries and whole vectors of keys, with zeros for
gradients beyond the lengths.
"""

from typing import Any

import numpy as np

from saccade.kernels.additive import TILE, Gradients
from saccade.kernels.compiled import apart, blocks, flags, inline, kernel, lanes, loops, matrix, numbers, whole_vectors
from saccade.kernels.compiled.functions import tanh, tanh_near
from saccade.kernels.packing import QUERIES

ROOM = 64
"""Numbers a thread writes all the time: threads must not share a cache line."""


@loops
def find_ways(grads: Any, left: Any, right: Any, limit: float, ways: Any, sums: Any) -> None:
    """Find how each tile is computed, if at all, and sum its gradients."""
    length, width = grads.shape
    zero = grads.dtype.type(0)
    for t in range(ways.shape[1]):
        tile = slice(t * TILE, min(width, (t + 1) * TILE))
        reach = lanes.reach_of(right[tile])
        for i in range(0, length, QUERIES):
            busy, total = 0, zero
            for row in range(i, i + QUERIES):
                part = grads[row, tile]
                for j in range(part.size):
                    busy += part[j] != zero
                    total += part[j]
            way = lanes.SKIP
            if busy:
                way = lanes.way_of(lanes.reach_of(left[i : i + QUERIES]), reach, limit)
            ways[i // QUERIES, t] = way
            sums[i // QUERIES, t] = total if way in (lanes.IDENTITY, lanes.UNBOUNDED) else zero


def _four_by(bounded: Any) -> Any:
    """Terms of four queries with one division between them, x bounded or not."""

    @inline
    def four(b: float, left: tuple[float, ...], cap: float) -> tuple[float, ...]:
        """r of four queries and a key, with one division."""
        a0, a1, a2, a3 = left
        unity = type(cap)(1)
        x0, x1 = bounded(unity + a0 * b, cap), bounded(unity + a1 * b, cap)
        x2, x3 = bounded(unity + a2 * b, cap), bounded(unity + a3 * b, cap)
        first, second = x0 * x1, x2 * x3
        shared = unity / (first * second)
        first, second = first * shared, second * shared
        return x1 * second, x0 * second, x3 * first, x2 * first

    return four


def _pair_by(bounded: Any) -> Any:
    """The loop of the backward, with or without a bound on x."""
    four = _four_by(bounded)

    @loops
    def pair(
        grads: int, step: int, begin: int, end: int, b: Any, k: Any, a: Any, q: Any, spans: Any, cap: float, out: Any
    ) -> None:
        """Gradients of two features of some queries and of a tile of keys.

        Terms g r (1 - r) are added to those of keys `k` and queries `q`, and sums of g r, for v, to `out`. The
        gradients of the first query's scores begin at `grads`, the next query's `step` further. One call does all
        queries, since a call with so many arrays costs about a hundred terms.
        """
        whole_vectors()
        apart()
        zero, (b0, b1), (k0, k1), (a0, a1), (q0, q1) = type(cap)(0), b, k, a, q
        for i in range(begin, end, QUERIES):
            left, right = (a0[i], a0[i + 1], a0[i + 2], a0[i + 3]), (a1[i], a1[i + 1], a1[i + 2], a1[i + 3])
            p0, p1, p2, p3, s0, s1, s2, s3, v0, v1 = zero, zero, zero, zero, zero, zero, zero, zero, zero, zero
            low, high = spans[i // QUERIES]
            at, size = i * step + low, high - low
            g0, g1 = numbers(grads, at, size, cap), numbers(grads, at + step, size, cap)
            g2, g3 = numbers(grads, at + 2 * step, size, cap), numbers(grads, at + 3 * step, size, cap)
            c0, c1, l0, l1 = b0[low:high], b1[low:high], k0[low:high], k1[low:high]
            for j in range(size):
                r0, r1, r2, r3 = four(c0[j], left, cap)
                u0, u1, u2, u3 = g0[j] * r0, g1[j] * r1, g2[j] * r2, g3[j] * r3
                v0 += (u0 + u1) + (u2 + u3)
                u0, u1, u2, u3 = u0 - u0 * r0, u1 - u1 * r1, u2 - u2 * r2, u3 - u3 * r3
                p0, p1, p2, p3 = p0 + u0, p1 + u1, p2 + u2, p3 + u3
                l0[j] += (u0 + u1) + (u2 + u3)
                r0, r1, r2, r3 = four(c1[j], right, cap)
                u0, u1, u2, u3 = g0[j] * r0, g1[j] * r1, g2[j] * r2, g3[j] * r3
                v1 += (u0 + u1) + (u2 + u3)
                u0, u1, u2, u3 = u0 - u0 * r0, u1 - u1 * r1, u2 - u2 * r2, u3 - u3 * r3
                s0, s1, s2, s3 = s0 + u0, s1 + u1, s2 + u2, s3 + u3
                l1[j] += (u0 + u1) + (u2 + u3)
            q0[i], q0[i + 1], q0[i + 2], q0[i + 3] = q0[i] + p0, q0[i + 1] + p1, q0[i + 2] + p2, q0[i + 3] + p3
            q1[i], q1[i + 1], q1[i + 2], q1[i + 3] = q1[i] + s0, q1[i + 1] + s1, q1[i + 2] + s2, q1[i + 3] + s3
            out[0] += v0
            out[1] += v1

    return pair


pair, pair_unbounded = _pair_by(lanes.bounded), _pair_by(lanes.unbounded)


@loops
def slopes_of_tile(way: int, g: Any, key: Any, q: float, key_grad: Any, out: Any) -> None:
    """Terms of one query and feature: g (1 - tanh^2) / 4, and the sum of g tanh."""
    quarter, unity, total, value = key.dtype.type(0.25), key.dtype.type(1), key.dtype.type(0), key.dtype.type(0)
    for j in range(g.size):
        t = tanh_near(q + key[j]) if way == lanes.SMALL else tanh(q + key[j])
        u = g[j] * (unity - t * t) * quarter
        key_grad[j] += u
        total += u
        value += g[j] * t
    out[0], out[1] = total, value


@loops
def _features(t: Gradients, n: int, d: int, cap: float, room: Any) -> None:
    """Gradients of two features of queries and keys, not yet times 4 v.

    The room begins with [sum g r, sum g tanh] of both features, for v.
    """
    length, width, size = t.rows, t.lanes, t.whole
    strips, tiles, zero = length // QUERIES, (width + TILE - 1) // TILE, type(cap)(0)
    grads, start = matrix(t.grads, n, length, width, cap), t.grads + room.itemsize * n * length * width
    left, right = matrix(t.left, n, size + 1, length, cap), matrix(t.right, n, size + 1, width, cap)
    query, key = left, right
    if t.query:
        query, key = matrix(t.query, n, size, length, cap), matrix(t.key, n, size, width, cap)
    ways = flags(t.ways, n * strips * tiles, strips * tiles).reshape(strips, tiles)
    query_grad, key_grad = matrix(t.query_grad, n, size, length, cap), matrix(t.key_grad, n, size, width, cap)
    out, v_grad, spans = room[4:6], room[:4].reshape(2, 2), np.zeros((strips, 2), np.int64)
    query_grad[d : d + 2], key_grad[d : d + 2], v_grad[:] = zero, zero, zero
    for tile_index in range(tiles):
        tile = slice(tile_index * TILE, min(width, (tile_index + 1) * TILE))
        b, k = (right[d, tile], right[d + 1, tile]), (key_grad[d, tile], key_grad[d + 1, tile])
        a, q = (left[d], left[d + 1]), (query_grad[d], query_grad[d + 1])
        strip, spans[:, 1] = 0, tile.stop - tile.start
        while strip < strips:
            way, begin = ways[strip, tile_index], strip
            while strip < strips and ways[strip, tile_index] == way:
                strip += 1
            first, last = begin * QUERIES, strip * QUERIES
            if way in (lanes.IDENTITY, lanes.UNBOUNDED):
                out[:] = zero
                upstream = start + room.itemsize * tile.start
                if way == lanes.UNBOUNDED:
                    pair_unbounded(upstream, width, first, last, b, k, a, q, spans, cap, out)
                else:
                    pair(upstream, width, first, last, b, k, a, q, spans, cap, out)
                v_grad[0, 0] += out[0]
                v_grad[1, 0] += out[1]
            elif way != lanes.SKIP:
                for e in range(d, d + 2):
                    for row in range(first, last):
                        slopes_of_tile(way, grads[row, tile], key[e, tile], query[e, row], key_grad[e, tile], out)
                        query_grad[e, row] += out[0]
                        v_grad[e - d, 1] += out[1]


@kernel
def ways(t: Gradients, kind: Any) -> None:
    length, width, size = t.rows, t.lanes, t.whole
    strips, tiles, limit = length // QUERIES, (width + TILE - 1) // TILE, numbers(t.bounds, 0, 1, kind)[0]
    for n in blocks(t):
        left, right = matrix(t.left, n, size + 1, length, kind), matrix(t.right, n, size + 1, width, kind)
        ways = flags(t.ways, n * strips * tiles, strips * tiles).reshape(strips, tiles)
        sums, grads = matrix(t.sums, n, strips, tiles, kind), matrix(t.grads, n, length, width, kind)
        find_ways(grads, left[size], right[size], limit, ways, sums)


@kernel
def gradients(t: Gradients, kind: Any) -> None:
    size, cap = t.whole, numbers(t.bounds, 1, 1, kind)[0]
    room = np.empty(ROOM, numbers(t.bounds, 0, 1, kind).dtype)
    for block in blocks(t):
        n, d = block // (size // 2), block % (size // 2) * 2
        _features(t, n, d, cap, room)
        numbers(t.v_parts, 2 * (n * size + d), 4, kind)[:] = room[:4]
