"""One step of a memory whose heads move by shifts, of all heads: write, then read; forward and backward.

What a head asks for lies as key, β, gate, γ, shifts and, of a writer, erase and add; readers come before writers.
`said` is the same behind its functions: the key's direction, softplus, sigmoid and so on. The table of both directions:

    2 asked, 3 said, 4 one over the keys' norms, 5 memory, 6 its weights of reading, 7 of writing, 8 new memory, 9 read,
    10 new weights of reading, 11 of writing, 12 kept: of each head the cosines, the weights by content, and those
    before they are sharpened, 13 one over the norms of the cells, before and after the write, 14 the smallest normal
    number;
    [15 cells, 16 features, 17 readers, 18 writers, 19 the furthest shift];
    backward: gradients of 20 the new memory, 21 the read, 22 new weights of reading, 23 of writing, and from these of
    24 asked, 25 memory, 26 weights of reading, 27 of writing.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import kernel, log, loops, matrix, numbers, take, tanh
from saccade.kernels.compiled.heads import (
    content,
    content_backward,
    inverse_norms,
    logistic,
    read,
    read_backward,
    soft,
    softmax,
    softmax_backward,
    unit,
    unit_backward,
    write,
    write_backward,
)


@loops
def _said(asked: Any, size: int, said: Any) -> float:
    """What a head asks for, behind its functions; one over its key's norm."""
    inverse = unit(asked[:size], said[:size])
    said[size] = soft(asked[size])
    said[size + 1] = logistic(asked[size + 1])
    said[size + 2] = asked.dtype.type(1) + soft(asked[size + 2])
    softmax(asked[size + 3 :], said[size + 3 :])
    return inverse


@loops
def _said_backward(asked: Any, said: Any, inverse: float, size: int, grad: Any) -> None:
    """The gradient of what is said becomes that of what is asked for."""
    one = asked.dtype.type(1)
    unit_backward(said[:size], inverse, grad[:size])
    grad[size] *= logistic(asked[size])
    grad[size + 1] *= said[size + 1] * (one - said[size + 1])
    grad[size + 2] *= logistic(asked[size + 2])
    softmax_backward(said[size + 3 :], grad[size + 3 :])


@loops
def _gate(weights: Any, similar: Any, share: float, furthest: int, padded: Any) -> None:
    """The weights between those of before and those by content, going round on both sides."""
    size = weights.size
    for i in range(size):
        padded[furthest + i] = weights[i] + share * (similar[i] - weights[i])
    for i in range(furthest):
        padded[furthest + size + i] = padded[furthest + i % size]
        padded[furthest - 1 - i] = padded[furthest + size - 1 - i % size]


@loops
def _address(
    memory: Any, inverses: Any, said: Any, weights: Any, furthest: int, tiny: float, kept: Any, new: Any, padded: Any
) -> None:
    """Equations 5 to 9 of one head."""
    size = memory.shape[0]
    cosines, similar, moved = kept[0], kept[1], kept[2]
    content(memory, inverses, said[:size], said[size], cosines, similar)
    _gate(weights, similar, said[size + 1], furthest, padded)
    moved[:] = 0
    for by in range(2 * furthest + 1):
        part, share = padded[2 * furthest - by :], said[size + 3 + by]
        for i in range(moved.size):
            moved[i] += share * part[i]
    gamma = said[size + 2]
    for i in range(moved.size):
        new[i] = gamma * log(tiny if moved[i] < tiny else moved[i])
    softmax(new, new)


@loops
def _sharpen_backward(moved: Any, new: Any, gamma: float, tiny: float, grad: Any) -> float:
    """The gradient of γ; that of the new weights becomes that of the moved ones."""
    softmax_backward(new, grad)
    of_gamma, zero = grad.dtype.type(0), grad.dtype.type(0)
    for i in range(grad.size):
        of_gamma += grad[i] * log(tiny if moved[i] < tiny else moved[i])
    for i in range(grad.size):
        grad[i] = zero if moved[i] < tiny else gamma * grad[i] / moved[i]
    return of_gamma


