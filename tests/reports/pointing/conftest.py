import torch

from reports.conftest import run_of
from saccade.reports.difference import packed, packed_counts, packed_shares
from saccade.reports.pointing.measuring import ANY, COUNTS, DRAWS, GRADIENT, OTHERS, RANDOM, THINGS, WEIGHTS

EXAMPLES, QUESTIONS, GUESS, BLIND = 400, 600, 0.35, 0.55
ATTENDS = {"soft": True, "reinforce": True, "fixed vector": False}


def made_up(accuracy=0.8, hits=0.7, taken=0.4, seeds=3, models=ATTENDS):
    """A report of models that are right, point and lose with some probability, a row a seed.

    Args:
        accuracy: of all models, or of each by its name.
        hits: how often the heaviest cell lies on a thing; any cell does in 0.1, any thing in 0.3.
        taken: of the first answer's probability, by erasing heavy cells; 0.1 is by erasing any cells, 0.2 any things.
    """
    rows, runs = [], {}
    for place, (name, attends) in enumerate(models.items()):
        share = accuracy[name] if isinstance(accuracy, dict) else accuracy
        for seed in range(1, seeds + 1):
            numbers = torch.Generator().manual_seed(seed + 100 * place)

            def times(count, chance, draws=1, numbers=numbers):
                return (torch.rand(count, draws, generator=numbers) < chance).sum(1).tolist()

            def order(lost, draws=1, numbers=numbers):
                change = [(-lost + 0.02 * torch.randn(EXAMPLES, generator=numbers)).tolist() for _ in COUNTS]
                right = [packed_counts(times(EXAMPLES, 0.9 - lost, draws)) for _ in COUNTS]
                return {"right": right, "change": [packed_shares(one) for one in change]}

            erased = {RANDOM: order(0.1, DRAWS)}
            for by in (*([WEIGHTS] if attends else []), GRADIENT, THINGS, OTHERS, ANY):
                lost = {WEIGHTS: taken, GRADIENT: 0.3, THINGS: 0.6, OTHERS: 0.05, ANY: 0.2}[by]
                told = {"hits": packed(times(EXAMPLES, hits)), "inside": packed_shares([0.5] * EXAMPLES)}
                told["elsewhere"] = packed(times(EXAMPLES, 0.2))
                erased[by] = {**order(lost), **told}
            right = times(QUESTIONS, share)
            row = {"questions": QUESTIONS, "accuracy": sum(right) / QUESTIONS, "chance": GUESS, "blind": BLIND}
            row["right"] = packed(right)
            row |= {"examples": EXAMPLES, "cells": [4, 5], "counts": [*COUNTS], "draws": DRAWS, "first": 0.7}
            row |= {"before": packed(times(EXAMPLES, 0.9)), "anywhere": packed_shares([0.1] * EXAMPLES)}
            row["anything"] = packed_shares([0.3] * EXAMPLES)
            rows.append({"model": name, "seed": seed, "measured": "pointing", **row, "erased": erased})
            runs[f"{name}-{seed}"] = run_of(name, seed)
    return {"rows": rows, "runs": runs, "data": "scenes", "arguments": {"seeds": seeds}, "command": "c"}
