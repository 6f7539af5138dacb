"""The table of memory on the page about training is that of its file."""

import json
from pathlib import Path

from tiers import every

ROOT = Path(__file__).resolve().parents[2]
ROWS = json.loads((ROOT / "benchmarks/results/training-memory.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs/training.md").read_text(encoding="utf-8")


@every("row", ROWS)
def test_a_row_of_the_page_is_one_of_the_file(row):
    memory = [f"{row['memory_mb'][step]:,}" if step in row["memory_mb"] else "" for step in ("10", "40", "60", "400")]
    cells = [f"`{row['model']}`", f"{row['pairs']:,}", f"{row['shapes']:,}", *memory, f"{row['seconds_a_step']:.2f}"]
    assert f"| {' | '.join(cells)} |" in PAGE


def test_memory_with_few_shapes_stays_within_its_bounds():
    long = [row["memory_mb"] for row in ROWS if "400" in row["memory_mb"]]
    assert {row["model"] for row in ROWS if "400" in row["memory_mb"]} == {"transformer", "rnnsearch"}
    assert all(memory["400"] <= 1.2 * memory["40"] and memory["400"] <= 1500 for memory in long)
