"""Layers over sequences: their operations, chains, reach and memory."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from saccade import plainly
from saccade._system.environment import busy_cores
from saccade.bench.formulas import dot, training
from saccade.bench.measure import waiting
from saccade.bench.peak import alone, growth
from saccade.bench.row import Absent, Run
from saccade.look import sequential_jacobian
from saccade.nn import MultiheadAttention
from studies.frame.growth import in_turns, threads

PASSES = ("forward", "forward+backward")
GRU, CONVOLUTION, TEXTBOOK, ATTENTION = "GRU", "convolution", "self-attention, n × n weights", "self-attention"
DILATED = "convolution, dilated"
KERNEL = 3  # k, positions that a convolution reads at once
_DILATIONS = 4  # k^0, k^1, k^2, k^3, and again
_NARROW = 2  # features of a stack
_REACHED = (KERNEL**2, KERNEL**3, KERNEL**_DILATIONS)  # lengths of the inputs of stacks
_STACKED = (1, 2, 3, 4, (KERNEL**_DILATIONS - 1) // (KERNEL - 1))  # layers; the last number is that for the full reach
_WARM = 16  # positions of the call before the one whose memory is measured


@dataclass(frozen=True)
class Point:
    """A measurement: pass, positions, features, sequences, heads and device."""

    way: str
    length: int
    width: int
    batch: int
    heads: int
    device: str


class _Recurrent(nn.GRU):
    """torch's GRU in one direction, its states alone."""

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        states: Tensor = super().forward(x)[0]
        return states


