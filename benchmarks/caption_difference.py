"""How much better one run writes about the test images than others, and how sure that is.

    python benchmarks/caption_difference.py RUN OTHER ... --output FILE.json

BLEU and CIDEr are measures of a corpus, no means over images, so that their differences have errors by the jackknife:
each image is left out of all runs at once. `±` is one standard error, over images alone; seeds have errors of their
own.
"""

import argparse
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from saccade import runs
from saccade.tasks.text.overlap import bleu, cider

Score = Callable[[Sequence[str], Sequence[Sequence[str]]], float]
SCORES: dict[str, Score] = {"bleu4": lambda found, true: bleu(found, true)["score"], "cider": cider}


def written(folder: str) -> tuple[list[str], list[Sequence[str]]]:
    """Return what a run writes about its test images, and their captions."""
    run = runs.load(folder, device="cpu")
    images, task = range(run.task.data.size("test")), run.task
    answers = task.answer(run.model, [task.example("test", index).input for index in images], None)
    return [answer.outputs[0].text for answer in answers], [task.data.references("test", index) for index in images]


def without(items: Sequence[str] | list[Sequence[str]], place: int) -> list[object]:
    """Return all items but one."""
    return [*items[:place], *items[place + 1 :]]


def difference(
    score: Score, one: Sequence[str], other: Sequence[str], true: list[Sequence[str]]
) -> dict[str, float]:
    """Return the difference of two runs' scores, with its error by the jackknife."""
    count = len(true)
    left = []
    for place in range(count):
        kept = without(true, place)
        left.append(score(without(one, place), kept) - score(without(other, place), kept))
    mean = fmean(left)
    error = math.sqrt((count - 1) / count * sum((each - mean) ** 2 for each in left))
    return {"difference": score(one, true) - score(other, true), "error": error}


def main() -> None:
    """Compare the first run with each other one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--output", type=Path, required=True)
    asked = parser.parse_args()
    first, true = written(asked.runs[0])
    told = {"run": asked.runs[0], "images": len(true), "than": {}}
    for folder in asked.runs[1:]:
        found, same = written(folder)
        if list(map(tuple, same)) != list(map(tuple, true)):
            raise SystemExit(f"error: {folder}: expected the test images of {asked.runs[0]}, got others")
        told["than"][folder] = {name: difference(score, first, found, true) for name, score in SCORES.items()}
    asked.output.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    for folder, scores in told["than"].items():
        said = "  ".join(f"{name} {one['difference']:+.3f} ± {one['error']:.3f}" for name, one in scores.items())
        print(f"{asked.runs[0]} − {folder}: {said}")


if __name__ == "__main__":
    main()
