"""One step of a memory with heads that shift: write, then read, and its backward."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import blocks, kernel, loops, matrix, numbers
from saccade.kernels.compiled.functions import log, tanh
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
from saccade.kernels.heads import ShiftBackward, ShiftStep


@loops
def _controls(interface: Any, size: int, controls: Any) -> Any:
    """Write the controls of a head, without erase and add vectors: 1 / ‖key‖."""
    inverse = unit(interface[:size], controls[:size])
    controls[size] = soft(interface[size])
    controls[size + 1] = logistic(interface[size + 1])
    controls[size + 2] = interface.dtype.type(1) + soft(interface[size + 2])
    softmax(interface[size + 3 :], controls[size + 3 :])
    return inverse


@loops
def _controls_backward(interface: Any, controls: Any, inverse: float, size: int, grad: Any) -> None:
    """Turn the gradient of the controls into the interface's."""
    unity = interface.dtype.type(1)
    unit_backward(controls[:size], inverse, grad[:size])
    grad[size] *= logistic(interface[size])
    grad[size + 1] *= controls[size + 1] * (unity - controls[size + 1])
    grad[size + 2] *= logistic(interface[size + 2])
    softmax_backward(controls[size + 3 :], grad[size + 3 :])


@loops
def _gate(weights: Any, similar: Any, share: float, furthest: int, padded: Any) -> None:
    """Mix the last weights with those by content, padded circularly on both sides."""
    size = weights.size
    for i in range(size):
        padded[furthest + i] = weights[i] + share * (similar[i] - weights[i])
    for i in range(furthest):
        padded[furthest + size + i] = padded[furthest + i % size]
        padded[furthest - 1 - i] = padded[furthest + size - 1 - i % size]


@loops
def _address(
    memory: Any,
    inverses: Any,
    controls: Any,
    weights: Any,
    furthest: int,
    tiny: float,
    kept: Any,
    new: Any,
    padded: Any,
) -> None:
    """Equations 5 to 9 of one head."""
    size = memory.shape[0]
    cosines, similar, moved = kept[0], kept[1], kept[2]
    content(memory, inverses, controls[:size], controls[size], cosines, similar)
    _gate(weights, similar, controls[size + 1], furthest, padded)
    moved[:] = 0
    for by in range(2 * furthest + 1):
        part, share = padded[2 * furthest - by :], controls[size + 3 + by]
        for i in range(moved.size):
            moved[i] += share * part[i]
    gamma = controls[size + 2]
    for i in range(moved.size):
        new[i] = gamma * log(tiny if moved[i] < tiny else moved[i])
    softmax(new, new)


@loops
def _sharpen_backward(moved: Any, new: Any, gamma: float, tiny: float, grad: Any) -> Any:
    """Return γ's gradient. Turn that of the new weights into that of the shifted ones."""
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
def _gate_backward(weights: Any, similar: Any, share: float, grad: Any, weights_grad: Any) -> Any:
    """Return the gate's gradient. Turn `grad` into that of the weights by content."""
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
    controls: Any,
    weights: Any,
    furthest: int,
    tiny: float,
    kept: Any,
    new: Any,
    grad: Any,
    memory_grad: Any,
    weights_grad: Any,
    controls_grad: Any,
    room: Any,
) -> None:
    """Gradients of controls, weights and memory, from `grad`, overwritten."""
    size, cells = memory.shape
    gated_grad, padded = room[:cells], room[cells:]
    controls_grad[size + 2] = _sharpen_backward(kept[2], new, controls[size + 2], tiny, grad)
    _gate(weights, kept[1], controls[size + 1], furthest, padded)
    last = size + 3 + 2 * furthest + 1
    _shift_backward(padded, controls[size + 3 : last], furthest, grad, gated_grad, controls_grad[size + 3 : last])
    controls_grad[size + 1] = _gate_backward(weights, kept[1], controls[size + 1], gated_grad, weights_grad)
    unit_grad = controls_grad[:size]
    controls_grad[size] = content_backward(
        memory, inverses, controls[:size], controls[size], kept[0], kept[1], gated_grad, memory_grad, unit_grad, grad
    )


@loops
def _starts(reads: int, writes: int, size: int, furthest: int) -> Any:
    """Starts of the erase vectors in an interface."""
    head = size + 3 + 2 * furthest + 1
    starts = np.empty(writes, np.int64)
    for h in range(writes):
        starts[h] = reads * head + h * (head + 2 * size) + head
    return starts


