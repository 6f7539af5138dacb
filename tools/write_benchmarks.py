"""Write the tables of results/benchmarks/attention.md and docs/benchmarks.md again, from their files of results.

    python tools/write_benchmarks.py

A new file of a GPU is `all.json` of `saccade bench --gpu`, as results/benchmarks/attention-h200.json. Rows that
it lacks are those of attention-gpu.json.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import median_low
from typing import Any

import torch
from pages import filled, table

from saccade.bench import Setup, rows
from saccade.bench._gpu import MEASURED
from saccade.bench._page import amount, verdict
from saccade.bench._rows import TITLES, matches

ROOT = Path(__file__).resolve().parents[1]
PAGE, OVERVIEW = ROOT / "results/benchmarks/attention.md", ROOT / "docs/benchmarks.md"
BEGIN = "<!-- tools/write_benchmarks.py writes this table -->\n"
MARK = "<!-- tools/write_benchmarks.py writes what follows -->\n"
COLUMNS = ("row", "peer", "CPU", "ratio", "target", "GPU", "ratio", "target")

Rows = dict[tuple[str, str], Mapping[str, Any]]
"""Stored rows by row and peer."""


def stored(name: str) -> Rows:
    """The rows of a file of results."""
    content = json.loads((ROOT / f"results/benchmarks/attention-{name}.json").read_text(encoding="utf-8"))
    return {(row["row"], row["peer"]): row for row in content["rows"]}


def planned() -> Rows:
    """The rows that `saccade bench --gpu` measures, as stored rows without a number."""
    return {
        (f"{row.family} {row.shape}", row.peer): {
            "subject": row.subject,
            "ours": None,
            "targets": [target.text for target in row.targets],
            "met": None,
            "absent": None,
        }
        for row in rows(Setup(torch.device("cuda")))
        if any(matches(row.name, pattern) for pattern, _ in MEASURED.values())
    }


def cells(row: Mapping[str, Any] | None) -> list[str]:
    """Our time or bytes, the ratio to the peer, and the target; empty without a row."""
    if row is None:
        return [""] * 3
    target = verdict(row["targets"], row["met"])
    if row.get("replaced"):
        return ["not measured since", "", target]
    if row["ours"] is None:
        return [f"absent: {row['absent']}" if row["absent"] else "not measured", "", target]
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
    return [amount(row["ours"], row["unit"] == "bytes"), ratio, target]


def sides() -> tuple[Rows, Rows]:
    """The rows of the CPU and of the GPU."""
    cpu, measured, plan = stored("cpu") | stored("host") | stored("looking"), stored("gpu") | stored("h200"), planned()
    # a replaced kernel's verdict says nothing of the new one, which has the targets of today
    old = {
        key: {**row, **plan.get(key, {"targets": []}), "met": None}
        for key, row in measured.items()
        if row.get("replaced")
    }
    return cpu, {**plan, **measured, **old}


def summary(rows: list[Mapping[str, Any]]) -> list[str]:
    """Targets met, missed and not measured, and the median ratio with the least and the largest."""
    met = [row["met"] for row in rows if row["targets"]]
    ratios = [row["ratio"] for row in rows if row.get("ratio") and row["unit"] != "bytes" and not row.get("replaced")]
    spread = f"{median_low(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else ""
    return [*(str(met.count(state)) for state in (True, False, None)), spread]


def overview() -> str:
    """docs/benchmarks.md with its table of subjects written again."""
    columns = ("met", "missed", "not measured", "ratio")
    lines = [["subject", *(f"{device}: {column}" for device in ("CPU", "GPU") for column in columns)]]
    for subject, title in TITLES.items():
        parts = [[row for row in side.values() if row["subject"] == subject] for side in sides()]
        if any(parts):
            lines.append([title, *(cell for part in parts for cell in summary(part))])
    return filled(OVERVIEW.read_text(encoding="utf-8"), BEGIN, table(lines))


def tables() -> str:
    """A table for each subject, and the numbers of targets."""
    cpu, gpu = sides()
    parts = list[str]()
    for subject, title in TITLES.items():
        keys = [key for key, row in {**gpu, **cpu}.items() if row["subject"] == subject]
        lines = [COLUMNS, *([*key, *cells(cpu.get(key)), *cells(gpu.get(key))] for key in keys)]
        parts += [f"## {title}", table(lines, "llrrlrrl")] if keys else []
    counts = []
    for name, side in (("CPU", cpu), ("GPU", gpu)):
        met = [row["met"] for row in side.values() if row["targets"]]
        counts.append(f"{name}: {met.count(True)} met, {met.count(False)} missed, {met.count(None)} not measured.")
    return "\n\n".join([*parts, f"Targets of the {' Of the '.join(counts)}"]) + "\n"


def page() -> str:
    """The page with its tables written again."""
    prose, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    return prose + mark + "\n" + tables()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    OVERVIEW.write_text(overview(), encoding="utf-8")
