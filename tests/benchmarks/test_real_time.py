"""The real-time factor is measured on a run."""

import re
import runpy
import sys
from pathlib import Path

import pytest
import torch

from saccade.tasks.transcribe.data import tones
from speech import train

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_both_factors_are_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tones, "HELD_OUT", 10)
    assert train(tmp_path / "run", "--max-steps", 5) == 0
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["real_time.py", str(tmp_path / "run"), "--utterances", "8"])
    threads = torch.get_num_threads()
    try:
        runpy.run_path(str(ROOT / "benchmarks/real_time.py"), run_name="__main__")
    finally:
        torch.set_num_threads(threads)
    told = capsys.readouterr().out
    assert len(re.findall(r"real-time factor ([\d.]+)", told)) == 2
    assert all(float(factor) > 0 for factor in re.findall(r"real-time factor ([\d.]+)", told))
    assert told.startswith("8 utterances, ") and len(told.splitlines()) == 3
