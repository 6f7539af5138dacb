"""The table of docs/baselines.md, and the corpora behind it."""

import shlex

import pytest

from saccade.cli.train import read_command
from saccade.tasks import load_task
from scripts import script

tool = script("tools/compare_baselines.py")


def test_the_table_is_written_from_the_files():
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run python tools/compare_baselines.py page"


@pytest.mark.parametrize("row", tool.ROWS.values(), ids=tool.ROWS)
def test_a_command_can_be_parsed(row, tmp_path):
    read_command(load_task(row.task), ["--data", str(tmp_path), *shlex.split(row.options), "--max-minutes", "5"])


def test_a_result_is_a_line_of_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "RESULTS", tmp_path)
    content = """{"command": "saccade train regress --data diabetes", "seed": 1, "minutes": 5, "seconds": 61.2,
    "load": [1.0, 2.6], "metrics": {"r2": 0.4321}, "baselines": {"test": {"mean": {"metrics": {"r2": 0.0}}}},
    "steps": 1200}"""
    for seed in (1, 2):
        (tmp_path / f"diabetes-{seed}.json").write_text(content, encoding="utf-8")
    page = tool.page()
    assert "| r2 | mean 0.000 | 0.432, 0.432 | 0.432 | +0.432 | 1,200, 1,200 | 61, 61 | 3, 3 |" in page
    assert tool.taken([600, 700]) == "1,300 in 2 folds"
    assert page.endswith("\n```bash\nsaccade train regress --data diabetes\n```\n")
