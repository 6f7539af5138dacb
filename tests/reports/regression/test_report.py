import json

import pytest

from saccade.cli import main
from saccade.reports.regression import report

WORDS = [
    "report",
    "regression",
    "--counts",
    "16",
    "8",
    "32",
    "--seeds",
    "2",
    "--learned",
    "1",
    "--steps",
    "2",
    "--threads",
    "1",
]


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Errors from a formula; which estimates were made."""
    made = []

    def estimate(way, points, folder, steps):
        made.append((way, len(points.x), points.seed))
        return {"mse": len(points.x) ** -0.8, "bandwidth": 0.1}

    monkeypatch.setattr(report, "estimate", estimate)
    monkeypatch.chdir(tmp_path)
    return made


def said(tmp_path):
    return json.loads((tmp_path / "reports/regression/report.json").read_text(encoding="utf-8"))


def test_it_is_made_once_row_by_row_and_more_seeds_go_on(measured, tmp_path, capsys):
    assert main(WORDS) == 0
    out = capsys.readouterr().out
    assert "by the theory" in out and out.endswith("report: reports/regression\n")
    content = said(tmp_path)
    assert content["arguments"]["counts"] == [8, 16, 32] and len(content["rows"]) == 2 * 3 * 3 + 3
    assert main(WORDS) == 0 and "is complete already" in capsys.readouterr().err
    assert len(measured) == len(set(measured)) == 21
    more = [*WORDS[:6], "--seeds", "3", *WORDS[8:]]
    assert main(more) == 0 and len(measured) == len(set(measured)) == 30 and len(said(tmp_path)["rows"]) == 30


def test_killed_between_rows_it_goes_on_where_it_was(measured, tmp_path, monkeypatch):
    whole = report.estimate

    def killing(way, points, folder, steps):
        if len(measured) == 7:
            raise KeyboardInterrupt
        return whole(way, points, folder, steps)

    with monkeypatch.context() as patch:
        patch.setattr(report, "estimate", killing)
        assert main(WORDS) == 130 and len(said(tmp_path)["rows"]) == 7
    assert main(WORDS) == 0 and len(measured) == len(set(measured)) == 21


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--counts", "8", "16"], "--counts: expected 3 or more, from 8 to 20000, got 8 16"),
        (["--counts", "1", "8", "16"], "--counts: expected 3 or more"),
        (["--seeds", "0"], "--seeds: expected a number above 0, got 0"),
        (["--learned", "-1"], "--learned: expected a number from 0 on, got -1"),
        (["--quick", "--seeds", "3"], "--quick: expected none of --counts, --seeds, --learned, --steps beside it"),
    ],
)
def test_options_that_mean_nothing(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", "regression", *words]) == 2
    assert message in capsys.readouterr().err and not list(tmp_path.iterdir())
