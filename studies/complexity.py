"""Time and memory of layers by the length of their input (Vaswani et al. 2017)."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from saccade._system.environment import choose_device
from saccade.bench.formulas import training
from saccade.bench.measure import waiting
from saccade.bench.peak import alone, growth
from saccade.bench.row import Absent, Run
from saccade.errors import ArgumentError
from saccade.nn import MultiheadAttention
from studies.frame.claims import Claim, Estimate, Within, conclude, rule
from studies.frame.folder import Folder
from studies.frame.growth import Power, crossings, draw_powers, exponent, in_turns, long_end, milliseconds, timed
from studies.frame.options import Shared, check_positive, filled
from studies.frame.page import curve, sentence
from studies.frame.study import Step, Study, Work

PASSES = ("forward", "forward+backward")
GRU, CONVOLUTION, ATTENTION = "GRU", "convolution", "self-attention"
NEAR = 0.2  # margin of an exponent around its formula's, for caches and the constant cost of a call
_KERNEL = 3  # k, positions that a convolution reads at once
_WARM = 16  # positions of the call before the one whose memory is measured
_LONGEST = 1 << 20
_SIZES: dict[str, Any] = {
    "lengths": (64, 128, 256, 512, 1024, 1448, 2048, 2896, 4096),
    "width": 256,
    "batch": 4,
    "heads": 4,
    "seconds": 10.0,
}
_QUICK = {**_SIZES, "lengths": (128, 256, 512, 724, 1024, 1448, 2048), "width": 64, "seconds": 5.0}
_VISIBLE = 1 << 20  # bytes: fewer are lost among the pages of a process


@dataclass(frozen=True, kw_only=True)
class Options(Shared):
    """Options of the study."""

    lengths: tuple[int, ...] | None = None
    """Positions, three lengths or more.
    Default: 64 128 ... 4096, twice as dense from 1024 on. With --quick 128 ... 2048."""

    width: int | None = None
    """Features of every layer's input and output. Default: 256, 64 with --quick."""

    batch: int | None = None
    """Sequences in a batch. Default: 4."""

    heads: int | None = None
    """Heads of self-attention, a divisor of the width. Default: 4."""

    seconds: float | None = None
    """Seconds at each length. Default: 10, 5 with --quick. Slow layers take 3 rounds."""

    threads: int | None = None
    """Threads of a CPU. Default: as torch sets them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "width", "batch", "heads", "seconds")
        lengths = {*(self.lengths or _SIZES["lengths"])}
        if len(lengths) < 3 or not all(0 < n <= _LONGEST for n in lengths):
            got = " ".join(map(str, self.lengths or ()))
            raise ArgumentError(f"--lengths: expected 3 or more, from 1 to {_LONGEST}, got {got}")
        cores = os.cpu_count() or 1
        if self.threads is not None and not 0 < self.threads <= cores:
            raise ArgumentError(f"--threads: expected a number from 1 to {cores}, got {self.threads}")
        sizes = self.sizes()
        if sizes["width"] % sizes["heads"]:
            raise ArgumentError(f"--heads: expected a divisor of --width = {sizes['width']}, got {sizes['heads']}")

    def sizes(self) -> dict[str, Any]:
        sizes = filled(self, _SIZES, _QUICK)
        return {**sizes, "lengths": sorted({*sizes["lengths"]})}


@dataclass(frozen=True)
class Point:
    """A measurement: pass, positions, features, sequences, heads, device and threads."""

    way: str
    length: int
    width: int
    batch: int
    heads: int
    device: str
    threads: int


class _Recurrent(nn.GRU):
    """torch's GRU in one direction, its states alone."""

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        states: Tensor = super().forward(x)[0]
        return states


class _Convolution(nn.Conv1d):
    """torch's convolution over positions, with features last."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.mT).mT


@dataclass(frozen=True)
class Layer:
    """A layer from a point, of linear n d² + quadratic n² d multiplications."""

    make: Callable[[Point], nn.Module]
    linear: float
    quadratic: float = 0.0

    def products(self, n: int, d: int) -> float:
        """Return the multiplications for a sequence of n positions of d features."""
        return self.linear * n * d**2 + self.quadratic * n**2 * d


def _convolution(point: Point) -> nn.Module:
    return _Convolution(point.width, point.width, _KERNEL, padding=_KERNEL // 2)


LAYERS = {
    GRU: Layer(lambda point: _Recurrent(point.width, point.width, batch_first=True), 6),
    CONVOLUTION: Layer(_convolution, _KERNEL),
    ATTENTION: Layer(lambda point: MultiheadAttention(point.width, point.heads), 4, 2),
}


def prepared(name: str, point: Point) -> Run:
    """Return a call of a layer on normal numbers, or its forward and backward pass.

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
            output: Tensor = module(x)
        return output

    return forward


def bytes_of(name: str, point: Point) -> int:
    """Return the growth of a fresh process's memory during one call of a layer."""
    return alone("studies.complexity", [name, json.dumps(vars(point))])


