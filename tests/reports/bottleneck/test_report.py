import json
import re
import shlex
from pathlib import Path

import pytest

from reports.test_digits import write_mnist
from saccade.cli import main
from saccade.reports.bottleneck import report
from saccade.reports.bottleneck.report import Options
from saccade.reports.direct import Budget

DOCS = Path(__file__).resolve().parents[3] / "docs/reports.md"


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Two steps of every training, at two lengths."""
    for name in ("_COPYING", "_QUICK_COPYING", "_CODING", "_QUICK_CODING"):
        monkeypatch.setattr(report, name, Budget(2, 1.0))
    for name in ("LENGTHS", "_QUICK_LENGTHS"):
        monkeypatch.setattr(report, name, (4, 6))
    monkeypatch.setattr(report, "CODES", (2, 3))
    monkeypatch.chdir(tmp_path)


def said(folder):
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_quick_makes_every_row_once_and_the_page(small, tmp_path, capsys):
    words = ["report", "bottleneck", "--quick", "--seeds", "2", "--threads", "1"]
    assert main(words) == 0
    folder = tmp_path / "reports/bottleneck-quick"
    content = said(folder)
    assert [row["model"] for row in content["rows"]] == [
        *("pixels", "principal components", "principal components", "principal components"),
        *2 * ["attention", "one vector", "autoencoder", "autoencoder", "autoencoder"],
    ]
    assert list(content["rows"][4]["lengths"]) == ["4", "6"] and content["arguments"]["side"] == 28
    assert "images train 1439" in content["arguments"]["data"] and len(content["runs"]) == 10
    assert "nothing can be concluded" in capsys.readouterr().out
    for name in ("index.md", "index.html", "bottleneck.png", "bottleneck-bits.svg", "bottleneck-digits.svg"):
        assert (folder / name).stat().st_size > 500
    before = (folder / "report.json").read_bytes()
    assert main(words) == 0 and (folder / "report.json").read_bytes() == before
    assert "complete already" in capsys.readouterr().err
    assert main([*words, "--width", "8"]) == 2 and "made with --width 64, not 8" in capsys.readouterr().err


@pytest.mark.slow
def test_a_command_of_the_docs_reads_other_digits(small, tmp_path, capsys):
    write_mnist(tmp_path / "mnist")
    section = DOCS.read_text(encoding="utf-8").partition("\n## Bottleneck: ")[2].partition("\n## ")[0]
    commands = re.findall(r"^saccade (report bottleneck .*)$", section, flags=re.M)
    [command] = [command for command in commands if "--data mnist" in command]
    assert main([*shlex.split(command), "--seeds", "1", "--threads", "1", "--width", "128"]) == 0
    assert [path.name for path in (tmp_path / "reports").iterdir()] == ["bottleneck-mnist"]
    assert said(tmp_path / "reports/bottleneck-mnist")["arguments"]["width"] == 128


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--width", "7"], "--width: expected an even number from 2 on, got 7"),
        (["--data", "no/such"], "--data: "),
        (["--quick", "--max-steps", "3"], "--quick: expected no budget beside it"),
        (["--device", "tpu"], "--device: expected one of auto, cpu"),
    ],
)
def test_options_that_mean_nothing(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", "bottleneck", *words]) == 2
    assert message in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_the_longest_sequences_have_a_thousand_tokens():
    jobs = report._seed(Options(), None, 1)
    assert jobs[0].measure.args[2] == (10, 20, 50, 100, 200, 500, 1000)
    assert {job.about["code"] for job in jobs if "code" in job.about} == {2, 4, 8, 16, 32, 64}
