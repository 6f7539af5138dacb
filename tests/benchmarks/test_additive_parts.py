"""The parts of small additive calls are measured, and the published table is that of its file."""

import json
import runpy
import sys
from pathlib import Path

import pytest
import torch

pytest.importorskip("numba")

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / f"benchmarks/results/{name}.json" for name in ("additive-parts-cpu", "additive-parts-2-cpu")]


def test_a_row_is_the_sum_of_its_parts(monkeypatch, capsys, tmp_path):
    script = runpy.run_path(str(ROOT / "benchmarks/additive_parts.py"))
    monkeypatch.setitem(script["main"].__globals__, "SIZES", ((2, 90, 70, 32), (2, 99, 70, 32)))
    monkeypatch.setitem(script["main"].__globals__, "LARGE", (2, 99, 70, 32))
    monkeypatch.setattr(sys, "argv", ["additive_parts.py", "--calls", "2", "--output", str(tmp_path / "parts.json")])
    threads = torch.get_num_threads()
    try:
        script["main"]()
    finally:
        torch.set_num_threads(threads)
    rows = json.loads((tmp_path / "parts.json").read_text())["rows"]
    assert [row["trained"] for row in rows] == [False, False, True, True]
    for row in rows:
        assert sum(row["parts"].values()) == pytest.approx(row["whole"], abs=0.5)
        assert min(row["parts"][name] for name in ("packing", "scores and softmax", "product")) > 0
    assert [row["share"] for row in rows if row["sizes"][1] == 99] == [1, 1]
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(rows)


def test_the_published_tables_are_those_of_the_files():
    line = runpy.run_path(str(ROOT / "benchmarks/additive_parts.py"))["line"]
    page = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8").splitlines()
    rows = [row for file in FILES for row in json.loads(file.read_text())["rows"]]
    assert [told for told in page if told.startswith("| forward")] == [line(row) for row in rows]
