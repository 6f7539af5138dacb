"""Calls whose queries have one interval of keys each: by the kernels for them, beside the same calls by blocks.

    python benchmarks/fused_calls.py [--threads 2] [--rounds 5] [--output FILE] [--page PAGE]

Both ways take turns in one process, forward and trained; times are medians. Beside them stands the rate of the kernels'
matrix product on one thread, at the sizes that it has in them, and that of torch's at 1,024 in a cube.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from saccade import AuxRequest, attend, masks
from saccade.backends.cpu.engine import ENGINE
from saccade.kernels.compiled.products import product
from saccade.normalizers import Entmax, Sparsemax
from saccade.reads import Sample
from saccade.scores import Additive, Cosine
from saccade.train.environment import hardware, versions

HEADS, LENGTH, SIZE = 8, 4096, 64
MARKS = "<!-- fused -->\n", "<!-- end of fused -->\n"

KINDS: dict[str, dict[str, Any]] = {
    "dot": {},
    "cosine": {"score": Cosine(4.0)},
    "sparsemax": {"normalizer": Sparsemax()},
    "entmax 1.5": {"normalizer": Entmax(1.5)},
    "draws": {"read": Sample()},
    "entropy": {"aux": AuxRequest(entropy=True)},
    "top 4": {"aux": AuxRequest(top=4)},
    "additive": {"score": Additive(torch.linspace(-1, 1, SIZE) / SIZE**0.5)},
}
PRODUCTS = ((12, 64, 144), (12, 140, 64), (156, 24, 64))
"""Rows, depth and columns: a tile of rows' scores, its read, and what it adds to the gradients of its keys."""


def kinds_of_masks() -> dict[str, masks.Mask | None]:
    """By name."""
    ids = torch.arange(LENGTH) // (LENGTH // 8)
    documents = masks.Documents(ids, ids)
    return {"window 128": masks.Window(128, 0), "causal": masks.Causal(), "8 documents": documents, "none": None}


def seconds(function: Callable[[], Any]) -> float:
    """Of one call."""
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def calls(options: dict[str, Any], *, trained: bool) -> tuple[Callable[[], None], Callable[[], None]]:
    """The call by its kernels, and by blocks."""
    tensors = [torch.randn(1, HEADS, LENGTH, SIZE).requires_grad_(trained) for _ in range(3)]
    grad = torch.randn(1, HEADS, LENGTH, SIZE)

    def run() -> None:
        found = attend(*tensors, **options, backend="cpu")
        output: Tensor = found[0] if isinstance(found, tuple) else found
        if trained:
            torch.autograd.grad(output, tensors, grad, allow_unused=True)

    def by_blocks() -> None:
        whole = ENGINE.whole
        object.__setattr__(ENGINE, "whole", None)
        try:
            run()
        finally:
            object.__setattr__(ENGINE, "whole", whole)

    return run, by_blocks


def compared(options: dict[str, Any], rounds: int, *, trained: bool) -> dict[str, float]:
    """Medians in milliseconds, and of the pairs' ratios."""
    ways = calls(options, trained=trained)
    for way in ways:
        way()
    times = [[seconds(way) for way in ways] for _ in range(rounds)]
    ours, blocks = (statistics.median(pair[place] for pair in times) * 1e3 for place in (0, 1))
    return {"ours": ours, "blocks": blocks, "ratio": statistics.median(pair[1] / pair[0] for pair in times)}


@njit
def _multiply(a: Any, b: Any, c: Any, rows: int, depth: int, columns: int, count: int) -> None:
    for _ in range(count):
        places = a.ctypes.data, a.shape[1], 1, b.ctypes.data, b.shape[1], c.ctypes.data, c.shape[1]
        product(*places, rows, depth, columns, False)


def rates(rounds: int) -> dict[str, float]:
    """GFLOP/s of products on one thread."""
    found, threads = {}, torch.get_num_threads()
    for rows, depth, columns in PRODUCTS:
        room = (np.ones((rows + 16, depth), np.float32), np.ones((depth, columns + 32), np.float32))
        given = (*room, np.ones((rows + 16, columns + 32), np.float32), rows, depth, columns, 1000)
        _multiply(*given)
        best = min(seconds(lambda given=given: _multiply(*given)) for _ in range(rounds))
        found[f"{rows} x {depth} x {columns}"] = 2e-6 * rows * depth * columns / best
    torch.set_num_threads(1)
    large = torch.randn(1024, 1024)
    found["torch"] = 2e-9 * 1024**3 / min(seconds(lambda: large @ large) for _ in range(rounds + 1))
    torch.set_num_threads(threads)
    return found


def measured(rounds: int) -> dict[str, Any]:
    """All rows, and the rates."""
    torch.manual_seed(0)
    rows = {}
    for kind, options in KINDS.items():
        for name, mask in kinds_of_masks().items():
            if kind == "dot" and name == "none":
                continue  # torch's kernel serves it
            for trained in (False, True):
                way = "trained" if trained else "forward"
                rows[f"{kind}, {name}, {way}"] = compared({**options, "mask": mask}, rounds, trained=trained)
    return {"rows": rows, "rates": rates(rounds), "hardware": hardware(torch.device("cpu")), "versions": versions()}


def page(found: dict[str, Any]) -> str:
    """The tables as Markdown: how many times as fast the kernels are."""
    names = list(dict.fromkeys(name.rsplit(", ", 1)[0] for name in found["rows"]))
    kinds, masked = ([*dict.fromkeys(name.split(", ")[place] for name in names)] for place in (0, 1))
    head = " | ".join(f"{name}, forward | trained" for name in masked)
    lines = [f"| | {head} |", f"|---|{'---:|' * 2 * len(masked)}"]
    for kind in kinds:
        cells = []
        for name in masked:
            for way in ("forward", "trained"):
                row = found["rows"].get(f"{kind}, {name}, {way}")
                cells.append("" if row is None else f"{row['ratio']:.2f}")
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    lines += ["", "| product on one thread | GFLOP/s |", "|---|---:|"]
    lines += [f"| {name} | {rate:.0f} |" for name, rate in found["rates"].items() if name != "torch"]
    return "\n".join([*lines, f"| torch, 1,024 in a cube | {found['rates']['torch']:.0f} |"]) + "\n"


def main() -> None:
    """Measure, print, and write the file and the part of a page between two marks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
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
