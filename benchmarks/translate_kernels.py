"""RNNsearch with the compiled kernels and without them: tokens a second in training and decoding, in turns.

    python benchmarks/translate_kernels.py [--data FOLDER] [--json FILE] [--page FILE]

Both sides are Saccade's own, on the same batches in one process. Without kernels, attention runs in blocks of plain
PyTorch (or by the formula where that is faster), and so do gates, the output layer and a search's choice of tokens.
What is counted is what `translate.py` counts: real target tokens a second in training, written ones in decoding.
"""

import json
import platform
import sys
from typing import Any

import torch
from translate import Ours, Side, measure, open_task, parser_of
from translate_table import spread, write_into

from saccade.kernels.threads import numba_missing, without_kernels
from saccade.train.environment import keep_freed_memory

WITH, WITHOUT = "kernels", "without"


class Without:
    """The same model, every command of it without kernels."""

    def __init__(self, ours: Ours) -> None:
        self.ours = ours

    def parameters(self) -> dict[str, Any]:
        """As `Side`."""
        return self.ours.parameters()

    def count(self, source: int, target: int) -> dict[str, Any]:
        """As `Side`."""
        return self.ours.count(source, target)

    def train(self, steps: int) -> dict[str, Any]:
        """As `Side`."""
        with without_kernels("this is what they are measured against"):
            return self.ours.train(steps)

    def decode(self, beam_size: int, sentences: int) -> dict[str, Any]:
        """As `Side`."""
        with without_kernels("this is what they are measured against"):
            return self.ours.decode(beam_size, sentences)


def rates(found: dict[str, Any]) -> dict[str, dict[str, list[float]]]:
    """Tokens a second of each round, by what was done and by whom."""
    training = {
        name: [sum(sum(targets) for _, targets, _ in part["batches"]) / part["seconds"] for part in rounds]
        for name, rounds in found["train"].items()
    }
    decoding = {
        kind: {
            name: [sum(part["lengths"]) / part["seconds"] for part in rounds] for name, rounds in found[kind].items()
        }
        for kind in ("greedy", "beam")
    }
    return {"train": training, **decoding}


def summary(found: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """What is kept: every round, medians and the ratio of rounds."""
    measured = {}
    for kind, sides in rates(found).items():
        ratio = [a / b for a, b in zip(sides[WITH], sides[WITHOUT], strict=True)]
        measured[kind] = {"ratio": spread(ratio), **{name: {**spread(r), "rounds": r} for name, r in sides.items()}}
    machine = {"processor": platform.machine(), "gflops": spread(found["gflops"]), "python": platform.python_version()}
    return {"settings": settings, "machine": {**machine, "torch": torch.__version__}, "tokens_per_second": measured}


def table(results: dict[str, Any]) -> str:
    """The summary to read."""
    machine, settings = results["machine"], results["settings"]
    rate = machine["gflops"]["median"]
    lines = [
        f"{machine['processor']}, {settings['threads']} threads, torch {machine['torch']}, Python {machine['python']},",
        f"float32, seed {settings['seed']}. A plain multiply ran at {rate:.0f} GFLOP/s. Medians of the rounds (least",
        "to most).",
        "",
        "| tokens a second | with kernels | without | ratio |",
        "|---|---|---|---|",
    ]
    names = {"train": "training", "greedy": "greedy", "beam": f"beam {settings['beam_size']}"}
    for kind, name in names.items():
        row = results["tokens_per_second"][kind]
        cells = [_cell(row[WITH], ",.0f"), _cell(row[WITHOUT], ",.0f"), _cell(row["ratio"], ".2f")]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(value: dict[str, float], form: str) -> str:
    """Median (least to most)."""
    return f"{value['median']:{form}} ({value['least']:{form}} to {value['most']:{form}})"


def main() -> int:
    """Measures, prints and writes."""
    arguments = parser_of(__doc__.splitlines()[0]).parse_args()
    if reason := numba_missing():
        raise SystemExit(f"there are no kernels here to measure: {reason}")
    torch.set_num_threads(arguments.threads)
    keep_freed_memory()  # as every command of ours does
    sides: dict[str, Side] = {}
    for name in (WITH, WITHOUT):
        torch.manual_seed(arguments.seed)
        ours = Ours(open_task(arguments), arguments.sentences)
        sides[name] = ours if name == WITH else Without(ours)
    found = measure(sides, arguments)
    settings = {name: value for name, value in vars(arguments).items() if name not in ("data", "json", "page")}
    results = summary(found, settings)
    sys.stdout.write(table(results))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if arguments.page:
        write_into(arguments.page, table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