def _main(name: str, point: Point) -> None:
    """Print the bytes of `bytes_of`, in the fresh process."""
    torch.set_num_threads(point.threads)
    prepared(name, replace(point, length=_WARM))()
    sys.stdout.write(f"{growth(prepared(name, point), torch.device(point.device))}\n")


def measure(options: Options) -> Work:
    """Return a step for each length and pass."""
    sizes, device, steps = options.sizes(), str(choose_device(options.device)), []
    threads = torch.get_num_threads()
    for length, way in product(sizes["lengths"], PASSES):
        point = Point(way, length, sizes["width"], sizes["batch"], sizes["heads"], device, threads)
        do = partial(_take_turns, point, sizes["seconds"])
        steps.append(Step(f"{way}, length {length}", [{"pass": way, "length": length}], do))
    return Work(steps, {**sizes, "device": device, "threads": threads})


def _take_turns(point: Point, seconds: float, _: Folder) -> list[dict[str, Any]]:
    """Time all layers at one point in turns, and measure the memory of each."""
    calls = {name: prepared(name, point) for name in LAYERS}
    rounds, layers = in_turns(calls, seconds=seconds, wait=waiting(torch.device(point.device)))
    layers = {name: {**columns, **_memory(name, point)} for name, columns in layers.items()}
    return [{"pass": point.way, "length": point.length, "rounds": rounds, "layers": layers}]


def _memory(name: str, point: Point) -> dict[str, Any]:
    try:
        return {"bytes": bytes_of(name, point)}
    except Absent as error:
        return {"bytes": None, "absent": str(error)}


