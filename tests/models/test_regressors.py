"""Models that answer with numbers: what they promise, and that each learns what it should."""

import math

import numpy as np
import pytest
import torch

from models.laws import the_same_state
from saccade.errors import ArgumentError
from saccade.models import learned_kernel, mlp, nadaraya_watson, set_transformer
from saccade.models.learned_kernel import LearnedKernel
from saccade.models.mean import Mean
from saccade.models.mlp import MLP
from saccade.models.nadaraya_watson import NadarayaWatson
from saccade.models.padded import Padded
from saccade.models.regressor import Sizes, Spread, TrainingData
from saccade.models.set_transformer import SetTransformer
from saccade.nn import KernelRegression
from tiers import every

TABLES = (Mean, NadarayaWatson, LearnedKernel, SetTransformer, MLP)
SETS = (Mean, SetTransformer, MLP)


def rows(count, features=3, seed=0):
    numbers = torch.Generator().manual_seed(seed)
    x = torch.rand(count, features, generator=numbers, dtype=torch.float64) * 7 + 40
    return x, torch.stack([x[:, 0].sin(), 100 * x.sum(1)], 1)


def known(x, y):
    return TrainingData(x.mean(0), x.std(0, correction=0), y.mean(0), y.std(0, correction=0), x, y)


def made(kind, count=23, options=None):
    torch.manual_seed(0)
    x, y = rows(count)
    model = kind(Sizes(3, 2, count), *([] if options is None else [options]))
    model.begin(known(x, y))
    return model, x, y


def asked(x):
    return Padded(x, torch.full((len(x),), x.shape[1]))


@every("kind", TABLES)
def test_it_answers_in_the_units_of_the_data(kind):
    model, x, y = made(kind)
    found = model(asked(x))
    assert found.mean.shape == found.deviation.shape == (23, 2) and found.mean.dtype == torch.float64
    assert bool((found.deviation > 0).all())
    other = kind(Sizes(3, 2, 23))
    other.load_state_dict(model.state_dict())
    scale, shift = torch.tensor([1e-3, 5.0, 1e4]), torch.tensor([3.0, -1e5, 0.5])
    other.begin(known(x * scale + shift, y * 10 - 4))
    with torch.no_grad():
        for name, parameter in other.named_parameters():
            parameter.copy_(dict(model.named_parameters())[name])
    again = other(asked(x * scale + shift))
    torch.testing.assert_close(again.mean, found.mean * 10 - 4, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(again.deviation, found.deviation * 10, rtol=1e-3, atol=1e-3)


@every("kind", TABLES)
def test_its_state_is_all_of_it(kind):
    model, x, _ = made(kind)
    other = kind(Sizes(3, 2, 23))
    the_same_state(model, other)
    assert torch.equal(model(asked(x)).mean, other(asked(x)).mean)


@pytest.mark.parametrize("kind", [NadarayaWatson, LearnedKernel])
def test_in_training_no_point_is_answered_by_itself(kind):
    model, x, _ = made(kind)
    places = torch.arange(len(x))
    before = model.read(model.standardized(asked(x)), places).mean
    with torch.no_grad():
        model.answers[4] += 1e6
    after = model.read(model.standardized(asked(x)), places).mean
    assert torch.equal(before[4], after[4]) and not torch.equal(before[5], after[5])
    free = model.read(model.standardized(asked(x))).mean
    assert float(free[4].detach().abs().max()) > 1e3  # asked freely it weighs, too
    weights = model.weights(asked(x))
    torch.testing.assert_close(weights.sum(-1), torch.ones(23, 1))


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "triangular"])
def test_it_begins_at_the_bandwidth_of_the_estimator(kernel):
    x, y = rows(60, 1)
    model = NadarayaWatson(Sizes(1, 2, 60), nadaraya_watson.Options(kernel=kernel))
    model.begin(known(x, y))
    estimator = KernelRegression(kernel, float(model.bandwidth.detach()) * float(x.std(correction=0))).fit(
        x.numpy(), y.numpy()
    )
    own = KernelRegression(kernel).fit(((x - x.mean()) / x.std(correction=0)).numpy(), y.numpy() / y.std(0).numpy())
    assert float(model.bandwidth.detach()) == pytest.approx(own.bandwidth_, rel=0.02)
    places = torch.linspace(41, 46, 9, dtype=torch.float64)[:, None]
    np.testing.assert_allclose(model(asked(places)).mean.detach(), estimator.predict(places.numpy()), rtol=1e-3)


def test_a_deviation_is_that_of_the_weights():
    model, x, _ = made(NadarayaWatson)
    weights, answers = model.weights(asked(x))[:, 0].double(), model.heights
    mean = weights @ answers
    spread = torch.einsum("bn,bnk->bk", weights, (answers - mean[:, None]) ** 2).sqrt()
    torch.testing.assert_close(model(asked(x)).deviation, spread, rtol=1e-2, atol=2e-2)


@pytest.mark.parametrize("kernel", ["epanechnikov", "triangular"])
def test_out_of_reach_all_answers_are_the_answer(kernel):
    model, x, y = made(NadarayaWatson, options=nadaraya_watson.Options(kernel=kernel, bandwidth=0.1))
    far = model(asked(torch.cat([x[:1] + 1000, x[:1]])))
    torch.testing.assert_close(far.mean[0], y.mean(0))
    torch.testing.assert_close(far.deviation[0], y.std(0, correction=0))
    torch.testing.assert_close(far.mean[1], y[0])
    assert bool((far.deviation[1] < y.std(0) / 100).all())
    error = model.loss(asked(x[:1] + 1000), y[:1], torch.tensor([-1]), "squared")
    error.backward()
    assert bool(model.log_bandwidth.grad.isfinite().all())


