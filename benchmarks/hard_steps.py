"""What a training step of hard attention costs beside soft attention's, with what is compiled for it and without.

    python benchmarks/hard_steps.py [--data FOLDER] [--json FILE] [--page FILE]

The rows are those of the report `soft-hard` for `rnnsearch`, on the same batches. Without: draws go the way of any
other call, and what the tokens of all draws cost is made of logits that are all in memory. Both take turns, each first
in every other round; seconds are the processor's own, of one thread, which other programs take none of.
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.nn import functional as F
from translate_table import spread, write_into

from saccade.backends.cpu import draws
from saccade.models import words
from saccade.tasks.translate import Translate
from saccade.train.environment import hardware, keep_freed_memory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # of studies/

from studies.frame.options import Trained
from studies.frame.training import Variant, settings
from studies.soft_hard import estimators

SOFT, WITH, WITHOUT = "soft", "with", "without"
_DATA = Path(__file__).resolve().parent / "../../shared/data/multi30k/raw"


def rows(samples: int) -> dict[str, dict[str, Any]]:
    """Options of the model by the name of a row."""
    return {SOFT: {}, **estimators(samples, entropy_bonus=0.02)}


@contextmanager
def uncompiled() -> Iterator[None]:
    """Draws and costs by the ways that serve any call."""
    with (
        mock.patch.object(draws, "serves_draws", return_value=False),
        mock.patch.object(words, "linear_cross_entropies", whole),
    ):
        yield


def whole(features: Tensor, weight: Tensor, bias: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """`linear_cross_entropies` with all logits in memory."""
    logits = F.linear(features, weight, bias)
    losses = F.cross_entropy(logits, target, reduction="none", label_smoothing=smoothing)
    return losses.mean(), losses.detach()


class Row:
    """A model under training.

    Args:
        values: of its row.
        options: the data.
        batches: how many there are, in turn.
    """

    def __init__(self, values: dict[str, Any], options: Trained, batches: int) -> None:
        chosen = settings(options, Variant("rnnsearch", "rnnsearch", values), 1, Path("runs/none"), 1.0)
        torch.manual_seed(1)
        self.task = Translate.prepare(chosen)
        self.model = self.task.build().train()
        self.batches = [self.task.batch(step) for step in range(batches)]

    def seconds(self) -> float:
        """The processor's seconds of a forward and a backward of each batch, on the mean."""
        began = time.process_time()
        for batch in self.batches:
            self.task.loss(self.model, batch).total.backward()
            self.model.zero_grad(set_to_none=True)
        return (time.process_time() - began) / len(self.batches)


def measured(options: Trained, samples: int, batches: int, rounds: int) -> dict[str, Any]:
    """Seconds of every round, of each row both ways."""
    models = {name: Row(values, options, batches) for name, values in rows(samples).items()}
    found: dict[str, Any] = {name: {WITH: [], WITHOUT: []} for name in models}
    for number in range(rounds + 1):
        for name, model in models.items():
            for way in (WITH, WITHOUT) if number % 2 else (WITHOUT, WITH):
                with uncompiled() if way == WITHOUT else nullcontext():
                    taken = model.seconds()
                if number:  # the first round compiles kernels
                    found[name][way].append(taken)
    return found


def table(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    machine, kept = results["machine"], results["seconds"]
    lines = [
        f"{machine['processor']}, one thread, torch {machine['torch']}, Python {machine['python']}, float32;",
        f"{results['samples']} draws a sentence, {results['batches']} batches a turn, {results['rounds']} turns.",
        "Medians.",
        "",
        "| attention | a step, s | beside soft | without, s | ratio |",
        "|---|---:|---:|---:|---:|",
    ]
    soft = spread(kept[SOFT][WITH])["median"]
    for name, ways in kept.items():
        ours, other = (spread(ways[way])["median"] for way in (WITH, WITHOUT))
        ratio = spread([b / a for a, b in zip(ways[WITH], ways[WITHOUT], strict=True)])["median"]
        lines.append(f"| {name} | {ours:.2f} | {ours / soft:.2f} | {other:.2f} | {ratio:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=str(_DATA), help="a folder of aligned files, or built-in data")
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    for name, value in {"samples": 2, "batches": 3, "rounds": 7}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--json", type=Path, help="write all that was measured there")
    parser.add_argument("--page", type=Path, help="put the table into this page")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()  # as every command of ours does
    options = Trained(data=arguments.data, source=arguments.source, target=arguments.target, threads=1)
    counts = {name: getattr(arguments, name) for name in ("samples", "batches", "rounds")}
    machine = {**hardware(torch.device("cpu")), "torch": torch.__version__, "python": platform.python_version()}
    results = {"machine": machine, **counts, "seconds": measured(options, **counts)}
    sys.stdout.write(table(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    if arguments.page:
        write_into(arguments.page, table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
