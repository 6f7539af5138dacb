"""Baselines: measured once a run and split, kept in its results, printed beside it."""

import json
from dataclasses import asdict

import pytest

import tiny
from saccade import runs
from saccade.cli import main
from saccade.train.baselines import described, kept
from saccade.train.fit import train
from saccade.train.task import Baseline
from tiny import Line, line_options, registered

MEAN = Baseline({"closeness": 0.25}, "the mean", 0.0)


@pytest.fixture
def asked(monkeypatch):
    """The splits that baselines were measured on."""
    found = []

    def baselines(task, split):
        found.append(split)
        return {"mean": MEAN}

    monkeypatch.setattr(tiny.Line, "baselines", baselines)
    return found


@pytest.fixture
def run(tmp_path, asked):
    with registered():
        train(Line, line_options(tmp_path / "run"))
        yield tmp_path / "run"


def results(run, name="results.json"):
    return json.loads((run / name).read_text())


def test_a_trained_run_keeps_them_under_a_key_of_their_own(run, asked):
    assert asked == ["test", "validation"]
    told = {"mean": asdict(MEAN)}
    assert results(run)["baselines"] == {"test": told, "validation": told}
    assert results(run)["metrics"].keys() == {"closeness"}  # what the model came to stays as it is


def test_they_are_measured_once(run, asked, capsys):
    loaded = runs.load(run)
    assert loaded.evaluate("test").baselines == {"mean": MEAN} == loaded.evaluate("validation").baselines
    assert main(["eval", str(run), "--split", "validation"]) == 0
    train(Line, line_options(run, max_steps=40))
    assert asked == ["test", "validation"]
    assert results(run, "results-validation.json")["baselines"] == {"mean": asdict(MEAN)}
    assert "baseline on validation: closeness 0.2500, mean (the mean; 0.0 s)" in capsys.readouterr().out


def test_run_of_earlier_version_is_measured_as_it_is_asked(run, asked):
    content = results(run)
    for told in (None, [], {"test": {"mean": 3}}, {"test": {"mean": {"metrics": {}, "about": "", "seconds": 0}}}):
        (run / "results.json").write_text(json.dumps({**content, "baselines": told}))
        del asked[:]
        assert runs.load(run).evaluate("test").baselines == {"mean": MEAN} and asked == ["test"]


def test_other_data_have_their_own(run, asked, monkeypatch, capsys):
    loaded = runs.load(run)
    del asked[:]
    monkeypatch.setattr(tiny.Line, "data", tiny.Points("others"))
    assert loaded.evaluate("test").baselines == {"mean": MEAN} and asked == ["test"]


def test_training_prints_them_below_what_the_model_came_to(run, capsys):
    arguments = ["train", "line", "--run", str(run), "--max-steps", "30", "--checkpoint-steps", "10"]
    rest = ["--validation-steps", "10", "--warmup-steps", "5", "--device", "cpu"]
    assert main([*arguments, *rest]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "closeness on test",
        "baseline on test",
        "closeness on validation",
        "baseline on validation",
        "run",
    ]


def test_what_is_written_is_read_back():
    found = {"copy": Baseline({"bleu": {"score": 3.5, "signature": "nrefs:1"}}, "the source", 0.2)}
    assert kept({"baselines": {"test": described(found)}}, "test") == found
    assert kept({"baselines": {"test": described(found)}}, "validation") is None is kept({}, "test")