def test_bandwidths_tried_are_least_at_leave_one_outs():
    x, y = rows(60, 1)
    model = NadarayaWatson(Sizes(1, 2, 60))
    model.begin(known(x, y[:, :1].expand(-1, 2)))
    tried, errors, taken, label = model.tried(("age",))
    assert "age" in label and taken == pytest.approx(float(model.bandwidth.detach() * x.std(correction=0)), rel=1e-5)
    assert abs(math.log(float(tried[errors.argmin()]) / taken)) < 0.2
    alone = NadarayaWatson(Sizes(1, 1, 60))
    alone.begin(known(x, y[:, :1]))
    torch.testing.assert_close(alone.tried(("age",))[1], errors * y[:, 0].var(correction=0), rtol=1e-4, atol=0)
    _, _, taken, label = made(NadarayaWatson)[0].tried(("a", "b", "c"))
    assert taken == 1 and "multiples" in label


@pytest.mark.parametrize("kind", SETS)
def test_the_order_and_the_padding_of_a_set_change_nothing(kind):
    torch.manual_seed(1)
    model = kind(Sizes(0, 1))
    values, lengths = torch.rand(5, 7, dtype=torch.float64), torch.tensor([7, 3, 1, 5, 2])
    found = model(Padded(values, lengths))
    wider = torch.full((5, 11), 1e9, dtype=torch.float64)
    for row, length in enumerate(lengths.tolist()):
        wider[row, :length] = values[row, :length].flip(0)
    other = model(Padded(wider, lengths))
    torch.testing.assert_close(found.mean, other.mean, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found.deviation, other.deviation, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pool", ["max", "mean", "sum"])
def test_pools_of_sets(pool):
    model = MLP(Sizes(0, 1), mlp.Options(pool=pool, hidden_dim=4, layers=1))
    one, twice = (Padded(torch.tensor([row]).double(), torch.tensor([len(row)])) for row in ([3.0], [3.0, 3.0]))
    assert torch.allclose(model(one).mean, model(twice).mean) == (pool != "sum")


def test_weights_of_a_set_are_shares_of_its_elements():
    model = SetTransformer(Sizes(0, 1), set_transformer.Options(hidden_dim=8, heads=2, layers=1, inducing=3))
    weights = model.weights(Padded(torch.rand(4, 5).double(), torch.tensor([5, 2, 1, 4])))
    assert weights.shape == (4, 2, 5) and bool((weights[1, :, 2:] == 0).all())
    torch.testing.assert_close(weights.sum(-1), torch.ones(4, 2))


@pytest.mark.parametrize(("kind", "name"), [(NadarayaWatson, "nadaraya-watson"), (LearnedKernel, "learned-kernel")])
def test_known_points_are_no_sets(kind, name):
    with pytest.raises(ArgumentError, match=f"--model: expected one that reads sets of any size, got {name};") as error:
        kind.check(Sizes(0, 1), name)
    assert "set-transformer" in str(error.value)


def test_a_spread_learns_deviations_and_leaves_its_features_alone():
    features = torch.randn(6, 3, requires_grad=True)
    Spread(3, 2)(features).sum().backward()
    assert features.grad is None


@pytest.mark.parametrize(
    ("kind", "loss", "steps"), [(Mean, "absolute", 50), (MLP, "squared", 200), (LearnedKernel, "squared", 50)]
)
def test_a_loss_teaches_answers_and_deviations(kind, loss, steps):
    model, x, y = made(kind, 200)
    noise = torch.randn(len(y), 2, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    wanted = y + y.std(0) * noise * torch.tensor([0.1, 0.5])
    model.begin(known(x, wanted))
    places, search = torch.arange(len(x)), torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(steps):
        search.zero_grad()
        found = model.loss(asked(x), wanted, places, loss)
        found.backward()
        search.step()
        losses.append(float(found.detach()))
    assert losses[-1] < losses[0]
    if kind is MLP:
        apart = (model(asked(x)).deviation / wanted.std(0)).mean(0).tolist()
        assert apart[0] < 0.35 < apart[1] + 0.1


@every(
    ("options", "message"),
    [
        (lambda: nadaraya_watson.Options(kernel="boxcar"), "--kernel: expected one of gaussian"),
        (lambda: nadaraya_watson.Options(metric="full"), "--metric: expected scalar or diagonal, got full"),
        (lambda: nadaraya_watson.Options(bandwidth=0.0), "--bandwidth: expected a number from 1e-06"),
        (lambda: learned_kernel.Options(score="cosine"), "--score: expected one of gaussian"),
        (lambda: learned_kernel.Options(key_dim=0), "--key-dim: expected a number from 1"),
        (lambda: mlp.Options(pool="min"), "--pool: expected max, mean or sum, got min"),
        (
            lambda: set_transformer.Options(hidden_dim=10, heads=4),
            r"--heads: expected a divisor of 10 \(--hidden-dim\)",
        ),
    ],
)
def test_options_that_mean_nothing(options, message):
    with pytest.raises(ArgumentError, match=message):
        options()


def test_one_unknown_prediction_of_the_start_leaves_those_of_other_rows():
    model, x, y = made(MLP)
    model.start = torch.nn.Linear(3, 2).double()
    known = model.start(x).detach() + 1000
    known[4] = torch.nan
    filled = torch.where(known.isnan(), model.start(x), known)
    losses = [model.loss(asked(x), y, torch.full((23,), -1), "squared", started) for started in (known, filled, None)]
    assert losses[0] == losses[1] != losses[2]