@loops
def _shift_backward(padded: Any, shifts: Any, furthest: int, grad: Any, gated_grad: Any, shifts_grad: Any) -> None:
    size = grad.size
    gated_grad[:] = 0
    for by in range(2 * furthest + 1):
        part, share, total = padded[2 * furthest - by :], shifts[by], grad.dtype.type(0)
        for i in range(size):
            total += grad[i] * part[i]
        shifts_grad[by] = total
        away = (by - furthest) % size
        for i in range(size - away):
            gated_grad[i] += share * grad[i + away]
        for i in range(away):
            gated_grad[size - away + i] += share * grad[i]


@loops
def _gate_backward(weights: Any, similar: Any, share: float, grad: Any, weights_grad: Any) -> float:
    """The gradient of the gate; `grad` becomes that of the weights by content."""
    total, rest = grad.dtype.type(0), grad.dtype.type(1) - share
    for i in range(grad.size):
        total += grad[i] * (similar[i] - weights[i])
    for i in range(grad.size):
        weights_grad[i] = rest * grad[i]
    for i in range(grad.size):
        grad[i] *= share
    return total


@loops
def _address_backward(
    memory: Any,
    inverses: Any,
    said: Any,
    weights: Any,
    furthest: int,
    tiny: float,
    kept: Any,
    new: Any,
    grad: Any,
    memory_grad: Any,
    weights_grad: Any,
    said_grad: Any,
    room: Any,
) -> None:
    """From `grad` of the new weights, which is lost, those of what is said and of the weights; that of the memory is
    added to.
    """
    size, cells = memory.shape
    gated_grad, padded = room[:cells], room[cells:]
    said_grad[size + 2] = _sharpen_backward(kept[2], new, said[size + 2], tiny, grad)
    _gate(weights, kept[1], said[size + 1], furthest, padded)
    last = size + 3 + 2 * furthest + 1
    _shift_backward(padded, said[size + 3 : last], furthest, grad, gated_grad, said_grad[size + 3 : last])
    said_grad[size + 1] = _gate_backward(weights, kept[1], said[size + 1], gated_grad, weights_grad)
    unit_grad = said_grad[:size]
    said_grad[size] = content_backward(
        memory, inverses, said[:size], said[size], kept[0], kept[1], gated_grad, memory_grad, unit_grad, grad
    )


@loops
def _places(reads: int, writes: int, size: int, furthest: int) -> Any:
    """Where in what is asked for erase vectors begin."""
    head = size + 3 + 2 * furthest + 1
    places = np.empty(writes, np.int64)
    for h in range(writes):
        places[h] = reads * head + h * (head + 2 * size) + head
    return places


@loops
def run(table: Any, kind: Any) -> None:
    """The step of numbers of the type that `kind` has."""
    cells, size, reads, writes, furthest = table[15], table[16], table[17], table[18], table[19]
    tiny = numbers(table[14], 0, 1, kind)[0]
    head = size + 3 + 2 * furthest + 1
    places = _places(reads, writes, size, furthest)
    width = reads * head + writes * (head + 2 * size)
    padded = np.empty(cells + 2 * furthest, numbers(table[14], 0, 1, kind).dtype)
    while True:
        n = take(table)
        if n >= table[1]:
            return
        asked, said = numbers(table[2], n * width, width, kind), numbers(table[3], n * width, width, kind)
        keys = numbers(table[4], n * (reads + writes), reads + writes, kind)
        memory, new = matrix(table[5], n, size, cells, kind), matrix(table[8], n, size, cells, kind)
        before, after = matrix(table[6], n, reads, cells, kind), matrix(table[10], n, reads, cells, kind)
        writing, written = matrix(table[7], n, writes, cells, kind), matrix(table[11], n, writes, cells, kind)
        found, inverses = matrix(table[9], n, reads, size, kind), matrix(table[13], n, 2, cells, kind)
        kept = matrix(table[12], n, (reads + writes) * 3, cells, kind)
        inverse_norms(memory, inverses[0])
        for h in range(writes):
            first, own, k = places[h] - head, said[places[h] - head : places[h]], reads + h
            keys[k] = _said(asked[first : places[h]], size, own)
            for j in range(size):
                said[places[h] + j] = logistic(asked[places[h] + j])
            for j in range(size):
                said[places[h] + size + j] = tanh(asked[places[h] + size + j])
            _address(memory, inverses[0], own, writing[h], furthest, tiny, kept[3 * k : 3 * k + 3], written[h], padded)
        write(memory, written, said, places, new)
        inverse_norms(new, inverses[1])
        for h in range(reads):
            own = said[h * head : (h + 1) * head]
            keys[h] = _said(asked[h * head : (h + 1) * head], size, own)
            _address(new, inverses[1], own, before[h], furthest, tiny, kept[3 * h : 3 * h + 3], after[h], padded)
            read(new, after[h], found[h])


