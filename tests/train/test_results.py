import json
from dataclasses import asdict, replace

import pytest
import torch

import tiny
from saccade import runs
from saccade.cli import main
from saccade.train.fit import train
from saccade.train.options import Options
from saccade.train.results import TrainState, better_baseline, measure, sample, validation_loss
from saccade.train.task import Baseline
from tiny import Line, LineOptions, line_options, registered


def test_measuring_leaves_no_trace():
    task = Line(LineOptions())
    model = task.build().train()
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    first = measure(task, model, "validation", 1)
    assert model.training and torch.equal(torch.rand(1), expected)
    assert first.metrics == measure(task, model.eval(), "validation", 1).metrics and not model.training


def test_a_budget_is_steps_or_minutes():
    assert TrainState(10).spent(Options(max_steps=10)) and not TrainState(9).spent(Options(max_steps=10))
    minute = Options(max_minutes=1)
    assert TrainState(1, seconds=60).spent(minute) and not TrainState(1, seconds=59).spent(minute)


def test_how_long_a_run_goes_on_is_said_for_any_budget():
    state = TrainState(step=40, seconds=50.0, reserve=9.0)
    assert state.seconds_left(Options(max_steps=60), 0.5) == 19.0
    assert state.seconds_left(Options(max_steps=None, max_minutes=1.0), 0.5) == 10.0
    assert state.seconds_left(Options(max_steps=None, max_minutes=0.5), 0.5) == 0.0


def test_sample_is_a_line_of_at_most_two_hundred_characters(monkeypatch):
    task = Line(LineOptions())
    model = task.build().eval().requires_grad_(False)
    assert sample(task, model, 1, 5).startswith("validation ")
    original = Line.example
    bell = "rings \x07, reddens \x1b[31m and\nends"
    monkeypatch.setattr(Line, "example", lambda *where: original(*where)._replace(text=bell))
    assert sample(task, model, 1, 5).startswith("rings ·, reddens ·[31m and ends → ")
    long = "a  very\nlong text " * 99
    monkeypatch.setattr(Line, "example", lambda *where: original(*where)._replace(text=long, answer=long))
    found = sample(task, model, 1, 5)
    assert 150 < len(found) <= 198 and found.count("…") == 2 and found.endswith("; by a line)")


def test_a_run_without_another_end_stops_after_ten_validations():
    endless, state = Options(validation_steps=5), TrainState(100, best=0.5, best_step=50, stale=10)
    assert state.ended(endless) and not replace(state, stale=9).ended(endless)
    assert not replace(state, best_step=5).ended(endless)  # never improved: perhaps it learns later
    falling = Options(validation_steps=5, schedule="linear", schedule_steps=5000)
    for options in (replace(endless, max_minutes=9.0), falling):
        assert options.early_stopping is None and not state.ended(options)
    assert replace(state, best_step=5).ended(replace(falling, patience=10))


def judged(*validations, examples):
    """Steps of the best of (headline, loss) of validations, each of a step."""
    state = TrainState()
    for state.step, (headline, loss) in enumerate(validations, 1):
        state.judge(headline, loss, examples)
    return state.best_step, state.stale


def test_the_loss_decides_where_a_headline_is_noise():
    falling = [(0.02, 4.0), (0.05, 3.5), (0.03, 3.1), (0.04, 2.9)]
    assert judged(*falling, examples=60) == (4, 0)  # the loss still falls
    assert judged(*falling, examples=100) == (2, 2)
    assert judged((0.5, 1.0), (0.6, 1.2), (0.7, 1.1), examples=60) == (1, 2)


def test_the_loss_decides_between_equal_headlines():
    assert judged((0.0, 4.0), (0.0, 3.0), (0.0, 3.5), examples=500) == (2, 1)
    assert judged((0.3, None), (0.3, None), (0.3, 1.0), examples=500) == (1, 2)  # no loss to compare with
    assert judged((0.3, None), (0.4, None), examples=5) == (2, 0)


def test_a_task_without_a_loss_of_validation_or_a_finite_one_has_none(monkeypatch):
    task = Line(LineOptions())
    model = task.build().train()
    assert validation_loss(task, model, 1) is None
    for loss, expected in ((0.25, 0.25), (float("nan"), None), (float("inf"), None), (None, None)):
        monkeypatch.setattr(Line, "mean_loss", lambda *given, loss=loss: loss, raising=False)
        assert validation_loss(task, model, 1, 5) == expected and model.training


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
    assert "baseline on validation: closeness 0.2500, mean (the mean; took 0.0 s)" in capsys.readouterr().out


def test_results_without_baselines_are_none_and_they_are_measured(run, asked):
    content = results(run)
    for told in (None, []):
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


def test_a_better_baseline_is_named_in_the_last_line(run, asked, capsys, monkeypatch):
    better = Baseline({"closeness": 2.0}, "the mean", 0.1, "try --model mean")
    monkeypatch.setattr(tiny.Line, "baselines", lambda self, split: {"mean": better})
    arguments = ["train", "line", "--run", str(run.with_name("other")), "--max-steps", "3", "--warmup-steps", "1"]
    assert main([*arguments, "--device", "cpu"]) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    own = results(run.with_name("other"))["validation"]["closeness"]
    better = f"a baseline is better on validation: mean 2 > {own:.4g} (closeness)"
    assert last == f"{better}; in a new --run try --model mean"
    assert last[1:] in run.with_name("other").joinpath("README.md").read_text()


def test_an_equal_baseline_is_not_better():
    plain = {"validation": {"closeness": 0.5}, "baselines": {"validation": {"mean": asdict(MEAN)}}}
    equal = MEAN.metrics["closeness"]
    assert better_baseline({**plain, "validation": {"closeness": equal}}, "closeness") == ""
    assert better_baseline({**plain, "validation": {"closeness": equal - 0.1}}, "closeness").startswith("a baseline")
