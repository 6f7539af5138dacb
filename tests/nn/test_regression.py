"""Kernel regression beside the plain formula, by scikit-learn's checks; what bandwidths that are found are worth."""

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from saccade import nn
from saccade.errors import ArgumentError
from saccade.nn import regression
from tiers import every

KERNELS = {
    "gaussian": lambda u: np.exp(-(u**2) / 2),
    "epanechnikov": lambda u: np.maximum(0, 1 - u**2),
    "triangular": lambda u: np.maximum(0, 1 - u),
    "boxcar": lambda u: (u <= 1).astype(float),
}


def data(count=40, features=2, seed=0, noise=0.1):
    numbers = np.random.default_rng(seed)
    X = numbers.uniform(-2, 2, (count, features))
    return X, np.sin(2 * X[:, 0]) + noise * numbers.standard_normal(count)


def plain(kernel, asked, X, y, h, left_out=False):
    """The formula, pair by pair."""
    distance = np.sqrt((((asked[:, None] - X[None]) / h) ** 2).sum(-1))
    weights = KERNELS[kernel](distance)
    if left_out:
        np.fill_diagonal(weights, 0)
    total = weights.sum(1)
    means = weights @ y / np.where(total > 0, total, 1)
    return np.where(total > 0, means, y.mean())


@every("kernel", KERNELS)
@every("h", [0.7, [0.5, 2.0]])
def test_predictions_are_the_formulas(kernel, h):
    X, y = data()
    asked, _ = data(15, seed=1)
    known = nn.KernelRegression(kernel, h).fit(X, y)
    np.testing.assert_allclose(known.predict(asked), plain(kernel, asked, X, y, np.asarray(h)), atol=1e-10)
    np.testing.assert_allclose(known.loo_error_, ((plain(kernel, X, X, y, np.asarray(h), True) - y) ** 2).mean())
    weights = known.weights(asked)
    sums = weights.sum(1)
    assert weights.shape == (15, 40) and (np.isclose(sums, 1) | (sums == 0)).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_leaving_out_finds_the_least_error_of_a_grid(kernel):
    X, y = data(80, 1)
    known = nn.KernelRegression(kernel).fit(X, y)
    errors = [((plain(kernel, X, X, y, h, True) - y) ** 2).mean() for h in np.geomspace(0.02, 4, 400)]
    assert known.loo_error_ <= min(errors) * (1.1 if kernel == "boxcar" else 1.01)  # whose error has steps
    assert isinstance(known.bandwidth_, float)


def test_a_feature_that_tells_nothing_gets_a_wide_bandwidth():
    X, y = data(120, 3)
    one = nn.KernelRegression().fit(X, y)
    each = nn.KernelRegression(bandwidth="gradient").fit(X, y)
    assert each.loo_error_ < 0.5 * one.loo_error_
    assert min(each.bandwidth_[1:]) > 5 * each.bandwidth_[0]


def test_a_full_metric_sees_along_a_direction():
    X, _ = data(120, 2)
    y = np.sin(2 * (X[:, 0] + X[:, 1]))
    each, full = (nn.KernelRegression(bandwidth="gradient", metric=one).fit(X, y) for one in ("diagonal", "full"))
    assert full.loo_error_ < 0.7 * each.loo_error_ and full.bandwidth_ is None


@pytest.mark.parametrize("metric", ["scalar", "diagonal", "full"])
def test_what_a_gradient_finds_is_the_same_in_every_unit(metric):
    X, _ = data(120, 2)
    y = np.sin(2 * (X[:, 0] + X[:, 1]))
    wanted = nn.KernelRegression(bandwidth="gradient", metric=metric).fit(X, y).loo_error_
    for unit in (1e-8, 1e-3, 1e5):
        found = nn.KernelRegression(bandwidth="gradient", metric=metric).fit(unit * X, y)
        assert found.loo_error_ == pytest.approx(wanted, rel=0.01)


def test_a_bandwidth_of_a_full_metric_is_above_0(monkeypatch):
    X, y = data(40, 1)
    monkeypatch.setattr(nn.KernelRegression, "_descended", lambda self, start: -start)  # the same distances
    known = nn.KernelRegression(bandwidth="gradient", metric="full").fit(X, y)
    assert known.bandwidth_ == pytest.approx(nn.KernelRegression().fit(X, y).bandwidth_)


def test_a_scalar_by_gradient_is_as_good_as_by_search():
    X, y = data(60, 2)
    methods = "leave-one-out", "gradient"
    search, descent = (nn.KernelRegression("gaussian", one, "scalar").fit(X, y) for one in methods)
    assert descent.loo_error_ <= search.loo_error_ * 1.001


