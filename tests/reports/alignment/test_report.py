import json
import re
import shlex
from pathlib import Path

import pytest
import torch

from saccade import runs
from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.look import shares
from saccade.models import recurrent
from saccade.reports.alignment.report import Alignment, Options
from saccade.reports.folder import ReportError
from saccade.tasks.translate import Translate, vocabulary
from saccade.tasks.translate.gradients import jacobian
from saccade.tasks.translate.options import RECIPES
from saccade.train.run import Run
from saccade.train.trained import load_trained

DOCS = Path(__file__).resolve().parents[3] / "docs/reports.md"
PAIRS = [(f"satz {number} hier", f"here sentence {number}") for number in range(60)]
TINY = {"hidden_dim": 8, "embedding_dim": 6, "max_steps": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return runs.train("translate", data=PAIRS, run=tmp_path_factory.mktemp("runs") / "own", tokenizer="words", **TINY)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A run whose model does not attend."""
    folder = tmp_path_factory.mktemp("runs") / "plain"
    return runs.train("translate", data=PAIRS, model="encoder-decoder", run=folder, tokenizer="words", **TINY)


@pytest.fixture
def few(monkeypatch):
    """What --quick trains, for a step on few dates."""
    monkeypatch.setattr(vocabulary, "_ENDLESS", 200)
    recipe = {"batch_tokens": 200, "threads": 1, "tokenizer": "characters", "max_steps": 1}
    monkeypatch.setitem(RECIPES, "dates", recipe)
    monkeypatch.setitem(recurrent.RECIPES, "dates", {"hidden_dim": 8, "embedding_dim": 6})
    monkeypatch.setattr("saccade.tasks.translate.data.dates.HELD_OUT", 20)


def said(folder):
    """What report.json says of the sentence."""
    [row] = json.loads((folder / "report.json").read_text(encoding="utf-8"))["rows"]
    return row


def moved(run, text):
    """What moves the translation of a text, by the run's own model, ends left out."""
    trained = load_trained(Translate, Run.open(run.folder), torch.device("cpu"))
    source = trained.task.read(text, 1)
    [found] = trained.task.answer(trained.model, [source], None)
    return shares(jacobian(trained.model, source.ids, found.outputs[0].ids))[:-1, :-1].tolist()


def test_a_page_is_made_of_any_run_that_attends_once(run, tmp_path):
    options = Options(run=str(run.folder), text="satz 3 hier", output=str(tmp_path / "report"), threads=1)
    made = Alignment.make(options)
    row = said(made.folder)
    [told] = run.align("satz 3 hier")
    best = told["translations"][0]
    assert (row["translation"], row["source"], row["steps"]) == (best["text"], told["source_tokens"][:-1], 1)
    assert row["weights"] == [[pytest.approx(each, abs=1e-4) for each in line[:-1]] for line in best["weights"][:-1]]
    again = Alignment.make(options)
    assert made.fresh and not again.fresh and again.text == made.text and row["translation"] in (made.text or "")
    assert row["by"] == "attention"


def test_a_run_without_attention_is_read_by_its_jacobian(plain, tmp_path):
    made = Alignment.make(Options(run=str(plain.folder), text="satz 3 hier", output=str(tmp_path / "report")))
    row = said(made.folder)
    assert row["by"] == "jacobian" and row["model"] == "encoder-decoder" and len(row["source"]) == 3
    assert row["weights"] == [pytest.approx(line, abs=1e-4) for line in moved(plain, "satz 3 hier")]
    page = (made.folder / "index.md").read_text(encoding="utf-8")
    assert "moved most by" in page and "attend" not in page and "moved most by" in (made.text or "")


def test_an_attending_run_is_read_in_both_ways(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = {"run": str(run.folder), "text": "satz 3 hier", "threads": 1}
    first, second = Alignment.make(Options(**asked)), Alignment.make(Options(**asked, by="jacobian"))
    assert [made.folder.name for made in (first, second)] == ["alignment-own", "alignment-own-jacobian"]
    (plain, row), same = (said(made.folder) for made in (first, second)), ("text", "translation", "source", "target")
    assert [plain[key] for key in same] == [row[key] for key in same] and plain["weights"] != row["weights"]
    assert row["weights"] == [pytest.approx(line, abs=1e-4) for line in moved(run, "satz 3 hier")]
    with pytest.raises(ReportError, match="made with --by attention, not jacobian"):
        Alignment.make(Options(**asked, by="jacobian", output=str(first.folder)))
    assert not Alignment.make(Options(**asked, by="attention")).fresh  # which is what is read if nothing is said


def test_report_of_before_there_was_choice_is_of_attention(run, tmp_path):
    asked = {"run": str(run.folder), "text": "satz 3 hier", "threads": 1, "output": str(tmp_path / "report")}
    file = Alignment.make(Options(**asked)).folder / "report.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    del content["arguments"]["by"], content["rows"][0]["by"]
    file.write_text(json.dumps(content), encoding="utf-8")
    assert not Alignment.make(Options(**asked)).fresh
    with pytest.raises(ReportError, match="made with --by attention, not jacobian"):
        Alignment.make(Options(**asked, by="jacobian"))


@pytest.mark.slow
@pytest.mark.parametrize("by", [None, "jacobian"])
def test_quick_trains_a_translator_of_dates(by, few, tmp_path):
    made = Alignment.make(Options(quick=True, by=by, output=str(tmp_path / "report")))
    row = said(made.folder)
    assert (row["text"], row["data"], row["by"]) == ("mercredi 18 juin 2025", "dates", by or "attention")


@pytest.mark.slow
def test_every_command_of_the_docs_runs(run, few, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/fr").symlink_to(run.folder)
    section = DOCS.read_text(encoding="utf-8").partition("\n## Alignment: ")[2].partition("\n## ")[0]
    commands = re.findall(r"^saccade (report alignment .*)$", section, flags=re.M)
    assert len(commands) == 3
    assert all(main([*shlex.split(command), "--threads", "1"]) == 0 for command in commands)
    folders = sorted(path.name for path in (tmp_path / "reports").iterdir())
    assert folders == ["alignment-fr", "alignment-fr-jacobian", "alignment-quick"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "--run: expected the folder of a translation run, or --quick, got neither"),
        ({"run": "runs/a", "quick": True}, "--run: expected the folder of a translation run, or --quick, got both"),
    ],
)
def test_a_run_is_named_or_quick_makes_one(options, message):
    with pytest.raises(ArgumentError, match=message):
        Alignment.make(Options(**options))


def test_blank_text_another_way_and_other_runs_are_refused(plain, tmp_path):
    with pytest.raises(ArgumentError, match="--text: expected a sentence, got spaces"):
        Options(text="  ")
    with pytest.raises(ArgumentError, match="--by: expected attention or jacobian, got gradients"):
        Options(by="gradients")
    with pytest.raises(ArgumentError, match="--by: expected jacobian of a model that does not attend, got attention"):
        Alignment.make(Options(run=str(plain.folder), by="attention", output=str(tmp_path / "report")))
    assert not (tmp_path / "report").exists()
    numbers = runs.train(
        "memorize", data="copy", model="lstm", run=tmp_path / "copy", longest=2, max_steps=1, device="cpu"
    )
    with pytest.raises(ArgumentError, match="--run: expected a run of translate, got one of memorize"):
        Alignment.make(Options(run=str(numbers.folder)))
