"""Where the time of a training step goes in each model of `classify-text`.

    python benchmarks/classify_text.py [--data DATA] [--steps N]

One thread, the recipe of the data. A step's parts are timed apart, in seconds of the processor, which other programs
take none of; their means are shown, and the three operations that took most by torch.profiler.
"""

import argparse
import statistics
import time
from itertools import pairwise
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from saccade.tasks.classify_text import ClassifyText
from saccade.train.environment import keep_freed_memory
from saccade.train.optimization import make_optimizer

PARTS = ("batch", "forward", "backward", "update")


def step(task: ClassifyText, model: Any, optimizer: torch.optim.Optimizer, number: int) -> tuple[list[float], int]:
    """Take one step; returns the seconds of its parts, and its sentences."""
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
    return [after - before for before, after in pairwise(marks)], len(batch.labels)


def measured(name: str, data: str, steps: int) -> list[str]:
    """A row of the table: sentences a second, milliseconds of each part, and what takes most."""
    kind = ClassifyText.options(name)
    known = set(kind.__dataclass_fields__)
    recipe = {key: value for key, value in ClassifyText.recipe(name, data).items() if key in known}
    task = ClassifyText.prepare(kind(**{**recipe, "model": name, "data": data, "run": "none"}))
    torch.manual_seed(1)
    model = task.build().train()
    optimizer = make_optimizer(model, task.settings)
    for number in range(16):  # compiles kernels, and makes the first stretch of batches
        step(task, model, optimizer, number)
    times, sentences = zip(*(step(task, model, optimizer, number) for number in range(16, 16 + steps)), strict=True)
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        for number in range(16):
            step(task, model, optimizer, number)
    events = sorted(seen.key_averages(), key=lambda event: -event.self_cpu_time_total)
    total = sum(event.self_cpu_time_total for event in events)
    top = ", ".join(f"{event.key} {event.self_cpu_time_total / total:.0%}" for event in events[:3])
    parts = [f"{1000 * statistics.fmean(column):.2f}" for column in zip(*times, strict=True)]
    rate = sum(sentences) / sum(map(sum, times))
    return [f"`{name}`", f"{rate:,.0f}", *parts, top]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="reviews", help="as `saccade train classify-text` takes it")
    parser.add_argument("--steps", type=int, default=64, help="steps that are timed")
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    header = ["model", "sentences/s", *(f"{part}, ms" for part in PARTS), "operations that take most"]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for name in ClassifyText.models:
        print(f"| {' | '.join(measured(name, given.data, given.steps))} |", flush=True)


if __name__ == "__main__":
    main()