def test_intervals_hold_about_as_many_as_they_should():
    numbers = np.random.default_rng(0)
    X = numbers.uniform(0, 6, (600, 1))
    y = np.sin(X[:, 0]) + (0.05 + 0.1 * X[:, 0]) * numbers.standard_normal(600)
    known = nn.KernelRegression().fit(X[:300], y[:300])
    low, high = known.predict_interval(X[300:], coverage=0.9)
    inside = (low <= y[300:]) & (y[300:] <= high)
    assert 0.83 < inside.mean() < 0.97  # four standard errors about 0.9, and the fit's own
    width, left = high - low, X[300:, 0] < 3
    assert width[~left].mean() > 1.5 * width[left].mean()  # noise grows to the right


@pytest.mark.parametrize("kernel", ["boxcar", "epanechnikov", "triangular"])
def test_intervals_are_wide_where_no_known_point_is_near(kernel):
    X = np.linspace(0, 6, 61)[:, None]
    y = 100 + np.sin(X[:, 0])
    known = nn.KernelRegression(kernel, 0.25).fit(X, y)
    low, high = known.predict_interval([[3.0], [50.0]], coverage=0.9)
    assert high[0] - low[0] < 0.2
    np.testing.assert_allclose((low[1] + high[1]) / 2, y.mean())
    assert high[1] - low[1] > y.std()
    lone = nn.KernelRegression(kernel, 0.25).fit(np.append(X, [[50.0]], 0), np.append(y, 100.0))
    wide = lone.predict_interval([[3.0]], coverage=0.999)
    assert wide[1] - wide[0] < 10  # of a known point without another one near the error is measured so, too


def test_nothing_near_is_the_mean_and_outputs_may_be_several():
    X, y = data()
    both = np.stack([y, 3 - y], 1)
    known = nn.KernelRegression("boxcar", 0.1).fit(X, both)
    np.testing.assert_allclose(known.predict([[50.0, 50.0]]), both.mean(0)[None])
    assert known.predict(X).shape == (40, 2)
    low, _ = known.predict_interval(X)
    assert low.shape == (40, 2)


def test_points_far_from_the_origin_lose_nothing():
    X, y = data()
    near, far = nn.KernelRegression(bandwidth=0.5).fit(X, y), nn.KernelRegression(bandwidth=0.5).fit(X + 1e6, y)
    np.testing.assert_allclose(far.predict(X + 1e6), near.predict(X), atol=1e-6)


def test_scikit_learn_holds_it_for_an_estimator():
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(nn.KernelRegression(), on_skip=None)


def test_it_works_where_estimators_do():
    from sklearn.model_selection import GridSearchCV, cross_val_score

    X, y = data(60)
    search = GridSearchCV(nn.KernelRegression(), {"bandwidth": [0.1, 0.3, 30.0]}, cv=3).fit(X, y)
    assert search.best_params_["bandwidth"] != 30.0
    assert cross_val_score(nn.KernelRegression(), X, y, cv=3).mean() > 0.3


@every(
    ("options", "said"),
    [
        ({"kernel": "cosine"}, "kernel: expected one of gaussian, "),
        ({"bandwidth": 1e-320}, r"bandwidth: expected a number from 1e-12 to 1e\+12, or 2"),
        ({"bandwidth": 0.0}, r"bandwidth: expected a number from 1e-12 to 1e\+12, or 2"),
        ({"bandwidth": [1.0, 2.0, 3.0]}, r"bandwidth: expected a number from 1e-12 to 1e\+12, or 2"),
        ({"bandwidth": float("nan")}, "bandwidth: expected"),
        ({"bandwidth": "best"}, "'leave-one-out' or 'gradient', got 'best'"),
        ({"bandwidth": "gradient", "metric": "round"}, "metric: expected one of scalar, diagonal, full"),
        ({"bandwidth": 1.0, "metric": "round"}, "metric: expected one of scalar, diagonal, full"),
        ({"bandwidth": "gradient", "kernel": "boxcar"}, "kernel: expected a kernel with a gradient"),
    ],
)
def test_what_does_not_fit_is_refused(options, said):
    with pytest.raises(ArgumentError, match=said):
        nn.KernelRegression(**options).fit(*data())


@pytest.mark.parametrize(
    ("changed", "X", "y"),
    [
        ({}, [[1.0, 2.0]], [5.0]),
        ({"bandwidth": "best"}, *data(30)),
        ({"bandwidth": "gradient", "metric": "round"}, *data(30)),
        ({}, np.ones((4, 3)), [1.0, 2.0, 3.0, np.nan]),
        ({"bandwidth": -1.0}, *data(30, 3)),
    ],
)
def test_a_fit_that_is_refused_leaves_what_was_known(changed, X, y):
    known, asked = nn.KernelRegression().fit(*data()), data(15, seed=1)[0]
    wanted, attributes = known.predict(asked), set(vars(known))
    with pytest.raises(ValueError):
        known.set_params(**changed).fit(X, y)
    np.testing.assert_array_equal(known.predict(asked), wanted)
    assert set(vars(known)) == attributes
    new = nn.KernelRegression(**changed)
    with pytest.raises(ValueError):
        new.fit(X, y)
    with pytest.raises(NotFittedError):
        new.predict(asked)


