import json
import re
import shlex
from pathlib import Path

import pytest

from saccade.cli import main
from saccade.reports.direct import Budget
from saccade.reports.fast_weights import report
from saccade.reports.fast_weights.layers import ATTENTION, DENSE, LAYERS

DOCS = Path(__file__).resolve().parents[3] / "docs/reports.md"


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Two steps of every training, with few pairs."""
    monkeypatch.setattr(report, "_BUDGET", Budget(2, 1.0))
    monkeypatch.setattr(report, "_QUICK", Budget(2, 1.0))
    monkeypatch.setattr(report, "PAIRS", (2, 3))
    monkeypatch.chdir(tmp_path)


def said(folder):
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def test_quick_makes_every_row_once_and_the_page(small, tmp_path, capsys):
    words = ["report", "fast-weights", "--quick", "--seeds", "2", "--threads", "1"]
    assert main(words) == 0
    folder = tmp_path / "reports/fast-weights-quick"
    assert [(row["model"], row["seed"]) for row in said(folder)["rows"]] == [
        (name, seed) for seed in (1, 2) for name in (ATTENTION, DENSE)
    ]
    assert "every layer is a matrix, of its input, times it: reproduced" in capsys.readouterr().out
    for name in ("index.md", "index.html", "fast-weights.png", "fast-weights-matrices.svg"):
        assert (folder / name).stat().st_size > 500
    before = (folder / "report.json").read_bytes()
    assert main(words) == 0 and (folder / "report.json").read_bytes() == before
    assert "complete already" in capsys.readouterr().err


@pytest.mark.slow
def test_every_command_of_the_docs_runs(small, tmp_path):
    section = DOCS.read_text(encoding="utf-8").partition("\n## Fast weights: ")[2].partition("\n## ")[0]
    commands = re.findall(r"^saccade (report fast-weights .*)$", section, flags=re.M)
    assert len(commands) == 2
    assert main([*shlex.split(commands[1]), "--seeds", "1", "--threads", "1"]) == 0
    assert [row["model"] for row in said(tmp_path / "reports/fast-weights")["rows"]] == list(LAYERS)


def test_killed_between_rows_it_goes_on_where_it_was(small, tmp_path, monkeypatch):
    whole, made = report.recalled, []

    def killing(name, *others):
        if name == DENSE and not made.count(DENSE):
            made.append(DENSE)
            raise KeyboardInterrupt
        made.append(name)
        return whole(name, *others)

    monkeypatch.setattr(report, "recalled", killing)
    words = ["report", "fast-weights", "--quick", "--seeds", "1", "--threads", "1"]
    assert main(words) == 130 and len(said(tmp_path / "reports/fast-weights-quick")["rows"]) == 1
    assert main(words) == 0 and made == [ATTENTION, DENSE, DENSE]


def test_quick_takes_no_budget(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", "fast-weights", "--quick", "--max-steps", "3"]) == 2
    assert "--quick: expected no budget beside it" in capsys.readouterr().err and not list(tmp_path.iterdir())
