"""Time, operations, reach and memory of layers by length (Vaswani et al. 2017)."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from saccade._system.environment import choose_device
from saccade.errors import ArgumentError
from studies.frame.claims import Claim, Estimate, Exact, conclude, rule, tabled
from studies.frame.growth import Power, crossings, draw_powers, exponent, long_end, milliseconds, ratio, timed, times
from studies.frame.layers import (
    ATTENTION,
    CONVOLUTION,
    DILATED,
    GRU,
    KERNEL,
    LAYERS,
    PASSES,
    TEXTBOOK,
    Point,
    compare_threads,
    count,
    memory,
    reached,
    take_turns,
)
from studies.frame.options import Shared, check_positive, filled
from studies.frame.page import curve, sentence, table
from studies.frame.study import Step, Study, Work

_LONGEST = 1 << 20
_SIZES: dict[str, Any] = {
    "lengths": (64, 128, 256, 512, 1024, 1448, 2048, 2896, 4096),
    "width": 256,
    "batch": 4,
    "heads": 4,
    "seconds": 10.0,
}
_QUICK = {**_SIZES, "lengths": (32, 128, 256, 512, 724, 1024), "width": 64, "batch": 2, "seconds": 4.0}
_MUCH = 2  # times the memory that count as much
_VISIBLE = 1 << 20  # bytes: fewer are lost among the pages of a process
_ALONE = "It was not measured: other programs used the processor, or a single thread was all there was."


@dataclass(frozen=True, kw_only=True)
class Options(Shared):
    """Options of the study."""

    lengths: tuple[int, ...] | None = None
    """Positions, three lengths or more, the first less than the width.
    Default: 64 128 ... 4096, twice as dense from 1024 on. With --quick 32 ... 1024."""

    width: int | None = None
    """Features of every layer's input and output. Default: 256, 64 with --quick."""

    batch: int | None = None
    """Sequences in a batch. Default: 4, 2 with --quick."""

    heads: int | None = None
    """Heads of self-attention, a divisor of the width. Default: 4."""

    seconds: float | None = None
    """Seconds at each length. Default: 10, 4 with --quick. Slow layers take 3 rounds."""

    threads: int | None = None
    """Threads of a CPU, compared with a single one. Default: 2, if it has 2 cores."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "width", "batch", "heads", "seconds")
        lengths, sizes = {*(self.lengths or _SIZES["lengths"])}, self.sizes()
        if len(lengths) < 3 or not all(0 < n <= _LONGEST for n in lengths):
            got = " ".join(map(str, self.lengths or ()))
            raise ArgumentError(f"--lengths: expected 3 or more, from 1 to {_LONGEST}, got {got}")
        if min(sizes["lengths"]) >= sizes["width"]:
            least = min(sizes["lengths"])
            raise ArgumentError(f"--lengths: expected one below --width = {sizes['width']}, got {least} or more")
        cores = os.cpu_count() or 1
        if self.threads is not None and not 0 < self.threads <= cores:
            raise ArgumentError(f"--threads: expected a number from 1 to {cores}, got {self.threads}")
        if sizes["width"] % sizes["heads"]:
            raise ArgumentError(f"--heads: expected a divisor of --width = {sizes['width']}, got {sizes['heads']}")

    def sizes(self) -> dict[str, Any]:
        sizes = filled(self, _SIZES, _QUICK)
        return {**sizes, "lengths": sorted({*sizes["lengths"]})}


def measure(options: Options) -> Work:
    """Return steps: counts, reach, and for each pass times, memory and threads."""
    sizes, device = options.sizes(), str(choose_device(options.device))
    lengths, seconds = sizes.pop("lengths"), sizes.pop("seconds")
    more = 1 if device != "cpu" else options.threads or min(2, os.cpu_count() or 1)

    def step(measured: str, do: Callable[[], dict[str, Any]], **about: Any) -> Step:
        about = {"measured": measured, **about}
        return Step(", ".join(map(str, about.values())), [about], lambda _: [{**about, **do()}])

    long = long_end(lengths)
    steps = [
        step("operations", partial(count, lengths, sizes["width"], sizes["heads"])),
        step("reach", reached),
    ]
    for way, length in product(PASSES, lengths):
        point, about = Point(way, length, **sizes, device=device), {"way": way, "length": length}
        steps.append(step("time", partial(take_turns, point, seconds), **about))
        if length in (long[0], long[-1]):
            steps.append(step("memory", partial(memory, point), **about))
        if length == long[0] and more > 1:
            steps.append(step("threads", partial(compare_threads, point, seconds, more), **about))
    return Work(steps, {"lengths": lengths, "seconds": seconds, **sizes, "device": device, "threads": more})


class Findings:
    """Operations, chains, reach, times, memory, and the verdict."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        arguments, rows = content["arguments"], content["rows"]
        self.width, self.lengths = int(arguments["width"]), sorted(arguments["lengths"])
        self.processor = arguments["device"] == "cpu"
        self.long = long_end(self.lengths)
        self.rows = {(row["measured"], row.get("way"), row.get("length")): row for row in rows}
        self.counted = self.rows["operations", None, None]["layers"]
        self.reached = self.rows["reach", None, None]
        self.more = int(arguments["threads"])
        self.claims = [*self._counts(), *self._reaches()]
        for way in PASSES:
            self.claims += [*self._memories(way), *self._times(way), *self._threads(way)]
        self.verdict = conclude(self.claims)

    def time(self, way: str, name: str, length: int) -> Estimate:
        row = self.rows["time", way, length]
        return timed(row["layers"][name], row["rounds"])

    def power(self, way: str, name: str) -> Power:
        """The power of the length in a layer's time at the long end."""
        medians = [self.time(way, name, length) for length in self.long]
        shape = [LAYERS[name].products(length, self.width) for length in self.long]
        seconds, errors = [median.value for median in medians], [median.error for median in medians]
        freedoms = [median.sources[0].freedom for median in medians]
        power = exponent(self.long, seconds, errors, shape, freedoms=freedoms)
        assert power is not None
        return power

    def threads(self, way: str, name: str) -> tuple[Estimate, Estimate] | None:
        """The times on one thread and on several, if they are measured."""
        row = self.rows.get(("threads", way, self.long[0]))
        if row is None or not row["rounds"]:
            return None
        alone, several = (timed(columns, row["rounds"]) for columns in row["layers"][name])
        return alone, several

    def _counts(self) -> list[Claim]:
        counts = {name: self.counted[name]["multiplications"] for name in LAYERS}
        chains = {name: self.counted[name]["chain"] for name in LAYERS}
        formulas = {name: [LAYERS[name].products(n, self.width) for n in self.lengths] for name in LAYERS}
        grown = {name: of[-1] / of[0] for name, of in counts.items()}
        slower = max(grown[GRU], grown[CONVOLUTION])
        steady = all(len({*chains[name]}) == 1 for name in LAYERS if name != GRU)
        steps = (chains[GRU][-1] - chains[GRU][0]) / (self.lengths[-1] - self.lengths[0])
        ends = f"{self.lengths[0]} to {self.lengths[-1]} positions"
        others = ", ".join(str(chains[name][0]) for name in LAYERS if name != GRU)
        return [
            Claim("each layer multiplies as often as its formula says", Exact(counts == formulas), f"counted, {ends}"),
            Claim(
                f"the multiplications of {ATTENTION} grow faster than those of {GRU} and {CONVOLUTION}",
                Exact(min(grown[TEXTBOOK], grown[ATTENTION]) > slower),
                f"by {grown[TEXTBOOK]:,.0f} beside {grown[GRU]:,.0f} and {grown[CONVOLUTION]:,.0f}, {ends}",
            ),
            Claim(
                f"each position of a {GRU} waits for the one before, and no position of the other layers does",
                Exact(steady and steps >= 1),
                f"{steps:.0f} operations in turn for each position, and {others} at every length",
            ),
        ]

    def _reaches(self) -> list[Claim]:
        layers, lengths, inputs = (self.reached[key] for key in ("layers", "lengths", "inputs"))
        plain = [[min(count * (KERNEL - 1) + 1, n) for count in layers] for n in lengths]
        dilated = [[min(KERNEL**count, n) for count in layers] for n in lengths]
        first = all(of[0] == n for name in (GRU, ATTENTION) for n, of in zip(lengths, inputs[name], strict=True))
        inputs_of = {name: f"{', '.join(map(str, of[-1]))} inputs" for name, of in inputs.items()}
        by = f"by {', '.join(map(str, layers))} layers, k = {KERNEL}"
        return [
            Claim(f"one layer of {ATTENTION} or {GRU} reaches every input", Exact(first), f"all of {lengths[-1]}"),
            Claim(
                f"a {CONVOLUTION} has a fixed size: a layer reaches k - 1 inputs more, at every length",
                Exact(inputs[CONVOLUTION] == plain),
                f"{inputs_of[CONVOLUTION]} {by}",
            ),
            Claim(
                "log_k n layers of dilated convolution reach all n inputs",
                Exact(inputs[DILATED] == dilated),
                f"{inputs_of[DILATED]} {by}",
            ),
        ]

    def _memories(self, way: str) -> list[Claim]:
        held = self.rows["memory", way, self.long[-1]]["layers"]
        if None in held.values() or held[TEXTBOOK] < _VISIBLE:
            return []
        largest = max(size for name, size in held.items() if name != TEXTBOOK)
        sizes = ", ".join(f"{held[name] / 2**20:,.1f} ({name})" for name in LAYERS)
        text = f"{way}, {TEXTBOOK}, takes more than {_MUCH} times the memory of each other layer"
        return [Claim(text, Exact(held[TEXTBOOK] > _MUCH * largest), f"MiB at {self.long[-1]} positions: {sizes}")]

    def _times(self, way: str) -> list[Claim]:
        first, last, claims = self.long[0], self.long[-1], list[Claim]()
        short = max(length for length in self.lengths if length < self.width)
        for name, other in product((TEXTBOOK, ATTENTION), (GRU, CONVOLUTION)):
            ours, theirs = ([self.time(way, layer, length) for length in (first, last)] for layer in (name, other))
            rise = ratio([ours[1], theirs[0]], [ours[0], theirs[1]])
            text = f"{way}, the time of {name} grows faster than that of {other}"
            claims.append(Claim(text, rise, f"by a factor of {times(rise)} from {first} to {last} positions"))
        for name in (TEXTBOOK, ATTENTION):
            lead = ratio([self.time(way, GRU, short)], [self.time(way, name, short)])
            text = f"{way}, {name} takes less time than {GRU} at n = {short} < d = {self.width}"
            claims.append(Claim(text, lead, f"the {GRU} takes {times(lead)} times as long"))
        return claims

    def _threads(self, way: str) -> list[Claim]:
        claims, recurrent = list[Claim](), self.threads(way, GRU)
        for name in (CONVOLUTION, TEXTBOOK, ATTENTION):
            ours = self.threads(way, name)
            if ours is not None and recurrent is not None:
                more = ratio([ours[0], recurrent[1]], [ours[1], recurrent[0]])
                text = f"{way}, {name} gains more by a second thread than {GRU}"
                claims.append(Claim(text, more, f"by a factor of {times(more)}"))
        return claims

    def table(self, way: str) -> list[list[str]]:
        header = ["length", *(f"{name}, ms" for name in LAYERS), *(f"{name}, MiB" for name in LAYERS)]
        rows = [header]
        for length in self.lengths:
            row = self.rows.get(("memory", way, length), {"layers": dict.fromkeys(LAYERS)})
            sizes = ["" if size is None else f"{size / 2**20:,.1f}" for size in row["layers"].values()]
            rows.append([str(length), *(milliseconds(self.time(way, name, length)) for name in LAYERS), *sizes])
        return [*rows, ["exponent", *(self.power(way, name).text() for name in LAYERS), *[""] * len(LAYERS)]]

    def operations(self) -> list[list[str]]:
        cells = [(name, of) for of in ("multiplications", "chain") for name in LAYERS]
        columns = [[f"{name}, {of}", *(f"{x:,}" for x in self.counted[name][of])] for name, of in cells]
        return [list(row) for row in zip(["length", *map(str, self.lengths)], *columns, strict=True)]

    def reach(self) -> list[list[str]]:
        layers, lengths, inputs = (self.reached[key] for key in ("layers", "lengths", "inputs"))
        header = ["layer", "inputs", *(f"{layer} layer{'s' if layer > 1 else ''}" for layer in layers)]
        rows = [[name, n, *of] for name in inputs for n, of in zip(lengths, inputs[name], strict=True)]
        return [header, *([str(cell) for cell in row] for row in rows)]

    def gains(self) -> list[list[str]]:
        heads = ("1 thread, ms", f"{self.more} threads, ms", "ratio")
        rows = [["layer", *heads]]
        for way, name in product(PASSES, LAYERS):
            if (both := self.threads(way, name)) is not None:
                alone, several = both
                cells = [milliseconds(alone), milliseconds(several), times(ratio([alone], [several]))]
                rows.append([f"{way}, {name}", *cells])
        return rows

    def crossing(self, way: str, name: str) -> str:
        """Return the shortest length with attention slower than the GRU, in words."""
        ours, theirs = ([self.time(way, of, n).value for n in self.lengths] for of in (name, GRU))
        met = crossings(self.lengths, ours, theirs)
        if ours[-1] <= theirs[-1]:
            factor = f"there by a factor of {theirs[-1] / ours[-1]:.1f}"
            return f"{way}, {name} takes less time than the {GRU} up to {self.lengths[-1]} positions, {factor}"
        if not met:
            return f"{way}, {name} takes longer than the {GRU} from {self.lengths[0]} positions on already"
        start = f"{met[-1]:.0f} positions on, {met[-1] / self.width:.1f} times the width"
        return f"{way}, {name} takes longer than the {GRU} from {start}"

    def fields(self) -> dict[str, Any]:
        crossed = [self.crossing(way, name) for way in PASSES for name in (TEXTBOOK, ATTENTION)]
        seconds = "processor seconds of one thread" if self.processor else "seconds by the clock on the wall"
        return {
            "claims": tabled(self.claims),
            "crossings": "\n".join(f"- {sentence(line)}." for line in crossed),
            **{f"table_{number}": self.table(way) for number, way in enumerate(PASSES)},
            "operations": self.operations(),
            "reach": self.reach(),
            "gains": table(gains) if len(gains := self.gains()) > 1 else _ALONE,
            "seconds": seconds,
            "rule": rule(len(self.claims), seeded=False),
        }


