"""Ridge regression and gradient boosting as a start, against scikit-learn's own predictions."""

import numpy as np
import pytest
import torch
from sklearn.metrics import r2_score

from saccade import runs
from saccade.errors import ArgumentError
from saccade.tasks.regress.plain import Fitted, boosting, fit_start, ridge

SHORT = {"max_steps": 2, "warmup_steps": 1, "checkpoint_steps": 2, "validation_steps": 2, "threads": 1, "device": "cpu"}


def steps(count=120, seed=1):
    """Rows of a step and a line, which a linear function does not explain."""
    x = np.random.default_rng(seed).uniform(-1, 1, (count, 3))
    return x, np.stack([4 * (x[:, 0] > 0) + x[:, 1], x[:, 2] - 7], 1)


def test_a_stacked_start_is_the_weighted_sum_of_its_methods():
    x, y = steps()
    start, (new, _) = fit_start(x, y, "stacked"), steps(50, 2)
    plain = np.asarray(ridge(x, y).predict(new)), np.stack([model.predict(new) for model in boosting(x, y)], 1)
    weights = np.array(start.weights)
    weighed = sum(part * weights[:, number] for number, part in enumerate(plain))
    difference = start.module()(torch.from_numpy(new)).numpy() - weighed
    np.testing.assert_allclose(difference, np.repeat(difference[:1], 50, 0), atol=1e-9)  # the constants of the weighing
    assert weights[0, 1] > 0.5 > weights[1, 1] and (weights >= 0).all()
    assert r2_score(y[:, 0], np.array(start.predictions)[:, 0]) > 0.8
    np.testing.assert_allclose(start.std, (y - start.predictions).std(0))


def test_a_linear_start_is_ridge_regression():
    x, y = steps()
    start = fit_start(x, y, "linear")
    np.testing.assert_allclose(start.module()(torch.from_numpy(x)).numpy(), ridge(x, y).predict(x), atol=1e-9)
    assert start.trees is None and start.note(["a", "b"]) == "the model learns the errors of ridge regression"
    assert fit_start(x[:19], y[:19], "linear") is None


def test_predictions_of_a_row_are_made_without_it():
    x, y = steps(40)
    other = y.copy()
    other[3] += 1000
    first, second = (np.array(fit_start(x, part, "linear").predictions) for part in (y, other))
    assert abs(first[3] - second[3]).max() < 1e-9 and abs(first - second).max() > 1


def test_a_start_of_other_columns_is_rejected():
    content = fit_start(*steps(), "linear").to_json()
    assert Fitted.restore(content, 3, 2).linear == content["linear"]
    with pytest.raises(ValueError, match="a start for 3 features, but there are 4"):
        Fitted.restore(content, 4, 2)


@pytest.mark.parametrize("model", ["nadaraya-watson", "mlp"])
def test_a_model_learns_the_errors_of_its_start(tmp_path, model):
    x, y = steps(200)
    run = runs.train("regress", data=(x, y), model=model, run=tmp_path / "run", **SHORT)
    assert run.trained.options.start == "stacked" and run.results["metrics"]["r2"] > 0.8
    start = run.task.codec.start
    batch = run.task.batch(0)
    assert batch.started.isfinite().all() and run.task.codec.collate([run.task.sampler.encode([0])[0]]).started[
        0
    ].tolist() == pytest.approx(start.predictions[0])
    again = runs.load(tmp_path / "run", data=(x, y))
    assert again.predict(x[:3])[1].mean == run.predict(x[:3])[1].mean
    baselines = run.results["baselines"]["validation"]
    assert list(baselines) == ["mean", "linear", "boosting"]
    assert baselines["boosting"]["advice"].endswith("HistGradientBoostingRegressor().fit(numbers, answers)")
    plain = runs.train("regress", data=(x, y), model="mean", run=tmp_path / "mean", **SHORT)
    assert plain.task.codec.start is None and plain.results["advice"].endswith("try --start stacked")
    (tmp_path / "run/start.json").rename(tmp_path / "start.json")
    with pytest.raises(Exception, match="start.json"):
        runs.load(tmp_path / "run")


def test_a_start_by_another_name_is_rejected():
    with pytest.raises(ArgumentError, match="--start: expected none or linear or stacked, got 'trees'"):
        runs.train("regress", data=steps(40), start="trees")
