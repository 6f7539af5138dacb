"""Noisy points on a curve, and how far estimates of it are off: the mean, Nadaraya-Watson, and a learned kernel."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from saccade import runs
from saccade.nn import KernelRegression

__all__ = ["BEST", "KERNEL", "LEARNED", "MEAN", "NOISE", "WAYS", "Points", "drawn", "estimate"]

NOISE = 0.3
MEAN, BEST, KERNEL, LEARNED = "mean", "best bandwidth", "leave-one-out", "learned kernel"
_NARROW, _WIDE = 2e-3, 0.3  # bandwidths between which the best one is
_CLOSE = {"xatol": 1e-3}  # of the logarithm of a bandwidth
_PLACES = 1000  # at which an estimate is held against the curve
_LEAST = 64  # rows that validate a learned kernel, which chooses nothing by them

_Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Points:
    """Points on a curve with noise.

    Args:
        x: `(n,)`, uniform in 0 to 1.
        y: the curve at x with noise, `(n,)`.
        seed: that they were drawn by.
    """

    x: _Numbers
    y: _Numbers
    seed: int


def drawn(count: int, seed: int) -> Points:
    """Return points on a period of a cosine, with noise of deviation 0.3.

    The slope of the curve is 0 at both ends: else an estimate would be biased there by its bandwidth, and not by the
    square of that as everywhere else.

    >>> drawn(5, 1).x.shape
    (5,)
    """
    numbers = np.random.default_rng([seed, count])
    x = numbers.uniform(0, 1, count)
    return Points(x, _curve(x) + NOISE * numbers.standard_normal(count), seed)


def estimate(way: str, points: Points, folder: Path, steps: int) -> dict[str, Any]:
    """Return the mean squared distance of an estimate from the curve, and the bandwidth where there is one.

    Args:
        way: a key of `WAYS`.
        points: what is known.
        folder: where runs lie.
        steps: of training, where something is trained.
    """
    return WAYS[way](points, folder, steps)


def _curve(x: _Numbers) -> _Numbers:
    return np.cos(2 * np.pi * x)


def _places() -> _Numbers:
    return (np.arange(_PLACES) + 0.5) / _PLACES


def _missed(found: _Numbers) -> float:
    return float(((found - _curve(_places())) ** 2).mean())


def _mean(points: Points, folder: Path, steps: int) -> dict[str, Any]:
    return {"mse": _missed(np.full(_PLACES, points.y.mean()))}


def _best(points: Points, folder: Path, steps: int) -> dict[str, Any]:
    """By the bandwidth that errs least, which takes the curve to know."""
    places = _places()[:, None]

    def missed(log_width: float) -> float:
        known = KernelRegression(bandwidth=math.exp(log_width)).fit(points.x[:, None], points.y)
        return _missed(known.predict(places))

    found = minimize_scalar(missed, bounds=(math.log(_NARROW), math.log(_WIDE)), method="bounded", options=_CLOSE)
    return {"mse": float(found.fun), "bandwidth": math.exp(float(found.x))}


def _kernel(points: Points, folder: Path, steps: int) -> dict[str, Any]:
    """By the bandwidth that leave-one-out finds."""
    known = KernelRegression().fit(points.x[:, None], points.y)
    return {"mse": _missed(known.predict(_places()[:, None])), "bandwidth": known.bandwidth_}


def _learned(points: Points, folder: Path, steps: int) -> dict[str, Any]:
    """By an ordinary run, whose test are the places with the curve itself."""
    rows = list(zip(points.x.tolist(), points.y.tolist(), strict=True))
    other = drawn(_LEAST, points.seed + 1_000_000)
    places = _places()
    data = {
        "train": rows,
        "validation": list(zip(other.x.tolist(), other.y.tolist(), strict=True)),
        "test": list(zip(places.tolist(), _curve(places).tolist(), strict=True)),
    }
    told: dict[str, Any] = {"max_steps": steps, "warmup_steps": min(100, steps), "patience": None, "threads": 1}
    every = {"checkpoint_steps": steps, "validation_steps": steps, "weight_decay": 0.0}
    run = runs.train(
        "regress",
        data=data,
        model="learned-kernel",
        run=folder / f"learned-kernel-{len(points.x)}-{points.seed}",
        seed=points.seed,
        device="cpu",
        **told,
        **every,
    )
    results = run.results
    assert results is not None  # of a run that was trained to its end
    return {"mse": float(results["metrics"]["mse"]), "seconds": results["seconds"], "steps": results["steps"]}


WAYS: dict[str, Callable[[Points, Path, int], dict[str, Any]]] = {
    MEAN: _mean,
    BEST: _best,
    KERNEL: _kernel,
    LEARNED: _learned,
}
"""What is tried, by its name."""
