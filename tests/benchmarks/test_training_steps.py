"""The benchmark of training steps runs, and says what it says it says."""

import json
import runpy
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(("task", "models"), [("classify-text", 5), ("transcribe", 1)])
def test_a_row_a_model(task, models, tmp_path, monkeypatch, capsys):
    asked = ["training_steps.py", "--task", task, "--steps", "1", "--others", "1", "--output", "steps.json"]
    monkeypatch.setattr(sys, "argv", asked)
    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    try:
        runpy.run_path(str(ROOT / "benchmarks/training_steps.py"), run_name="__main__")
    finally:
        torch.set_num_threads(threads)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| `")]
    assert len(rows) == models
    found = json.loads((tmp_path / "steps.json").read_text(encoding="utf-8"))
    assert found["command"].endswith(" ".join(asked)) and found["hardware"]["threads"] == 1
    for row, kept in zip(rows, found["rows"], strict=True):
        assert row.startswith(
            f"| `{kept['model']}` | {kept['per_second']:,.0f} | {1000 * kept['seconds']['batch']:.2f} |"
        )
        _, rate, *parts, top = (cell.strip() for cell in row.strip("|").split("|"))
        assert float(rate.replace(",", "")) > 0 and all(float(part) > 0 for part in parts) and "%" in top
