"""What is said of how noisy estimated gradients are: variances over batches, and how they compare."""

import math
import statistics
from collections.abc import Mapping
from typing import Any

__all__ = ["ratio_text", "variance_text"]


def variance_text(found: Mapping[str, Any] | None) -> str:
    """Return a variance with twice the standard error of its mean over batches.

    >>> variance_text({"variance": 2.0, "batches": [1.0, 3.0]}), variance_text(None)
    ('2.00e+00 ± 2e+00', '-')
    """
    if found is None:
        return "-"
    error = statistics.stdev(found["batches"]) / math.sqrt(len(found["batches"]))
    return f"{found['variance']:.2e} ± {2 * error:.0e}"


def ratio_text(ours: list[float], theirs: list[float]) -> str:
    """Return how many times the other's variance ours is: the geometric mean over batches, with twice its error.

    >>> ratio_text([2.0, 2.0], [1.0, 1.0]), ratio_text([], [])
    ('2 times the variance (2 to 2)', 'no variance to compare')
    """
    logs = [math.log(mine / other) for mine, other in zip(ours, theirs, strict=True) if mine > 0 and other > 0]
    if len(logs) < 2:
        return "no variance to compare"
    middle, error = statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    low, high = math.exp(middle - 2 * error), math.exp(middle + 2 * error)
    return f"{math.exp(middle):.2g} times the variance ({low:.2g} to {high:.2g})"
