"""What a query of a narrow window costs at the least: its products and its weights alone, beside what it may cost.

    python benchmarks/window_parts.py [--rounds 15] [--output FILE] [--page PAGE]

Rows called "ideal" of `saccade bench` may take twice the time of the allowed pairs in the same call without a mask.
Here stands, for one thread and one query, what of that the parts of the kernel take by themselves, in a core's nearest
caches: the products of a block of queries and its keys and values, and what makes weights of them. The rest of the call
is the turning of keys, memory that is new, and Python. All take turns in one process; times are medians.
"""

import argparse
import json
import statistics
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from numba import njit, types

from saccade import AuxRequest, attend, masks
from saccade.kernels import fused
from saccade.kernels.compiled import Table as Layout
from saccade.kernels.compiled import intrinsic
from saccade.kernels.compiled.fused import read_block, scored, stretch, weigh_block
from saccade.kernels.intervals import BLOCK, Intervals, dealt
from saccade.kernels.threads import extend
from saccade.normalizers import Entmax, Sparsemax
from saccade.reads import Sample
from saccade.scores import Cosine
from saccade.train.environment import hardware, versions

HEADS, LENGTH, SIZE, LEFT = 8, 4096, 64, 128
BLOCKS = 1000
"""Blocks of queries whose parts are timed together."""

DIFFERENT = 64
"""Blocks whose products differ: how long a threshold is looked for depends on them, and branches are learned."""

MARKS = "<!-- parts -->\n", "<!-- end of parts -->\n"

SOFTMAX = fused.Weights(scale=0.125)
ROWS: dict[str, tuple[dict[str, Any], fused.Weights, bool]] = {
    "entropy": ({"aux": AuxRequest(entropy=True)}, SOFTMAX, False),
    "top 4": ({"aux": AuxRequest(top=4)}, SOFTMAX, False),
    "cosine": ({"score": Cosine(8.0)}, fused.Weights(scale=8.0), False),
    "sparsemax": ({"normalizer": Sparsemax()}, fused.Weights(alpha=2.0, scale=0.125), False),
    "entmax 1.5": ({"normalizer": Entmax(1.5)}, fused.Weights(alpha=1.5, scale=0.125), False),
    "draws": ({"read": Sample()}, SOFTMAX, True),
}
"""By name: arguments of the call, how its kernel makes weights, and whether it draws."""


class Table:
    """What the kernel's parts are given, of one head, and the memory it is in."""

    def __init__(self, weights: fused.Weights, many: int, *, draws: bool) -> None:
        query, key, value = (torch.randn(1, LENGTH, SIZE) for _ in range(3))
        places = torch.arange(LENGTH)
        intervals = Intervals.of((places - LEFT).clamp(min=0)[None], (places + 1)[None])
        uniform = torch.rand(1, LENGTH) if draws else None
        given = fused.Inputs(query, key, value, intervals, weights, uniform, 1)
        self.dealt = dealt(intervals)
        rows = (1, LENGTH)
        output, lse, entropy, values = (torch.empty(*rows, size) for size in (SIZE, 1, 1, max(many, 1)))
        indices, drawn, flag = (torch.empty(*rows, max(many, 1), dtype=torch.int64) for _ in range(3))
        results = output, lse, entropy, values, indices, drawn
        self.kept = fused.Forward(given.table(self.dealt, flag), *results, many, measures_entropy=False)
        self.numbers = array("q")
        extend(self.numbers, self.kept)
        self.table = self.numbers.buffer_info()[0]
        self.starts, self.ends = intervals.starts[0].numpy(), intervals.ends[0].numpy()
        self.keys = key[0].T.contiguous()[:, : stretch(self.dealt.keys)].contiguous()
        self.step = stretch(intervals.widest)
        self.products = torch.randn(DIFFERENT, BLOCK, self.step) / weights.scale  # scores are of unit variance
        self.scores = self.products[0].clone()
        self.outputs, self.spare, self.few = torch.empty(BLOCK, SIZE), torch.empty(2 * self.step), torch.empty(512)
        self.width = LEFT + BLOCK
        self.query, self.value = query, value

    def multiply(self, reads: bool) -> None:
        """The products of all blocks."""
        addresses = self.query.data_ptr(), self.keys.data_ptr(), self.value.data_ptr()
        rooms = self.scores.data_ptr(), self.outputs.data_ptr()
        sizes = self.step, self.keys.shape[1], self.width, LEFT, reads, BLOCKS
        _products(self.table, *addresses, *rooms, self.starts, self.ends, *sizes)

    def weigh(self) -> None:
        """The weights of all blocks, each from the same products."""
        scores, products = self.scores.numpy(), self.products.numpy()
        bounds = self.starts, self.ends
        _weights(self.table, scores, products, *bounds, self.spare.numpy(), self.few.data_ptr(), LEFT, BLOCKS)

    def copy(self) -> None:
        """What `weigh` does beside."""
        _copies(self.scores.numpy(), self.products.numpy(), BLOCKS)