def _plot(result: Findings, folder: Path) -> dict[str, str]:
    pictures = {}
    for number, way in enumerate(PASSES):
        curves = []
        for name in LAYERS:
            line = result.power(way, name)
            medians = [result.time(way, name, length) for length in result.lengths]
            ends = line.at(result.lengths[0]), line.at(result.lengths[-1])
            curves.append(curve(f"{name}: n^({line.text()})", result.lengths, medians, trend=ends))
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
    sentence="cost and reach of layers grow with length as tabled (Vaswani et al. 2017, table 1)",
    title="What a layer costs by length, and how far it reaches",
    claim="A self-attention layer takes n² d operations where a recurrent one takes n d² and a convolution k n d², for "
    "n positions of d features and a kernel of k: it is faster than the recurrent one while n is smaller than d. It "
    "takes one step in turn and reaches every input. A recurrent layer takes n steps. Convolutions take one, and n / k "
    "layers of them reach every input, or log_k n if they are dilated.",
    source="Vaswani et al. 2017, section 4 and table 1, https://arxiv.org/abs/1706.03762",
    options=Options,
    measure=measure,
    compare=Findings,
    plot=_plot,
    body="""
{crossings}

## What is claimed

{claims}

{rule}

## Operations

{operations}

Multiplications are those of one sequence, counted by torch: 6 n d² of the GRU, 3 n d² of the convolution and 4 n d² +
2 n² d of self-attention, projections included. The chain is the longest one of operations that wait for another, in the
graph of the forward pass: the sequential steps of the paper's table, each of several operations.

## Reach

{reach}

Cells are the numbers of inputs with an effect on the last output, by the sequential Jacobian of layers on top of each
other in float64. Convolutions have a kernel of 3 over earlier positions. Dilated, layer l reads every 3^(l - 1)-th.

## Forward

{picture_0}

{table_0}

## Forward+backward

{picture_1}

{table_1}

## A second thread

{gains}

## How it was measured

Width d = {arguments[width]}, heads: {arguments[heads]}, batch: {arguments[batch]}. `self-attention, n × n weights` is
softmax(q kᵀ / √D) v in plain torch. `self-attention` is `saccade.nn.MultiheadAttention` on the backend that `auto`
chooses, which need not hold all weights.

Times are {seconds}. At each length all layers are called in turns in one process, in the opposite order every other
round. A time is the median over rounds, ± half of its 95% interval (Student's t, one degree of freedom less than
rounds), from the middle half of the times. Threads are compared by the clock on the wall, at the shortest length of the
long end, all layers and both numbers in turns. Claims about times compare these medians alone, by
the logarithms of their ratios.

Memory is the growth of a fresh process's peak during one call, measured once. On a GPU it is that of torch's allocator.
Weights and input exist before the call.

Exponents are slopes of straight lines through logarithms, at the long end: lengths of a fourth of the longest or more.
They are no claims.

{where}
""",
)
