"""Count operations and bytes of the kernels of `kernels/triton`, and the bounds that they imply on a GPU.

    python tools/count_kernels.py      # writes the tables of docs/gpu-kernels.md again

The counts are made by hand from the kernels, for softmax (or 1.5-entmax) with the gradient of the output alone. The
page has the assumptions.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from saccade.backends.triton import fused

PAGE = Path(__file__).resolve().parents[1] / "docs/gpu-kernels.md"
BEGIN, END = "<!-- tools/count_kernels.py writes what follows -->\n", "<!-- up to here -->\n"
MEASURED = PAGE.parents[1] / "results/benchmarks/gpu-tiles.json"
TEXT = """Times of single kernels, by CUDA events, the least of a few rounds: 1 x 8 x 8,192 x 64, and for additive
calls with a number that many queries and keys of 256 features. `top4` is a forward pass with the four largest weights.
The first form had one loop over all blocks, with a branch for the mask. The tiles were chosen by these numbers."""
HEADS, LENGTH, FEATURES = 8, 8192, 64
LEFT = 128
"""Keys before a query in the window."""
ROUNDS = 5
"""Newton's rounds of 1.5-entmax, of normal scores."""
COPY, HALF, SINGLE, SPECIAL = 3.0e12, 798e12, 51e12, 132 * 16 * 1.85e9
"""An H100's bytes, half and float32 operations, and special functions a second; a multiply-add is two operations."""
UNITS = "tensor cores", "float32 units", "special functions", "memory"


class Tile(NamedTuple):
    """A block of queries by a block of keys; a partial one reads the mask."""

    rows: int
    keys: int
    half: bool
    partial: bool = False

    @property
    def pairs(self) -> int:
        return self.rows * self.keys


class Count(NamedTuple):
    """Multiply-adds of matrix products, other float32 operations, and special functions."""

    products: float = 0.0
    plain: float = 0.0
    special: float = 0.0

    def plus(self, *others: "Count") -> "Count":
        return Count(*(sum(parts) for parts in zip(self, *others, strict=True)))

    def times(self, factor: float) -> "Count":
        return Count(*(factor * part for part in self))


def product(tile: Tile) -> Count:
    """Numbers for each pair by products of features."""
    return Count(products=tile.pairs * FEATURES)


def masked(tile: Tile) -> Count:
    """Two comparisons, three conjunctions and a choice for a pair."""
    return Count(plain=6.0 * tile.pairs * tile.partial)


def cleaned(tile: Tile, rows: int) -> Count:
    """Zeros for rows that no pair allows: a comparison and a maximum for a pair, a choice for a number."""
    return Count(plain=(2.0 * tile.pairs + rows * FEATURES) * tile.partial)


def dot(tile: Tile) -> Count:
    """Scaled products of a query and a key."""
    return product(tile).plus(Count(plain=tile.pairs), masked(tile))


def additive(tile: Tile) -> Count:
    """Four terms: four denominators of 3 operations, 10 that join them, one division (`terms.terms`)."""
    four = Count(plain=4 * 3 + 10 + 1, special=1)
    return four.times(tile.pairs * FEATURES / 4).plus(Count(plain=tile.pairs), masked(tile))


def exponentials(tile: Tile) -> Count:
    """e^(s - shift): a difference, a factor log₂ e, and a power of two."""
    return Count(plain=2.0 * tile.pairs, special=tile.pairs)


def rounded(tile: Tile) -> Count:
    """Conversions to a half type."""
    return Count(plain=tile.pairs * tile.half)


def softmax(tile: Tile) -> Count:
    """Running maximum, sum and output: a rescaled output, a special function and four operations for a row."""
    running = Count(plain=2.0 * tile.pairs + tile.rows * (FEATURES + 4), special=tile.rows)
    return exponentials(tile).plus(running)


def read(tile: Tile) -> Count:
    """Weights times values."""
    return rounded(tile).plus(cleaned(tile, tile.keys), product(tile))


def forward_dot(tile: Tile) -> Count:
    """Scores, weights and the output of a tile."""
    return dot(tile).plus(softmax(tile), read(tile))


def forward_additive(tile: Tile) -> Count:
    """As of dot products, with additive scores."""
    return additive(tile).plus(softmax(tile), read(tile))


def forward_entmax(tile: Tile) -> Count:
    """A pass for maxima, rounds with four thresholds of 7 operations and a difference, and a pass for the output."""
    maxima, weights = Count(plain=tile.pairs), Count(plain=7.0 * tile.pairs)
    trials = Count(plain=29.0 * tile.pairs)
    return dot(tile).plus(maxima, dot(tile).plus(trials).times(ROUNDS), dot(tile), weights, read(tile))


