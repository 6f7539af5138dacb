"""The job from end to end on tables and sets, and its errors in one line."""

import json

import numpy as np
import pytest
import torch

from saccade import runs
from saccade.cli import main
from saccade.errors import SaccadeError
from saccade.tasks.regress import codec
from saccade.tasks.regress.codec import Sample
from tiers import rest_slow

SHORT = {"max_steps": 2, "warmup_steps": 1, "checkpoint_steps": 2, "validation_steps": 2, "threads": 1, "device": "cpu"}
SHORT["start"] = "none"
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
    drawn = json.loads((tmp_path / "pictures/0-5-0-25-0-125-y1.json").read_text(encoding="utf-8"))
    assert drawn["rows"] == ["weight" if model not in ("mlp", "mean") else "gradient"]
    assert len(drawn["columns"]) == (12 if model in ("nadaraya-watson", "learned-kernel") else 3)


def test_arrays_and_columns_are_inputs_from_python(tmp_path):
    x = np.arange(40.0)
    run = train({"a": x, "b": x[::-1], "y": x * x}, tmp_path)
    rows = np.stack([x[:3], x[3:6]], 1)
    answers = run.predict(["0 3", "1 4", "2 5"])
    assert [answer.mean for answer in run.predict(rows)] == [answer.mean for answer in answers]
    assert run.align({"b": rows[:, 1], "a": rows[:, 0]}) == [answer.to_json() for answer in answers]
    assert run.draw(rows[:1], tmp_path / "pictures")
    with pytest.raises(SaccadeError, match="^inputs: expected texts, rows of numbers, or columns by their names, "):
        run.predict(None)


@pytest.mark.parametrize("model", rest_slow(["set-transformer", "mlp", "mean"]))
def test_sets_of_any_size(model, tmp_path):
    run = train(sets(), tmp_path, model, sets=True)
    one, other = run.predict(["3 1 2", "2,3,1"])
    assert one.mean == pytest.approx(other.mean)
    assert run.results["groups"]["mae"].keys() <= {"1", "2", "3", "4"}
    for line, columns, note in (("3 1 2", 3, False), (" ".join(map(str, range(40))), 12, True)):
        paths = run.draw(line, tmp_path / "p", json=True)
        [svg], [numbers] = ([path for path in paths if path.suffix == end] for end in (".svg", ".json"))
        assert len(json.loads(numbers.read_text())["columns"]) == columns
        assert ("12 of 40 are shown, the largest" in svg.read_text(encoding="utf-8")) == note


def test_models_of_known_points_reject_sets(tmp_path):
    for model in ("nadaraya-watson", "learned-kernel"):
        with pytest.raises(SaccadeError, match=f"--model: expected one that reads sets .*, got {model}; ") as error:
            train(sets(), tmp_path, model, sets=True)
        assert "\n" not in str(error.value) and not (tmp_path / model).exists()


def test_a_training_point_is_predicted_by_all_others(tmp_path, monkeypatch):
    monkeypatch.setattr(codec, "POINTS", 20)
    run = train(table(100), tmp_path, "nadaraya-watson")
    assert 10 < len(run.model.points) <= 20
    batch = run.task.batch(0)
    known = batch.places >= 0
    assert known.any() and not known.all()
    points = run.model.places[batch.places[known]]
    torch.testing.assert_close(points, batch.points.values[known], rtol=1e-5, atol=1e-6)
    kept = set(codec.kept_points(run.task.data.size("train")))
    [in_train, in_test] = (run.task.sampler_of(split).encode([*range(5)]) for split in ("train", "test"))
    assert [sample.point >= 0 for sample in in_train] == [index in kept for index in range(5)]
    assert [sample.point for sample in in_test] == [-1] * 5  # all known points predict it


def test_errors_of_a_split_are_those_of_its_answers(tmp_path):
    run = train(table(200), tmp_path, "nadaraya-watson")
    rows = [run.task.data.example("test", index) for index in range(run.task.data.size("test"))]
    answers = run.predict([row.numbers for row in rows])
    std = run.task.codec.answers_std[0]
    losses = [((answer.mean[0] - row.answers[0]) / std) ** 2 for answer, row in zip(answers, rows, strict=True)]
    hard = run.task.hardest(run.model, "test", 4)
    assert [each.loss for each in hard] == pytest.approx(sorted(losses, reverse=True)[:4], rel=1e-3)


