import json
from dataclasses import replace

import pytest

from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.reports.glimpses import noise, report
from saccade.reports.glimpses.report import Glimpses, Options
from saccade.tasks.glimpse import data as glimpse_data
from saccade.tasks.image.dataset import InMemory, Part
from saccade.tasks.image.digits import open_digits

SMALL = {"glimpses": 2, "patch": 4, "scales": 2, "hidden_dim": 8, "glimpse_dim": 4}


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Eyes of next to nothing, on few digits."""
    digits = open_digits()
    few = {split: Part(part.images[:20], part.codes[:20]) for split, part in digits.parts.items()}
    monkeypatch.setattr(glimpse_data, "open_digits", lambda: InMemory(few, digits.labels, ""))
    chosen = {"policies": ("ram", "random"), "glimpses": (), "scales": (), "pieces": (0, 4), "among": ("whole",)}
    sweep = replace(report.FULL, eye=SMALL, **chosen)
    monkeypatch.setattr(report, "FULL", sweep)
    monkeypatch.setattr(noise, "GROUPS", 2)
    monkeypatch.setattr(noise, "DRAWS", 2)
    monkeypatch.chdir(tmp_path)
    return sweep


@pytest.mark.slow
def test_eyes_are_trained_measured_and_written_about(small, tmp_path, capsys):
    words = ["report", "glimpses", "--data", "translated", "--canvas", "32", "--max-steps", "2"]
    assert main(words) == 0
    folder = tmp_path / "reports/glimpses-translated"
    content = json.loads((folder / "report.json").read_text())
    names = ["ram", "random", "whole, 4 pieces"]
    assert [run["model"] for run in content["runs"].values()] == names and len(content["rows"]) == 2 * len(names)
    rows = {row["model"]: row for row in content["rows"] if row["measured"] == "paths"}
    assert [rows[name]["pieces"] for name in ("ram", "whole, 4 pieces")] == [0, 4]
    assert rows["ram"]["deviation"] == 0.05 and rows["whole, 4 pieces"]["deviation"] is None
    assert rows["ram"]["entropy"] < rows["random"]["entropy"] and rows["whole, 4 pieces"]["entropy"] is None
    config = json.loads((folder / "runs/ram-1/config.json").read_text())["options"]
    said = {"schedule_steps": 2, "batch_size": 128, "samples": 1, "baseline": "learned", "canvas": 32, **SMALL}
    assert said.items() <= config.items()
    noises = {row["model"]: list(row["estimators"]) for row in content["rows"] if row["measured"] == "noise"}
    assert noises["ram"] == list(noise.ESTIMATORS) and noises["random"] == noises["whole, 4 pieces"] == []
    assert "the eye errs on" in capsys.readouterr().out
    for name in ("index.md", "index.html", "glimpses.png", "glimpses.svg"):
        assert (folder / name).stat().st_size > 500
    before = (folder / "report.json").read_bytes()
    assert main(words) == 0 and (folder / "report.json").read_bytes() == before  # complete: nothing is done


def test_data_without_a_test_split_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match="no data set"):
        Glimpses.make(Options(data=str(tmp_path / "none"), output=str(tmp_path / "report")))
    assert not (tmp_path / "report").exists()
