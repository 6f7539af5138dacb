"""The layers that are compared, and what one of them takes in memory, measured in a process of its own."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from saccade.bench.formulas import training
from saccade.bench.peak import alone, growth
from saccade.bench.row import Run
from saccade.nn import MultiheadAttention

__all__ = ["KERNEL", "LAYERS", "PASSES", "Layer", "Point", "bytes_of", "prepared"]

KERNEL = 3  # k, positions that a convolution sees at once
PASSES = ("forward", "forward+backward")
_SMALL = 16  # positions, of the call that comes before the one whose memory counts


@dataclass(frozen=True)
class Point:
    """Where layers are measured.

    Args:
        way: one of `PASSES`.
        length: n, positions.
        width: d, features of input and output.
        batch: sequences.
        heads: of self-attention.
        device: as torch names it.
        threads: of torch's operations on a CPU.
    """

    way: str
    length: int
    width: int
    batch: int
    heads: int
    device: str
    threads: int


@dataclass(frozen=True)
class Layer:
    """A layer, and what it costs by its formula.

    Args:
        make: from a point to a module, `(batch, length, width)` to the same.
        order: what table 1 says of it.
        formula: all multiplications a sequence, its projections included.
        products: the same as a number, from n and d.
    """

    make: Callable[[Point], nn.Module]
    order: str
    formula: str
    products: Callable[[int, int], float]


class _Recurrent(nn.GRU):
    """torch's GRU in one direction; the states alone."""

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        states: Tensor = super().forward(x)[0]
        return states


class _Convolution(nn.Conv1d):
    """torch's convolution over positions, which stand behind the features there."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.mT).mT


LAYERS = {
    "GRU": Layer(
        lambda point: _Recurrent(point.width, point.width, batch_first=True),
        "n d²",
        "6 n d²",
        lambda n, d: 6.0 * n * d**2,
    ),
    "convolution": Layer(
        lambda point: _Convolution(point.width, point.width, KERNEL, padding=KERNEL // 2),
        "k n d²",
        f"{KERNEL} n d²",
        lambda n, d: float(KERNEL) * n * d**2,
    ),
    "self-attention": Layer(
        lambda point: MultiheadAttention(point.width, point.heads),
        "n² d",
        "4 n d² + 2 n² d",
        lambda n, d: 4.0 * n * d**2 + 2.0 * n**2 * d,
    ),
}
"""The GRU's three gates and the four projections around attention make both 6 n d² at n = d."""


def prepared(name: str, point: Point) -> Run:
    """Return a call without arguments: the layer on normal numbers, with the backward pass its gradients too.

    >>> states = prepared("GRU", Point("forward", 5, 8, 2, 2, "cpu", 1))()
    >>> states.shape, states.requires_grad
    (torch.Size([2, 5, 8]), False)
    """
    torch.manual_seed(0)
    module = LAYERS[name].make(point).to(point.device)
    x = torch.randn(point.batch, point.length, point.width, device=point.device)
    if point.way == "forward+backward":
        return training(lambda x, *_: module(x))(x.requires_grad_(), *module.parameters())

    def forward() -> Tensor:
        with torch.no_grad():
            found: Tensor = module(x)
        return found

    return forward


def bytes_of(name: str, point: Point) -> int:
    """Return the bytes by which memory grew at most while one call of a layer ran, in a fresh process.

    Raises:
        Absent: the process failed, with the reason.
    """
    return alone("saccade.reports.complexity.layers", [name, *map(str, vars(point).values())])


def main(name: str, way: str, length: str, width: str, batch: str, heads: str, device: str, threads: str) -> None:
    """Print the same, as the fresh process."""
    torch.set_num_threads(int(threads))
    sizes = (int(width), int(batch), int(heads), device, int(threads))
    prepared(name, Point(way, _SMALL, *sizes))()
    run = prepared(name, Point(way, int(length), *sizes))
    sys.stdout.write(f"{growth(run, torch.device(device))}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
