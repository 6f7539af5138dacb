"""One step of a memory with heads that shift: write, then read, and its backward."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import blocks, heads, inline, kernel, loops, matrix, numbers
from saccade.kernels.compiled.functions import log, tanh
from saccade.kernels.heads import Backward, Step


@loops
def _controls(interface: Any, size: int, controls: Any) -> Any:
    """Write the controls of a head, without erase and add vectors: 1 / ‖key‖."""
    inverse = heads.unit(interface[:size], controls[:size])
    controls[size] = heads.soft(interface[size])
    controls[size + 1] = heads.logistic(interface[size + 1])
    controls[size + 2] = interface.dtype.type(1) + heads.soft(interface[size + 2])
    heads.softmax(interface[size + 3 :], controls[size + 3 :])
    return inverse


@loops
def _controls_backward(interface: Any, controls: Any, inverse: float, size: int, grad: Any) -> None:
    unity = interface.dtype.type(1)
    heads.unit_backward(controls[:size], inverse, grad[:size])
    grad[size] *= heads.logistic(interface[size])
    grad[size + 1] *= controls[size + 1] * (unity - controls[size + 1])
    grad[size + 2] *= heads.logistic(interface[size + 2])
    heads.softmax_backward(controls[size + 3 :], grad[size + 3 :])


@loops
def _gate(weights: Any, similar: Any, share: float, furthest: int, padded: Any) -> None:
    """Mix the last weights with those by content, padded circularly on both sides."""
    size = weights.size
    for i in range(size):
        padded[furthest + i] = weights[i] + share * (similar[i] - weights[i])
    for i in range(furthest):
        padded[furthest + size + i] = padded[furthest + i % size]
        padded[furthest - 1 - i] = padded[furthest + size - 1 - i % size]


@inline
def _tiny(numbers: Any) -> Any:
    """The smallest normal number of the type."""
    return numbers.dtype.type(1.1754943508222875e-38 if numbers.itemsize == 4 else 2.2250738585072014e-308)


@loops
def _address(memory: Any, inverses: Any, head: tuple[Any, ...], padded: Any) -> None:
    """Equations 5 to 9 of a head: its controls, weights, kept rows and new weights."""
    controls, weights, kept, new = head
    size, furthest, moved, tiny = memory.shape[0], (padded.size - new.size) // 2, kept[2], _tiny(new)
    heads.content(memory, inverses, controls, kept)
    _gate(weights, kept[1], controls[size + 1], furthest, padded)
    moved[:] = 0
    for by in range(2 * furthest + 1):
        part, share = padded[2 * furthest - by :], controls[size + 3 + by]
        for i in range(moved.size):
            moved[i] += share * part[i]
    gamma = controls[size + 2]
    for i in range(moved.size):
        new[i] = gamma * log(tiny if moved[i] < tiny else moved[i])
    heads.softmax(new, new)


@loops
def _sharpen_backward(moved: Any, new: Any, gamma: float, grad: Any) -> Any:
    """Return γ's gradient. Turn that of the new weights into that of the shifted ones."""
    heads.softmax_backward(new, grad)
    of_gamma, zero, tiny = grad.dtype.type(0), grad.dtype.type(0), _tiny(grad)
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
    memory: Any, inverses: Any, head: Any, grad: Any, memory_grad: Any, weights_grad: Any, controls_grad: Any, room: Any
) -> None:
    """Gradients of controls, weights and memory, from `grad`, overwritten."""
    controls, weights, kept, new = head
    size, cells = memory.shape
    gated_grad, padded, furthest = room[:cells], room[cells:], room.size // 2 - cells
    controls_grad[size + 2] = _sharpen_backward(kept[2], new, controls[size + 2], grad)
    _gate(weights, kept[1], controls[size + 1], furthest, padded)
    last = size + 3 + 2 * furthest + 1
    _shift_backward(padded, controls[size + 3 : last], furthest, grad, gated_grad, controls_grad[size + 3 : last])
    controls_grad[size + 1] = _gate_backward(weights, kept[1], controls[size + 1], gated_grad, weights_grad)
    heads.content_backward(memory, inverses, controls, kept, gated_grad, memory_grad, controls_grad, grad)


@loops
def _starts(s: Step) -> tuple[int, int, Any]:
    """Numbers of a reader's and all controls, and starts of the erase vectors."""
    head, starts = s.size + 3 + 2 * s.furthest + 1, np.empty(s.writes, np.int64)
    for h in range(s.writes):
        starts[h] = s.reads * head + h * (head + 2 * s.size) + head
    return head, s.reads * head + s.writes * (head + 2 * s.size), starts


