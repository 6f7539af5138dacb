"""The bandwidth of kernel regression by leave-one-out, beside statsmodels' least-squares cross-validation."""

import numpy as np
import torch
from torch import Tensor

from saccade.bench.row import Place, Row, Run, package
from saccade.bench.targets import times
from saccade.nn._bandwidth import leave_one_out

__all__ = ["rows"]

_COUNTS = 100, 300, 1000
_TARGETS = {1000: times(10)}
_NOISE = 0.3


def rows(place: Place) -> list[Row]:
    """Return the rows of bandwidths that are found."""
    return [_bandwidth(count) for count in _COUNTS]


def _bandwidth(count: int) -> Row:
    """The bandwidth of noisy points on a sine."""

    def inputs(place: Place) -> tuple[Tensor, ...]:
        points = 6.3 * torch.rand(count, 1, device=place.device).double()
        return points, points.sin() + _NOISE * place.normal(count, 1)

    return Row(
        subject="regression",
        family="bandwidth by leave-one-out",
        shape=f"{count}",
        size=count,
        peer="statsmodels cv_ls",
        inputs=inputs,
        ours=lambda points, answers: lambda: torch.tensor([leave_one_out(points, answers.double(), "gaussian")]),
        theirs=_theirs,
        targets=(_TARGETS[count],) if count in _TARGETS else (),
        quick=count == _COUNTS[0],
    )


def _theirs(points: Tensor, answers: Tensor) -> Run:
    kind = package("statsmodels.nonparametric.kernel_regression").KernelReg
    x, y = points[:, 0].cpu().numpy(), answers[:, 0].double().cpu().numpy()
    return lambda: torch.tensor(kind(y, x, "c", reg_type="lc", bw="cv_ls", rng=np.random.default_rng(0)).bw)
