"""Parts of a narrow window and calls by the fused kernels are measured; the published tables are those of the files."""

import json
import runpy
import sys
from pathlib import Path

import pytest
import torch

pytest.importorskip("numba")

from saccade.backends.cpu.engine import ENGINE

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = {"window_parts": "window-parts", "fused_calls": "fused-cpu"}


def script(name):
    return runpy.run_path(str(ROOT / f"benchmarks/{name}.py"))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rows"), [("window_parts", ["sparsemax"]), ("fused_calls", ["sparsemax"])])
def test_parts_are_measured_and_written_between_the_marks(name, rows, monkeypatch, capsys, tmp_path):
    made = script(name)
    kept = made["main"].__globals__
    table = "ROWS" if name == "window_parts" else "KINDS"
    for key, value in {"LENGTH": 512, "HEADS": 1, table: {row: made[table][row] for row in rows}}.items():
        monkeypatch.setitem(kept, key, value)
    monkeypatch.setitem(kept, "BLOCKS", 10)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{made['MARKS'][0]}old\n{made['MARKS'][1]}behind\n")
    given = ["--rounds", "1", "--output", str(tmp_path / "parts.json"), "--page", str(page)]
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *given])
    threads, whole = torch.get_num_threads(), ENGINE.whole
    try:
        made["main"]()
    finally:
        torch.set_num_threads(threads)
    assert ENGINE.whole is whole is not None
    found = json.loads((tmp_path / "parts.json").read_text())
    for row in found["rows"].values():
        assert min(row.values()) >= 0 and max(row.values()) > 0
        if name == "window_parts":
            assert row["share"] == pytest.approx((row["products"] + row["weights"]) / row["allowed"])
    written = page.read_text()
    assert written.startswith("before\n") and written.endswith("behind\n") and "old" not in written
    assert made["page"](found) in written and "| sparsemax |" in capsys.readouterr().out


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_published_tables_are_those_of_the_file(name):
    found = json.loads((ROOT / f"benchmarks/results/{SCRIPTS[name]}.json").read_text())
    assert script(name)["page"](found) in (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