def test_padding_of_sets_changes_no_loss(tmp_path):
    run = train(sets(), tmp_path, "set-transformer", sets=True)
    batch = run.task.codec.collate([Sample((1.0, 2.0), (3.0,)), Sample((4.0,), (5.0,))])
    values, lengths = batch.points
    wider = batch._replace(points=type(batch.points)(torch.nn.functional.pad(values, (0, 3), value=9.0), lengths))
    with torch.inference_mode():
        loss, padded = (run.task.loss(run.model, part).total for part in (batch, wider))
    torch.testing.assert_close(loss, padded, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_several_runs_as_one(tmp_path):
    rows = table()
    first = train(rows, tmp_path, "nadaraya-watson")
    second = train(rows, tmp_path, "set-transformer")
    both = runs.load(first.folder, device="cpu", ensemble=[second.folder], data=rows)
    [mixed] = both.predict("0.5 0.5 0.5")
    single = [run.predict("0.5 0.5 0.5")[0] for run in (first, second)]
    assert mixed.mean[0] == pytest.approx(sum(answer.mean[0] for answer in single) / 2)
    assert mixed.upper[0] - mixed.lower[0] > min(answer.upper[0] - answer.lower[0] for answer in single)
    assert mixed.weights is None and both.draw("0.5 0.5 0.5", tmp_path / "p")
    two = runs.load(first.folder, device="cpu", ensemble=[train(rows, tmp_path / "other", "learned-kernel").folder])
    assert two.draw("0.5 0.5 0.5", tmp_path / "q")
    other = train(table(wide=2), tmp_path / "narrow", "mlp")
    with pytest.raises(SaccadeError, match="expected the features of RUN, got x1, x2"):
        runs.load(first.folder, device="cpu", ensemble=[other.folder])


GOOD = "x,price\n" + "".join(f"{n},{n * n}\n" for n in range(30))


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("x,y\n1,2\n2,2\n3,2\n4,2\n", [], "expected numbers that differ, got 2 in every row"),
        ("x,y\n1,2\nold,3\n3,4\n5,6\n7,8\n", [], "row 3 of {}, column \"x\": expected a number, got 'old'"),
        ("", [], "got an empty file"),
        (GOOD, ["--target", "prise"], "--target: expected a column of"),
        (GOOD, ["--target", ""], "--target: expected names of columns with commas between, got ''"),
        (GOOD, ["--features", "x,,y"], "--features: expected names of columns with commas between, got 'x,,y'"),
        (GOOD, ["--loss", "cubic"], "--loss: expected"),
        (GOOD, ["--batch-size", "0"], "--batch-size: expected a number from 1 to"),
        (GOOD, ["--sets", "--model", "nadaraya-watson"], "--model: expected one that reads sets"),
    ],
)
def test_wrong_tables_and_options_are_one_line(text, words, message, tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert main(["train", "regress", "--data", str(path), "--run", str(tmp_path / "run"), *WORDS, *words]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if "held out" not in line]
    assert message.format(path) in lines[-1] and len(lines) == 1 and not (tmp_path / "run").exists()


def test_a_wrong_line_is_one_line(tmp_path, capsys):
    run = train([(float(n), float(n * n)) for n in range(30)], tmp_path, "mean")
    capsys.readouterr()
    for line, message in (
        ("old", "line 1: expected a number, got 'old'"),
        ("1 2", "line 1: expected 1 number (x), got 2"),
        ("inf", "line 1: expected a finite number, got inf"),
        ("", "line 1: expected 1 number (x), got none"),
    ):
        assert main(["predict", str(run.folder), line]) == 2
        out, err = capsys.readouterr()
        assert err.count("\n") == 1 and message in err and not out.strip()


def test_coverage_is_that_of_the_intervals(tmp_path, capsys):
    run = train([(float(n), float(n * n)) for n in range(300)], tmp_path, "nadaraya-watson", max_steps=1)
    wide, narrow = (run.predict("20", coverage=share)[0] for share in (0.99, 0.2))
    assert wide.lower < narrow.lower < narrow.mean == wide.mean < narrow.upper < wide.upper
    metric = run.evaluate("test", coverage=0.2).metrics["coverage"]
    assert metric["signature"] == "0.2 is expected"
    assert metric["score"] <= run.evaluate("test").metrics["coverage"]["score"]
    for share in ("0", "1", "-1", "nan"):
        assert main(["predict", str(run.folder), "20", "--coverage", share]) == 2
        assert "--coverage: expected a share above 0 and below 1" in capsys.readouterr().err
