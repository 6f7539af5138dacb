import json
import math
from pathlib import Path

import pytest
import torch

from saccade.cli import main
from saccade.tasks.image import shapes
from studies.cnn_attention import STUDY, WITH, WITHOUT, Findings
from studies.frame.seeds import pack, unpack
from study_rows import complete, described, run_of, stored
from tiers import every

PUBLISHED = Path(__file__).resolve().parents[2] / "results/cnn-attention-cifar10/report.json"


def content(with_, without, labels=2):
    """A report of networks whose images are right with some probability, a row a seed."""
    rows, runs = [], {}
    for model, shares in ((WITHOUT, without), (WITH, with_)):
        for seed, share in enumerate(shares, 1):
            numbers = torch.Generator().manual_seed(seed + 100 * (model == WITH))
            right = (torch.rand(4000, generator=numbers) < share).tolist()
            about = {"images": len(right), "labels": labels, "accuracy": sum(right) / len(right), "validation": share}
            rows.append({"model": model, "seed": seed, "measured": "accuracy", "right": pack(right, "bits"), **about})
            runs[f"{model}-{seed}"] = run_of(model, seed)
    return {"rows": rows, "runs": runs, "data": "shapes", "arguments": {"seeds": len(with_)}, "command": "c"}


def test_the_error_is_that_of_repeated_measurements():
    difference = Findings(content([0.8] * 3, [0.8] * 3)).difference
    assert 0.5 < difference.error / math.sqrt(2 * 0.8 * 0.2 / (3 * 4000)) < 3


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
def test_the_numbers_decide(with_, without, result):
    assert Findings(content(with_, without)).verdict.result == result


def test_an_excluded_gain_of_the_paper_is_named():
    assert "excluded" in Findings(content([0.8] * 9, [0.83] * 9)).verdict.reason
    assert "excluded" not in Findings(content([0.9] * 3, [0.8] * 3)).verdict.reason


def test_published_accuracies_are_those_of_their_images():
    report = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    for row in report["rows"]:
        right = unpack(row["right"], "bits", row["images"])
        assert len(right) == 10_000 and sum(right) / len(right) == pytest.approx(row["accuracy"])
    [small, large] = sorted({run["parameters"] for run in report["runs"].values()})
    assert large / small < 1.02
    page = (PUBLISHED.parents[2] / "docs/results.md").read_text(encoding="utf-8")
    assert f"The difference is {Findings(report).difference.short()} points" in " ".join(page.split())


def test_the_page_is_complete(tmp_path):
    words = ["1904.09925", "**reproduced**", "4000 images", f"| seed | {WITHOUT} | {WITH} |", "points of top-1"]
    complete(STUDY, content([0.9] * 3, [0.8] * 3), tmp_path, words, "cnn-attention")
    assert described(tmp_path / "cnn-attention.svg")["desc"].startswith(f"{WITHOUT}: accuracy 80")


@pytest.mark.slow
def test_a_complete_study_is_not_measured_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shapes, "HELD_OUT", 20)
    words = ["report", "cnn-attention", "--data", "shapes", "--max-steps", "2", "--output", str(tmp_path / "report")]
    assert main(words) == 0
    assert "test accuracy" in capsys.readouterr().out
    report = stored(tmp_path / "report")
    assert [row["images"] for row in report["rows"]] == [20, 20] and len(report["runs"]) == 2
    before = (tmp_path / "report/report.json").read_bytes()
    assert main(words) == 0 and (tmp_path / "report/report.json").read_bytes() == before


def test_missing_data_are_rejected(rejects):
    rejects("cnn-attention --data none --output report", "no data set")
