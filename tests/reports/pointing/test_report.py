import json

import pytest

from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.reports.pointing import report
from saccade.reports.pointing.report import VARIANTS, Options, Pointing
from saccade.reports.training import Variant
from saccade.tasks.answer import AnswerQuestions, vocabulary
from saccade.tasks.answer.data import scenes
from saccade.train.task import options_class

SMALL = {"widths": "4,6", "cell_dim": 6, "hidden_dim": 6, "batch_size": 4, "validation_examples": 4}


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Models of next to nothing, on few questions."""
    monkeypatch.setattr(scenes, "HELD_OUT", 12)
    monkeypatch.setattr(vocabulary, "_ENDLESS", 150)
    monkeypatch.setattr("saccade.tasks.answer.task._ENDLESS", 150)
    monkeypatch.setattr("saccade.tasks.image.dataset._SEEN", 5)
    monkeypatch.setattr(report, "VARIANTS", [Variant(one.name, one.model, {**one.values, **SMALL}) for one in VARIANTS])
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_models_are_trained_measured_and_written_about(small, tmp_path, capsys):
    words = ["report", "pointing", "--data", "scenes", "--max-steps", "2"]
    assert main(words) == 0
    folder = tmp_path / "reports/pointing-scenes"
    content = json.loads((folder / "report.json").read_text())
    names = ["soft", "sparsemax", "reinforce", "word by word", "fixed vector"]
    assert [row["model"] for row in content["rows"]] == names == [run["model"] for run in content["runs"].values()]
    orders = {row["model"]: [*row["erased"]] for row in content["rows"]}
    assert orders["soft"] == ["random", "weights", "gradient", "things", "other things", "any things"]
    assert orders["fixed vector"] == ["random", "gradient", "things", "other things", "any things"]
    options = {name: json.loads((folder / f"runs/{name}-1/config.json").read_text())["options"] for name in names[:3]}
    assert options["sparsemax"]["normalizer"] == "sparsemax" and options["reinforce"]["read"] == "reinforce"
    assert {"schedule_steps": 2, "max_steps": 2, "read": "soft"}.items() <= options["soft"].items()
    assert "lost beyond random" in capsys.readouterr().out
    for name in ("index.md", "index.html", "pointing.png", "pointing.svg"):
        assert (folder / name).stat().st_size > 500
    before = (folder / "report.json").read_bytes()
    assert main(words) == 0 and (folder / "report.json").read_bytes() == before  # complete: nothing is done


def test_data_of_which_nobody_knows_what_matters_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match="--data: expected scenes, of which it is known .*, got easy_vqa"):
        Pointing.make(Options(data="easy_vqa", output=str(tmp_path / "report")))
    assert not (tmp_path / "report").exists()


def test_every_model_has_the_options_that_it_is_given():
    for options in (Options(data="scenes", max_steps=10), Options(quick=True, data="scenes")):
        for one in report._variants(options):
            flat = options_class(AnswerQuestions, one.model).__dataclass_fields__
            assert set(one.values) <= set(flat), one.name
    quick = report._variants(Options(quick=True, data="scenes"))
    assert [one.name for one in quick] == ["soft", "fixed vector"] and quick[0].values["widths"] == "24,32"
