import json

import pytest

from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.reports.cnn_attention.report import CNNAttention, Options
from saccade.tasks.image import shapes


@pytest.mark.slow
def test_two_networks_are_trained_measured_and_written_about(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shapes, "HELD_OUT", 20)
    words = ["report", "cnn-attention", "--data", "shapes", "--max-steps", "2", "--output", str(tmp_path / "report")]
    assert main(words) == 0
    assert "accuracy in percent" in capsys.readouterr().out
    report = json.loads((tmp_path / "report/report.json").read_text())
    assert [row["images"] for row in report["rows"]] == [20, 20] and len(report["runs"]) == 2
    for name in ("index.md", "index.html", "cnn-attention.png", "cnn-attention.svg"):
        assert (tmp_path / "report" / name).stat().st_size > 500
    before = (tmp_path / "report/report.json").read_bytes()
    assert main(words) == 0 and (tmp_path / "report/report.json").read_bytes() == before  # complete: nothing is done


def test_data_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match="no data set"):
        CNNAttention.make(Options(data=str(tmp_path / "none"), output=str(tmp_path / "report")))
    assert not (tmp_path / "report").exists()