def slopes(tile: Tile) -> Count:
    """w (dp - δ), 0 for a w of 0: a comparison, a difference, a product, a choice."""
    return exponentials(tile).plus(product(tile), Count(plain=4.0 * tile.pairs))


def queries_dot(tile: Tile) -> Count:
    """Slopes times keys."""
    return dot(tile).plus(slopes(tile), rounded(tile), cleaned(tile, tile.keys), product(tile))


def keys_dot(tile: Tile) -> Count:
    """Weights times gradients of the output, and slopes times queries."""
    of_value = rounded(tile).plus(product(tile))
    return dot(tile).plus(slopes(tile), of_value, rounded(tile), cleaned(tile, tile.rows), product(tile))


def queries_additive(tile: Tile) -> Count:
    """A term's slope, tangent and two sums: 7 operations and a division."""
    terms = Count(plain=7.0, special=1).times(tile.pairs * FEATURES)
    return additive(tile).plus(slopes(tile), terms, others(tile, tile.keys))


def keys_additive(tile: Tile) -> Count:
    """As of queries, without the tangent: 5 operations."""
    terms = Count(plain=5.0, special=1).times(tile.pairs * FEATURES)
    of_value = rounded(tile).plus(product(tile))
    return additive(tile).plus(slopes(tile), of_value, terms, others(tile, tile.rows))


def others(tile: Tile, steps: int) -> Count:
    """A step over each row of the other side takes its exponentials, and its column of a tile by a masked sum."""
    exponentials = Count(plain=1.0, special=1).times(steps * FEATURES)
    return exponentials.plus(Count(plain=3.0).times(tile.pairs * steps))


def received(tile: Tile) -> Count:
    """Weights and their sums."""
    return dot(tile).plus(exponentials(tile), Count(plain=tile.pairs))


def weights(tile: Tile) -> Count:
    """Weights, which are stored."""
    return dot(tile).plus(exponentials(tile))


def draw(tile: Tile) -> Count:
    """Two passes that sum weights; in the second one a running sum, a search and the last weight take 15 more."""
    return received(tile).times(2).plus(Count(plain=15.0 * tile.pairs))


class Kernel(NamedTuple):
    """A kernel with its tile and its traffic.

    Args:
        count: of a tile.
        tensors: rows of features that a program reads and writes for its block, and reads for each tile.
        numbers: bytes of numbers of a query, such as statistics, that are read and written.
        dense: bytes written for a pair.
        name: of the pass, for its tile.
    """

    label: str
    count: Callable[[Tile], Count]
    tensors: tuple[int, int]
    numbers: int
    score: int = fused.DOT
    name: str = "forward"
    passes: int = 1
    dense: int = 0

    @property
    def by_key(self) -> bool:
        return self.name in ("keys", "received")

    def tile(self, half: bool) -> Tile:
        rows, keys, *_ = fused.tile(LENGTH, FEATURES, 2 if half else 4, self.score, self.name)
        return Tile(rows, keys, half)


KERNELS = (
    Kernel("forward, dot", forward_dot, (2, 2), 4),
    Kernel("forward, additive", forward_additive, (2, 2), 4, fused.ADDITIVE),
    Kernel("forward, entmax 1.5", forward_entmax, (2, 2), 8, passes=ROUNDS + 2),
    Kernel("backward of queries, dot", queries_dot, (4, 2), 8, name="queries"),
    Kernel("backward of keys, dot", keys_dot, (4, 2), 8, name="keys"),
    Kernel("backward of queries, additive", queries_additive, (4, 2), 8, fused.ADDITIVE, "queries"),
    Kernel("backward of keys, additive", keys_additive, (4, 2), 8, fused.ADDITIVE, "keys"),
    Kernel("received", received, (1, 1), 4, name="received"),
    Kernel("draw", draw, (1, 1), 20, passes=2),
    Kernel("weights", weights, (1, 1), 4, dense=4),
)


