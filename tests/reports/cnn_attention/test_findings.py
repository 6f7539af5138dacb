import json
import math
from pathlib import Path

import pytest
import torch

from saccade.reports.cnn_attention.findings import WITH, WITHOUT, Findings, summary
from saccade.reports.difference import packed, unpacked
from tiers import every

PUBLISHED = Path(__file__).resolve().parents[3] / "results/cnn-attention-cifar10/report.json"


def content(with_, without, labels=2):
    """A report of networks whose images are right with some probability, a row a seed."""
    rows, runs = [], {}
    for model, shares in ((WITHOUT, without), (WITH, with_)):
        for seed, share in enumerate(shares, 1):
            numbers = torch.Generator().manual_seed(seed + 100 * (model == WITH))
            right = (torch.rand(4000, generator=numbers) < share).tolist()
            about = {"images": len(right), "labels": labels, "accuracy": sum(right) / len(right), "validation": share}
            rows.append({"model": model, "seed": seed, "measured": "accuracy", "right": packed(right), **about})
            runs[f"{model}-{seed}"] = {"model": model, "seed": seed, "steps": 5, "seconds": 1.0, "parameters": 7}
    return {"rows": rows, "runs": runs, "data": "shapes", "arguments": {"seeds": len(with_)}}


def test_the_error_is_about_what_repeating_it_varies_by():
    found = Findings(content([0.8] * 3, [0.8] * 3)).difference
    assert 0.5 < found.error / math.sqrt(2 * 0.8 * 0.2 / (3 * 4000)) < 3


@every(
    ("with_", "without", "result"),
    [
        ([0.9, 0.9, 0.9], [0.8, 0.8, 0.8], "reproduced"),
        ([0.8, 0.8, 0.8], [0.9, 0.9, 0.9], "contradicted"),
        ([0.8, 0.8, 0.8], [0.8, 0.8, 0.8], "not decided"),
        ([0.9], [0.8], "not decided"),
        ([0.5, 0.5], [0.5, 0.5], "not decided"),
    ],
)
def test_verdicts(with_, without, result):
    assert Findings(content(with_, without)).verdict.result == result


def test_a_gain_that_is_excluded_is_said():
    assert "excluded" in Findings(content([0.8] * 9, [0.83] * 9)).verdict.reason
    assert "excluded" not in Findings(content([0.9] * 3, [0.8] * 3)).verdict.reason


def test_what_is_published_is_what_its_rows_say():
    report = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    found = Findings(report)
    for row in report["rows"]:
        right = unpacked(row["right"], row["images"])
        assert len(right) == 10_000 and sum(right) / len(right) == pytest.approx(row["accuracy"])
    assert found.verdict.result == "not decided" and len(report["rows"]) == 10
    page = (PUBLISHED.parents[2] / "docs/results.md").read_text(encoding="utf-8")
    assert found.difference.long() in page
    assert all(f"| {' | '.join(row)} |" in page for row in (*found.table(), *found.by_seed()))
    [small, large] = sorted({run["parameters"] for run in report["runs"].values()})
    assert large / small < 1.02
    assert "not decided" in summary(report)
