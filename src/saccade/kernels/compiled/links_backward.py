"""The gradients of a step by usage and links. The table is that of `links`."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import integers, kernel, loops, matrix, numbers, take
from saccade.kernels.compiled.heads import (
    content_backward,
    logistic,
    read_backward,
    softmax_backward,
    unit_backward,
    write_backward,
)
from saccade.kernels.compiled.links import place_of


@loops
def _dot(left: Any, right: Any) -> float:
    total = left.dtype.type(0)
    for i in range(left.size):
        total += left[i] * right[i]
    return total


@loops
def _add(factor: float, part: Any, found: Any) -> None:
    for i in range(part.size):
        found[i] += factor * part[i]


@loops
def _scaled(factor: float, part: Any, found: Any) -> None:
    for i in range(part.size):
        found[i] = factor * part[i]


@loops
def _along_backward(
    links: Any, weights: Any, back: Any, forth: Any, links_grad: Any, weights_grad: Any, totals: Any
) -> None:
    """From gradients of the weights one write back and one forth; those of links are added to."""
    weights_grad[:] = 0
    for i in range(weights.size):
        row, grad, w, along, total = links[i], links_grad[i], weights[i], forth[i], weights.dtype.type(0)
        for j in range(row.size):
            grad[j] += w * back[j] + along * weights[j]
        for j in range(row.size):
            total += row[j] * back[j]
            weights_grad[j] += along * row[j]
        totals[i] = total  # not to what the next row reads as vectors, which would wait for this one number
    for i in range(weights.size):
        weights_grad[i] += totals[i]


@loops
def _precedence_backward(last: Any, written: Any, grad: Any, last_grad: Any, written_grad: Any) -> None:
    """From the gradient of the new precedence; that of the weights is added to."""
    total = last.dtype.type(1)
    for i in range(written.size):
        total -= written[i]
    along = _dot(grad, last)
    for i in range(written.size):
        written_grad[i] += grad[i] - along
    _scaled(total, grad, last_grad)


@loops
def _links_backward(
    links: Any, last: Any, written: Any, grad: Any, links_grad: Any, last_grad: Any, written_grad: Any, totals: Any
) -> None:
    """From the gradient of the new links, whose diagonal is lost; those of precedence and weights are added to."""
    one = last.dtype.type(1)
    for i in range(written.size):
        grad[i, i] = 0
    for i in range(written.size):
        row, old, w, total = grad[i], links[i], written[i], last.dtype.type(0)
        for j in range(row.size):
            total += row[j] * (last[j] - old[j])
            last_grad[j] += w * row[j]
        totals[i] = total
    for i in range(written.size):
        row, old = grad[i], links[i]
        for j in range(row.size):
            written_grad[j] -= row[j] * old[j]
    for i in range(written.size):
        row, new, kept = grad[i], links_grad[i], one - written[i]
        for j in range(row.size):
            new[j] = (kept - written[j]) * row[j]
    for i in range(written.size):
        written_grad[i] += totals[i]


@loops
def _allocate_backward(used: Any, order: Any, grad: Any, used_grad: Any, before: Any) -> None:
    """That of the usage is added to. No division: of a cell that is quite free all behind it have none."""
    one, product, behind = used.dtype.type(1), used.dtype.type(1), used.dtype.type(0)
    for k in range(order.size):
        before[k] = product
        product *= used[order[k]]
    for k in range(order.size - 1, -1, -1):
        place = order[k]
        used_grad[place] += before[k] * (behind - grad[place])
        behind = grad[place] * (one - used[place]) + used[place] * behind


@loops
def _use_backward(
    used: Any,
    written: Any,
    reading: Any,
    said: Any,
    head: int,
    size: int,
    grad: Any,
    used_grad: Any,
    written_grad: Any,
    reading_grad: Any,
    asked_grad: Any,
    room: Any,
) -> None:
    """That of the weights of reading is added to, `grad` is lost."""
    one, reads = used.dtype.type(1), reading.shape[0]
    for h in range(reads):
        for i in range(used.size):
            room[i] = -grad[i] * (used[i] + written[i] - used[i] * written[i])
        for other in range(reads):
            if other != h:
                _retain(said[other * head + size + 1], reading[other], room)
        asked_grad[h * head + size + 1] = _dot(room, reading[h])
        _add(said[h * head + size + 1], room, reading_grad[h])
    for h in range(reads):
        _retain(said[h * head + size + 1], reading[h], grad)
    for i in range(used.size):
        used_grad[i] = grad[i] * (one - written[i])
    for i in range(used.size):
        written_grad[i] = grad[i] * (one - used[i])


@loops
def _retain(free: float, weights: Any, found: Any) -> None:
    one = found.dtype.type(1)
    for i in range(found.size):
        found[i] *= one - free * weights[i]


@loops
def _said_reading_backward(asked: Any, said: Any, inverse: float, size: int, grad: Any) -> None:
    unit_backward(said[:size], inverse, grad[:size])
    grad[size] *= logistic(asked[size])
    grad[size + 1] *= said[size + 1] * (said.dtype.type(1) - said[size + 1])
    softmax_backward(said[size + 2 :], grad[size + 2 :])


@loops
def _said_writing_backward(asked: Any, said: Any, inverse: float, size: int, grad: Any) -> None:
    one = said.dtype.type(1)
    unit_backward(said[:size], inverse, grad[:size])
    grad[size] *= logistic(asked[size])
    for j in range(size + 1, 2 * size + 3):
        grad[j] *= said[j] * (one - said[j])
    for j in range(2 * size + 3, 3 * size + 3):
        grad[j] *= one - said[j] * said[j]


@loops
def _said_backward(asked: Any, said: Any, keys: Any, size: int, grad: Any) -> None:
    """Of what all heads are asked for, from that of what they were told; both begin with the readers."""
    head, reads = size + 5, keys.size - 1
    for h in range(reads):
        start, end = h * head, (h + 1) * head
        _said_reading_backward(asked[start:end], said[start:end], keys[h], size, grad[start:end])
    first = reads * head
    _said_writing_backward(asked[first:], said[first:], keys[reads], size, grad[first:])


@loops
def _modes_backward(modes: Any, ways: Any, grad: Any, modes_grad: Any, back: Any, forth: Any) -> None:
    """Of a reader's weights, between those by content, one write back and one forth, which are `ways` in this order."""
    modes_grad[0], modes_grad[1], modes_grad[2] = _dot(grad, ways[1]), _dot(grad, ways[0]), _dot(grad, ways[2])
    _scaled(modes[0], grad, back)
    _scaled(modes[2], grad, forth)