@kernel
def forward(t: ShiftStep, kind: Any) -> None:
    """The step: all heads write, then all read."""
    cells, size, reads, writes, furthest = t.cells, t.size, t.reads, t.writes, t.furthest
    tiny = numbers(t.tiny, 0, 1, kind)[0]
    head = size + 3 + 2 * furthest + 1
    starts = _starts(reads, writes, size, furthest)
    width = reads * head + writes * (head + 2 * size)
    padded = np.empty(cells + 2 * furthest, numbers(t.tiny, 0, 1, kind).dtype)
    for n in blocks(t):
        interface, controls = numbers(t.interface, n * width, width, kind), numbers(t.controls, n * width, width, kind)
        key_norms = numbers(t.key_norms, n * (reads + writes), reads + writes, kind)
        memory, new = matrix(t.memory, n, size, cells, kind), matrix(t.new_memory, n, size, cells, kind)
        before, after = matrix(t.reading, n, reads, cells, kind), matrix(t.new_reading, n, reads, cells, kind)
        writing, written = matrix(t.writing, n, writes, cells, kind), matrix(t.new_writing, n, writes, cells, kind)
        vectors, norms = matrix(t.read, n, reads, size, kind), matrix(t.norms, n, 2, cells, kind)
        kept = matrix(t.kept, n, (reads + writes) * 3, cells, kind)
        inverse_norms(memory, norms[0])
        for h in range(writes):
            first, part, k = starts[h] - head, controls[starts[h] - head : starts[h]], reads + h
            key_norms[k] = _controls(interface[first : starts[h]], size, part)
            for j in range(size):
                controls[starts[h] + j] = logistic(interface[starts[h] + j])
            for j in range(size):
                controls[starts[h] + size + j] = tanh(interface[starts[h] + size + j])
            _address(memory, norms[0], part, writing[h], furthest, tiny, kept[3 * k : 3 * k + 3], written[h], padded)
        write(memory, written, controls, starts, new)
        inverse_norms(new, norms[1])
        for h in range(reads):
            part = controls[h * head : (h + 1) * head]
            key_norms[h] = _controls(interface[h * head : (h + 1) * head], size, part)
            _address(new, norms[1], part, before[h], furthest, tiny, kept[3 * h : 3 * h + 3], after[h], padded)
            read(new, after[h], vectors[h])


@kernel
def backward(t: ShiftBackward, kind: Any) -> None:
    """The gradients of a step."""
    s = t.step
    cells, size, reads, writes, furthest = s.cells, s.size, s.reads, s.writes, s.furthest
    tiny, unity = numbers(s.tiny, 0, 1, kind)[0], numbers(s.tiny, 0, 1, kind).dtype.type(1)
    head = size + 3 + 2 * furthest + 1
    starts = _starts(reads, writes, size, furthest)
    width = reads * head + writes * (head + 2 * size)
    room = np.empty(2 * cells + 2 * furthest, numbers(s.tiny, 0, 1, kind).dtype)
    grad, lost = np.empty(cells, room.dtype), np.empty(cells, room.dtype)
    new_grad, grads = np.empty((size, cells), room.dtype), np.empty((writes, cells), room.dtype)
    for n in blocks(t):
        interface, controls = numbers(s.interface, n * width, width, kind), numbers(s.controls, n * width, width, kind)
        key_norms = numbers(s.key_norms, n * (reads + writes), reads + writes, kind)
        memory, new = matrix(s.memory, n, size, cells, kind), matrix(s.new_memory, n, size, cells, kind)
        before, after = matrix(s.reading, n, reads, cells, kind), matrix(s.new_reading, n, reads, cells, kind)
        writing, written = matrix(s.writing, n, writes, cells, kind), matrix(s.new_writing, n, writes, cells, kind)
        norms, kept = matrix(s.norms, n, 2, cells, kind), matrix(s.kept, n, (reads + writes) * 3, cells, kind)
        read_grad = matrix(t.read_grad, n, reads, size, kind)
        interface_grad = numbers(t.interface_grad, n * width, width, kind)
        after_grad = matrix(t.new_reading_grad, n, reads, cells, kind)
        written_grad = matrix(t.new_writing_grad, n, writes, cells, kind)
        memory_grad = matrix(t.memory_grad, n, size, cells, kind)
        before_grad = matrix(t.reading_grad, n, reads, cells, kind)
        writing_grad = matrix(t.writing_grad, n, writes, cells, kind)
        new_grad[:] = matrix(t.new_memory_grad, n, size, cells, kind)
        for h in range(reads):
            first, last = h * head, (h + 1) * head
            grad[:] = after_grad[h]
            read_backward(new, after[h], read_grad[h], new_grad, grad)
            _address_backward(
                new, norms[1], controls[first:last], before[h], furthest, tiny, kept[3 * h : 3 * h + 3], after[h],
                grad, new_grad, before_grad[h], interface_grad[first:last], room,
            )  # fmt: skip
            _controls_backward(
                interface[first:last], controls[first:last], key_norms[h], size, interface_grad[first:last]
            )
        grads[:] = written_grad
        write_backward(memory, written, controls, starts, new_grad, memory_grad, grads, interface_grad, lost)
        for h in range(writes):
            first, last, k = starts[h] - head, starts[h], reads + h
            for j in range(size):
                interface_grad[last + j] *= controls[last + j] * (unity - controls[last + j])
            for j in range(last + size, last + 2 * size):
                interface_grad[j] *= unity - controls[j] * controls[j]
            _address_backward(
                memory, norms[0], controls[first:last], writing[h], furthest, tiny, kept[3 * k : 3 * k + 3], written[h],
                grads[h], memory_grad, writing_grad[h], interface_grad[first:last], room,
            )  # fmt: skip
            _controls_backward(
                interface[first:last], controls[first:last], key_norms[k], size, interface_grad[first:last]
            )
