"""Variances of estimated gradients over batches, and their ratios, as text."""

import math
from collections.abc import Mapping
from typing import Any

from studies.frame.seeds import over_seeds


def variance_text(row: Mapping[str, Any] | None) -> str:
    """Return a variance with half the 95% interval of its mean over batches.

    >>> variance_text({"variance": 2.0, "batches": [1.0, 3.0]}), variance_text(None)
    ('2.00e+00 ± 1e+01', '-')
    """
    return "-" if row is None else f"{row['variance']:.2e} ± {over_seeds(row['batches']).measured.half():.0e}"


def ratio_text(ours: list[float], theirs: list[float]) -> str:
    """Return the ratio of variances: its geometric mean over batches and interval.

    A batch in which one of them is zero has no ratio and is left out.

    >>> ratio_text([2.0, 2.0], [1.0, 1.0]), ratio_text([], [])
    ('2 times the variance (2 to 2)', 'no variance to compare')
    """
    logs = [math.log(mine / other) for mine, other in zip(ours, theirs, strict=True) if mine > 0 and other > 0]
    if len(logs) < 2:
        return "no variance to compare"
    ratio = over_seeds(logs)
    low, high = (math.exp(ratio.value + side * ratio.half()) for side in (-1, 1))
    return f"{math.exp(ratio.value):.2g} times the variance ({low:.2g} to {high:.2g})"
