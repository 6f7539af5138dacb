"""Where the time of a training step goes in each model of a task.

    python benchmarks/training_steps.py [--task TASK] [--data DATA] [--steps N] [--others N] [--output FILE]

One thread, the recipe of the data; sentences a second, or seconds of audio a second. A step's parts are timed apart, in
seconds of the processor, which other programs take none of; their means are shown, and the three operations that took
most by torch.profiler. FILE has the same numbers with the machine and the versions.
"""

import argparse
import json
import shlex
import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from saccade.runs import options
from saccade.tasks import load_task
from saccade.train.environment import hardware, keep_freed_memory, versions
from saccade.train.optimization import make_optimizer

PARTS = ("batch", "forward", "backward", "update")
#: What is counted in a batch of each task, and how many of it there are.
COUNTED: dict[str, tuple[str, Callable[[Any, Any], float]]] = {
    "classify-text": ("sentences/s", lambda task, batch: len(batch.labels)),
    "transcribe": ("s of audio/s", lambda task, batch: int(batch.source.lengths.sum()) * task.signals.frame_seconds),
    "classify-image": ("images/s", lambda task, batch: len(batch.labels)),
}


def step(task: Any, model: Any, optimizer: torch.optim.Optimizer, number: int) -> tuple[list[float], float]:
    """Take one step; returns the seconds of its parts, and how much was in it."""
    marks = [time.process_time()]
    batch = task.batch(number)
    marks.append(time.process_time())
    optimizer.zero_grad()
    loss = task.loss(model, batch).total
    marks.append(time.process_time())
    loss.backward()  # type: ignore[no-untyped-call]
    marks.append(time.process_time())
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    marks.append(time.process_time())
    return [after - before for before, after in pairwise(marks)], COUNTED[task.name][1](task, batch)


def measured(kind: Any, name: str, data: str, steps: int, others: int) -> dict[str, Any]:
    """How much a second, milliseconds of each part, and the shares of what takes most."""
    task = kind.prepare(options(kind, data, name, {"run": "none"}))
    torch.manual_seed(1)
    model = task.build().train()
    optimizer = make_optimizer(model, task.settings)
    for number in range(others):  # compiles kernels, and makes the first stretch of batches
        step(task, model, optimizer, number)
    timed = range(others, others + steps)
    times, counts = zip(*(step(task, model, optimizer, number) for number in timed), strict=True)
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        for number in range(others):
            step(task, model, optimizer, number)
    events = sorted(seen.key_averages(), key=lambda event: -event.self_cpu_time_total)
    total = sum(event.self_cpu_time_total for event in events)
    return {
        "model": name,
        "counted": COUNTED[kind.name][0],
        "per_second": sum(counts) / sum(map(sum, times)),
        "seconds": dict(zip(PARTS, map(statistics.fmean, zip(*times, strict=True)), strict=True)),
        "most": {event.key: event.self_cpu_time_total / total for event in events[:3]},
    }


def cells(row: dict[str, Any]) -> list[str]:
    """A row of the table."""
    top = ", ".join(f"{name} {share:.0%}" for name, share in row["most"].items())
    return [
        f"`{row['model']}`",
        f"{row['per_second']:,.0f}",
        *(f"{1000 * part:.2f}" for part in row["seconds"].values()),
        top,
    ]


def main() -> None:
    """Print the table, and keep its numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="classify-text", choices=COUNTED)
    parser.add_argument("--data", help="as `saccade train` takes it; what is built in if not given")
    parser.add_argument("--steps", type=int, default=64, help="steps that are timed")
    parser.add_argument("--others", type=int, default=16, help="steps before them, and as many after them, profiled")
    parser.add_argument("--output", help="JSON file that the numbers are written to")
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    kind = load_task(given.task)
    header = ["model", COUNTED[given.task][0], *(f"{part}, ms" for part in PARTS), "operations that take most"]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    data = given.data or next(iter(kind.builtin))
    rows = []
    for name in kind.models:
        rows.append(measured(kind, name, data, given.steps, given.others))
        print(f"| {' | '.join(cells(rows[-1]))} |", flush=True)
    if given.output:
        machine = {"hardware": hardware(torch.device("cpu")), "versions": versions()}
        found = {"command": shlex.join(["python", *sys.argv]), "rows": rows, **machine}
        Path(given.output).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
