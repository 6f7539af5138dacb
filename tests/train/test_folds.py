"""Cross-validation: runs of each fold, and the means of their results."""

import json

import numpy as np
import pytest

from saccade import runs
from saccade.errors import ArgumentError
from saccade.tasks import load_task
from saccade.train.folds import Mean, cross_validate, stored_folds, summary
from saccade.train.run import Run, RunError

NAMED = {"max_steps": 2, "warmup_steps": 1, "threads": 1}
WHOLE = {"seconds": 1.0, "final": {}}  # of results.json


@pytest.fixture
def rows():
    draws = np.random.default_rng(1)
    return [((float(x), float(z)), 2 * x - z) for x, z in draws.normal(size=(30, 2)).round(3).tolist()]


def test_each_example_is_tested_once_and_a_repeated_call_trains_nothing(tmp_path, rows):
    folder = tmp_path / "run"
    first = runs.train("regress", data=rows, model="mean", run=folder, folds=3, **NAMED)
    assert first.folder == folder / "fold-1" and first.results["config"]["options"]["fold"] == "1/3"
    content = json.loads((folder / "folds.json").read_text())
    assert first.folds == content and content["folds"] == 3
    results = [Run.open(folder / f"fold-{number}").results() for number in (1, 2, 3)]
    numbers = [result["metrics"]["r2"] for result in results]
    r2 = content["test"]["r2"]
    assert r2["folds"] == numbers and r2["mean"] == pytest.approx(np.mean(numbers), abs=1e-6)
    assert r2["error"] == pytest.approx(np.std(numbers, ddof=1) / 3**0.5, abs=1e-6)
    assert content["baselines"]["test"]["linear"]["metrics"]["r2"]["mean"] > 0.9
    assert "linear" in content["advice"]
    tested = [
        run.task.data.example("test", index).numbers
        for run in (runs.load(folder / f"fold-{number}", data=rows) for number in (1, 2, 3))
        for index in range(10)
    ]
    assert sorted(tested) == sorted(numbers for numbers, _ in rows)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")}
    runs.train("regress", data=rows, model="mean", run=folder, folds=3, **NAMED)
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")}
    with pytest.raises(RunError, match="this run was made with"):
        runs.train("regress", data=rows, model="mean", run=folder, folds=5, **NAMED)


def test_the_folds_share_the_minutes(tmp_path, rows):
    named = {**NAMED, "run": str(tmp_path / "run"), "folds": 3, "max_minutes": 6.0}
    folds = cross_validate(load_task("regress"), "mean", "objects", named, rows)
    assert folds.last.results["config"]["options"]["max_minutes"] == 2


def test_a_run_made_before_the_options_keeps_its_split_and_its_weights(tmp_path, rows):
    new = {"held_out": 0.0, "start": "none"}
    run = runs.train("regress", data=rows, model="nadaraya-watson", run=tmp_path / "a", **NAMED, **new)
    config = json.loads((tmp_path / "a/config.json").read_text())
    assert config["data"].startswith("train 28, validation 1, test 1,")
    for name in (*new, "fold", "folds"):
        del config["options"][name]
    (tmp_path / "a/config.json").write_text(json.dumps(config))
    again = runs.load(tmp_path / "a", data=rows)
    assert again.task.data.fingerprint == config["data"] and again.evaluate().metrics == run.evaluate().metrics
    more = runs.train("regress", data=rows, model="nadaraya-watson", run=tmp_path / "a", **{**NAMED, "max_steps": 3})
    assert more.results["steps"] == 3 and more.trained.options.held_out == 0


def test_data_without_folds_are_refused(rows):
    for task, data, more, message in (
        ("regress", "sine", {}, "--folds: expected none for sine"),
        ("regress", {"train": rows, "test": rows}, {}, "--folds: expected none for data, which has a test split"),
        ("regress", rows, {"fold": "1/2"}, "--fold: expected none beside --folds"),
        ("regress", rows, {"folds": 1}, "--folds: expected a number from 2 to 1000, got 1"),
    ):
        with pytest.raises(ArgumentError, match=message):
            runs.train(task, data=data, model="mean", **{"folds": 2, **more})


def test_an_interrupted_fold_leaves_no_results(tmp_path, rows, monkeypatch):
    from dataclasses import replace

    from saccade.train import folds

    trained = []

    def stopped(*arguments, **settings):
        trained.append(settings["began"])
        outcome = train(*arguments, **settings)
        return replace(outcome, results=None) if len(trained) == 2 else outcome

    train = folds.train
    monkeypatch.setattr(folds, "train", stopped)
    named = {**NAMED, "run": str(tmp_path / "a"), "folds": 3}
    end = cross_validate(load_task("regress"), "mean", "objects", named, rows, began=5.0)
    assert trained[0] == 5 and trained[1] > 5 and len(trained) == 2  # the second counts from its own start
    assert end.results is None and not (tmp_path / "a/folds.json").exists()


def test_means_of_folds_that_were_trained_further_are_gone_until_all_are(tmp_path):
    fold = {"metrics": {"r2": 0.5}, "validation": {"r2": 0.5}, "baselines": {"test": {}, "validation": {}}}
    results = [{**fold, "steps": steps} for steps in (4, 5)]
    for number, result in enumerate(results, 1):
        (tmp_path / f"fold-{number}").mkdir()
        (tmp_path / f"fold-{number}/results.json").write_text(json.dumps({**WHOLE, **result}))
    content = summary(results, "r2")
    (tmp_path / "folds.json").write_text(json.dumps(content))
    assert content["steps"] == [4, 5] and stored_folds(tmp_path) == content
    (tmp_path / "fold-1/results.json").write_text(json.dumps({**WHOLE, **fold, "steps": 6}))
    assert stored_folds(tmp_path) is None
    (tmp_path / "fold-1/results.json").unlink()
    assert stored_folds(tmp_path) is None


def test_the_advice_is_on_the_headline():
    plain = {"metrics": {"mae": 9.0, "r2": 0.1}, "about": "the mean", "seconds": 0.1, "advice": ""}
    baselines = {"test": {"mean": plain}, "validation": {"mean": plain}}
    numbers = {"mae": 2.0, "r2": 0.5}
    fold = {"steps": 9, "metrics": numbers, "validation": numbers, "baselines": baselines}
    assert summary([fold, fold], "r2")["advice"] == "" and "mae" in summary([fold, fold], "mae")["advice"]


def test_a_mean_has_the_signature_of_its_metric():
    mean = Mean.of([{"score": 30.0, "signature": "nrefs:1"}, {"score": 32.0, "signature": "nrefs:1"}])
    assert str(mean) == "31.00 ± 1.00 (2 folds, nrefs:1)" and str(Mean.of([0.5, 0.6])) == "0.5500 ± 0.0500 (2 folds)"


def test_a_metric_that_a_fold_lacks_has_no_mean():
    def fold(**metrics):
        return {"steps": 9, "metrics": metrics, "validation": metrics, "baselines": {"test": {}, "validation": {}}}

    content = summary([fold(r2=0.5, rare=1.0), fold(r2=0.7)], "r2")
    assert set(content["test"]) == {"r2"} and content["advice"] == ""