@pytest.mark.parametrize("metric", ["scalar", "diagonal", "full"])
def test_it_fits_where_no_gradients_are_recorded(metric):
    X, y = data(60)
    wanted = nn.KernelRegression(bandwidth="gradient", metric=metric).fit(X, y)
    with torch.inference_mode():
        known = nn.KernelRegression(bandwidth="gradient", metric=metric).fit(X, y)
        np.testing.assert_array_equal(known.predict(X), wanted.predict(X))
        assert known.loo_error_ == wanted.loo_error_
    np.testing.assert_array_equal(known.predict_interval(X), wanted.predict_interval(X))


@pytest.mark.parametrize(
    ("kernel", "bandwidth"), [("gaussian", "gradient"), ("boxcar", 0.7), ("triangular", "leave-one-out")]
)
def test_another_default_device_is_no_matter(kernel, bandwidth):
    if (kernel, bandwidth) == ("boxcar", "gradient"):
        return
    X, y = data()
    wanted = nn.KernelRegression(kernel, bandwidth).fit(X, y)
    with torch.device("meta"):
        known = nn.KernelRegression(kernel, bandwidth).fit(X, y)
        found = known.predict(X), known.weights(X), *known.predict_interval(X), known.loo_error_
    for one, other in zip(
        found, (wanted.predict(X), wanted.weights(X), *wanted.predict_interval(X), wanted.loo_error_), strict=True
    ):
        np.testing.assert_array_equal(one, other)


class Largest(TorchDispatchMode):
    """The most numbers that one tensor had."""

    numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        sizes = [leaf.numel() for leaf in tree_leaves(found) if isinstance(leaf, torch.Tensor)]
        self.numbers = max(self.numbers, *sizes, 0)
        return found


@pytest.mark.parametrize("kernel", KERNELS)
def test_weights_of_few_points_take_little_memory(kernel, monkeypatch):
    X, y = data(400)
    asked = data(15, seed=1)[0]
    known = nn.KernelRegression(kernel, 0.7).fit(X, y)
    with Largest() as seen:
        weights = known.weights(asked)
    assert seen.numbers <= 400 * 15
    wanted = KERNELS[kernel](np.sqrt((((asked[:, None] - X[None]) / 0.7) ** 2).sum(-1)))
    total = wanted.sum(1, keepdims=True)
    np.testing.assert_allclose(weights, wanted / np.where(total > 0, total, 1), atol=1e-12)
    monkeypatch.setattr(regression, "_WEIGHTS_AT_ONCE", 2000)
    with Largest() as seen:
        np.testing.assert_allclose(known.weights(asked), weights, atol=1e-15)
    assert seen.numbers <= 2000
    assert known.weights(asked[:1]).shape == (1, 400)


@pytest.mark.parametrize("count", [99, 100, 179, 199, 999])
def test_the_rank_of_a_coverage_is_not_moved_by_rounding(count):
    """Of (n + 1) · 0.55 = 55 known answers 55 are to lie within, though floats make 55.000000000000007 of it."""
    assert regression._rank(count, 0.55) == -(-(count + 1) * 55 // 100)
    assert regression._rank(count, 1 - 0.45) == regression._rank(count, 0.55)
    assert regression._rank(count, 0.9) == -(-(count + 1) * 9 // 10)
    assert regression._rank(count, 0.9999999) == count and regression._rank(count, 1e-7) == 1


def test_one_point_needs_a_bandwidth_and_has_no_interval():
    with pytest.raises(ArgumentError, match="bandwidth: expected a number for a single point"):
        nn.KernelRegression().fit([[1.0]], [2.0])
    known = nn.KernelRegression(bandwidth=1.0).fit([[1.0]], [2.0])
    assert known.predict([[3.0]]) == [2.0] and np.isnan(known.loo_error_)
    with pytest.raises(ArgumentError, match="expected a fit to 2 points"):
        known.predict_interval([[1.0]])
    with pytest.raises(ArgumentError, match="coverage: expected a share"):
        nn.KernelRegression().fit(*data()).predict_interval(data()[0], coverage=1.0)


def test_points_that_are_all_alike_are_their_mean():
    known = nn.KernelRegression().fit(np.ones((5, 1)), np.arange(5.0))
    np.testing.assert_allclose(known.predict([[1.0]]), [2.0])
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.slow
def test_a_million_points_are_read_in_blocks():
    numbers = np.random.default_rng(0)
    X = numbers.uniform(0, 6, (1_000_000, 1))
    y = np.sin(X[:, 0]) + 0.1 * numbers.standard_normal(len(X))
    known = nn.KernelRegression(bandwidth=0.05).fit(X, y)
    asked = np.array([[0.5], [2.0], [5.5]])
    np.testing.assert_allclose(known.predict(asked), plain("gaussian", asked, X, y, 0.05), rtol=1e-9)
    few = nn.KernelRegression(bandwidth=0.5).fit(X[:100], y[:100])
    found = few.predict(X)
    np.testing.assert_allclose(found[:50], plain("gaussian", X[:50], X[:100], y[:100], 0.5), rtol=1e-9)
    assert found.shape == (1_000_000,)
