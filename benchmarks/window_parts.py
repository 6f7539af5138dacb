"""What a narrow window costs at the least: the products and the weights of its blocks alone, beside what it may cost.

    python benchmarks/window_parts.py [--threads 2] [--rounds 15] [--output FILE] [--page PAGE]

Rows called "ideal" of `saccade bench` may take twice the time of the allowed pairs in the same call without a mask.
Here stands what of that the parts take that no order of the work can spare: the matrix products of blocks of queries
and the keys that they reach, by torch's batched product, and the kernels that make weights of scores. All take turns
in one process; times are medians.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade import AuxRequest, attend
from saccade.backends.blockwise.products import multiply
from saccade.kernels import statistics as of_weights
from saccade.kernels import weights
from saccade.normalizers import Entmax, Sparsemax
from saccade.reads import Sample
from saccade.scores import Cosine
from saccade.train.environment import hardware, versions

HEADS, LENGTH, SIZE, LEFT = 8, 4096, 64, 128
TOGETHER = 1 << 21
"""Pairs that are computed at once."""

MARKS = "<!-- parts -->\n", "<!-- end of parts -->\n"


def windows(tensor: Tensor, rows: int, width: int, tiles: int) -> Tensor:
    """The keys of each block of queries, as views into each other."""
    return tensor.as_strided((HEADS, tiles, width, SIZE), (LENGTH * SIZE, rows * SIZE, SIZE, 1))


class Blocks:
    """Blocks of so many queries against the keys that a window leaves them."""

    def __init__(self, rows: int) -> None:
        self.rows, self.width = rows, rows + LEFT
        self.tiles = (LENGTH - LEFT) // rows
        self.at_once = min(self.tiles, TOGETHER // (HEADS * rows * self.width))
        query, key, value = (torch.randn(HEADS, LENGTH, SIZE) for _ in range(3))
        self.query = windows(query, rows, rows, self.tiles)
        self.key, self.value = (windows(x, rows, self.width, self.tiles) for x in (key, value))
        self.scores, self.room = (torch.randn(HEADS, self.at_once, rows, self.width) for _ in range(2))
        self.uniform = torch.rand(HEADS, self.at_once, rows)
        positions = torch.arange(self.width) - torch.arange(rows)[:, None]
        self.allowed = (positions >= 0) & (positions <= LEFT)

    def parts(self) -> list[slice]:
        """Which blocks are computed at once."""
        return [slice(first, first + self.at_once) for first in range(0, self.tiles, self.at_once)]

    def products(self, count: int) -> None:
        """Scores and reads in turns, as the forward has two of them, and both passes seven."""
        for part in self.parts():
            query, key, value = self.query[:, part], self.key[:, part], self.value[:, part]
            room = self.room[:, : query.shape[1]]
            for number in range(count):
                if number % 2:
                    multiply(room, value)
                else:
                    multiply(query, key.mT, room)

    def weigh(self, function: Callable[[Tensor, Tensor, Tensor], Any]) -> None:
        """Weights of all blocks, and what is drawn by them."""
        for part in self.parts():
            count = len(range(*part.indices(self.tiles)))
            function(self.scores[:, :count], self.allowed, self.uniform[:, :count])


ROWS: dict[str, tuple[dict[str, Any], int, Callable[[Tensor, Tensor, Tensor], Any]]] = {
    "entropy": ({"aux": AuxRequest(entropy=True)}, 2, lambda scores, allowed, _: weights.softmax(scores, allowed)),
    "top 4": ({"aux": AuxRequest(top=4)}, 2, lambda scores, allowed, _: weights.softmax(scores, allowed, top=4)),
    "cosine": ({"score": Cosine(8.0)}, 2, lambda scores, allowed, _: weights.softmax(scores, allowed)),
    "sparsemax": ({"normalizer": Sparsemax()}, 2, lambda scores, allowed, _: weights.sparsemax(scores, allowed)),
    "entmax 1.5": ({"normalizer": Entmax(1.5)}, 2, lambda scores, allowed, _: weights.entmax(scores, 1.5, allowed)),
    "draws": (
        {"read": Sample(uniform=torch.rand(1, HEADS, LENGTH))},
        1,
        lambda scores, allowed, uniform: of_weights.draw(weights.softmax(scores, allowed)[0], uniform),
    ),
}
"""By name: arguments of the call, products in its forward, and what makes its weights."""


def milliseconds(function: Callable[[], Any]) -> float:
    """Of one call."""
    began = time.perf_counter()
    function()
    return (time.perf_counter() - began) * 1e3


def medians(functions: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Of functions that take turns."""
    for function in functions.values():
        function()
    times = [{name: milliseconds(function) for name, function in functions.items()} for _ in range(rounds)]
    return {name: statistics.median(each[name] for each in times) for name in functions}


