"""The job from end to end on tables and sets, and what it refuses in one line."""

import json

import numpy as np
import pytest
import torch

from saccade import runs
from saccade.cli import main
from saccade.errors import SaccadeError
from saccade.tasks.regress.batches import Encoded, stacked
from tiers import rest_slow

SHORT = {"max_steps": 2, "warmup_steps": 1, "checkpoint_steps": 2, "validation_steps": 2, "threads": 1, "device": "cpu"}
WORDS = [word for name, value in SHORT.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def table(count=60, wide=3, high=1):
    numbers = np.random.default_rng(1)
    x = numbers.uniform(0, 1, (count, wide))
    return [(tuple(row), tuple(float(k * row.sum()) for k in range(1, high + 1))) for row in x]


def sets(count=60):
    return [(tuple(float(n * k % 7) for k in range(1, n % 4 + 2)), float(n)) for n in range(count)]


def train(data, tmp_path, model="mlp", **more):
    return runs.train("regress", data=data, model=model, run=tmp_path / model, **{**SHORT, **more})


@pytest.mark.parametrize("model", rest_slow(["nadaraya-watson", "learned-kernel", "set-transformer", "mlp", "mean"]))
def test_rows_with_several_answers(model, tmp_path):
    run = train(table(high=2), tmp_path, model)
    [answer] = run.predict("0.5, 0.25 0.125")
    mean, low, high = (tuple(map(float, part.split(","))) for part in answer.lines()[0].split("\t"))
    assert len(mean) == len(low) == len(high) == 2 and all(a < b < c for a, b, c in zip(low, mean, high, strict=True))
    paths = run.draw("0.5, 0.25 0.125", tmp_path / "pictures", json=True)
    names = {path.name for path in paths if path.suffix == ".png"}
    assert names == {"0-5-0-25-0-125-y1.png", "0-5-0-25-0-125-y2.png", *(["bandwidth.png"] if "nad" in model else [])}
    told = json.loads((tmp_path / "pictures/0-5-0-25-0-125-y1.json").read_text(encoding="utf-8"))
    assert told["rows"] == ["weight" if model not in ("mlp", "mean") else "gradient"]
    assert len(told["columns"]) == (12 if model in ("nadaraya-watson", "learned-kernel") else 3)


def test_rows_of_arrays_and_columns_are_asked_from_python(tmp_path):
    x = np.arange(40.0)
    run = train({"a": x, "b": x[::-1], "y": x * x}, tmp_path)
    rows = np.stack([x[:3], x[3:6]], 1)
    wanted = run.predict(["0 3", "1 4", "2 5"])
    assert [each.mean for each in run.predict(rows)] == [each.mean for each in wanted]
    assert run.align({"b": rows[:, 1], "a": rows[:, 0]}) == [each.to_json() for each in wanted]
    assert run.draw(rows[:1], tmp_path / "pictures")
    with pytest.raises(SaccadeError, match="^inputs: expected texts, rows of numbers, or columns by their names, "):
        run.predict(None)


@pytest.mark.parametrize("model", rest_slow(["set-transformer", "mlp", "mean"]))
def test_sets_of_any_size(model, tmp_path):
    run = train(sets(), tmp_path, model, sets=True)
    one, other = run.predict(["3 1 2", "2,3,1"])
    assert one.lines()[0].partition("\t")[0] == pytest.approx(other.lines()[0].partition("\t")[0])
    assert run.results["groups"]["mae"].keys() <= {"1", "2", "3", "4"}
    told = json.loads(
        next(path for path in run.draw("3 1 2", tmp_path / "p", json=True) if path.suffix == ".json").read_text()
    )
    assert told["columns"] == ["3", "1", "2"]


def test_known_points_have_no_sets(tmp_path):
    for model in ("nadaraya-watson", "learned-kernel"):
        with pytest.raises(SaccadeError, match=f"--model: expected one that reads sets .*, got {model}; ") as error:
            train(sets(), tmp_path, model, sets=True)
        assert "\n" not in str(error.value) and not (tmp_path / model).exists()


def test_a_picture_says_how_many_elements_it_leaves_out(tmp_path):
    run = train(sets(), tmp_path, "mlp", sets=True)
    stories = []
    for line in (" ".join(map(str, range(40))), "1 2 3"):
        [svg] = [path for path in run.draw(line, tmp_path / "p") if path.suffix == ".svg"]
        stories.append(svg.read_text(encoding="utf-8"))
    assert "12 of 40 are shown, the largest" in stories[0] and "are shown" not in stories[1]


def test_a_run_keeps_no_more_points_than_it_may(tmp_path, monkeypatch):
    from saccade.tasks.regress import columns

    monkeypatch.setattr(columns, "POINTS", 20)
    run = train(table(100), tmp_path, "nadaraya-watson")
    assert 10 < len(run.model.points) <= 20
    batch = run.task.batch(0)
    kept = [place for place in batch.places.tolist() if place >= 0]
    assert kept and len(kept) < len(batch.places)
    for place, numbers in zip(batch.places.tolist(), batch.points.values, strict=True):
        if place >= 0:  # it is the point of that place
            torch.testing.assert_close(run.model.places[place], numbers, rtol=1e-5, atol=1e-6)


def test_padding_of_sets_changes_no_loss(tmp_path):
    run = train(sets(), tmp_path, "set-transformer", sets=True)
    batch = stacked([Encoded((1.0, 2.0), (3.0,)), Encoded((4.0,), (5.0,))])
    values, lengths = batch.points
    wider = batch._replace(points=type(batch.points)(torch.nn.functional.pad(values, (0, 3), value=9.0), lengths))
    with torch.inference_mode():
        one, two = (run.task.loss(run.model, each) for each in (batch, wider))
    torch.testing.assert_close(one.total, two.total, rtol=1e-5, atol=1e-6)


def test_constant_columns(tmp_path, capsys):
    with pytest.raises(SaccadeError, match=r"column y \(target\): expected numbers that differ, got 2 in every row "):
        train([(float(n), 2.0) for n in range(30)], tmp_path)
    with pytest.raises(SaccadeError, match=r"column x \(features\): expected numbers that differ, got 1 in every row "):
        train({"train": [(1.0, float(n)) for n in range(9)], "dev": [(1.0, 2.0)], "test": [(1.0, 2.0)]}, tmp_path)
    assert not (tmp_path / "mlp").exists()
    capsys.readouterr()
    run = train([((float(n), 7.0), float(n)) for n in range(30)], tmp_path)
    assert "x2: the same number in every row to train on, which tells nothing" in capsys.readouterr().err
    assert float(run.predict("3 7")[0].mean[0]) == pytest.approx(float(run.predict("3 8")[0].mean[0]), abs=40)


@pytest.mark.slow
def test_several_runs_as_one(tmp_path):
    rows = table()
    first = train(rows, tmp_path, "nadaraya-watson")
    train(rows, tmp_path, "set-transformer")
    both = runs.load(first.folder, device="cpu", ensemble=[tmp_path / "set-transformer"], data=rows)
    [found] = both.predict("0.5 0.5 0.5")
    each = [run.predict("0.5 0.5 0.5")[0] for run in (first, runs.load(tmp_path / "set-transformer", device="cpu"))]
    assert found.mean[0] == pytest.approx(sum(one.mean[0] for one in each) / 2)
    assert found.upper[0] - found.lower[0] > min(one.upper[0] - one.lower[0] for one in each)
    assert found.weights is None and both.draw("0.5 0.5 0.5", tmp_path / "p")
    two = runs.load(first.folder, device="cpu", ensemble=[train(rows, tmp_path / "other", "learned-kernel").folder])
    assert two.draw("0.5 0.5 0.5", tmp_path / "q")
    other = train(table(wide=2), tmp_path / "narrow", "mlp")
    with pytest.raises(SaccadeError, match="expected the features of RUN, got x1, x2"):
        runs.load(first.folder, device="cpu", ensemble=[other.folder])


WRONG = {
    "x,y\n1,2\n2,nan\n3,4\n4,5\n": "expected a finite number, got nan",
    "x,y\n1,2\n2,2\n3,2\n4,2\n": "expected numbers that differ, got 2 in every row",
    "x,y\n1,1\n1,2\n1,3\n": "to validate, test and train, got 1",
    "x,y\n1,2\n": "to validate, test and train, got 1",
    "x,y\n1,2\nold,3\n": "column x: expected a number, got 'old'",
    "x,y\n1,2\n1,2,3\n": "expected 2 columns, as the header says, got 3",
    "": "got an empty file",
}


@pytest.mark.parametrize("text", WRONG)
def test_table_that_is_wrong_is_one_line_at_command_line(text, tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert main(["train", "regress", "--data", str(path), "--run", str(tmp_path / "run"), *WORDS]) == 2
    err = capsys.readouterr().err
    assert WRONG[text] in err.splitlines()[-1] and not (tmp_path / "run").exists()
    assert len([line for line in err.splitlines() if "held out" not in line]) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "prise"], "--target: expected a column of"),
        (["--target", ""], "--target: expected names of columns with commas between, got ''"),
        (["--features", "x,,y"], "--features: expected names of columns with commas between, got 'x,,y'"),
        (["--loss", "cubic"], "--loss: expected"),
        (["--batch-size", "0"], "--batch-size: expected a number from 1 to"),
        (["--sets", "--model", "nadaraya-watson"], "--model: expected one that reads sets"),
    ],
)
def test_options_that_mean_nothing_are_one_line(words, message, tmp_path, capsys):
    (tmp_path / "a.csv").write_text("x,price\n" + "".join(f"{n},{n * n}\n" for n in range(30)))
    command = ["train", "regress", "--data", str(tmp_path / "a.csv"), "--run", str(tmp_path / "run"), *WORDS, *words]
    assert main(command) == 2
    assert message in capsys.readouterr().err.splitlines()[-1] and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("old", "line 1: expected a number, got 'old'"),
        ("1 2", "line 1: expected 1 number (x), got 2"),
        ("inf", "line 1: expected a finite number, got inf"),
        ("", "line 1: expected 1 number (x), got none"),
    ],
)
def test_a_question_that_is_none_is_one_line(line, message, tmp_path, capsys):
    run = train([(float(n), float(n * n)) for n in range(30)], tmp_path, "mean")
    capsys.readouterr()
    assert main(["predict", str(run.folder), line]) == 2
    out, err = capsys.readouterr()
    assert err.count("\n") == 1 and message in err and not out.strip()


def test_coverage_is_that_of_the_intervals(tmp_path, capsys):
    run = train([(float(n), float(n * n)) for n in range(300)], tmp_path, "nadaraya-watson", max_steps=1)
    wide, narrow = (run.predict("20", coverage=share)[0] for share in (0.99, 0.2))
    assert wide.lower < narrow.lower < narrow.mean == wide.mean < narrow.upper < wide.upper
    found = run.evaluate("test", coverage=0.2).metrics["coverage"]
    assert found["signature"] == "nominal:0.2" and found["score"] <= run.evaluate("test").metrics["coverage"]["score"]
    for share in ("0", "1", "-1", "nan"):
        assert main(["predict", str(run.folder), "20", "--coverage", share]) == 2
        assert "--coverage: expected a share above 0 and below 1" in capsys.readouterr().err
