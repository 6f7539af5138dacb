import json
import re
import shlex
from pathlib import Path

import pytest
import torch

from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.reports import training
from saccade.reports.memory import report
from saccade.reports.memory.findings import CONTENT, LOCATION, LSTM, NTM
from saccade.reports.memory.report import VARIANTS, Memory, Options
from saccade.reports.training import settings
from saccade.tasks.memorize import Memorize
from saccade.tasks.memorize.data import made
from saccade.train.results import measure
from saccade.train.run import Run
from saccade.train.task import options_class
from saccade.train.trained import load_trained

DOCS = Path(__file__).resolve().parents[3] / "docs/reports.md"
_train = training.train
SMALL = {"hidden_dim": 8, "heads": 2, "layers": 1, "feedforward_dim": 8, "cell_dim": 4, "batch_size": 4}


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Models of next to nothing, few steps whatever is asked, and few questions."""
    monkeypatch.setattr(made, "HELD_OUT", 10)
    monkeypatch.setattr("saccade.tasks.memorize.task._ENDLESS", 20)
    monkeypatch.setattr(training, "train", lambda kind, options, given: _trained(kind, options, given))
    monkeypatch.chdir(tmp_path)


def _trained(kind, options, given):
    names = type(options).__dataclass_fields__
    little = {name: value for name, value in SMALL.items() if name in names}
    return _train(kind, type(options)(**{**vars(options), **little, "max_steps": 2, "max_minutes": None}), given=given)


def said(folder):
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_quick_trains_measures_and_writes(small, tmp_path, capsys):
    assert main(["report", "memory", "--quick"]) == 0
    folder = tmp_path / "reports/memory-copy-quick"
    content = said(folder)
    assert [row["model"] for row in content["rows"]] == [NTM, CONTENT, LOCATION, LSTM]
    for row in content["rows"]:
        assert list(row["lengths"]) == ["1-10", "10", "20", "40", "60"]
        assert all(one["sequences"] == len(one["wrong"].split()) == 2 for one in row["lengths"].values())
        assert row["lengths"]["60"]["asked"] == 2 * 60 * 8
    out = capsys.readouterr().out
    assert "bits wrong on test in percent" in out and "nothing can be concluded" in out
    for name in ("index.md", "index.html", "memory.png", "memory-addressing.svg"):
        assert (folder / name).stat().st_size > 500
    before = (folder / "report.json").read_bytes()
    assert main(["report", "memory", "--quick"]) == 0 and (folder / "report.json").read_bytes() == before
    assert main(["report", "memory", "--quick", "--longest", "5"]) == 2 and "made with" in capsys.readouterr().err
    _rows_are_what_the_runs_themselves_measure(folder, content)


def _rows_are_what_the_runs_themselves_measure(folder, content):
    """The same bits are wrong as by the task's own evaluation, and cost as much."""
    for row, name in zip(content["rows"], content["runs"], strict=True):
        trained = load_trained(Memorize, Run.open(folder / "runs" / name), torch.device("cpu"))
        groups = measure(trained.task, trained.model, "test", 1).groups
        for group, one in row["lengths"].items():
            assert one["bit_error"] == pytest.approx(groups["bit_error"][group], abs=1e-9)
            assert one["bits"] == pytest.approx(groups["bits"][group], abs=1e-4)
            assert one["bit_error"] * one["asked"] == pytest.approx(sum(map(int, one["wrong"].split())))


@pytest.mark.slow
def test_a_command_of_the_docs_reads_the_other_data(small, tmp_path, capsys):
    section = DOCS.read_text(encoding="utf-8").partition("\n## Memory: ")[2].partition("\n## ")[0]
    commands = re.findall(r"^saccade (report memory .*)$", section, flags=re.M)
    [command] = [command for command in commands if "--data recall" in command]
    assert main([*shlex.split(command), "--seeds", "1"]) == 0
    assert "nothing can be concluded" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "reports").iterdir()] == ["memory-recall"]
    recall = said(tmp_path / "reports/memory-recall")
    assert [row["model"] for row in recall["rows"]] == [one.name for one in VARIANTS]
    assert all(list(row["lengths"]) == ["2-6", "6", "9", "12", "15"] for row in recall["rows"])
    assert "items" in (tmp_path / "reports/memory-recall/index.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"data": "sort"}, "--data: expected copy or recall, whose questions have lengths to compare, got sort"),
        ({"data": "no/such"}, "--data: expected copy or recall"),
        ({"data": "copy", "longest": 21}, "--longest: expected at most 20, .* got 21"),
        ({"data": "recall", "longest": 7}, "--longest: expected at most 6, .* got 7"),
        ({"data": "recall", "longest": 1}, "--longest: expected a number from 2"),
    ],
)
def test_what_cannot_be_compared_is_refused(options, said, tmp_path):
    with pytest.raises(ArgumentError, match=said):
        Memory.make(Options(**options, output=str(tmp_path / "report")))
    assert not (tmp_path / "report").exists()


def test_quick_is_of_copy_alone(capsys):
    assert main(["report", "memory", "--quick", "--data", "recall"]) == 2
    assert "--quick: expected no --data but copy" in capsys.readouterr().err


@pytest.mark.parametrize("options", [Options(data="copy"), Options(data="recall", max_steps=10), Options(quick=True)])
def test_every_model_has_the_options_that_it_is_given(options):
    found = report._variants(options)
    for one in found:
        assert set(one.values) <= set(options_class(Memorize, one.model).__dataclass_fields__), one.name
    assert [one.values.get("by") for one in found[:3]] == [None, "content", "location"]


def test_a_model_has_its_recipe_but_for_what_heads_go_by(tmp_path):
    options = Options(data="copy")
    every = [settings(options, one, 1, tmp_path, 40.0, Memorize) for one in report._variants(options)]
    both, content, location = (vars(each) for each in every[:3])
    assert (
        {key for key in both if both[key] != content[key]}
        == {"by"}
        == {key for key in both if both[key] != location[key]}
    )
    assert all(each.max_steps == every[0].max_steps and each.batch_size == 16 for each in every)


def test_quick_models_end_by_steps_or_three_minutes(tmp_path):
    options = Options(quick=True, data="copy")
    found = report._variants(options)
    every = [settings(options, one, 1, tmp_path, training.QUICK_MINUTES / len(found), Memorize) for one in found]
    assert {each.max_steps for each in every} == {each.schedule_steps for each in every} == {1200}
    assert sum(each.max_minutes for each in every) == pytest.approx(3.0) and {each.longest for each in every} == {10}