class Findings:
    """Exponents, crossings and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.rows = {(row["pass"], row["length"]): row for row in content["rows"]}
        self.layers = list(content["rows"][0]["layers"])
        self.lengths = sorted({length for _, length in self.rows})
        self.width = int(content["arguments"]["width"])
        self.long = long_end(self.lengths)
        self.claims = [claim for way in PASSES for claim in self._claims(way)]
        self.verdict = conclude(self.claims)

    def medians(self, way: str, name: str) -> list[Estimate]:
        rows = [self.rows[way, length] for length in self.lengths]
        return [timed(row["layers"][name], row["rounds"]) for row in rows]

    def _long(self, way: str, name: str, key: str) -> list[Any]:
        return [self.rows[way, length]["layers"][name][key] for length in self.long]

    def _products(self, name: str) -> list[float]:
        return [LAYERS[name].products(length, self.width) for length in self.long]

    def _power(self, way: str, amounts: list[float], errors: list[float], shape: list[float]) -> Power:
        freedoms = [self.rows[way, length]["rounds"] - 1.0 for length in self.long]
        power = exponent(self.long, amounts, errors, shape, freedoms=freedoms)
        assert power is not None
        return power

    def time(self, way: str, name: str) -> Power:
        seconds, errors = (self._long(way, name, key) for key in ("seconds", "error"))
        return self._power(way, seconds, errors, self._products(name))

    def beside(self, way: str, name: str) -> Estimate:
        """Return attention's exponent minus a layer's.

        It is the exponent of the ratio of times taken in turns: a disturbance of both cancels.
        """
        seconds, errors = (
            [np.array(self._long(way, layer, key)) for layer in (ATTENTION, name)] for key in ("seconds", "error")
        )
        ratios = seconds[0] / seconds[1]
        apart = ratios * np.hypot(errors[0] / seconds[0], errors[1] / seconds[1])
        shape = [ours / theirs for ours, theirs in zip(self._products(ATTENTION), self._products(name), strict=True)]
        return self._power(way, ratios.tolist(), apart.tolist(), shape).exponent

    def memory(self, way: str, name: str) -> Power | None:
        """Return the power of the length in a layer's memory, if it is visible."""
        amounts = self._long(way, name, "bytes")
        visible = all(amount is not None and amount >= _VISIBLE for amount in amounts)
        return exponent(self.long, amounts) if visible else None

    def expected(self, name: str) -> float:
        power = exponent(self.long, self._products(name))
        assert power is not None
        return power.value

    def _claims(self, way: str) -> list[Claim]:
        claims = []
        for name in self.layers:
            if name != ATTENTION:
                rise = self.beside(way, name)
                claims.append(Claim(f"{way}, {ATTENTION} grows faster than {name}", rise, f"by n^({rise.text()})"))
        for name in self.layers:
            power, expected = self.time(way, name), self.expected(name)
            text = f"{way}, {name} grows as its formula, n^{expected:.2f}"
            claims.append(Claim(text, Within(power.exponent.less(expected), NEAR), f"n^({power.text()})"))
        return claims

    def table(self, way: str) -> list[list[str]]:
        times, amounts = [["length", *map(str, self.lengths), "exponent", "by its formula"]], []
        for name in self.layers:
            cells = [*map(milliseconds, self.medians(way, name)), self.time(way, name).text()]
            times.append([f"{name}, ms", *cells, f"{self.expected(name):.2f}"])
            memory = self.memory(way, name)
            sizes = [self.rows[way, length]["layers"][name]["bytes"] for length in self.lengths]
            cells = ["-" if size is None else f"{size / 2**20:.1f}" for size in sizes]
            amounts.append([f"{name}, MiB", *cells, "-" if memory is None else memory.text(), ""])
        return [list(row) for row in zip(*times, *amounts, strict=True)]

    def crossing(self, way: str) -> str:
        """Return the shortest length with attention slower than the GRU, in words."""
        ours, theirs = ([time.value for time in self.medians(way, name)] for name in (ATTENTION, GRU))
        met = crossings(self.lengths, ours, theirs)
        if met and ours[-1] > theirs[-1]:
            return f"{way}, {ATTENTION} takes longer than the {GRU} from {self._widths(met[-1])}"
        if ours[-1] > theirs[-1]:
            return f"{way}, {ATTENTION} takes longer than the {GRU} from {self.lengths[0]} positions on already"
        ahead = f"{way}, {ATTENTION} takes less time than the {GRU} up to {self.lengths[-1]} positions"
        ahead = f"{ahead} by the medians, there by a factor of {theirs[-1] / ours[-1]:.1f}"
        if self.beside(way, GRU).beyond() < 1:
            return ahead
        attention, gru = self.time(way, ATTENTION), self.time(way, GRU)
        n = 2 ** ((gru.line.start - attention.line.start) / (attention.value - gru.value))
        return f"{ahead}; the fitted powers would meet at {self._widths(n).replace(' positions on', '')}"

    def _widths(self, length: float) -> str:
        return f"{length:.0f} positions on, {length / self.width:.1f} times the width"

    def fields(self) -> dict[str, Any]:
        return {
            **{f"crossing_{number}": f"{sentence(self.crossing(way))}." for number, way in enumerate(PASSES)},
            **{f"table_{number}": self.table(way) for number, way in enumerate(PASSES)},
            "rule": rule(len(self.claims), seeded=False),
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    pictures = {}
    for number, way in enumerate(PASSES):
        curves = []
        for name in result.layers:
            line = result.time(way, name)
            ends = 1e3 * line.at(result.lengths[0]), 1e3 * line.at(result.lengths[-1])
            times = result.medians(way, name)
            curves.append(curve(f"{name}: n^({line.text()})", result.lengths, times, trend=ends))
        pictures[f"picture_{number}"] = draw_powers(
            curves,
            folder / way.replace("+", "-"),
            result.lengths,
            labels=("positions n", "milliseconds"),
            title=f"Time of one call, {way}, by length",
            note=f"Width d = {result.width}. The claim: self-attention n² d, recurrent n d², convolution k n d²",
        )
    return pictures


STUDY = Study(
    sentence="time and memory of layers by sequence length (Vaswani et al. 2017, table 1)",
    title="Time and memory of a layer by length",
    claim="A self-attention layer takes n² d operations where a recurrent one takes n d² and a convolution k n d², for "
    "n positions of d features and a kernel of k: it is faster than the recurrent one while n is smaller than d.",
    source="Vaswani et al. 2017, section 4 and table 1, https://arxiv.org/abs/1706.03762",
    options=Options,
    measure=measure,
    compare=Findings,
    plot=_plot,
    body="""
{crossing_0}

{crossing_1}

## Forward

{picture_0}

{table_0}

## Forward+backward

{picture_1}

{table_1}

## How it was measured

Width d = {arguments[width]}, kernel k = 3, heads: {arguments[heads]}, batch: {arguments[batch]}.

| layer | by the table | multiplications a sequence |
|---|---:|---:|
| GRU | n d² | 6 n d² |
| convolution | k n d² | 3 n d² |
| self-attention | n² d | 4 n d² + 2 n² d |

At each length all layers are called in turns in one process, in the opposite order every other round, so that other
work of the machine disturbs all of them. The time is the median over rounds, ± half of its 95% interval (Student's t,
one degree of freedom less than rounds), from the middle half of the times.

Memory is the growth of the process's peak during one call, each number in a fresh process; on a GPU it is that of
torch's allocator. Weights and input exist before the call.

Exponents are slopes of straight lines through logarithms, at the long end alone: lengths of a fourth of the longest or
more, three at the least. Their interval (± half of it, 95%) is the wider of two: by the errors of the times, and by
their distances from the formula's curve, with two degrees of freedom less than lengths. An exponent agrees with its
formula if the whole interval lies within 0.2 of the formula's.

{rule}

The formulas count all multiplications of a layer: 6 n d² for the two matrices of a GRU's three gates, 3 n d² for the
convolution, and for self-attention 4 n d² of projections beside the 2 n² d of the table. So the expected exponent of
self-attention lies between 1 and 2, and by multiplications alone it takes as long as the GRU at n = d. In the paper's
table the n sequential steps of a recurrent layer have a column of their own. Here they show in the time of a step.

Self-attention is `saccade.nn.MultiheadAttention` on the backend that `auto` chooses. The backend need not hold all n²
weights, so its memory may grow with n alone.

{where}
""",
)

if __name__ == "__main__":
    _main(sys.argv[1], Point(**json.loads(sys.argv[2])))