@kernel
def forward(table: Any) -> None:
    """A step of float32 numbers."""
    run(table, np.float32(0))


@loops
def differentiate(table: Any, kind: Any) -> None:
    """Its gradients, of the type that `kind` has."""
    cells, size, reads, writes, furthest = table[15], table[16], table[17], table[18], table[19]
    tiny, one = numbers(table[14], 0, 1, kind)[0], numbers(table[14], 0, 1, kind).dtype.type(1)
    head = size + 3 + 2 * furthest + 1
    places = _places(reads, writes, size, furthest)
    width = reads * head + writes * (head + 2 * size)
    room = np.empty(2 * cells + 2 * furthest, numbers(table[14], 0, 1, kind).dtype)
    grad, lost = np.empty(cells, room.dtype), np.empty(cells, room.dtype)
    new_grad, grads = np.empty((size, cells), room.dtype), np.empty((writes, cells), room.dtype)
    while True:
        n = take(table)
        if n >= table[1]:
            return
        asked, said = numbers(table[2], n * width, width, kind), numbers(table[3], n * width, width, kind)
        keys = numbers(table[4], n * (reads + writes), reads + writes, kind)
        memory, new = matrix(table[5], n, size, cells, kind), matrix(table[8], n, size, cells, kind)
        before, after = matrix(table[6], n, reads, cells, kind), matrix(table[10], n, reads, cells, kind)
        writing, written = matrix(table[7], n, writes, cells, kind), matrix(table[11], n, writes, cells, kind)
        inverses = matrix(table[13], n, 2, cells, kind)
        kept = matrix(table[12], n, (reads + writes) * 3, cells, kind)
        found_grad, asked_grad = matrix(table[21], n, reads, size, kind), numbers(table[24], n * width, width, kind)
        after_grad, written_grad = matrix(table[22], n, reads, cells, kind), matrix(table[23], n, writes, cells, kind)
        memory_grad = matrix(table[25], n, size, cells, kind)
        before_grad, writing_grad = matrix(table[26], n, reads, cells, kind), matrix(table[27], n, writes, cells, kind)
        new_grad[:] = matrix(table[20], n, size, cells, kind)
        for h in range(reads):
            first, last = h * head, (h + 1) * head
            grad[:] = after_grad[h]
            read_backward(new, after[h], found_grad[h], new_grad, grad)
            _address_backward(
                new, inverses[1], said[first:last], before[h], furthest, tiny, kept[3 * h : 3 * h + 3], after[h],
                grad, new_grad, before_grad[h], asked_grad[first:last], room,
            )  # fmt: skip
            _said_backward(asked[first:last], said[first:last], keys[h], size, asked_grad[first:last])
        grads[:] = written_grad
        write_backward(memory, written, said, places, new_grad, memory_grad, grads, asked_grad, lost)
        for h in range(writes):
            first, last, k = places[h] - head, places[h], reads + h
            for j in range(size):
                asked_grad[last + j] *= said[last + j] * (one - said[last + j])
            for j in range(last + size, last + 2 * size):
                asked_grad[j] *= one - said[j] * said[j]
            _address_backward(
                memory, inverses[0], said[first:last], writing[h], furthest, tiny, kept[3 * k : 3 * k + 3], written[h],
                grads[h], memory_grad, writing_grad[h], asked_grad[first:last], room,
            )  # fmt: skip
            _said_backward(asked[first:last], said[first:last], keys[k], size, asked_grad[first:last])


@kernel
def backward(table: Any) -> None:
    """The gradients of a step of float32 numbers."""
    differentiate(table, np.float32(0))
