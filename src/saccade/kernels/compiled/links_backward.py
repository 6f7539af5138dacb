"""The gradients of a step by usage and links."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import blocks, heads, integers, kernel, loops, matrix, numbers
from saccade.kernels.compiled.functions import add_times
from saccade.kernels.compiled.links import sizes_of
from saccade.kernels.compiled.rows_backward import dot
from saccade.kernels.heads import Backward


@loops
def _scaled(factor: float, part: Any, target: Any) -> None:
    for i in range(part.size):
        target[i] = factor * part[i]


@loops
def _along_backward(
    links: Any, weights: Any, back: Any, forth: Any, links_grad: Any, weights_grad: Any, totals: Any
) -> None:
    """Gradients of the weights moved one write back and forth, and of the links."""
    weights_grad[:] = 0
    for i in range(weights.size):
        row, grad, w, along, total = links[i], links_grad[i], weights[i], forth[i], weights.dtype.type(0)
        for j in range(row.size):
            grad[j] += w * back[j] + along * weights[j]
        for j in range(row.size):
            total += row[j] * back[j]
            weights_grad[j] += along * row[j]
        totals[i] = total  # not to `weights_grad`: vectors of the next row would wait for this number
    for i in range(weights.size):
        weights_grad[i] += totals[i]


@loops
def _precedence_backward(last: Any, written: Any, grad: Any, last_grad: Any, written_grad: Any) -> None:
    """Gradients of the last precedence and of the written weights, from the new one's."""
    total = last.dtype.type(1)
    for i in range(written.size):
        total -= written[i]
    along = dot(grad, last)
    for i in range(written.size):
        written_grad[i] += grad[i] - along
    _scaled(total, grad, last_grad)


@loops
def _links_backward(
    links: Any, last: Any, written: Any, grad: Any, links_grad: Any, last_grad: Any, written_grad: Any, totals: Any
) -> None:
    """Gradients of links, precedence and weights, from those of the new links."""
    unity = last.dtype.type(1)
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
        row, new, kept = grad[i], links_grad[i], unity - written[i]
        for j in range(row.size):
            new[j] = (kept - written[j]) * row[j]
    for i in range(written.size):
        written_grad[i] += totals[i]


@loops
def _allocate_backward(used: Any, order: Any, grad: Any, used_grad: Any, before: Any) -> None:
    """Gradient of the usage, without a division: behind a free cell all have zeros."""
    unity, product, behind = used.dtype.type(1), used.dtype.type(1), used.dtype.type(0)
    for k in range(order.size):
        before[k] = product
        product *= used[order[k]]
    for k in range(order.size - 1, -1, -1):
        cell = order[k]
        used_grad[cell] += before[k] * (behind - grad[cell])
        behind = grad[cell] * (unity - used[cell]) + used[cell] * behind


@loops
def _use_backward(
    used: Any, written: Any, reading: Any, gates: Any, grad: Any, grads: tuple[Any, ...], gates_grad: Any, room: Any
) -> None:
    """Gradients of usage, weights (added to readers') and free gates. `grad` is lost."""
    unity, reads, (used_grad, written_grad, reading_grad) = used.dtype.type(1), reading.shape[0], grads
    for h in range(reads):
        for i in range(used.size):
            room[i] = -grad[i] * (used[i] + written[i] - used[i] * written[i])
        for other in range(reads):
            if other != h:
                _retain(gates[other], reading[other], room)
        gates_grad[h] = dot(room, reading[h])
        add_times(gates[h], room, reading_grad[h])
    for h in range(reads):
        _retain(gates[h], reading[h], grad)
    for i in range(used.size):
        used_grad[i] = grad[i] * (unity - written[i])
    for i in range(used.size):
        written_grad[i] = grad[i] * (unity - used[i])


@loops
def _retain(free: float, weights: Any, target: Any) -> None:
    unity = target.dtype.type(1)
    for i in range(target.size):
        target[i] *= unity - free * weights[i]


@loops
def _controls_backward(interface: Any, controls: Any, key_norms: Any, size: int, grad: Any) -> None:
    """Turn the gradient of all controls into the interface's, readers first."""
    head, reads, unity = size + 5, key_norms.size - 1, controls.dtype.type(1)
    for h in range(reads + 1):
        first = h * head
        heads.unit_backward(controls[first : first + size], key_norms[h], grad[first : first + size])
        grad[first + size] *= heads.logistic(interface[first + size])
    for h in range(reads):
        gate = h * head + size + 1
        grad[gate] *= controls[gate] * (unity - controls[gate])
        heads.softmax_backward(controls[gate + 1 : gate + 4], grad[gate + 1 : gate + 4])
    first = reads * head
    for j in range(first + size + 1, first + 2 * size + 3):
        grad[j] *= controls[j] * (unity - controls[j])
    for j in range(first + 2 * size + 3, first + 3 * size + 3):
        grad[j] *= unity - controls[j] * controls[j]