def measured(rounds: int) -> dict[str, Any]:
    """The rates of the products, and of each row what it may take and what its parts take."""
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, HEADS, LENGTH, SIZE) for _ in range(3))
    blocks = {rows: Blocks(rows) for rows in (32, 64, 128)}
    large = torch.randn(2048, 2048)
    found = medians(
        {"large": lambda: large @ large, **{str(rows): partly(each, 2) for rows, each in blocks.items()}}, rounds
    )
    rates = {"large": 2 * 2048**3 / found["large"] / 1e6}
    for rows, each in blocks.items():
        rates[str(rows)] = 4 * SIZE * HEADS * each.tiles * rows * each.width / found[str(rows)] / 1e6
    table, share = {}, (LEFT + 1) / LENGTH
    for name, (options, count, weigh) in ROWS.items():
        own = blocks[64]
        functions = {
            "dense": lambda options=options: attend(query, key, value, **options),
            "products": partly(own, count),
            "weights": lambda weigh=weigh, own=own: own.weigh(weigh),
        }
        row = medians(functions, rounds)
        row["allowed"] = 2 * share * row["dense"]
        row["share"] = (row["products"] + row["weights"]) / row["allowed"]
        table[name] = row
    return {"gflops": rates, "rows": table, "hardware": hardware(torch.device("cpu")), "versions": versions()}


def partly(blocks: Blocks, count: int) -> Callable[[], None]:
    """The products of blocks, to be called."""
    return lambda: blocks.products(count)


def page(found: dict[str, Any]) -> str:
    """The tables as Markdown."""
    rates = found["gflops"]
    lines = [
        "| products of blocks of | keys each | pairs per allowed one | GFLOP/s | of a large product's |",
        "|---:|---:|---:|---:|---:|",
    ]
    for rows in (32, 64, 128):
        ratio, rate = (rows + LEFT) / (LEFT + 1), rates[str(rows)]
        lines.append(f"| {rows} | {rows + LEFT} | {ratio:.2f} | {rate:.0f} | {rate / rates['large']:.0%} |")
    lines += ["", "| row | may take | products | weights | both |", "|---|---:|---:|---:|---:|"]
    for name, row in found["rows"].items():
        times = " | ".join(f"{row[key]:.1f} ms" for key in ("allowed", "products", "weights"))
        lines.append(f"| {name} | {times} | {row['share']:.0%} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, and write the file and the part of a page between two marks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path, help="JSON file")
    parser.add_argument("--page", type=Path, help="page whose part between two marks is replaced")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    found = {"threads": given.threads, "rounds": given.rounds, **measured(given.rounds)}
    print(page(found))
    if given.output:
        given.output.write_text(json.dumps(found, indent=1) + "\n")
    if given.page:
        text = given.page.read_text()
        before, after = text.split(MARKS[0])[0], text.split(MARKS[1])[1]
        given.page.write_text(f"{before}{MARKS[0]}\n{page(found)}\n{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
