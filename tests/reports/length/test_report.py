import json
from dataclasses import replace
from unittest.mock import Mock

import pytest

from saccade.errors import ArgumentError
from saccade.reports import training
from saccade.reports.folder import ReportError
from saccade.reports.length import report as length
from saccade.reports.length.report import MODELS, Length, Options


@pytest.fixture
def options(tmp_path, corpus):
    return Options(data=str(corpus), source="de", target="en", output=str(tmp_path / "report"), max_steps=2)


def said(folder):
    """report.json without what differs from one time to another."""
    content = json.loads((folder / "report.json").read_text())
    rows = [{key: row[key] for key in row.keys() - {"seconds", "command"}} for row in content["rows"]]
    return content["arguments"], rows, [(run["model"], run["steps"]) for run in content["runs"].values()]


def test_a_report_is_made_once_and_says_the_same_again(options, tmp_path):
    made = Length.make(options)
    before = {path: path.read_bytes() for path in made.folder.rglob("*") if path.is_file()}
    _, rows, runs = said(made.folder)
    assert runs == [(model, 2) for model in MODELS]
    assert [row["lengths"] for row in rows] == ["1-5", "6-10"] * 2 and sum(row["sentences"] for row in rows) == 24
    assert all(row["metric"] == "bleu" and row["signature"].startswith("nrefs:1") for row in rows)
    again = Length.make(options)
    assert made.fresh and not again.fresh and again.text == made.text
    assert {path: path.read_bytes() for path in made.folder.rglob("*") if path.is_file()} == before


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, 3])
def test_killed_between_rows_it_goes_on_where_it_was(options, tmp_path, monkeypatch, rows):
    whole = Length.make(Options(**{**vars(options), "output": str(tmp_path / "whole")}))
    measured, train, calls = length.measured, training.train, {"rows": 0, "runs": []}

    def counted(*arguments):
        if calls["rows"] == rows and calls["kill"]:
            raise KeyboardInterrupt
        calls["rows"] += 1
        return measured(*arguments)

    def recorded(kind, settings, **more):
        outcome = train(kind, settings, **more)
        calls["runs"] += [settings.model] * outcome.fresh
        return outcome

    monkeypatch.setattr(length, "measured", counted)
    monkeypatch.setattr(training, "train", recorded)
    calls["kill"] = True
    with pytest.raises(KeyboardInterrupt):
        Length.make(options)
    assert len(said(tmp_path / "report")[1]) == rows
    calls["kill"] = False
    made = Length.make(options)
    assert calls == {"rows": 4, "runs": list(MODELS), "kill": False}
    assert said(made.folder) == said(whole.folder) and made.text == whole.text


def test_a_stop_in_training_is_no_result(options, monkeypatch):
    class Stopped:
        results = None

    monkeypatch.setattr(training, "train", lambda kind, settings, **more: Stopped())
    assert Length.make(options).text is None


def test_both_models_have_one_recipe(options, tmp_path):
    first, second = (vars(training.settings(options, one, 1, tmp_path, 40.0)) for one in length.VARIANTS)
    assert {name for name in first.keys() & second.keys() if first[name] != second[name]} == {"model"}
    assert first["hidden_dim"] == 16 and first["max_steps"] == 2


@pytest.mark.slow
def test_more_seeds_go_on_and_the_page_is_written_anew(options, monkeypatch):
    Length.make(options)
    more = replace(options, seeds=2)
    with monkeypatch.context() as patch:
        patch.setattr(length, "write_page", Mock(side_effect=KeyboardInterrupt))  # all rows are there, the page is old
        with pytest.raises(KeyboardInterrupt):
            Length.make(more)
    made = Length.make(more)
    assert "Seeds: 1, 2." in (made.folder / "index.md").read_text()
    assert "--seeds 2" in (made.folder / "index.md").read_text()
    runs = json.loads((made.folder / "report.json").read_text())["runs"]
    assert [run["seed"] for run in runs.values()] == [1, 1, 2, 2]
    with pytest.raises(ReportError, match="made with --seeds 2, not 1"):
        Length.make(options)


@pytest.mark.slow
def test_other_data_are_refused_and_same_elsewhere_are_not(options, corpus, tmp_path):
    Length.make(options)
    moved = corpus.rename(tmp_path / "moved")
    assert not Length.make(Options(**{**vars(options), "data": str(moved)})).fresh
    (moved / "test.en").write_text("x\n" * 12)
    with pytest.raises(ReportError, match="made with --data .* not "):
        Length.make(Options(**{**vars(options), "data": str(moved)}))


def test_data_that_cannot_be_read_leave_nothing(tmp_path):
    with pytest.raises(ArgumentError, match="did you mean dates"):
        Length.make(Options(data="datse", output=str(tmp_path / "r")))
    with pytest.raises(ArgumentError, match="--data: expected a corpus, got none"):
        Length.make(Options(output=str(tmp_path / "r")))
    assert not list(tmp_path.iterdir())