def visits(tile: Tile, left: int | None, by_key: bool, length: int = LENGTH) -> Iterator[list[bool]]:
    """For each program whether each of its tiles is partial, by `tiles.bounds`."""
    mine, size = (tile.keys, tile.rows) if by_key else (tile.rows, tile.keys)
    for first in range(0, length, mine):
        last = min(first + mine, length) - 1
        begin, stop, full_from, full_to = 0, length, 0, length
        if left is not None and by_key:
            begin, stop, full_from, full_to = first, min(length, last + left + 1), last, min(length, first + left + 1)
        elif left is not None:
            begin, stop, full_from, full_to = max(0, first - left), last + 1, max(0, last - left), first + 1
        starts = range(begin // size * size, stop, size)
        yield [not full_from <= start <= start + size <= full_to for start in starts]


class Bound(NamedTuple):
    """Counts of a pair that is computed, bytes of a program, and seconds of each unit."""

    pair: Count
    block: float
    seconds: tuple[float, float, float, float]

    @property
    def limit(self) -> tuple[float, str]:
        return max(zip(self.seconds, UNITS, strict=True))


def bound(kernel: Kernel, half: bool, left: int | None) -> Bound:
    """The bound of a kernel for 1 x HEADS x LENGTH x FEATURES."""
    tile, programs = kernel.tile(half), list(visits(kernel.tile(half), left, kernel.by_key))
    flat = [partial for program in programs for partial in program]
    counts = (kernel.count(tile._replace(partial=state)).times(flat.count(state)) for state in (False, True))
    total = Count().plus(*counts).times(HEADS)
    pairs = HEADS * len(flat) * tile.pairs
    mine, other = (tile.keys, tile.rows) if kernel.by_key else (tile.rows, tile.keys)
    row = FEATURES * (4 if kernel.score == fused.ADDITIVE or not half else 2)
    per_block, per_tile = kernel.tensors
    moved = len(programs) * per_block * mine * row + kernel.passes * len(flat) * per_tile * other * row
    moved += kernel.numbers * (len(flat) * tile.rows if kernel.by_key else LENGTH) + kernel.dense * pairs // HEADS
    once = HEADS * (LENGTH * ((per_block + per_tile) * row + kernel.numbers)) + kernel.dense * pairs
    if kernel.dense and left is not None:  # zeros first
        once += HEADS * kernel.dense * LENGTH**2
    plain = total.plain + (0 if half else total.products)
    tensor = 2 * total.products / HALF if half else 0.0
    seconds = tensor, 2 * plain / SINGLE, total.special / SPECIAL, once / COPY
    return Bound(total.times(1 / pairs), moved / len(programs), seconds)


def table(half: bool) -> str:
    """The rows of a dtype."""
    lines = [
        "| kernel | tile | products | other | special | KiB a block | no mask | by | KiB a block | window | by |",
        "|---|---|---:|---:|---:|---:|---:|---|---:|---:|---|",
    ]
    for kernel in KERNELS:
        tile, plain, window = kernel.tile(half), bound(kernel, half, None), bound(kernel, half, LEFT)
        cells = [kernel.label, f"{tile.rows} x {tile.keys}", *(f"{part:.4g}" for part in plain.pair)]
        for result in (plain, window):
            seconds, unit = result.limit
            cells += [f"{result.block / 1024:,.0f}", f"{seconds * 1e6:,.0f} µs", unit]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def measured() -> str:
    """Kernels on a card, in their first form and with the tile and the loops that its sweep chose."""
    stored = json.loads(MEASURED.read_text(encoding="utf-8"))
    before: dict[tuple[str, str, str], float] = {}
    now: dict[tuple[str, str, str], tuple[str, float]] = {}
    for row in stored["rows"]:
        call, half, name = row["call"], row["dtype"] == "bf16", row["kernel"]
        additive = call.startswith("additive")
        features = 256 if call in ("additive 64", "additive 256", "additive 4096") else FEATURES
        heavy = 2 if call == "top4" else 0
        shape = fused.tile(LENGTH, features, 2 if half else 4, fused.ADDITIVE if additive else fused.DOT, name, heavy)
        loops = "two" if half and not additive and name != "read" and not heavy else "one"
        if row["tile"] is None and row["loops"] == "one":
            before[call, row["dtype"], name] = row["milliseconds"]
        if row["tile"] == list(shape) and row["loops"] == loops:
            now[call, row["dtype"], name] = f"{shape.rows} x {shape.keys}", row["milliseconds"]
    lines = ["| call | dtype | kernel | tile | first form, ms | now, ms |", "|---|---|---|---|---:|---:|"]
    both = sorted(before.keys() & now.keys())
    lines += [f"| {' | '.join(key)} | {now[key][0]} | {before[key]:.3g} | {now[key][1]:.3g} |" for key in both]
    costs = [f"{row['forward']} ms forward and {row['backward']} ms backward ({row['call']})" for row in stored["host"]]
    host = f"A call takes Python's time beside it, here with gradients at 1 x 8 x 1,024 x 64: {', '.join(costs)}."
    return f"{stored['machine']}:\n\n" + "\n".join(lines) + f"\n\n{host}"


def written() -> str:
    """The generated part of the page."""
    bounds = f"In bfloat16:\n\n{table(half=True)}\n\nIn float32:\n\n{table(half=False)}"
    return f"{BEGIN}\n{bounds}\n\n## Measured\n\n{TEXT}\n\n{measured()}\n\n{END}"


def main() -> None:
    """Write the tables into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + written() + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
