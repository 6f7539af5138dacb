import json
import re

import pytest

from saccade.cli import main
from saccade.reports.scaling import report
from saccade.reports.scaling.answering import MODELS
from saccade.tasks.glimpse import data as glimpse_data
from saccade.tasks.image.dataset import InMemory, Part
from saccade.tasks.image.digits import open_digits


@pytest.mark.slow
def test_answers_are_timed_at_unseen_sizes(tmp_path, monkeypatch, capsys):
    digits = open_digits()
    few = {split: Part(part.images[:20], part.codes[:20]) for split, part in digits.parts.items()}
    monkeypatch.setattr(glimpse_data, "open_digits", lambda: InMemory(few, digits.labels, ""))
    monkeypatch.setattr(report, "_SIDES", (28, 40, 56))
    monkeypatch.setattr(report, "_EYES", ("tiles",))
    monkeypatch.chdir(tmp_path)
    words = ["report", "scaling", "--data", "translated", "--max-steps", "2", "--seconds", "0.001"]
    assert main(words) == 0
    assert "millions of operations" in capsys.readouterr().out
    folder = tmp_path / "reports/scaling-translated"
    rows = json.loads((folder / "report.json").read_text())["rows"]
    assert [row["side"] for row in rows] == [28, 40, 56, 60, 100, 200]
    assert list(rows[0]["models"]) == list(MODELS) and rows[0]["models"]["RAM"]["seconds"] > 0
    for name in ("index.md", "index.html", "scaling.png", "scaling.svg"):
        assert (folder / name).stat().st_size > 500
    before = (folder / "report.json").read_bytes()
    assert main(words) == 0 and (folder / "report.json").read_bytes() == before  # complete: nothing is done


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--data", "digits"], "--data: expected translated or cluttered, got digits"),
        (["--data", "translated", "--canvas", "80"], "--canvas: expected 60, which others are compared with, got 80"),
        (["--data", "translated", "--seconds", "0"], "--seconds: expected a number above 0"),
    ],
)
def test_options_that_mean_nothing(words, complaint, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["report", "scaling", *words]) == 2
    assert re.search(complaint, capsys.readouterr().err) and not list(tmp_path.iterdir())
