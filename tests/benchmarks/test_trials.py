"""Trials: a run is trained once, a row is kept once, and a table says what the file says."""

import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def trials(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("trials")


def row(setting, seed, accuracy):
    scores = {"word_accuracy": {"validation": accuracy, "test": 0.25}}
    return {"setting": setting, "seed": seed, "steps": 1200, "parameters": 34000, "seconds": 5.4, **scores}


def test_row_takes_place_of_same_setting_and_table_is_files(trials, tmp_path):
    path = tmp_path / "results/trials.json"
    assert trials.rows_of(path) == []
    for one in (row("small", 1, 0.5), row("small", 2, 0.75), row("small", 1, 0.875)):
        trials.keep(path, one, ("setting", "seed"))
    assert trials.rows_of(path) == [row("small", 2, 0.75), row("small", 1, 0.875)]
    lines = list(trials.table_of(trials.rows_of(path), {"setting": "`{}`", "seed": "{}"}, "word_accuracy", "rate", 2))
    assert lines == [
        "| setting | seed | validation rate | test rate | steps | parameters | seconds |",
        "|---|---|---|---|---|---|---|",
        "| `small` | 2 | 0.75 | 0.25 | 1,200 | 34,000 | 5 |",
        "| `small` | 1 | 0.88 | 0.25 | 1,200 | 34,000 | 5 |",
    ]


def test_what_is_trained_is_not_trained_again(trials, tmp_path, monkeypatch):
    times = []

    def train(task, **options):
        times.append((task, options["run"], options["seed"]))
        about = dict.fromkeys(("parameters", "steps", "seconds", "seed", "hardware", "versions"), 1)
        metrics = {"bleu": {"score": 3.0, "signature": ""}}
        return type("Run", (), {"results": {"metrics": metrics, "validation": {"bleu": 4.0}, **about}})

    monkeypatch.setattr(trials.runs, "train", train)
    found = trials.trained("translate", "bleu", tmp_path / "a", tmp_path, "luong", {"seed": 2})
    assert found["bleu"] == {"validation": 4.0, "test": 3.0} and found["options"] == {"seed": 2}
    assert times == [("translate", tmp_path / "a", 2)]
