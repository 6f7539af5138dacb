"""The table of a training step's share is that of its file, and its parts are all of the step."""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = json.loads((ROOT / "benchmarks/results/training-share.json").read_text(encoding="utf-8"))


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("training_share")


def test_the_page_has_the_table_of_the_kept_run(script):
    assert script.table(KEPT) in (ROOT / "docs/benchmarks-training-share.md").read_text(encoding="utf-8")
    assert len(KEPT["measured"]["shares"]) >= 10
    assert sum(KEPT["measured"]["parts"].values()) == pytest.approx(1)
    assert list(KEPT["measured"]["parts"]) == list(script.GROUPS)


def test_a_share_below_the_target_is_missed(script):
    measured = {**KEPT["measured"], "share": {"median": 0.69, "least": 0.6, "most": 0.8}}
    assert ": met" in script.table(KEPT) and ": missed" in script.table({**KEPT, "measured": measured})


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("aten::addmm_", "products"),
        ("_AttentionBackward", "attention"),
        ("_GruBackward", "gates"),
        ("aten::copy_", "copies, sums, zeros, all else"),
    ],
)
def test_what_took_time_is_in_one_part(script, name, group):
    assert next(group for group, fits in script.GROUPS.items() if fits(name)) == group
