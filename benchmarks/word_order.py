"""How many pairs of words a translator reads in another order than it writes them: by attention, and by gradients.

    python benchmarks/word_order.py RUN [RUN ...] [--sentences N] [--json FILE]

Where the runs were trained, for their data. Each run of `translate` translates the first sentences of the test split.
Of each word of a translation it is asked which source word has the most of its weight (attention) or moves its
log-probability most (gradient), and a pair of words is crossed where the first of two is read behind the second
(`studies.alignment`). The share of crossed pairs is a sentence's; means are over sentences, ± half
of their 95% intervals. A model that goes by the order of the source alone crosses none.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch
from torch import Tensor

from saccade.tasks.translate import Translate
from saccade.tasks.translate.gradients import influence
from saccade.tasks.translate.translation import attends
from saccade.train.environment import hardware, versions
from saccade.train.run import Run
from saccade.train.trained import load_trained

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # of studies/

from studies.alignment import by_words, crossed
from studies.frame.statistics import quantile


def share(weights: Tensor, source: Sequence[str], target: Sequence[str], pieces: bool) -> float | None:
    """Which share of the pairs of target words is crossed; None of fewer than two.

    Args:
        weights: `(target, source)`, without the ends.
        source, target: the tokens.
        pieces: whether words are made of several of them.
    """
    if pieces:
        weights = by_words(weights, source, target)[0]
    count = len(weights)
    return None if count < 2 else 2 * crossed(weights.argmax(-1).tolist()) / (count * (count - 1))


def measured(folder: Path, sentences: int) -> list[dict[str, Any]]:
    """Of each way to look at a run: what is kept of it."""
    run = Run.open(folder)
    trained = load_trained(Translate, run, torch.device("cpu"))
    task: Any = trained.task
    inputs = [task.read(task.data.example("test", place).source, place + 1) for place in range(sentences)]
    with torch.inference_mode():
        answers = task.answer(trained.model, inputs, None, "json")
    results, found = run.results() or {}, []
    for by in ("attention", "gradient") if attends(trained.model) else ("gradient",):
        shares = [_of(trained.model, answer, by, task.settings.tokenizer == "bpe") for answer in answers]
        about = {"model": task.settings.model, "seed": task.settings.seed, "steps": results.get("steps"), "by": by}
        found.append({**about, **summed(shares), "shares": shares})
    return found


def summed(shares: Sequence[float | None]) -> dict[str, float]:
    """The mean share, half of its interval, and the share of the sentences that have a crossed pair."""
    counted = [each for each in shares if each is not None]
    half = quantile(len(counted) - 1) * stdev(counted) / math.sqrt(len(counted))
    some = fmean(each > 0 for each in counted)
    return {"crossed": round(fmean(counted), 6), "half": round(half, 6), "any": round(some, 6)}


def _of(model: Any, answer: Any, by: str, pieces: bool) -> float | None:
    if not answer.outputs or not answer.outputs[0].ids:
        return None
    best = answer.outputs[0]
    looked = best.weights if by == "attention" else influence(model, answer.source.ids, best.ids)
    found = share(looked[:-1, :-1].double(), answer.source_tokens[:-1], best.tokens[:-1], pieces)
    return None if found is None else round(found, 5)


def table(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = [
        f"{results['sentences']} sentences of the test split.",
        "",
        "| model | seed | by | pairs crossed, % | sentences with a crossed pair, % |",
        "|---|---|---|---:|---:|",
    ]
    for row in results["rows"]:
        told = f"{100 * row['crossed']:.2f} ± {100 * row['half']:.2f} | {100 * row['any']:.0f}"
        lines.append(f"| {row['model']} | {row['seed']} | {row['by']} | {told} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--json", type=Path, help="write all that was measured there")
    arguments = parser.parse_args()
    if arguments.sentences < 2:
        parser.error(f"--sentences: expected 2 or more, got {arguments.sentences}")
    torch.set_num_threads(1)
    rows = [row for folder in arguments.runs for row in measured(folder, arguments.sentences)]
    machine = {"hardware": hardware(torch.device("cpu")), "versions": versions()}
    results = {"sentences": arguments.sentences, "level": 0.95, **machine, "rows": rows}
    sys.stdout.write(table(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