@loops
def _modes_backward(modes: Any, ways: Any, grad: Any, modes_grad: Any, back: Any, forth: Any) -> None:
    """Gradients of a reader's modes, and of its weights one write back and forth."""
    modes_grad[0], modes_grad[1], modes_grad[2] = dot(grad, ways[1]), dot(grad, ways[0]), dot(grad, ways[2])
    _scaled(modes[0], grad, back)
    _scaled(modes[2], grad, forth)


@loops
def _choice_backward(similar: Any, free: Any, controls: Any, grad: Any, free_grad: Any, controls_grad: Any) -> None:
    """Gradients of the writer's choice between content (`grad`) and free cells."""
    share, gate, unity = controls[0], controls[1], grad.dtype.type(1)
    by_content, by_need = dot(grad, similar), dot(grad, free)
    controls_grad[0] = gate * (by_need - by_content)
    controls_grad[1] = by_content + share * (by_need - by_content)
    _scaled(gate * share, grad, free_grad)
    for i in range(grad.size):
        grad[i] *= gate * (unity - share)


@kernel
def backward(t: Backward, kind: Any) -> None:
    s = t.step
    cells, size, reads = s.cells, s.size, s.reads
    head, first, width, starts = sizes_of(s)
    rows = np.empty((6, cells), numbers(s.interface, 0, 1, kind).dtype)
    grad, room, back, forth, use_grad, grads = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5:]
    new_grad, new_links_grad = np.empty((size, cells), rows.dtype), np.empty((cells, cells), rows.dtype)
    for n in blocks(t):
        arrays = heads.example(s, n, width, 4 * reads + 3, kind)
        (interface, controls), (memory, new), (before, after), (writing, written), (key_norms, norms), kept = arrays
        interface_grad = numbers(t.interface_grad, n * width, width, kind)
        memory_grad, read_grad = matrix(t.memory_grad, n, size, cells, kind), matrix(t.read_grad, n, reads, size, kind)
        usage, new_usage = numbers(s.usage, n * cells, cells, kind), numbers(s.new_usage, n * cells, cells, kind)
        last, new_links = numbers(s.precedence, n * cells, cells, kind), matrix(s.new_links, n, cells, cells, kind)
        after_grad = matrix(t.new_reading_grad, n, reads, cells, kind)
        before_grad = matrix(t.reading_grad, n, reads, cells, kind)
        new_grad[:] = matrix(t.new_memory_grad, n, size, cells, kind)
        new_links_grad[:] = matrix(t.new_links_grad, n, cells, cells, kind)
        for h in range(reads):
            start, end = h * head, (h + 1) * head
            part, part_grad = controls[start:end], interface_grad[start:end]
            grad[:] = after_grad[h]
            heads.read_backward(new, after[h], read_grad[h], new_grad, grad)
            _modes_backward(part[size + 2 :], kept[4 * h + 1 : 4 * h + 4], grad, part_grad[size + 2 :], back, forth)
            _along_backward(new_links, before[h], back, forth, new_links_grad, before_grad[h], room)
            _scaled(part[size + 3], grad, back)
            heads.content_backward(new, norms[1], part, kept[4 * h :], back, new_grad, part_grad, room)
        grads[0] = matrix(t.new_writing_grad, n, 1, cells, kind)[0]
        heads.write_backward(memory, written, controls, starts, new_grad, (memory_grad, grads, interface_grad), room)
        following_grad = numbers(t.new_precedence_grad, n * cells, cells, kind)
        last_grad = numbers(t.precedence_grad, n * cells, cells, kind)
        links, links_grad = matrix(s.links, n, cells, cells, kind), matrix(t.links_grad, n, cells, cells, kind)
        _precedence_backward(last, written[0], following_grad, last_grad, grads[0])
        _links_backward(links, last, written[0], new_links_grad, links_grad, last_grad, grads[0], room)
        similar, free = kept[4 * reads + 1], kept[4 * reads + 2]
        part, part_grad = controls[first:], interface_grad[first:]
        _choice_backward(similar, free, part[size + 1 :], grads[0], back, part_grad[size + 1 :])
        heads.content_backward(memory, norms[0], part, kept[4 * reads :], grads[0], memory_grad, part_grad, room)
        use_grad[:] = numbers(t.new_usage_grad, n * cells, cells, kind)
        _allocate_backward(new_usage, integers(s.order, n * cells, cells), back, use_grad, room)
        usage_grad = numbers(t.usage_grad, n * cells, cells, kind)
        writing_grad = numbers(t.writing_grad, n * cells, cells, kind)
        gates, gates_grad = controls[size + 1 : first : head], interface_grad[size + 1 : first : head]
        results = usage_grad, writing_grad, before_grad
        _use_backward(usage, writing[0], before, gates, use_grad, results, gates_grad, room)
        _controls_backward(interface, controls, key_norms, size, interface_grad)
