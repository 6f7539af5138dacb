"""What a small additive call consists of: its kernels, its product of weights and values, and all around them.

    python benchmarks/additive_parts.py [--calls N] [--threads N] [--output FILE]

Of one thread microseconds of the processor, which other programs take none of; of more, by the clock, while nothing
else runs; the median of the calls. A call takes no less than its parts: the share of the large call's terms a second
that they allow is the most that a small one can reach with these kernels, whatever is around them.
"""

import argparse
import json
import math
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from saccade import attend
from saccade.kernels.threads import Kernel
from saccade.scores import Additive
from saccade.train.environment import hardware, versions

LARGE = (8, 256, 256, 256)
SIZES = ((3, 301, 77, 130), (32, 40, 45, 512), (16, 64, 64, 64), (2, 128, 128, 64), (4, 100, 100, 30), LARGE)
NAMES = {
    "pack": "packing",
    "unpack": "packing",
    "weights": "scores and softmax",
    "slopes": "scores and softmax",
    "gradients": "scores and softmax",
}


def now() -> float:
    """Seconds: of the processor where one thread works, else by the clock."""
    return time.thread_time() if torch.get_num_threads() == 1 else time.perf_counter()


@contextmanager
def counted() -> Iterator[dict[str, float]]:
    """Seconds of kernels, by what they do, until the end of the context."""
    run, found = Kernel.__call__, defaultdict[str, float](float)

    def timed(kernel: Kernel[Any], *table: Any) -> None:
        began = now()
        run(kernel, *table)
        found[NAMES[kernel.name.split(".")[1]]] += now() - began

    Kernel.__call__ = timed  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Kernel.__call__ = run  # type: ignore[method-assign]


def median(call: Callable[[], object], calls: int) -> float:
    """Microseconds that one of several calls takes."""
    found = []
    for _ in range(calls + 2):
        began = now()
        call()
        found.append(now() - began)
    return 1e6 * statistics.median(found[2:])


def measured(sizes: tuple[int, ...], calls: int, *, trained: bool) -> dict[str, Any]:
    """A row: what a call takes, and its parts."""
    batch, length, width, dim = sizes
    query, key, value = (torch.randn(batch, size, dim, requires_grad=trained) for size in (length, width, width))
    v = (torch.randn(dim) * dim**-0.5).requires_grad_(trained)

    def call() -> None:
        output = attend(query, key, value, score=Additive(v))
        if trained:
            output.sum().backward()  # type: ignore[no-untyped-call]

    whole, kernels = median(call, calls), []
    for _ in range(calls):
        with counted() as found:
            call()
        kernels.append(dict(found))
    parts = {name: 1e6 * statistics.median(each[name] for each in kernels) for name in kernels[0]}
    weights, values = torch.randn(batch, length, width), value.detach()
    parts["product"] = median(lambda: torch.bmm(weights, values), calls)
    if trained:
        upstream = torch.randn(batch, length, dim)
        parts["product"] += median(lambda: torch.bmm(upstream, values.mT), calls)
        parts["product"] += median(lambda: torch.bmm(weights.mT, upstream), calls)
    parts["around them"] = whole - sum(parts.values())
    named = {name: round(parts[name], 1) for name in ("packing", "scores and softmax", "product", "around them")}
    return {"sizes": list(sizes), "trained": trained, "whole": round(whole, 1), "parts": named}


def with_shares(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with their share of the large call's terms a second, and what their parts alone would have."""
    found = []
    for row in rows:
        large = next(each for each in rows if tuple(each["sizes"]) == LARGE and each["trained"] == row["trained"])
        most = math.prod(row["sizes"]) * large["whole"] / math.prod(LARGE)
        least = sum(row["parts"].values()) - row["parts"]["around them"]
        found.append({**row, "share": round(most / row["whole"], 3), "at_most": round(most / least, 3)})
    return found


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    sizes = "x".join(map(str, row["sizes"]))
    parts = " | ".join(f"{part:,.0f}" for part in row["parts"].values())
    way = "forward+backward" if row["trained"] else "forward"
    return f"| {way} {sizes} | {row['whole']:,.0f} | {parts} | {row['share']:.0%} | {row['at_most']:.0%} |"


def main() -> None:
    """Measure every size, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", help="JSON file to write")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    rows = with_shares([measured(sizes, given.calls, trained=trained) for trained in (False, True) for sizes in SIZES])
    print("| call | µs | packing | scores and softmax | product | around them | of the large one's speed | at most |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        print(line(row))
    if given.output:
        told = {"hardware": hardware(torch.device("cpu")), "versions": versions(), "calls": given.calls, "rows": rows}
        Path(given.output).write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
