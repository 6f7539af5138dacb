"""Variances of estimated gradients over batches, and their ratios, as text."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from studies.frame.seeds import over_seeds


def variance_table(rows: Sequence[Mapping[str, Any]], first: str) -> list[list[str]]:
    """Return a table of variances by model and estimator, `first` foremost.

    >>> noise = {"model": "a", "seed": 1, "estimators": {"b": {"variance": 2.0, "batches": [1.0, 3.0]}}}
    >>> variance_table([noise, {"model": "c", "seed": 2, "estimators": {}}], "b")
    [['at the weights of', 'b'], ['a, seed 1', '2.00e+00 ± 1e+01'], ['c, seed 2', '-']]
    """
    names = dict.fromkeys(name for row in rows for name in row["estimators"])
    table = [["at the weights of", *sorted(names, key=lambda name: name != first)]]
    for row in rows:
        noises = [row["estimators"].get(name) for name in table[0][1:]]
        variances = ("-" if noise is None else _variance(noise) for noise in noises)
        table.append([f"{row['model']}, seed {row['seed']}", *variances])
    return table


def _variance(noise: Mapping[str, Any]) -> str:
    return f"{noise['variance']:.2e} ± {over_seeds(noise['batches']).measured.half():.0e}"


def ratio_sentences(rows: Sequence[Mapping[str, Any]], beside: Mapping[str, str]) -> list[str]:
    """Return ratios of variances to those of the estimators in `beside`."""
    return [
        f"At the weights of {row['model']}, seed {row['seed']}, {name} has {ratio_text(other, ours)}, beside {text}."
        for row in rows
        for trained, text in beside.items()
        if (ours := row["estimators"].get(trained))
        for name, other in row["estimators"].items()
        if name != trained
    ]


def ratio_text(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Return the ratio of variances: its geometric mean over batches and interval.

    A batch in which one of them is zero has no ratio and is left out.

    >>> ratio_text({"batches": [2.0, 2.0]}, {"batches": [1.0, 1.0]}), ratio_text({"batches": []}, {"batches": []})
    ('2 times the variance (2 to 2)', 'no variance to compare')
    """
    pairs = zip(ours["batches"], theirs["batches"], strict=True)
    logs = [math.log(mine / other) for mine, other in pairs if mine > 0 and other > 0]
    if len(logs) < 2:
        return "no variance to compare"
    ratio = over_seeds(logs)
    low, high = (math.exp(ratio.value + side * ratio.half()) for side in (-1, 1))
    return f"{math.exp(ratio.value):.2g} times the variance ({low:.2g} to {high:.2g})"
