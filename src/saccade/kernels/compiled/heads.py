"""Content lookup, write and read of memory heads for one example, both ways.

A memory is `(features, cells)`: cells lie side by side in the lanes of a vector, whatever their number of features.
"""

from typing import Any

import numpy as np

from saccade.kernels.compiled import inline, loops, matrix, numbers
from saccade.kernels.compiled.functions import exp, largest_of
from saccade.kernels.heads import Step

LOW, HIGH = 1e-30, 1e30
"""Between these a sum of squares is as exact as its type, in float32 too."""


@inline
def example(s: Step, n: int, width: int, rows: int, kind: Any) -> Any:
    """Arrays of an entry of the batch.

    They are (interface, controls), then memory and weights of readers and writers, each (before, after) the step, then
    (key norms, cell norms) and the kept rows.
    """
    cells, size, reads, writes, heads = s.cells, s.size, s.reads, s.writes, s.reads + s.writes
    vectors = numbers(s.interface, n * width, width, kind), numbers(s.controls, n * width, width, kind)
    memories = matrix(s.memory, n, size, cells, kind), matrix(s.new_memory, n, size, cells, kind)
    reading = matrix(s.reading, n, reads, cells, kind), matrix(s.new_reading, n, reads, cells, kind)
    writing = matrix(s.writing, n, writes, cells, kind), matrix(s.new_writing, n, writes, cells, kind)
    norms = numbers(s.key_norms, n * heads, heads, kind), matrix(s.norms, n, 2, cells, kind)
    return vectors, memories, reading, writing, norms, matrix(s.kept, n, rows, cells, kind)


@loops
def logistic(x: float) -> float:
    """1 / (1 + e^-x), by the exponential that does not overflow."""
    unity = type(x)(1)
    power = type(x)(np.exp(-abs(x)))
    return (unity if x >= 0 else power) / (unity + power)


@loops
def soft(x: float) -> float:
    """log(1 + e^x)."""
    return (x if x > 0 else type(x)(0)) + type(x)(np.log1p(np.exp(-abs(x))))


@loops
def softmax(logits: Any, weights: Any) -> None:
    """e^x of numbers over their sum; `weights` may be `logits`."""
    largest, total = largest_of(logits), logits.dtype.type(0)
    for i in range(logits.size):
        weights[i] = exp(logits[i] - largest)
    for i in range(weights.size):
        total += weights[i]
    share = logits.dtype.type(1) / total
    for i in range(weights.size):
        weights[i] *= share


@loops
def softmax_backward(weights: Any, grad: Any) -> None:
    """Turn the gradient of the weights into the logits'."""
    total = grad.dtype.type(0)
    for i in range(grad.size):
        total += weights[i] * grad[i]
    for i in range(grad.size):
        grad[i] = weights[i] * (grad[i] - total)


@loops
def _far(numbers: Any) -> Any:
    """1 / ‖x‖ where squares may leave the range; 1 of zeros."""
    largest, total = numbers.dtype.type(0), numbers.dtype.type(0)
    for i in range(numbers.size):
        largest = abs(numbers[i]) if not abs(numbers[i]) <= largest else largest
    if largest == 0:
        return numbers.dtype.type(1)
    for i in range(numbers.size):
        total += (numbers[i] / largest) * (numbers[i] / largest)
    return numbers.dtype.type(1) / largest / np.sqrt(total)


@loops
def inverse_norm(squared: float, numbers: Any) -> Any:
    """1 / ‖x‖ of numbers with this sum of squares, 1 if all are zeros."""
    if squared > numbers.dtype.type(LOW) and squared < numbers.dtype.type(HIGH):
        return numbers.dtype.type(1) / np.sqrt(squared)
    return _far(numbers)


