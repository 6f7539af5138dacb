"""The share of the multiply's rate that a training step of RNNsearch reaches, and what each part of it costs.

    python benchmarks/training_share.py [--data FOLDER] [--json FILE] [--page FILE]

Data, sizes and batches are those of `translate.py`. With one thread, seconds are the processor's own, which other
programs take none of; with more, they are those of the clock. The multiply is measured before every turn. What is
counted is what `translate.py` counts: the products of real tokens, three times the forward.
"""

import json
import platform
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode
from translate import Ours, counts, open_task, parser_of
from translate_table import spread, training_rates, write_into

from saccade.train.environment import hardware, keep_freed_memory

TARGET = 0.7
_PRODUCTS = ("aten::mm", "aten::addmm", "aten::addmm_", "aten::bmm", "aten::baddbmm")
GROUPS: dict[str, Callable[[str], bool]] = {
    "products": lambda name: name in _PRODUCTS,
    "attention": lambda name: name.startswith("_Attention"),
    "gates": lambda name: name.startswith("_Gru"),
    "softmax of the logits": lambda name: name.startswith("_LinearCrossEntropy"),
    "optimizer, norm of the gradient": lambda name: name in ("aten::_fused_adam_", "aten::linalg_vector_norm"),
    "copies, sums, zeros, all else": lambda name: True,
}
"""Parts of a step, by the names that torch's profiler has for what took time itself; the first that fits."""


def multiply_rate(clock: Callable[[], float]) -> float:
    """GFLOP/s of a float32 product here and now, the best of three sizes, as `translate_table.machine_rate`."""
    best = 0.0
    for size in (512, 1024, 2048):
        a, b = torch.randn(size, size), torch.randn(size, size)
        for _ in range(4):
            began = clock()
            a @ b
            best = max(best, 2 * size**3 / (clock() - began) / 1e9)
    return best


def turn(ours: Ours, steps: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Some steps, and the multiply's rate before and after them."""
    before = multiply_rate(clock)
    began = clock()
    found = ours.train(steps)
    seconds = clock() - began
    return {**found, "seconds": seconds, "rate": (before + multiply_rate(clock)) / 2}


def parts(ours: Ours, steps: int) -> dict[str, float]:
    """Of a step's time, the share of each group."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        ours.train(steps)
    found = dict.fromkeys(GROUPS, 0.0)
    for event in seen.key_averages():
        group = next(group for group, fits in GROUPS.items() if fits(event.key))
        found[group] += event.self_cpu_time_total
    total = sum(found.values())
    return {group: taken / total for group, taken in found.items()}


def multiplied(ours: Ours, steps: int) -> tuple[float, float]:
    """GFLOP of all products of some steps as torch counts them, padding included, and of those of real tokens."""
    with FlopCounterMode(display=False) as counter:
        found = ours.train(steps)
    [real] = training_rates([{**found, "seconds": 1.0, "rate": 1.0}], counts(ours))["gflops"]
    return counter.get_total_flops() / 1e9, real


def measured(ours: Ours, rounds: int, steps: int, threads: int) -> dict[str, Any]:
    """All that is kept."""
    clock = time.process_time if threads == 1 else time.perf_counter
    ours.train(2)  # compiles the kernels
    turns = [turn(ours, steps, clock) for _ in range(rounds)]
    rates = training_rates(turns, counts(ours))
    found = {name: spread(rates[name]) for name in ("tokens", "share")}
    whole, real = multiplied(ours, steps)
    return {
        **found,
        "shares": rates["share"],
        "seconds": spread([one["seconds"] / steps for one in turns]),
        "gflops": spread([one["rate"] for one in turns]),
        "real": real / whole,
        "parts": parts(ours, steps),
    }


def table(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    machine, found = results["machine"], results["measured"]
    share, seconds, rate = (found[name] for name in ("share", "seconds", "gflops"))
    met = "met" if share["median"] >= TARGET else "missed"
    speed = share["median"] / found["real"] / found["parts"]["products"]
    threads = f"{machine['threads']} thread{'s' * (machine['threads'] > 1)}"
    lines = [
        f"{machine['processor']}, {threads}, torch {machine['torch']}, Python {machine['python']},",
        f"float32, seed {results['settings']['seed']}; {len(found['shares'])} turns of {results['settings']['steps']}",
        "steps each. Medians (least to most).",
        "",
        "| | |",
        "|---|---|",
        f"| a plain multiply | {_of(rate, '.0f')} GFLOP/s |",
        f"| a step | {_of(seconds, '.2f')} s |",
        f"| share of the multiply's rate | {_of(share, '.0%')}; at least {TARGET:.0%}: {met} |",
        f"| of all that is multiplied, real tokens | {found['real']:.0%} |",
        f"| the products themselves, share of the multiply's rate | {speed:.0%} |",
        "",
        "| part of a step | share of its time |",
        "|---|---:|",
        *(f"| {name} | {part:.1%} |" for name, part in found["parts"].items()),
    ]
    return "\n".join(lines) + "\n"


def _of(value: dict[str, float], form: str) -> str:
    """Median (least to most)."""
    return f"{value['median']:{form}} ({value['least']:{form}} to {value['most']:{form}})"


def main() -> int:
    """Measures, prints and writes."""
    parser = parser_of(__doc__.splitlines()[0])
    parser.set_defaults(threads=1, rounds=10, steps=3)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    keep_freed_memory()  # as every command of ours does
    ours = Ours(open_task(arguments), arguments.sentences)
    found = measured(ours, arguments.rounds, arguments.steps, arguments.threads)
    names = ("source", "target", "vocabulary_size", "embedding_dim", "hidden_dim", "batch_tokens", "seed", "steps")
    machine = {**hardware(torch.device("cpu")), "torch": torch.__version__, "python": platform.python_version()}
    settings = {name: getattr(arguments, name) for name in names}
    results = {"settings": settings, "machine": machine, "measured": found}
    sys.stdout.write(table(results))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if arguments.page:
        write_into(arguments.page, table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
