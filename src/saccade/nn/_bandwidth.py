"""Bandwidth of a kernel by leave-one-out error.

    ŷ₋ᵢ(h) = Σ_{j ≠ i} K(‖xᵢ − xⱼ‖ / h) yⱼ / Σ_{j ≠ i} K(‖xᵢ − xⱼ‖ / h),   error(h) = mean over i of (yᵢ − ŷ₋ᵢ(h))²

Each label y is predicted from all other points: one call of `attend` with a mask that forbids the diagonal. A search
over many h computes the distances once. Then each h costs the kernel of n² numbers, and a product.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from saccade import masks, normalizers, scores
from saccade.attention import attend
from saccade.auxiliary import AuxRequest

_WIDEST = 50.0  # the search goes from 1/50 of a rule of thumb to 50 times it
_CLOSER = 11, 9  # points of two finer grids about the best bandwidth, for an error with steps
_CLOSE = 1e-4  # relative tolerance of the search over a smooth error
_DENSE = 4096  # points up to which distances and the mask are dense, which is faster
_LOWEST = -600.0  # exponents: below it numbers are denormal, slow and negligible
_PAIRS = 1 << 16  # pairs that are computed together, so that they stay in the cache


def leave_one_out(points: Tensor, answers: Tensor, kernel: str) -> float:
    """Return the bandwidth with the smallest leave-one-out error.

    Härdle, Marron 1985, "Optimal bandwidth selection in nonparametric regression function estimation". A smooth error
    is minimized by the method of Brent 1973, chapter 5.
    """
    count, features = points.shape
    spread = float(points.std(0).square().mean().sqrt()) or 1.0
    usual = spread * count ** (-1 / (features + 4))  # Silverman's rule without its factor
    errors = LeftOut.of(points, answers, kernel)
    widest = usual * _WIDEST
    tried = errors.halved(widest, math.ceil(2 * math.log2(_WIDEST**2)) + 1)
    best, apart = math.log(widest) - math.log(2) / 2 * float(np.argmin(tried)), math.log(2) / 2

    def error(log_width: float) -> float:
        return errors.of_width(math.exp(log_width))

    if kernel != "boxcar":
        from scipy.optimize import minimize_scalar  # here, since only a search needs SciPy

        bounds = best - apart, best + apart
        return math.exp(minimize_scalar(error, bounds=bounds, method="bounded", options={"xatol": _CLOSE}).x)
    for count in _CLOSER:  # grids, since the error of a boxcar has steps
        grid = np.linspace(best - apart, best + apart, count)
        best, apart = float(grid[np.argmin([error(float(point)) for point in grid])]), 2 * apart / (count - 1)
    return math.exp(best)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Mean squared errors of leave-one-out by the bandwidth.

    Points are `(n, features)`. Distances, of `_distances`, are None for too many points. The centred answers are
    `(n, outputs)`, less their mean.
    """

    points: Tensor
    centred: Tensor
    kernel: str
    distances: Tensor | None

    @classmethod
    def of(cls, points: Tensor, answers: Tensor, kernel: str) -> "LeftOut":
        distances = _distances(points, kernel) if len(points) <= _DENSE else None
        return cls(points, answers - answers.mean(0), kernel, distances)

    def of_width(self, width: float) -> float:
        return self.halved(width, 1)[0]

    def halved(self, widest: float, count: int) -> list[float]:
        """Return the errors of bandwidths widest / √2ⁱ, for i from 0 to count − 1.

        For a Gaussian, the weights of the next bandwidth are squares of these, so one exponential serves all.
        """
        widths = [widest * 2 ** (-halvings / 2) for halvings in range(count)]
        if self.distances is None:
            predictions = (left_out(self.points / width, self.centred, self.kernel) for width in widths)
            return [float((self.centred - prediction).square().mean()) for prediction in predictions]
        totals, rows = [0.0] * count, max(1, _PAIRS // len(self.points))
        for distances, answers in zip(self.distances.split(rows), self.centred.split(rows), strict=True):
            weights = (distances / (widest * widest)).clamp_(min=_LOWEST).exp_() if self.kernel == "gaussian" else None
            for halvings, width in enumerate(widths):
                if weights is None:
                    weighed = scores.KERNELS[self.kernel](distances / (width * width))
                else:
                    weighed = weights.square_() if halvings else weights
                mass = weighed.sum(1)
                # A product for each column: BLAS is far slower with two at once.
                sums = torch.stack([weighed @ column for column in self.centred.unbind(1)], 1)
                totals[halvings] += float((answers - sums / mass.where(mass > 0, 1.0)[:, None]).square().sum())
        return [total / self.centred.numel() for total in totals]


def left_out(points: Tensor, values: Tensor, kernel: str) -> Tensor:
    """Return leave-one-out predictions: attention with the diagonal forbidden."""
    few = len(points) <= _DENSE
    others = ~torch.eye(len(points), dtype=torch.bool, device=points.device) if few else ~masks.Window(0, 0)
    return means(points, points, values, kernel, others)


def means(query: Tensor, key: Tensor, value: Tensor, kernel: str, mask: masks.Mask | Tensor | None = None) -> Tensor:
    """Return means of values by a kernel of distances; 0 without neighbours."""
    output: Tensor = attend(query, key, value, mask=mask, **_weighed(kernel))
    return output


def weights(query: Tensor, key: Tensor, kernel: str) -> Tensor:
    """Return the weights of `means`, `(m, n)`."""
    _, aux = attend(query, key, key[:, :1], aux=AuxRequest(weights=True), **_weighed(kernel))
    assert aux.weights is not None
    return aux.weights


def _weighed(kernel: str) -> dict[str, Any]:
    """Options of `attend` for the weights of a kernel."""
    if kernel == "gaussian":
        return {"score": scores.Gaussian(1.0)}
    return {"score": scores.Kernel(kernel, 1.0), "normalizer": normalizers.Sum()}


def _distances(points: Tensor, kernel: str) -> Tensor:
    """Squared distances, to be scaled by 1 / h², with an infinite diagonal.

    For the Gaussian they are −‖xᵢ − xⱼ‖² / 2 less the largest of each row, so that no row of weights underflows for any
    h.
    """
    centred = points - points.mean(0)
    squares = centred.square().sum(1)
    distances = (squares[:, None] + squares - 2 * centred @ centred.mT).clamp_(min=0).fill_diagonal_(torch.inf)
    if kernel != "gaussian":
        return distances
    return distances.sub_(distances.amin(1, keepdim=True)).mul_(-0.5)