@loops
def inverse_norms(memory: Any, inverses: Any) -> None:
    """1 / ‖M_i‖ of each cell."""
    inverses[:] = 0
    for j in range(memory.shape[0]):
        row = memory[j]
        for i in range(row.size):
            inverses[i] += row[i] * row[i]
    unity, low, high = inverses.dtype.type(1), inverses.dtype.type(LOW), inverses.dtype.type(HIGH)
    count = inverses.dtype.type(0)
    for i in range(inverses.size):
        count += unity if inverses[i] > low and inverses[i] < high else inverses.dtype.type(0)
    if count == inverses.size:
        for i in range(inverses.size):
            inverses[i] = unity / np.sqrt(inverses[i])
        return
    for i in range(inverses.size):
        inverses[i] = inverse_norm(inverses[i], memory[:, i])


@loops
def unit(key: Any, direction: Any) -> Any:
    """k / ‖k‖ in `direction`; 1 / ‖k‖."""
    squared = key.dtype.type(0)
    for j in range(key.size):
        squared += key[j] * key[j]
    inverse = inverse_norm(squared, key)
    for j in range(key.size):
        direction[j] = key[j] * inverse
    return inverse


@loops
def unit_backward(unit: Any, inverse: float, grad: Any) -> None:
    """Turn the gradient of k / ‖k‖ into k's."""
    along = grad.dtype.type(0)
    for j in range(grad.size):
        along += grad[j] * unit[j]
    for j in range(grad.size):
        grad[j] = (grad[j] - along * unit[j]) * inverse


@loops
def content(memory: Any, inverses: Any, controls: Any, kept: Any) -> None:
    """softmax(β cos(k, M)), from k / ‖k‖ and β; kept are cosines and weights."""
    cosines, weights, beta = kept[0], kept[1], controls[memory.shape[0]]
    cosines[:] = 0
    add_weights(memory, controls, cosines)
    for i in range(cosines.size):
        cosines[i] *= inverses[i]
    for i in range(cosines.size):
        weights[i] = beta * cosines[i]
    softmax(weights, weights)


@loops
def content_backward(
    memory: Any, inverses: Any, controls: Any, kept: Any, grad: Any, memory_grad: Any, controls_grad: Any, room: Any
) -> None:
    """Gradients of k / ‖k‖, β and (added to) the memory. `grad` is overwritten."""
    cosines, beta, of_beta = kept[0], controls[memory.shape[0]], grad.dtype.type(0)
    softmax_backward(kept[1], grad)
    for i in range(grad.size):
        of_beta += grad[i] * cosines[i]
    for i in range(grad.size):
        grad[i] = beta * grad[i] * inverses[i]
    for i in range(grad.size):
        room[i] = cosines[i] * inverses[i]
    _of_features(memory, controls, grad, room, memory_grad, controls_grad)
    controls_grad[memory.shape[0]] = of_beta


@loops
def _of_features(memory: Any, unit: Any, grad: Any, along: Any, memory_grad: Any, unit_grad: Any) -> None:
    for j in range(memory.shape[0]):
        row, row_grad, component, total = memory[j], memory_grad[j], unit[j], grad.dtype.type(0)
        for i in range(row.size):
            total += grad[i] * row[i]
            row_grad[i] += grad[i] * (component - along[i] * row[i])
        unit_grad[j] = total


@loops
def add_weights(memory: Any, features: Any, products: Any) -> None:
    """Of each cell, its features' products with `features` are added."""
    for j in range(memory.shape[0]):
        row, factor = memory[j], features[j]
        for i in range(row.size):
            products[i] += factor * row[i]


@loops
def write(memory: Any, weights: Any, controls: Any, starts: Any, new: Any) -> None:
    """Erase by all heads, then add. Erase and add vectors begin at `starts`."""
    size, unity = memory.shape[0], new.dtype.type(1)
    if starts.size == 1:
        _write_once(memory, weights[0], controls[starts[0] :], new)
        return
    for j in range(size):
        row, old = new[j], memory[j]
        for i in range(row.size):
            row[i] = old[i]
        for h in range(starts.size):
            head_weights, erase = weights[h], controls[starts[h] + j]
            for i in range(row.size):
                row[i] *= unity - head_weights[i] * erase
        for h in range(starts.size):
            head_weights, add = weights[h], controls[starts[h] + size + j]
            for i in range(row.size):
                row[i] += add * head_weights[i]


