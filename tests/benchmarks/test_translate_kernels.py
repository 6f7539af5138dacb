"""The table of RNNsearch with kernels and without is that of its file."""

import json
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_has_the_table_of_the_kept_run(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    script = runpy.run_path(str(ROOT / "benchmarks/translate_kernels.py"))
    kept = json.loads((ROOT / "benchmarks/results/rnnsearch-kernels.json").read_text(encoding="utf-8"))
    assert script["table"](kept) in (ROOT / "docs/benchmarks-rnnsearch.md").read_text(encoding="utf-8")
