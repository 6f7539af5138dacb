"""The elementary functions in loops of both types: how near they are, and what they do at the edges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

numba = pytest.importorskip("numba")

from saccade.kernels.compiled import F, loops  # noqa: E402
from saccade.kernels.compiled.functions import above, exp, largest_of, log, sigmoid, tanh  # noqa: E402


@loops
def exps(x, out):
    for i in range(x.size):
        out[i] = exp(x[i])


@loops
def logs(x, out):
    for i in range(x.size):
        out[i] = log(x[i])


@loops
def tanhs(x, out):
    for i in range(x.size):
        out[i] = tanh(x[i])


@loops
def sigmoids(x, out):
    for i in range(x.size):
        out[i] = sigmoid(x[i])


@loops
def largest_of_row(x):
    return largest_of(x)


def of(loop, x):
    out = np.empty_like(x)
    with np.errstate(all="ignore"):
        loop(x, out)
    return out


RANGES = {
    "exp": (exps, np.exp, np.linspace(-86, 87, 4001)),
    "log": (logs, np.log, np.geomspace(1.2e-38, 3e38, 4001)),
    "tanh": (tanhs, np.tanh, np.concatenate([np.linspace(-12, 12, 4001), np.geomspace(1e-20, 0.625, 500)])),
    "sigmoid": (sigmoids, lambda x: 1 / (1 + np.exp(-x)), np.linspace(-80, 80, 4001)),
}


@pytest.mark.parametrize("name", RANGES)
def test_single_precision_keeps_its_digits(name):
    loop, truth, x = RANGES[name]
    x = x.astype(np.float32)
    found, expected = of(loop, x).astype(np.float64), truth(x.astype(np.float64))
    ulp = np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
    assert (np.abs(found - expected) <= 4 * ulp).all()


@pytest.mark.parametrize("name", ["exp", "log"])
def test_double_precision_is_the_librarys(name):
    loop, truth, x = RANGES[name]
    np.testing.assert_allclose(of(loop, x), truth(x), rtol=1e-14)


def test_the_edges():
    x = np.array([-np.inf, -88.0, -87.5, 88.5, np.inf, np.nan], np.float32)
    found = of(exps, x)
    assert found[:3].tolist() == [0.0] * 3 and found[3] == found[4] == of(exps, np.array([88.0], np.float32))[0]
    assert math.isnan(found[5])
    assert math.isnan(of(logs, x[5:])[0]) and of(logs, np.zeros(1, np.float32))[0] == pytest.approx(-87.3, abs=0.1)
    assert of(tanhs, x)[[0, 4]].tolist() == [-1.0, 1.0] and math.isnan(of(tanhs, x)[5])


NUMBERS = st.lists(st.floats(width=32, allow_nan=False), max_size=300)


@given(NUMBERS, st.sampled_from([np.float32, np.float64]))
def test_the_largest_of_a_row(numbers, kind):
    row = np.array(numbers, kind)
    expected = max(numbers, default=-math.inf)
    assert largest_of_row(row) == expected


@given(NUMBERS, st.floats(width=32, allow_nan=False), st.sampled_from([np.float32, np.float64]))
def test_how_many_are_above_a_bound(numbers, bound, kind):
    assert above(np.array(numbers, kind), kind(bound)) == sum(number > bound for number in numbers)


def test_no_comparison_finds_nan():
    row = np.array([1.0, np.nan, 0.5], np.float32)
    assert above(row, F(0.7)) == 1