@loops
def _choice_backward(similar: Any, free: Any, said: Any, grad: Any, free_grad: Any, said_grad: Any) -> None:
    """Of the writer's weights, between those by content and those of free cells; `grad` becomes that of the first."""
    share, gate, one = said[0], said[1], grad.dtype.type(1)
    by_content, by_need = _dot(grad, similar), _dot(grad, free)
    said_grad[0] = gate * (by_need - by_content)
    said_grad[1] = by_content + share * (by_need - by_content)
    _scaled(gate * share, grad, free_grad)
    for i in range(grad.size):
        grad[i] *= gate * (one - share)


@loops
def differentiate(table: Any, kind: Any) -> None:
    """Its gradients, of the type that `kind` has."""
    cells, size, reads = table[21], table[22], table[23]
    head, places = size + 5, place_of(size, reads)
    first, width = reads * head, reads * head + 3 * size + 3
    dtype = numbers(table[2], 0, 1, kind).dtype
    rows = np.empty((6, cells), dtype)
    grad, room, back, forth, use_grad, grads = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5:]
    new_grad, links_grad = np.empty((size, cells), dtype), np.empty((cells, cells), dtype)
    while True:
        n = take(table)
        if n >= table[1]:
            return
        asked, said = numbers(table[2], n * width, width, kind), numbers(table[3], n * width, width, kind)
        asked_grad, memory_grad = numbers(table[31], n * width, width, kind), matrix(table[32], n, size, cells, kind)
        keys = numbers(table[4], n * (reads + 1), reads + 1, kind)
        memory, new = matrix(table[5], n, size, cells, kind), matrix(table[11], n, size, cells, kind)
        before, after = matrix(table[6], n, reads, cells, kind), matrix(table[13], n, reads, cells, kind)
        writing, written = matrix(table[7], n, 1, cells, kind)[0], matrix(table[14], n, 1, cells, kind)
        used, now_used = numbers(table[8], n * cells, cells, kind), numbers(table[15], n * cells, cells, kind)
        last, new_links = numbers(table[9], n * cells, cells, kind), matrix(table[17], n, cells, cells, kind)
        inverses, order = matrix(table[19], n, 2, cells, kind), integers(table[20] + 8 * n * cells, cells)
        kept, found_grad = matrix(table[18], n, 4 * reads + 3, cells, kind), matrix(table[25], n, reads, size, kind)
        after_grad, before_grad = matrix(table[26], n, reads, cells, kind), matrix(table[33], n, reads, cells, kind)
        new_grad[:] = matrix(table[24], n, size, cells, kind)
        links_grad[:] = matrix(table[30], n, cells, cells, kind)
        for h in range(reads):
            start, end = h * head, (h + 1) * head
            own, own_grad = said[start:end], asked_grad[start:end]
            grad[:] = after_grad[h]
            read_backward(new, after[h], found_grad[h], new_grad, grad)
            _modes_backward(own[size + 2 :], kept[4 * h + 1 : 4 * h + 4], grad, own_grad[size + 2 :], back, forth)
            _along_backward(new_links, before[h], back, forth, links_grad, before_grad[h], room)
            _scaled(own[size + 3], grad, back)
            own_grad[size] = content_backward(
                new, inverses[1], own[:size], own[size], kept[4 * h], kept[4 * h + 1], back, new_grad,
                own_grad[:size], room,
            )  # fmt: skip
        grads[0] = matrix(table[27], n, 1, cells, kind)[0]
        write_backward(memory, written, said, places, new_grad, memory_grad, grads, asked_grad, room)
        following_grad = numbers(table[29], n * cells, cells, kind)
        last_grad = numbers(table[36], n * cells, cells, kind)
        links, old_links_grad = matrix(table[10], n, cells, cells, kind), matrix(table[37], n, cells, cells, kind)
        _precedence_backward(last, written[0], following_grad, last_grad, grads[0])
        _links_backward(links, last, written[0], links_grad, old_links_grad, last_grad, grads[0], room)
        similar, free = kept[4 * reads + 1], kept[4 * reads + 2]
        own, own_grad = said[first:], asked_grad[first:]
        _choice_backward(similar, free, own[size + 1 :], grads[0], back, own_grad[size + 1 :])
        own_grad[size] = content_backward(
            memory, inverses[0], own[:size], own[size], kept[4 * reads], similar, grads[0], memory_grad,
            own_grad[:size], room,
        )  # fmt: skip
        use_grad[:] = numbers(table[28], n * cells, cells, kind)
        _allocate_backward(now_used, order, back, use_grad, room)
        used_grad, writing_grad = numbers(table[35], n * cells, cells, kind), numbers(table[34], n * cells, cells, kind)
        _use_backward(
            used, writing, before, said, head, size, use_grad, used_grad, writing_grad, before_grad, asked_grad, room
        )  # fmt: skip
        _said_backward(asked, said, keys, size, asked_grad)


@kernel
def backward(table: Any) -> None:
    """The gradients of a step of float32 numbers."""
    differentiate(table, np.float32(0))