@kernel
def forward(t: Step, kind: Any) -> None:
    """The step: all heads write, then all read."""
    size, reads, writes = t.size, t.reads, t.writes
    head, width, starts = _starts(t)
    padded = np.empty(t.cells + 2 * t.furthest, numbers(t.memory, 0, 1, kind).dtype)
    for n in blocks(t):
        arrays = heads.example(t, n, width, (reads + writes) * 3, kind)
        (interface, controls), (memory, new), (before, after), (writing, written), (key_norms, norms), kept = arrays
        vectors = matrix(t.read, n, reads, size, kind)
        heads.inverse_norms(memory, norms[0])
        for h in range(writes):
            first, last, k = starts[h] - head, starts[h], reads + h
            key_norms[k] = _controls(interface[first:last], size, controls[first:last])
            for j in range(size):
                controls[last + j] = heads.logistic(interface[last + j])
            for j in range(size):
                controls[last + size + j] = tanh(interface[last + size + j])
            parts = controls[first:last], writing[h], kept[3 * k : 3 * k + 3], written[h]
            _address(memory, norms[0], parts, padded)
        heads.write(memory, written, controls, starts, new)
        heads.inverse_norms(new, norms[1])
        for h in range(reads):
            part = controls[h * head : (h + 1) * head]
            key_norms[h] = _controls(interface[h * head : (h + 1) * head], size, part)
            _address(new, norms[1], (part, before[h], kept[3 * h : 3 * h + 3], after[h]), padded)
            heads.read(new, after[h], vectors[h])


@kernel
def backward(t: Backward, kind: Any) -> None:
    s, unity = t.step, type(kind)(1)
    cells, size, reads, writes = s.cells, s.size, s.reads, s.writes
    head, width, starts = _starts(s)
    room = np.empty(2 * cells + 2 * s.furthest, numbers(s.memory, 0, 1, kind).dtype)
    grad, lost = np.empty(cells, room.dtype), np.empty(cells, room.dtype)
    new_grad, grads = np.empty((size, cells), room.dtype), np.empty((writes, cells), room.dtype)
    for n in blocks(t):
        arrays = heads.example(s, n, width, (reads + writes) * 3, kind)
        (interface, controls), (memory, new), (before, after), (writing, written), (key_norms, norms), kept = arrays
        read_grad = matrix(t.read_grad, n, reads, size, kind)
        interface_grad = numbers(t.interface_grad, n * width, width, kind)
        after_grad = matrix(t.new_reading_grad, n, reads, cells, kind)
        memory_grad = matrix(t.memory_grad, n, size, cells, kind)
        before_grad = matrix(t.reading_grad, n, reads, cells, kind)
        writing_grad = matrix(t.writing_grad, n, writes, cells, kind)
        new_grad[:] = matrix(t.new_memory_grad, n, size, cells, kind)
        for h in range(reads):
            part, part_grad = controls[h * head : (h + 1) * head], interface_grad[h * head : (h + 1) * head]
            grad[:] = after_grad[h]
            heads.read_backward(new, after[h], read_grad[h], new_grad, grad)
            parts = part, before[h], kept[3 * h : 3 * h + 3], after[h]
            _address_backward(new, norms[1], parts, grad, new_grad, before_grad[h], part_grad, room)
            _controls_backward(interface[h * head : (h + 1) * head], part, key_norms[h], size, part_grad)
        grads[:] = matrix(t.new_writing_grad, n, writes, cells, kind)
        heads.write_backward(memory, written, controls, starts, new_grad, (memory_grad, grads, interface_grad), lost)
        for h in range(writes):
            first, last, k = starts[h] - head, starts[h], reads + h
            for j in range(size):
                interface_grad[last + j] *= controls[last + j] * (unity - controls[last + j])
            for j in range(last + size, last + 2 * size):
                interface_grad[j] *= unity - controls[j] * controls[j]
            part, part_grad = controls[first:last], interface_grad[first:last]
            parts = part, writing[h], kept[3 * k : 3 * k + 3], written[h]
            _address_backward(memory, norms[0], parts, grads[h], memory_grad, writing_grad[h], part_grad, room)
            _controls_backward(interface[first:last], part, key_norms[k], size, part_grad)