@intrinsic
def _table(context: Any, address: Any) -> Any:
    """The table at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return Layout(fused.Forward)(types.int64), generate


@njit
def _products(
    table: int,
    query: int,
    keys: int,
    value: int,
    scores: int,
    outputs: int,
    starts: Any,
    ends: Any,
    step: int,
    columns: int,
    width: int,
    left: int,
    reads: bool,
    count: int,
) -> float:
    total = 0.0
    for block in range(count):
        first = left + BLOCK * (block % 100)
        low, own, their = starts[first], starts[first : first + BLOCK], ends[first : first + BLOCK]
        asked, turned = query + 4 * SIZE * first, keys + 4 * BLOCK * (block % 8)
        scored(asked, SIZE, turned, columns, low, width, own, their, scores, step)
        if reads:
            total += read_block(_table(table), 0, first, 0, value, low, width, own, their, scores, step, outputs)
    return total


@njit
def _copied(source: Any, target: Any) -> None:
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@njit
def _weights(
    table: int, scores: Any, products: Any, starts: Any, ends: Any, spare: Any, few: int, left: int, count: int
) -> None:
    for block in range(count):
        _copied(products[block % products.shape[0]], scores)
        first = left + BLOCK * (block % 100)
        own, their = starts[first : first + BLOCK], ends[first : first + BLOCK]
        weigh_block(
            _table(table), 0, first, 0, starts[first], own, their, scores.ctypes.data, scores.shape[1], spare, few
        )


@njit
def _copies(scores: Any, products: Any, count: int) -> None:
    for block in range(count):
        _copied(products[block % products.shape[0]], scores)


def microseconds(function: Callable[[], Any]) -> float:
    """Of one call."""
    began = time.perf_counter()
    function()
    return (time.perf_counter() - began) * 1e6


def medians(functions: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Of functions that take turns."""
    for function in functions.values():
        function()
    times = [{name: microseconds(function) for name, function in functions.items()} for _ in range(rounds)]
    return {name: statistics.median(each[name] for each in times) for name in functions}


def measured(rounds: int) -> dict[str, Any]:
    """Of each row what a query may take, what its parts take, and what its call does, in microseconds."""
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, HEADS, LENGTH, SIZE) for _ in range(3))
    table, share = {}, (LEFT + 1) / LENGTH
    for name, (options, weights, draws) in ROWS.items():
        parts = Table(weights, options["aux"].top if "aux" in options else 0, draws=draws)
        options = {**options, "backend": "cpu"}
        functions = {
            "dense": lambda options=options: attend(query, key, value, **options),
            "call": lambda options=options: attend(query, key, value, mask=masks.Window(LEFT, 0), **options),
            "products": lambda parts=parts, draws=draws: parts.multiply(not draws),
            "weights": parts.weigh,
            "copies": parts.copy,
        }
        found = medians(functions, rounds)
        row = {way: found[way] / (HEADS * LENGTH) for way in ("dense", "call")}
        row["products"] = found["products"] / (BLOCKS * BLOCK)
        row["weights"] = max(found["weights"] - found["copies"], 0.0) / (BLOCKS * BLOCK)
        row["allowed"] = 2 * share * row["dense"]
        row["share"] = (row["products"] + row["weights"]) / row["allowed"]
        table[name] = row
    return {"rows": table, "hardware": hardware(torch.device("cpu")), "versions": versions()}


def page(found: dict[str, Any]) -> str:
    """The table as Markdown."""
    lines = ["| row | a query may take | products | weights | both | the call |", "|---|---:|---:|---:|---:|---:|"]
    for name, row in found["rows"].items():
        times = " | ".join(f"{row[key]:.2f} µs" for key in ("allowed", "products", "weights"))
        lines.append(f"| {name} | {times} | {row['share']:.0%} | {row['call']:.2f} µs |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, and write the file and the part of a page between two marks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path, help="JSON file")
    parser.add_argument("--page", type=Path, help="page whose part between two marks is replaced")
    given = parser.parse_args()
    torch.set_num_threads(1)
    found = {"threads": 1, "rounds": given.rounds, **measured(given.rounds)}
    print(page(found))
    if given.output:
        given.output.write_text(json.dumps(found, indent=1) + "\n")
    if given.page:
        text = given.page.read_text()
        before, after = text.split(MARKS[0])[0], text.split(MARKS[1])[1]
        given.page.write_text(f"{before}{MARKS[0]}\n{page(found)}\n{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
