import json
import re

import pytest

from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.reports.complexity import report
from saccade.reports.complexity.report import Complexity, Options

WORDS = ["report", "complexity", "--lengths", "16", "8", "32", "--width", "8", "--seconds", "0.001", "--threads", "1"]


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Memory from a formula, not from processes; which points were measured."""
    points = []

    def bytes_of(name, point):
        points.append((point.way, point.length, name))
        if name == "convolution":
            raise report.Absent("no room")
        return point.length << 20

    monkeypatch.setattr(report, "bytes_of", bytes_of)
    monkeypatch.chdir(tmp_path)
    return points


def said(folder):
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def test_it_is_made_once_row_by_row(measured, tmp_path, capsys):
    assert main(WORDS) == 0
    out = capsys.readouterr().out
    assert "by its formula" in out and out.endswith("report: reports/complexity\n")
    folder = tmp_path / "reports/complexity"
    content = said(folder)
    assert content["arguments"]["lengths"] == [8, 16, 32] and content["arguments"]["threads"] == 1
    assert [(row["pass"], row["length"]) for row in content["rows"]][:3] == [
        ("forward", 8),
        ("forward+backward", 8),
        ("forward", 16),
    ]
    first = content["rows"][0]["layers"]
    assert first["GRU"]["seconds"] > 0 and first["convolution"]["absent"] == "no room"
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert main(WORDS) == 0 and "is complete already" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before and len(measured) == 18


@pytest.mark.slow
def test_killed_between_rows_it_goes_on_where_it_was(measured, tmp_path, monkeypatch):
    whole, calls = report.prepared, []

    def killing(name, point):
        calls.append(name)
        if len(calls) == 7:  # the third row
            raise KeyboardInterrupt
        return whole(name, point)

    monkeypatch.setattr(report, "prepared", killing)
    assert main(WORDS) == 130
    rows = said(tmp_path / "reports/complexity")["rows"]
    assert len(rows) == 2
    assert main(WORDS) == 0
    again = said(tmp_path / "reports/complexity")["rows"]
    assert again[:2] == rows and len(again) == 6 and len(measured) == len(set(measured)) == 18


def test_heads_have_to_divide_the_width():
    with pytest.raises(ArgumentError, match="--heads: expected a divisor of --width = 256, got 3"):
        Complexity.make(Options(heads=3))


@pytest.mark.slow
def test_other_sizes_are_refused(measured, tmp_path, capsys):
    main(WORDS)
    assert main([*WORDS[:-6], "--width", "16", *WORDS[-4:]]) == 2
    assert "made with --width 8, not 16" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--lengths", "8", "16", "16"], "--lengths: expected 3 or more, from 1 to .*, got 8 16 16"),
        (["--lengths", "0", "8", "16"], "--lengths: expected 3 or more"),
        (["--width", "0"], "--width: expected a number above 0, got 0"),
        (["--seconds", "nan"], "--seconds: expected a number above 0"),
        (["--threads", "0"], "--threads: expected a number above 0"),
        (["--quick", "--width", "8"], "--quick: expected none of --lengths, --width, --batch, --heads, --seconds"),
    ],
)
def test_options_that_mean_nothing(words, complaint, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["report", "complexity", *words]) == 2
    assert re.search(complaint, capsys.readouterr().err)
    assert not list(tmp_path.iterdir())
