import json
import re
import shlex
from pathlib import Path

import pytest

from reports.test_digits import write_mnist
from saccade.cli import main
from saccade.reports.direct import Budget
from saccade.reports.isolation import report
from saccade.reports.isolation.forgetting import SOFT, SPARSE, UNIFORM

DOCS = Path(__file__).resolve().parents[3] / "docs/reports.md"


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Two steps of every task, on few images."""
    monkeypatch.setattr(report, "_BUDGET", Budget(2, 1.0))
    monkeypatch.setattr(report, "_QUICK", Budget(2, 1.0))
    monkeypatch.chdir(tmp_path)
    write_mnist(tmp_path / "mnist")


def said(folder):
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def test_quick_makes_every_row_once_and_the_page(small, tmp_path, capsys):
    words = ["report", "isolation", "--quick", "--seeds", "1", "--threads", "1"]
    assert main(words) == 0
    folder = tmp_path / "reports/isolation-quick"
    rows = said(folder)["rows"]
    assert [row["part"] for row in rows] == 3 * ["graph"] + 6 * ["gradients"] + 6 * ["forgetting"]
    assert [row["model"] for row in rows[-3:]] == [UNIFORM, SOFT, SPARSE] and rows[-1]["same"]
    assert "not decided: each value's gradient" in capsys.readouterr().out
    for name in ("index.md", "index.html", "isolation.png", "isolation-graph.svg"):
        assert (folder / name).stat().st_size > 500
    before = (folder / "report.json").read_bytes()
    assert main(words) == 0 and (folder / "report.json").read_bytes() == before
    assert "complete already" in capsys.readouterr().err


@pytest.mark.slow
def test_every_command_of_the_docs_runs(small, tmp_path):
    section = DOCS.read_text(encoding="utf-8").partition("\n## Isolation: ")[2].partition("\n## ")[0]
    commands = re.findall(r"^saccade (report isolation .*)$", section, flags=re.M)
    assert len(commands) == 2
    assert main([*shlex.split(commands[1]), "--seeds", "1", "--threads", "1"]) == 0
    assert [path.name for path in (tmp_path / "reports").iterdir()] == ["isolation-mnist"]
    assert len(said(tmp_path / "reports/isolation-mnist")["rows"]) == 3 + 6 + 2 * 9


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "no/such"], "--data: "),
        (["--seeds", "0"], "--seeds: expected a number from 1 to 1000, got 0"),
        (["--quick", "--max-minutes", "3"], "--quick: expected no budget beside it"),
    ],
)
def test_options_that_mean_nothing(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", "isolation", *words]) == 2
    assert message in capsys.readouterr().err and not list(tmp_path.iterdir())
