"""The parts of a narrow window are measured, and the published tables are those of the file."""

import json
import runpy
import sys
from pathlib import Path

import pytest
import torch

pytest.importorskip("numba")

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "benchmarks/window_parts.py")


def test_parts_are_measured_and_written_between_the_marks(monkeypatch, capsys, tmp_path):
    script = runpy.run_path(SCRIPT)
    monkeypatch.setitem(script["main"].__globals__, "LENGTH", 512)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{script['MARKS'][0]}old\n{script['MARKS'][1]}behind\n")
    given = ["--rounds", "1", "--threads", "1", "--output", str(tmp_path / "parts.json"), "--page", str(page)]
    monkeypatch.setattr(sys, "argv", ["window_parts.py", *given])
    monkeypatch.setitem(script["main"].__globals__, "ROWS", {"sparsemax": script["ROWS"]["sparsemax"]})
    threads = torch.get_num_threads()
    try:
        script["main"]()
    finally:
        torch.set_num_threads(threads)
    found = json.loads((tmp_path / "parts.json").read_text())
    (row,) = found["rows"].values()
    assert row["share"] == pytest.approx((row["products"] + row["weights"]) / row["allowed"])
    assert min(row.values()) > 0
    assert min(found["gflops"].values()) > 0
    written = page.read_text()
    assert written.startswith("before\n")
    assert written.endswith("behind\n")
    assert script["page"](found) in written
    assert "old" not in written
    assert "| sparsemax |" in capsys.readouterr().out


def test_blocks_hold_what_the_window_allows():
    script = runpy.run_path(SCRIPT)
    blocks = script["Blocks"](64)
    assert blocks.allowed.sum(-1).eq(129).all()
    assert blocks.key[0, 1, 0].equal(blocks.key[0, 0, 64])  # views into each other


def test_the_published_tables_are_those_of_the_file():
    script = runpy.run_path(SCRIPT)
    found = json.loads((ROOT / "benchmarks/results/window-parts.json").read_text())
    assert script["page"](found) in (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
