"""How much memory training takes by the number of shapes that oneDNN keeps products for, and what keeping fewer costs.

    python benchmarks/training_memory.py --data FOLDER --source de --target en --model transformer [--output FILE]

One thread; the recipe of corpora of one's own, whose float32 products are rounded (`--matmul-precision medium`), which
is where a processor with bfloat16 units has oneDNN multiply. Every capacity has a process of its own, 0 being the one
that `saccade train` sets. Memory is what is resident, in MB; time is that of the processor, which other programs take
none of.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
NOTED = (10, 40, 60, 120, 200, 400)


def resident() -> float:
    """MB of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def measured(given: argparse.Namespace) -> dict[str, object]:
    """Train for some steps in this process."""
    import torch

    from saccade.runs import options
    from saccade.tasks.translate import Translate
    from saccade.train.environment import bound_shape_caches, hardware, keep_freed_memory, matmul_precision, versions
    from saccade.train.optimization import make_optimizer

    torch.set_num_threads(1)
    keep_freed_memory()
    bound_shape_caches()
    sides = {"source": given.source, "target": given.target}
    task = Translate.prepare(options(Translate, given.data, given.model, sides))
    torch.manual_seed(1)
    model = task.build().train()
    optimizer, seconds, memory = make_optimizer(model, task.settings), list[float](), dict[int, float]()
    with matmul_precision(task.settings.matmul_precision):
        for number in range(given.steps):
            began = time.process_time()
            optimizer.zero_grad()
            task.loss(model, task.batch(number)).total.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            seconds.append(time.process_time() - began)
            if number + 1 in NOTED:
                memory[number + 1] = round(resident())
    parameters = sum(each.numel() for each in model.parameters())
    return {
        "model": given.model,
        "pairs": task.data.size("train"),
        "parameters": parameters,
        "shapes": int(os.environ[CACHES[0]]),
        "memory_mb": memory,
        "seconds_a_step": round(statistics.fmean(seconds[10:]), 4),
        "hardware": hardware(torch.device("cpu")),
        "versions": versions(),
    }


def main() -> None:
    """Measure every capacity in a process of its own, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="a folder of aligned files")
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--model", default="transformer")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--shapes", type=int, nargs="*", default=[1024, 128, 64, 16, 1])
    parser.add_argument("--output", help="JSON file that rows are added to")
    parser.add_argument("--here", action="store_true", help="measure in this process, and print JSON")
    given = parser.parse_args()
    if given.here:
        print(json.dumps(measured(given)))
        return
    print("| model | pairs | shapes | MB by steps | s a step |\n|---|---|---|---|---|")
    for shapes in given.shapes:
        settings = {**os.environ, **({name: str(shapes) for name in CACHES} if shapes else {})}
        words = [sys.executable, __file__, *sys.argv[1:], "--here"]
        done = subprocess.run(  # noqa: S603 (this file)
            words, env=settings, check=True, stdout=subprocess.PIPE, text=True
        )
        row = json.loads(done.stdout.splitlines()[-1])
        memory = ", ".join(f"{step}: {value:.0f}" for step, value in row["memory_mb"].items())
        cells = (f"`{row['model']}`", f"{row['pairs']:,}", row["shapes"], memory, row["seconds_a_step"])
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
        if given.output:
            path = Path(given.output)
            rows = json.loads(path.read_text()) if path.exists() else []
            path.write_text(json.dumps([*rows, row], indent=2) + "\n")


if __name__ == "__main__":
    main()
