"""The benchmark of training steps runs, and says what it says it says."""

import runpy
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(("task", "models"), [("classify-text", 5), ("transcribe", 1)])
def test_a_row_a_model(task, models, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["training_steps.py", "--task", task, "--steps", "1", "--others", "1"])
    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    try:
        runpy.run_path(str(ROOT / "benchmarks/training_steps.py"), run_name="__main__")
    finally:
        torch.set_num_threads(threads)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| `")]
    assert len(rows) == models
    for row in rows:
        _, rate, *parts, top = (cell.strip() for cell in row.strip("|").split("|"))
        assert float(rate.replace(",", "")) > 0 and all(float(part) > 0 for part in parts) and "%" in top
