"""One step of a memory whose heads go by usage and links, of all heads: write, then read.

What a reader asks for lies as key, β, free, and three modes; what the writer asks for as key, β, share of free cells,
gate, erase and add; the writer comes last. `said` is the same behind its functions. The table of both directions:

    2 asked, 3 said, 4 one over the keys' norms, 5 memory, 6 its weights of reading, 7 of writing, 8 usage,
    9 precedence, 10 links; 11 new memory, 12 read, 13 to 17 new weights of reading, of writing, usage, precedence and
    links; 18 kept: of each reader the cosines, the weights by content, backward and forward, then of the writer
    cosines, weights by content and of free cells; 19 one over the norms of the cells, before and after the write;
    20 the cells in the order of their usage; [21 cells, 22 features, 23 readers];
    backward: gradients of 24 to 30 what 11 to 17 are, and from these of 31 asked, 32 to 37 what 5 to 10 are.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import integers, kernel, loops, matrix, numbers, take, tanh
from saccade.kernels.compiled.heads import content, inverse_norms, logistic, read, soft, softmax, unit, write


@loops
def _said_reading(asked: Any, size: int, said: Any) -> float:
    """What a reader asks for, behind its functions; one over its key's norm."""
    inverse = unit(asked[:size], said[:size])
    said[size] = asked.dtype.type(1) + soft(asked[size])
    said[size + 1] = logistic(asked[size + 1])
    softmax(asked[size + 2 :], said[size + 2 :])
    return inverse


@loops
def _said_writing(asked: Any, size: int, said: Any) -> float:
    """The same of the writer."""
    inverse = unit(asked[:size], said[:size])
    said[size] = asked.dtype.type(1) + soft(asked[size])
    for j in range(size + 1, 2 * size + 3):
        said[j] = logistic(asked[j])
    for j in range(2 * size + 3, 3 * size + 3):
        said[j] = tanh(asked[j])
    return inverse


@loops
def _use(used: Any, written: Any, reading: Any, said: Any, head: int, size: int, new: Any) -> None:
    """What was written is in use, what was read and freed is not."""
    for i in range(used.size):
        new[i] = used[i] + written[i] - used[i] * written[i]
    for h in range(reading.shape[0]):
        free, weights = said[h * head + size + 1], reading[h]
        for i in range(used.size):
            new[i] *= used.dtype.type(1) - free * weights[i]


@loops
def _allocate(used: Any, order: Any, found: Any) -> None:
    """The weights of free cells, the freest first."""
    order[:] = np.argsort(used, kind="mergesort")
    before, one = used.dtype.type(1), used.dtype.type(1)
    for k in range(order.size):
        u = used[order[k]]
        found[order[k]] = (one - u) * before
        before *= u


@loops
def _follow(links: Any, last: Any, written: Any, new: Any, following: Any) -> None:
    """Which cell was written after which, and how much each was the last."""
    total, one = last.dtype.type(0), last.dtype.type(1)
    for i in range(written.size):
        row, old, w = new[i], links[i], written[i]
        for j in range(row.size):
            row[j] = (one - w - written[j]) * old[j] + w * last[j]
        row[i] = 0
    for i in range(written.size):
        total += written[i]
    for i in range(written.size):
        following[i] = (one - total) * last[i] + written[i]


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
    """Where in what is asked for the writer's erase vector begins."""
    places = np.empty(1, np.int64)
    places[0] = reads * (size + 5) + size + 3
    return places


@loops
def run(table: Any, kind: Any) -> None:
    """The step of numbers of the type that `kind` has."""
    cells, size, reads = table[21], table[22], table[23]
    head, places = size + 5, place_of(size, reads)
    first, width = reads * head, reads * head + 3 * size + 3
    while True:
        n = take(table)
        if n >= table[1]:
            return
        asked, said = numbers(table[2], n * width, width, kind), numbers(table[3], n * width, width, kind)
        keys = numbers(table[4], n * (reads + 1), reads + 1, kind)
        memory, new = matrix(table[5], n, size, cells, kind), matrix(table[11], n, size, cells, kind)
        before, after = matrix(table[6], n, reads, cells, kind), matrix(table[13], n, reads, cells, kind)
        writing, written = matrix(table[7], n, 1, cells, kind), matrix(table[14], n, 1, cells, kind)
        used, now_used = numbers(table[8], n * cells, cells, kind), numbers(table[15], n * cells, cells, kind)
        last, following = numbers(table[9], n * cells, cells, kind), numbers(table[16], n * cells, cells, kind)
        links, new_links = matrix(table[10], n, cells, cells, kind), matrix(table[17], n, cells, cells, kind)
        found, inverses = matrix(table[12], n, reads, size, kind), matrix(table[19], n, 2, cells, kind)
        kept, order = matrix(table[18], n, 4 * reads + 3, cells, kind), integers(table[20] + 8 * n * cells, cells)
        for h in range(reads):
            keys[h] = _said_reading(asked[h * head : (h + 1) * head], size, said[h * head : (h + 1) * head])
        keys[reads] = _said_writing(asked[first:], size, said[first:])
        _use(used, writing[0], before, said, head, size, now_used)
        cosines, similar, free = kept[4 * reads], kept[4 * reads + 1], kept[4 * reads + 2]
        _allocate(now_used, order, free)
        inverse_norms(memory, inverses[0])
        content(memory, inverses[0], said[first : first + size], said[first + size], cosines, similar)
        share, gate, weights = said[first + size + 1], said[first + size + 2], written[0]
        for i in range(cells):
            weights[i] = gate * (similar[i] + share * (free[i] - similar[i]))
        write(memory, written, said, places, new)
        _follow(links, last, weights, new_links, following)
        inverse_norms(new, inverses[1])
        for h in range(reads):
            cosines, similar, back, forth = kept[4 * h], kept[4 * h + 1], kept[4 * h + 2], kept[4 * h + 3]
            own, weights = said[h * head : (h + 1) * head], after[h]
            content(new, inverses[1], own[:size], own[size], cosines, similar)
            _along(new_links, before[h], back, forth)
            for i in range(cells):
                weights[i] = own[size + 2] * back[i] + own[size + 3] * similar[i] + own[size + 4] * forth[i]
            read(new, weights, found[h])


@kernel
def forward(table: Any) -> None:
    """A step of float32 numbers."""
    run(table, np.float32(0))
