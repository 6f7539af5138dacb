"""The benchmark of training steps runs, and says what it says it says."""

import subprocess
import sys
from pathlib import Path

import pytest

from tiny import environment

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(("task", "models"), [("classify-text", 5), ("transcribe", 1)])
def test_a_row_a_model(task, models, tmp_path):
    few = ["--steps", "1", "--others", "1"]
    words = [sys.executable, str(ROOT / "benchmarks/training_steps.py"), "--task", task, *few]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=300, env=environment(), cwd=tmp_path
    )
    rows = [line for line in done.stdout.splitlines() if line.startswith("| `")]
    assert done.returncode == 0 and len(rows) == models, done.stderr
    for row in rows:
        _, rate, *parts, top = (cell.strip() for cell in row.strip("|").split("|"))
        assert float(rate.replace(",", "")) > 0 and all(float(part) > 0 for part in parts) and "%" in top
