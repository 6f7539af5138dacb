import json

import pytest

from saccade.errors import ArgumentError
from saccade.models import bytenet, recurrent, transformer
from saccade.reports import training
from saccade.reports.implicit import report
from saccade.reports.implicit.report import VARIANTS, Implicit, Options
from saccade.tasks.translate import vocabulary
from saccade.tasks.translate.options import RECIPES


@pytest.fixture
def tiny(monkeypatch):
    """Recipes for models of next to nothing, measured on few dates."""
    monkeypatch.setattr(vocabulary, "_ENDLESS", 200)
    monkeypatch.setitem(RECIPES, "dates", {"batch_tokens": 200, "threads": 1, "tokenizer": "characters"})
    monkeypatch.setitem(recurrent.RECIPES, "dates", {"hidden_dim": 8, "embedding_dim": 6})
    monkeypatch.setitem(bytenet.RECIPES, "dates", {"hidden_dim": 4, "max_dilation": 1, "sets": 1})
    sizes = {"hidden_dim": 8, "heads": 2, "layers": 1, "feedforward_dim": 8}
    monkeypatch.setitem(transformer.RECIPES, "dates", sizes)
    monkeypatch.setattr("saccade.tasks.translate.data.dates.HELD_OUT", 20)


@pytest.mark.slow
def test_a_report_is_made_and_killed_goes_on_where_it_was(tiny, tmp_path, monkeypatch):
    options = Options(data="dates", output=str(tmp_path / "report"), max_steps=1, sentences=2)
    measured, train, trained = report.measured, training.train, []

    def killed(task, model, pairs):
        if task.settings.model == "bytenet":
            raise KeyboardInterrupt
        return measured(task, model, pairs)

    def recorded(kind, settings, **more):
        outcome = train(kind, settings, **more)
        trained.extend([settings.model] * outcome.fresh)
        return outcome

    monkeypatch.setattr(training, "train", recorded)
    monkeypatch.setattr(report, "measured", killed)
    with pytest.raises(KeyboardInterrupt):
        Implicit.make(options)
    monkeypatch.setattr(report, "measured", measured)
    made = Implicit.make(options)
    assert trained == [variant.name for variant in VARIANTS]
    rows = json.loads((made.folder / "report.json").read_text())["rows"]
    assert [row["model"] for row in rows] == trained and all(row["sentences"] == 2 for row in rows)
    assert made.fresh and not Implicit.make(options).fresh and "nothing can be concluded" in (made.text or "")


def test_quick_has_time_for_three_models_and_few_sentences():
    quick = Options(quick=True, data="dates")
    assert [variant.name for variant in report._variants(quick)] == ["rnnsearch", "encoder-decoder", "bytenet"]
    assert len(report._variants(Options(data="dates"))) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"sentences": 1}, "--sentences: expected 2 or more, got 1"),
        ({"quick": True, "data": "trees"}, "--quick: expected no --data but dates or several-dates and no budget"),
    ],
)
def test_what_means_nothing_is_refused(words, message):
    with pytest.raises(ArgumentError, match=message):
        Options(**words)


def test_other_data_are_refused(tmp_path):
    expected = "--data: expected dates or several-dates, of which it is known which word decides each output, got trees"
    with pytest.raises(ArgumentError, match=expected):
        Implicit.make(Options(data="trees", output=str(tmp_path / "report")))
