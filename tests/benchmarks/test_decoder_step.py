"""The table of a decoder's step is that of its file, and what is measured is a step beside a sum."""

import importlib
import json
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("decoder_step")


def test_the_page_has_the_table_of_the_kept_run(script):
    kept = json.loads((ROOT / "benchmarks/results/decoder-step.json").read_text(encoding="utf-8"))
    assert [tuple(row["shape"]) for row in kept["rows"]] == list(script.SHAPES)
    assert all(row["rounds"] >= 10 for row in kept["rows"])
    assert script.table(kept) in (ROOT / "docs/benchmarks-decoder-step.md").read_text(encoding="utf-8")


def test_a_step_reads_what_the_sum_sums(script):
    with torch.no_grad():
        step, total = script.step_of(2, 3, 4)
        assert step().shape == (2, 1, 4) and total().ndim == 0
        assert total.__self__.numel() == 2 * (2 * 3 * 4)


def test_a_share_below_the_target_is_not_counted_as_met(script):
    row = {"shape": (1, 1, 1), "step": 10.0, "sum": 5.0, "least": 2.0, "read": 0.6, "rounds": 10}
    machine = {"processor": "p", "torch": "t", "python": "3"}
    results = {"machine": machine, "rows": [{**row, "share": 0.59}, {**row, "share": 0.6}]}
    assert "1 of 2 met" in script.table(results)
