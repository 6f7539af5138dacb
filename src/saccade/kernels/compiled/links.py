"""One step of a memory with usage and links: write, then read."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import blocks, heads, integers, kernel, loops, matrix, numbers
from saccade.kernels.compiled.functions import tanh
from saccade.kernels.heads import Step


@loops
def _reader_controls(interface: Any, size: int, controls: Any) -> Any:
    """Write the controls of a reader: 1 / ‖key‖."""
    inverse = heads.unit(interface[:size], controls[:size])
    controls[size] = interface.dtype.type(1) + heads.soft(interface[size])
    controls[size + 1] = heads.logistic(interface[size + 1])
    heads.softmax(interface[size + 2 :], controls[size + 2 :])
    return inverse


@loops
def _writer_controls(interface: Any, size: int, controls: Any) -> Any:
    """Write the controls of the writer: 1 / ‖key‖."""
    inverse = heads.unit(interface[:size], controls[:size])
    controls[size] = interface.dtype.type(1) + heads.soft(interface[size])
    for j in range(size + 1, 2 * size + 3):
        controls[j] = heads.logistic(interface[j])
    for j in range(2 * size + 3, 3 * size + 3):
        controls[j] = tanh(interface[j])
    return inverse


@loops
def _use(used: Any, written: Any, reading: Any, free_gates: Any, new: Any) -> None:
    """Usage after a step: written cells are in use, and read and freed cells are not."""
    for i in range(used.size):
        new[i] = used[i] + written[i] - used[i] * written[i]
    for h in range(reading.shape[0]):
        free, weights = free_gates[h], reading[h]
        for i in range(used.size):
            new[i] *= used.dtype.type(1) - free * weights[i]


@loops
def _allocate(used: Any, order: Any, free: Any) -> None:
    """The weights of free cells, the freest first."""
    order[:] = np.argsort(used, kind="mergesort")
    before, unity = used.dtype.type(1), used.dtype.type(1)
    for k in range(order.size):
        u = used[order[k]]
        free[order[k]] = (unity - u) * before
        before *= u


@loops
def _follow(links: Any, last: Any, written: Any, new: Any, following: Any) -> None:
    """Update the links, the order of writes, and follow them from the last."""
    total, unity = last.dtype.type(0), last.dtype.type(1)
    for i in range(written.size):
        row, old, w = new[i], links[i], written[i]
        for j in range(row.size):
            row[j] = (unity - w - written[j]) * old[j] + w * last[j]
        row[i] = 0
    for i in range(written.size):
        total += written[i]
    for i in range(written.size):
        following[i] = (unity - total) * last[i] + written[i]


@loops
def _along(links: Any, weights: Any, back: Any, forth: Any) -> None:
    """The weights one write back and one forth."""
    back[:] = 0
    for i in range(weights.size):
        row, w, total = links[i], weights[i], weights.dtype.type(0)
        for j in range(row.size):
            back[j] += w * row[j]
            total += row[j] * weights[j]
        forth[i] = total


@loops
def sizes_of(s: Step) -> tuple[int, int, int, Any]:
    """Sizes of controls: a reader's, all readers', all. Start of the erase vector."""
    head, starts = s.size + 5, np.empty(1, np.int64)
    starts[0] = s.reads * head + s.size + 3
    return head, s.reads * head, s.reads * head + 3 * s.size + 3, starts


@kernel
def forward(t: Step, kind: Any) -> None:
    cells, size, reads = t.cells, t.size, t.reads
    head, first, width, starts = sizes_of(t)
    for n in blocks(t):
        arrays = heads.example(t, n, width, 4 * reads + 3, kind)
        (interface, controls), (memory, new), (before, after), (writing, written), (key_norms, norms), kept = arrays
        usage, new_usage = numbers(t.usage, n * cells, cells, kind), numbers(t.new_usage, n * cells, cells, kind)
        last = numbers(t.precedence, n * cells, cells, kind)
        following = numbers(t.new_precedence, n * cells, cells, kind)
        links, new_links = matrix(t.links, n, cells, cells, kind), matrix(t.new_links, n, cells, cells, kind)
        vectors, order = matrix(t.read, n, reads, size, kind), integers(t.order, n * cells, cells)
        for h in range(reads):
            start, end = h * head, (h + 1) * head
            key_norms[h] = _reader_controls(interface[start:end], size, controls[start:end])
        part, free = controls[first:], kept[4 * reads + 2]
        key_norms[reads] = _writer_controls(interface[first:], size, part)
        _use(usage, writing[0], before, controls[size + 1 : first : head], new_usage)
        _allocate(new_usage, order, free)
        heads.inverse_norms(memory, norms[0])
        heads.content(memory, norms[0], part, kept[4 * reads :])
        similar, share, gate, weights = kept[4 * reads + 1], part[size + 1], part[size + 2], written[0]
        for i in range(cells):
            weights[i] = gate * (similar[i] + share * (free[i] - similar[i]))
        heads.write(memory, written, controls, starts, new)
        _follow(links, last, weights, new_links, following)
        heads.inverse_norms(new, norms[1])
        for h in range(reads):
            similar, back, forth = kept[4 * h + 1], kept[4 * h + 2], kept[4 * h + 3]
            part, weights = controls[h * head : (h + 1) * head], after[h]
            heads.content(new, norms[1], part, kept[4 * h :])
            _along(new_links, before[h], back, forth)
            for i in range(cells):
                weights[i] = part[size + 2] * back[i] + part[size + 3] * similar[i] + part[size + 4] * forth[i]
            heads.read(new, weights, vectors[h])
