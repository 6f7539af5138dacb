"""Errors of leave-one-out beside the plain formula, and the bandwidth that is found by them."""

import numpy as np
import pytest
import torch

from saccade.nn import _bandwidth
from saccade.nn._bandwidth import LeftOut, leave_one_out, left_out

KERNELS = {
    "gaussian": lambda u: np.exp(-(u**2) / 2),
    "epanechnikov": lambda u: np.maximum(0, 1 - u**2),
    "triangular": lambda u: np.maximum(0, 1 - u),
    "boxcar": lambda u: (u <= 1).astype(float),
}


def data(count=60, features=2, outputs=2):
    numbers = np.random.default_rng(3)
    x = numbers.uniform(-2, 2, (count, features))
    y = np.sin(2 * x[:, :1]) + 0.2 * numbers.standard_normal((count, outputs))
    return torch.tensor(x), torch.tensor(y)


def plain(kernel, x, y, width):
    """The mean squared error, pair by pair."""
    weights = KERNELS[kernel](np.sqrt((((x[:, None] - x[None]) / width) ** 2).sum(-1)))
    np.fill_diagonal(weights, 0)
    total = weights.sum(1, keepdims=True)
    found = np.where(total > 0, weights @ y / np.where(total > 0, total, 1), y.mean(0))
    return ((found - y) ** 2).mean()


@pytest.mark.parametrize("kernel", KERNELS)
def test_errors_are_those_of_the_formula_and_of_one_call_of_attend(kernel):
    x, y = data()
    errors = LeftOut.of(x, y, kernel)
    for width in (0.11, 0.5, 3.0):
        assert errors.of_width(width) == pytest.approx(plain(kernel, x.numpy(), y.numpy(), width), rel=1e-9)
        centred = y - y.mean(0)
        asked = (centred - left_out(x / width, centred, kernel)).square().mean()
        assert errors.of_width(width) == pytest.approx(float(asked), rel=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_halved_squares_give_the_errors_of_each_bandwidth(kernel):
    errors = LeftOut.of(*data(), kernel)
    halved = errors.halved(8.0, 20)
    assert halved == pytest.approx([errors.of_width(8 * 2 ** (-place / 2)) for place in range(20)], rel=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_many_points_have_the_errors_of_few(kernel, monkeypatch):
    dense = LeftOut.of(*data(), kernel)
    monkeypatch.setattr(_bandwidth, "_DENSE", 10)
    blocks = LeftOut.of(*data(), kernel)
    assert blocks.distances is None
    assert blocks.halved(2.0, 6) == pytest.approx(dense.halved(2.0, 6), rel=1e-9)


def test_no_row_is_lost_to_underflow():
    x = torch.tensor([[0.0], [1.0], [3.0]], dtype=torch.float64)
    assert LeftOut.of(x, x, "gaussian").of_width(1e-9) == pytest.approx((1 + 1 + 4) / 3)  # the nearest other one


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_is_found_errs_as_little_as_a_fine_grids_best(kernel):
    x, y = data(80, 1, 1)
    grid = [plain(kernel, x.numpy(), y.numpy(), h) for h in np.geomspace(0.02, 4, 500)]
    found = plain(kernel, x.numpy(), y.numpy(), leave_one_out(x, y, kernel))
    assert found <= min(grid) * (1.1 if kernel == "boxcar" else 1 + 1e-6)


def test_the_unit_of_points_is_no_matter():
    x, y = data(50, 1, 1)
    assert leave_one_out(1e5 * x + 7e6, y, "gaussian") == pytest.approx(1e5 * leave_one_out(x, y, "gaussian"), rel=1e-3)
    assert leave_one_out(torch.zeros_like(x), y, "gaussian") > 0
