import json

import pytest

from saccade import runs
from saccade.errors import ArgumentError
from saccade.models import recurrent
from saccade.reports.alignment.report import Alignment, Options
from saccade.tasks.translate import vocabulary
from saccade.tasks.translate.options import RECIPES

PAIRS = [(f"satz {number} hier", f"here sentence {number}") for number in range(60)]
TINY = {"hidden_dim": 8, "embedding_dim": 6, "max_steps": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return runs.train("translate", data=PAIRS, run=tmp_path_factory.mktemp("runs") / "own", tokenizer="words", **TINY)


def test_a_page_is_made_of_any_run_that_attends_once(run, tmp_path):
    options = Options(run=str(run.folder), text="satz 3 hier", output=str(tmp_path / "report"), threads=1)
    made = Alignment.make(options)
    [row] = json.loads((made.folder / "report.json").read_text())["rows"]
    [told] = run.align("satz 3 hier")
    best = told["translations"][0]
    assert (row["translation"], row["source"], row["steps"]) == (best["text"], told["source_tokens"][:-1], 1)
    assert row["weights"] == [[pytest.approx(each, abs=1e-4) for each in line[:-1]] for line in best["weights"][:-1]]
    again = Alignment.make(options)
    assert made.fresh and not again.fresh and again.text == made.text and row["translation"] in (made.text or "")


def test_quick_trains_a_translator_of_dates(tmp_path, monkeypatch):
    monkeypatch.setattr(vocabulary, "_ENDLESS", 200)
    recipe = {"batch_tokens": 200, "threads": 1, "tokenizer": "characters", "max_steps": 1}
    monkeypatch.setitem(RECIPES, "dates", recipe)
    monkeypatch.setitem(recurrent.RECIPES, "dates", {"hidden_dim": 8, "embedding_dim": 6})
    monkeypatch.setattr("saccade.tasks.translate.data.dates.HELD_OUT", 20)
    made = Alignment.make(Options(quick=True, output=str(tmp_path / "report")))
    content = json.loads((made.folder / "report.json").read_text())
    assert content["rows"][0]["text"] == "mercredi 18 juin 2025" and content["rows"][0]["data"] == "dates"


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


def test_a_blank_text_and_other_runs_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match="--text: expected a sentence, got spaces"):
        Options(text="  ")
    plain = runs.train("translate", data=PAIRS, model="encoder-decoder", run=tmp_path / "plain", **TINY)
    with pytest.raises(ArgumentError, match="--run: expected a model that attends to the source, got encoder-decoder"):
        Alignment.make(Options(run=str(plain.folder)))
    numbers = runs.train(
        "memorize", data="copy", model="lstm", run=tmp_path / "copy", longest=2, max_steps=1, device="cpu"
    )
    with pytest.raises(ArgumentError, match="--run: expected a run of translate, got one of memorize"):
        Alignment.make(Options(run=str(numbers.folder)))
