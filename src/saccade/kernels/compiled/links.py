"""One step of a memory with usage and links: write, then read."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import blocks, integers, kernel, loops, matrix, numbers
from saccade.kernels.compiled.functions import tanh
from saccade.kernels.compiled.heads import content, inverse_norms, logistic, read, soft, softmax, unit, write
from saccade.kernels.heads import LinksStep


@loops
def _reader_controls(interface: Any, size: int, controls: Any) -> Any:
    """Write the controls of a reader: 1 / ‖key‖."""
    inverse = unit(interface[:size], controls[:size])
    controls[size] = interface.dtype.type(1) + soft(interface[size])
    controls[size + 1] = logistic(interface[size + 1])
    softmax(interface[size + 2 :], controls[size + 2 :])
    return inverse


@loops
def _writer_controls(interface: Any, size: int, controls: Any) -> Any:
    """Write the controls of the writer: 1 / ‖key‖."""
    inverse = unit(interface[:size], controls[:size])
    controls[size] = interface.dtype.type(1) + soft(interface[size])
    for j in range(size + 1, 2 * size + 3):
        controls[j] = logistic(interface[j])
    for j in range(2 * size + 3, 3 * size + 3):
        controls[j] = tanh(interface[j])
    return inverse


@loops
def _use(used: Any, written: Any, reading: Any, controls: Any, head: int, size: int, new: Any) -> None:
    """Usage after a step: written cells are in use, and read and freed cells are not."""
    for i in range(used.size):
        new[i] = used[i] + written[i] - used[i] * written[i]
    for h in range(reading.shape[0]):
        free, weights = controls[h * head + size + 1], reading[h]
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
def place_of(size: int, reads: int) -> Any:
    """Start of the writer's erase vector in an interface."""
    starts = np.empty(1, np.int64)
    starts[0] = reads * (size + 5) + size + 3
    return starts


@kernel
def forward(t: LinksStep, kind: Any) -> None:
    """The step: the writer writes, then all read."""
    cells, size, reads = t.cells, t.size, t.reads
    head, starts = size + 5, place_of(size, reads)
    first, width = reads * head, reads * head + 3 * size + 3
    for n in blocks(t):
        interface, controls = numbers(t.interface, n * width, width, kind), numbers(t.controls, n * width, width, kind)
        key_norms = numbers(t.key_norms, n * (reads + 1), reads + 1, kind)
        memory, new = matrix(t.memory, n, size, cells, kind), matrix(t.new_memory, n, size, cells, kind)
        before, after = matrix(t.reading, n, reads, cells, kind), matrix(t.new_reading, n, reads, cells, kind)
        writing, written = matrix(t.writing, n, 1, cells, kind), matrix(t.new_writing, n, 1, cells, kind)
        usage, new_usage = numbers(t.usage, n * cells, cells, kind), numbers(t.new_usage, n * cells, cells, kind)
        last, following = (
            numbers(t.precedence, n * cells, cells, kind),
            numbers(t.new_precedence, n * cells, cells, kind),
        )
        links, new_links = matrix(t.links, n, cells, cells, kind), matrix(t.new_links, n, cells, cells, kind)
        vectors, norms = matrix(t.read, n, reads, size, kind), matrix(t.norms, n, 2, cells, kind)
        kept, order = matrix(t.kept, n, 4 * reads + 3, cells, kind), integers(t.order, n * cells, cells)
        for h in range(reads):
            start, end = h * head, (h + 1) * head
            key_norms[h] = _reader_controls(interface[start:end], size, controls[start:end])
        key_norms[reads] = _writer_controls(interface[first:], size, controls[first:])
        _use(usage, writing[0], before, controls, head, size, new_usage)
        cosines, similar, free = kept[4 * reads], kept[4 * reads + 1], kept[4 * reads + 2]
        _allocate(new_usage, order, free)
        inverse_norms(memory, norms[0])
        content(memory, norms[0], controls[first : first + size], controls[first + size], cosines, similar)
        share, gate, weights = controls[first + size + 1], controls[first + size + 2], written[0]
        for i in range(cells):
            weights[i] = gate * (similar[i] + share * (free[i] - similar[i]))
        write(memory, written, controls, starts, new)
        _follow(links, last, weights, new_links, following)
        inverse_norms(new, norms[1])
        for h in range(reads):
            cosines, similar, back, forth = kept[4 * h], kept[4 * h + 1], kept[4 * h + 2], kept[4 * h + 3]
            part, weights = controls[h * head : (h + 1) * head], after[h]
            content(new, norms[1], part[:size], part[size], cosines, similar)
            _along(new_links, before[h], back, forth)
            for i in range(cells):
                weights[i] = part[size + 2] * back[i] + part[size + 3] * similar[i] + part[size + 4] * forth[i]
            read(new, weights, vectors[h])
