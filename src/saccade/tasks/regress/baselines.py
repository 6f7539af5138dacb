"""Plain ways to answer with numbers, which a model has to beat: the mean, and the best linear function."""

import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.tasks.regress.data.dataset import Example
from saccade.tasks.regress.measures import measured
from saccade.train.task import Baseline

__all__ = ["plain_ways"]

_Numbers = NDArray[np.float64]


def plain_ways(train: Sequence[Example], asked: Sequence[Example], usual: Tensor, *, sets: bool) -> dict[str, Baseline]:
    """Return what the mean of training comes to, and the linear function with the least squared error.

    Args:
        train: what both are learned from.
        asked: what is measured.
        usual: deviations of answers in training, `(outputs,)`.
        sets: whether sets are asked, of which the linear function knows the size and the mean.

    Example:
        >>> rows = [Example((float(x),), (2.0 * x + 1,), "") for x in range(9)]
        >>> found = plain_ways(rows, rows, torch.ones(1), sets=False)
        >>> round(found["mean"].metrics["r2"], 6), round(found["linear"].metrics["r2"], 6)
        (0.0, 1.0)
    """
    answers = _array([one.answers for one in train])
    wanted = torch.tensor(_array([one.answers for one in asked]))

    def told(predict: Callable[[], _Numbers], about: str) -> Baseline:
        began = time.perf_counter()
        found = torch.from_numpy(predict())
        metrics, _ = measured(found, wanted, usual, [""] * len(asked))
        return Baseline(metrics, about, round(time.perf_counter() - began, 3))

    def linear() -> _Numbers:
        known, new = (_columns(rows, sets=sets) for rows in (train, asked))
        centre, scale = known.mean(0), known.std(0)
        known, new = ((rows - centre) / np.where(scale > 0, scale, 1) for rows in (known, new))
        coefficients, *_ = np.linalg.lstsq(known, answers - answers.mean(0), rcond=None)
        return np.asarray(new @ coefficients + answers.mean(0))

    of = "size and mean of a set" if sets else "all columns"
    return {
        "mean": told(lambda: np.repeat(answers.mean(0)[None], len(asked), 0), f"the mean of {len(train):,} answers"),
        "linear": told(linear, f"least squares on {of}"),
    }


def _columns(rows: Sequence[Example], *, sets: bool) -> _Numbers:
    return _array([(len(one.numbers), float(np.mean(one.numbers))) if sets else one.numbers for one in rows])


def _array(rows: Sequence[Sequence[float]]) -> _Numbers:
    return np.array(rows, dtype=np.float64)