@loops
def _write_once(memory: Any, weights: Any, controls: Any, new: Any) -> None:
    size, unity = memory.shape[0], new.dtype.type(1)
    for j in range(size):
        row, old, erase, add = new[j], memory[j], controls[j], controls[size + j]
        for i in range(row.size):
            row[i] = old[i] * (unity - weights[i] * erase) + weights[i] * add


@loops
def write_backward(
    memory: Any, weights: Any, controls: Any, starts: Any, grad: Any, grads: tuple[Any, ...], lost: Any
) -> None:
    """Gradients of old memory, weights, and erase and add vectors, from `grad`."""
    size, (memory_grad, weights_grad, controls_grad), first = memory.shape[0], grads, starts[0]
    if starts.size == 1:
        of_head = weights_grad[0], controls_grad[first:]
        _write_once_backward(memory, weights[0], controls[first:], grad, memory_grad, *of_head)
        return
    for j in range(size):
        for h in range(starts.size):
            _lost(memory[j], weights, controls, starts + j, h, grad[j], lost)
            erase, add = controls[starts[h] + j], controls[starts[h] + size + j]
            parts = _of_write(weights[h], erase, add, grad[j], lost, weights_grad[h])
            controls_grad[starts[h] + j], controls_grad[starts[h] + size + j] = parts
        _lost(np.ones_like(lost), weights, controls, starts + j, -1, grad[j], memory_grad[j])


@loops
def _write_once_backward(
    memory: Any, weights: Any, controls: Any, grad: Any, memory_grad: Any, weights_grad: Any, interface_grad: Any
) -> None:
    size, unity = memory.shape[0], memory.dtype.type(1)
    for j in range(size):
        row, upstream, new, erase, add = memory[j], grad[j], memory_grad[j], controls[j], controls[size + j]
        of_erase, of_add = grad.dtype.type(0), grad.dtype.type(0)
        for i in range(row.size):
            of_erase -= upstream[i] * row[i] * weights[i]
            of_add += upstream[i] * weights[i]
        for i in range(row.size):
            weights_grad[i] += upstream[i] * (add - erase * row[i])
        for i in range(row.size):
            new[i] = upstream[i] * (unity - weights[i] * erase)
        interface_grad[j], interface_grad[size + j] = of_erase, of_add


@loops
def _lost(row: Any, weights: Any, controls: Any, erased: Any, but: int, grad: Any, kept_grad: Any) -> None:
    """Gradient of the part of a row left by one head, or by all, less head `but`."""
    unity = row.dtype.type(1)
    for i in range(row.size):
        kept_grad[i] = grad[i] * row[i]
    for h in range(erased.size):
        if h != but:
            head_weights, erase = weights[h], controls[erased[h]]
            for i in range(row.size):
                kept_grad[i] *= unity - head_weights[i] * erase


@loops
def _of_write(weights: Any, erase: float, add: float, grad: Any, lost: Any, weights_grad: Any) -> tuple[float, float]:
    of_erase, of_add = grad.dtype.type(0), grad.dtype.type(0)
    for i in range(grad.size):
        weights_grad[i] += grad[i] * add - lost[i] * erase
    for i in range(grad.size):
        of_erase -= lost[i] * weights[i]
        of_add += grad[i] * weights[i]
    return of_erase, of_add


@loops
def read(memory: Any, weights: Any, vector: Any) -> None:
    """The sum of cells, each times its weight."""
    for j in range(memory.shape[0]):
        row, total = memory[j], weights.dtype.type(0)
        for i in range(row.size):
            total += weights[i] * row[i]
        vector[j] = total


@loops
def read_backward(memory: Any, weights: Any, grad: Any, memory_grad: Any, weights_grad: Any) -> None:
    """Both gradients are added to."""
    add_weights(memory, grad, weights_grad)
    for j in range(memory.shape[0]):
        row, factor = memory_grad[j], grad[j]
        for i in range(row.size):
            row[i] += factor * weights[i]