class _Convolution(nn.Conv1d):
    """torch's convolution over earlier positions, with features last."""

    def __init__(self, width: int, dilation: int = 1) -> None:
        super().__init__(width, width, KERNEL, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(functional.pad(x.mT, (self.dilation[0] * (KERNEL - 1), 0))).mT


class _Textbook(nn.Module):
    """Self-attention that holds the weights of all pairs, softmax(q kᵀ / √D) v."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.project, self.output = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.project(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed: Tensor = self.output(dot(query, key, value).transpose(1, 2).flatten(2))
        return mixed


@dataclass(frozen=True)
class Layer:
    """A layer of a width and heads, of linear n d² + quadratic n² d multiplications."""

    make: Callable[[int, int], nn.Module]
    linear: float
    quadratic: float = 0.0

    def products(self, n: int, d: int) -> float:
        """Return the multiplications for a sequence of n positions of d features."""
        return self.linear * n * d**2 + self.quadratic * n**2 * d


LAYERS = {
    GRU: Layer(lambda width, heads: _Recurrent(width, width, batch_first=True), 6),
    CONVOLUTION: Layer(lambda width, heads: _Convolution(width), KERNEL),
    TEXTBOOK: Layer(_Textbook, 4, 2),
    ATTENTION: Layer(MultiheadAttention, 4, 2),
}
STACKS: dict[str, Callable[[int, int], nn.Module]] = {
    GRU: lambda width, number: _Recurrent(width, width, batch_first=True),
    CONVOLUTION: lambda width, number: _Convolution(width),
    DILATED: lambda width, number: _Convolution(width, KERNEL ** (number % _DILATIONS)),
    ATTENTION: lambda width, number: MultiheadAttention(width, 1),
}
"""Layers of a width by their number in a stack, from 0."""


def prepared(name: str, point: Point) -> Run:
    """Return a call of a layer on normal numbers, or its forward and backward pass.

    >>> states = prepared("GRU", Point("forward", 5, 8, 2, 2, "cpu"))()
    >>> states.shape, states.requires_grad
    (torch.Size([2, 5, 8]), False)
    """
    torch.manual_seed(0)
    module = LAYERS[name].make(point.width, point.heads).to(point.device)
    x = torch.randn(point.batch, point.length, point.width, device=point.device)
    if point.way == "forward+backward":
        return training(lambda x, *_: module(x))(x.requires_grad_(), *module.parameters())

    def forward() -> Tensor:
        with torch.no_grad():
            output: Tensor = module(x)
        return output

    return forward


def multiplications(name: str, length: int, width: int, heads: int) -> int:
    """Return the multiplications of a layer for one sequence, counted by torch.

    A backend of `attend` may be one operation, so its products are counted as plain torch's.

    >>> multiplications("convolution", 10, 4, 1)
    480
    """
    with FlopCounterMode(display=False) as counter, plainly():
        prepared(name, Point("forward", length, width, 1, heads, "cpu"))()
    return int(counter.get_total_flops()) // 2  # an addition beside each


def chain(name: str, length: int, width: int, heads: int) -> int:
    """Return the longest chain of operations that wait for another in a layer.

    >>> chain("convolution", 10, 4, 1) == chain("convolution", 20, 4, 1)
    True
    """
    output = LAYERS[name].make(width, heads)(torch.zeros(1, length, width, requires_grad=True))
    lengths, stack = dict[Node | None, int](), [output.grad_fn]
    while stack:
        node = stack[-1]
        before = [other for other, _ in node.next_functions if other is not None]
        missing = [other for other in before if other not in lengths]
        stack.extend(missing)
        if not missing:
            lengths[stack.pop()] = 1 + max((lengths[other] for other in before), default=0)
    return lengths[output.grad_fn]


def reach(name: str, length: int, layers: int) -> int:
    """Return the number of inputs with an effect on a stack's last output.

    >>> reach("convolution", 9, 2), reach("convolution, dilated", 9, 2), reach("GRU", 9, 1)
    (5, 9, 9)
    """
    torch.manual_seed(0)
    x = torch.randn(length, _NARROW, dtype=torch.float64)
    stack = nn.Sequential(*(STACKS[name](_NARROW, number) for number in range(layers))).double()
    return int((sequential_jacobian(lambda x: stack(x)[:, -1:], x) > 0).sum())


def bytes_of(name: str, point: Point) -> int:
    """Return the growth of a fresh process's memory during one call of a layer."""
    return alone("studies.frame.layers", [name, json.dumps(vars(point))])


def count(lengths: Sequence[int], width: int, heads: int) -> dict[str, Any]:
    """Count the operations of each layer at each length."""
    layers = {
        name: {
            "multiplications": [multiplications(name, length, width, heads) for length in lengths],
            "chain": [chain(name, length, width, heads) for length in lengths],
        }
        for name in LAYERS
    }
    return {"layers": layers}


def reached() -> dict[str, Any]:
    """Return the numbers of inputs that stacks reach, by length and layers."""
    inputs = {name: [[reach(name, n, layers) for layers in _STACKED] for n in _REACHED] for name in STACKS}
    return {"layers": [*_STACKED], "lengths": [*_REACHED], "inputs": inputs}


def take_turns(point: Point, seconds: float) -> dict[str, Any]:
    """Time all layers in turns, on a CPU by the processor seconds of one thread."""
    calls, device = {name: prepared(name, point) for name in LAYERS}, torch.device(point.device)
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    with threads(1):
        rounds, layers = in_turns(calls, seconds=seconds, wait=waiting(device), clock=clock)
    return {"rounds": rounds, "layers": layers}


def compare_threads(point: Point, seconds: float, more: int) -> dict[str, Any]:
    """Time all layers in turns on one thread and on several, by the wall's clock.

    Nothing is timed if other programs use a core: threads that wait for each other would wait for these.
    """
    busy = round(busy_cores(), 1)
    if busy >= 1:
        return {"busy": busy, "rounds": 0, "layers": {}}

    def on(number: int, call: Run) -> Any:
        with threads(number):
            return call()

    calls = {name: prepared(name, point) for name in LAYERS}
    both = {f"{name}, {number}": partial(on, number, call) for name, call in calls.items() for number in (1, more)}
    rounds, columns = in_turns(both, seconds=2 * seconds)
    layers = {name: [columns[f"{name}, {number}"] for number in (1, more)] for name in LAYERS}
    return {"busy": busy, "rounds": rounds, "layers": layers}


def memory(point: Point) -> dict[str, Any]:
    """Return the bytes that a call of each layer takes, None if it cannot."""
    layers = dict[str, Any]()
    for name in LAYERS:
        try:
            layers[name] = bytes_of(name, point)
        except Absent:
            layers[name] = None
    return {"layers": layers}


def _main(name: str, point: Point) -> None:
    """Print the bytes of `bytes_of`, in the fresh process."""
    torch.set_num_threads(1)
    prepared(name, replace(point, length=_WARM))()
    sys.stdout.write(f"{growth(prepared(name, point), torch.device(point.device))}\n")


if __name__ == "__main__":
    _main(sys.argv[1], Point(**json.loads(sys.argv[2])))
