"""The real-time factor is measured on a run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from speech import train
from tiny import environment

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_both_factors_are_printed(tmp_path):
    assert train(tmp_path / "run", "--max-steps", 5) == 0
    words = [sys.executable, str(ROOT / "benchmarks/real_time.py"), str(tmp_path / "run"), "--utterances", "8"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, env=environment())
    assert done.returncode == 0, done.stderr
    assert all(float(factor) > 0 for factor in re.findall(r"real-time factor ([\d.]+)", done.stdout))
    assert done.stdout.startswith("8 utterances, ") and len(done.stdout.splitlines()) == 3
