"""A decoder's additive step beside a plain sum of the bytes that it reads, in the processor's own seconds.

    python benchmarks/decoder_step.py [--seconds N] [--json FILE] [--page FILE]

One thread, whose seconds other programs take none of, though their reads share the caches: `saccade bench --rows 'plain
sum'` measures the same by the clock, on as many threads as there are. A step of one key of 8 features has nothing to
read: what it takes is what every step takes in Python.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch
from translate_table import write_into

from saccade import remember
from saccade.bench.measure import turns
from saccade.bench.row import Run
from saccade.scores import Additive
from saccade.train.environment import hardware, keep_freed_memory

TARGET = 0.6
SHAPES = tuple((batch, length, 512) for batch in (8, 16, 32, 64) for length in (32, 128, 512))


def step_of(batch: int, length: int, dim: int) -> tuple[Run, Run]:
    """A step, and the sum of as many numbers as it reads: the keys' exponentials and the values."""
    query, key, value = (torch.randn(batch, rows, dim) for rows in (1, length, length))
    memory = remember(key, value, score=Additive(torch.randn(dim) / dim**0.5))
    numbers = torch.stack([key, value])
    return lambda: memory.read(query), numbers.sum


def measured(seconds: float) -> list[dict[str, Any]]:
    """Of each shape: microseconds of both and of a step with nothing to read, and the median of the pairs' ratio."""
    found = []
    for shape in SHAPES:
        step, total = step_of(*shape)
        least, _ = step_of(1, 1, 8)
        for run in (step, step, total, least, least):
            run()
        rounds = turns([step, total, least], seconds=seconds, least=10, clock=time.process_time)
        took = [statistics.median(column) * 1e6 for column in zip(*rounds, strict=True)]
        read = statistics.median(b / (a - c) for a, b, c in rounds)
        share = statistics.median(b / a for a, b, _ in rounds)
        names = "step", "sum", "least"
        found.append({"shape": shape, **dict(zip(names, took, strict=True)), "share": share, "read": read})
        found[-1]["rounds"] = len(rounds)
    return found


def table(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    machine, rows = results["machine"], results["rows"]
    met = sum(row["share"] >= TARGET for row in rows)
    least = statistics.median(row["least"] for row in rows)
    where = f"{machine['processor']}, 1 thread, torch {machine['torch']}, Python {machine['python']}."
    lines = [
        f"{where} A step with nothing to read takes",
        f"{least:.0f} µs. At least {TARGET:.0%} of the sum's rate: {met} of {len(rows)} met.",
        "",
        "| batch × keys × features | step, µs | sum, µs | share of the sum's rate | without what every step takes |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        shape = " × ".join(map(str, row["shape"]))
        lines.append(f"| {shape} | {row['step']:,.0f} | {row['sum']:,.0f} | {row['share']:.0%} | {row['read']:.0%} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="that a shape is measured for, by the processor's clock"
    )
    parser.add_argument("--json", type=Path, help="write all that was measured there")
    parser.add_argument("--page", type=Path, help="put the table into this page")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    keep_freed_memory()  # as every command of ours does
    machine = {**hardware(torch.device("cpu")), "torch": torch.__version__, "python": platform.python_version()}
    with torch.no_grad():
        results = {"machine": machine, "rows": measured(arguments.seconds)}
    sys.stdout.write(table(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if arguments.page:
        write_into(arguments.page, table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
