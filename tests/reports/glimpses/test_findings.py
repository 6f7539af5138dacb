import pytest
import torch

from saccade.reports.difference import packed_counts
from saccade.reports.glimpses.findings import Findings, summary

BASE = {"policy": "ram", "glimpses": 6, "scales": 3, "pieces": 0}
NAMES = {
    "ram": BASE,
    "random": {**BASE, "policy": "random"},
    "whole": {**BASE, "policy": "whole", "glimpses": None, "scales": None},
    "ram, 2 glimpses": {**BASE, "glimpses": 2},
    "ram, 1 scale": {**BASE, "scales": 1},
    "ram, 4 pieces": {**BASE, "pieces": 4},
    "whole, 4 pieces": {"policy": "whole", "glimpses": None, "scales": None, "pieces": 4},
}
ERRORS = dict(zip(NAMES, (0.1, 0.4, 0.1, 0.2, 0.6, 0.2, 0.3), strict=True))


def content(errors=ERRORS, seeds=3):
    """A report of eyes whose paths are wrong with some probability, a row a seed."""
    rows, runs = [], {}
    for place, (name, share) in enumerate(errors.items()):
        for seed in range(1, seeds + 1):
            numbers = torch.Generator().manual_seed(seed + 100 * place)
            wrong = (torch.rand(500, 10, generator=numbers) < share).sum(1).tolist()
            error = sum(wrong) / 5000
            about = {"images": 500, "labels": 10, "paths": 10, "wrong": packed_counts(wrong), "error": error}
            about |= {"error_of_mean": error, "error_likeliest": error, "deviation": 0.05, "entropy": None}
            key = {"model": name, "seed": seed}
            rows.append({**key, "measured": "paths", **NAMES[name], **about})
            one = {"variance": 2.0, "batches": [2.0, 2.2]}
            estimators = {"learned": one, "leave-one-out": {"variance": 4.0, "batches": [4.0, 4.4]}}
            sizes = {"groups": 2, "draws": 2, "rollouts": 128}
            rows.append({**key, "measured": "noise", **sizes, "estimators": estimators if name == "ram" else {}})
            about = {"steps": 5, "seconds": 1.0, "parameters": 7, "metrics": {"accuracy": 1 - error}, "command": "c"}
            runs[f"{name}-{seed}"] = {**key, **about, "hardware": {"device": "cpu"}, "versions": {"torch": "2"}}
    arguments = {"seeds": seeds}
    return {"rows": rows, "runs": runs, "data": "translated", "arguments": arguments, "command": "c"}


def test_what_is_claimed_is_of_the_models_that_differ_in_it():
    found = Findings(content())
    assert [(claim.more, claim.fewer) for claim in found.claims] == [
        ("random", "ram"),
        ("ram, 1 scale", "ram"),
        ("ram, 2 glimpses", "ram"),
        ("whole, 4 pieces", "ram, 4 pieces"),
    ]
    assert found.claims[0].difference.value == pytest.approx(0.3, abs=0.02)
    assert found.claims[3].paper == "8.09 − 4.08" and found.claims[0].paper == ""
    assert found.verdict.result == "reproduced"


@pytest.mark.parametrize(
    ("changed", "seeds", "result"),
    [
        ({"random": 0.05}, 3, "contradicted"),
        ({"random": 0.1}, 3, "not decided"),
        ({}, 1, "not decided"),
        ({"ram": 0.9}, 3, "not decided"),
    ],
)
def test_verdicts(changed, seeds, result):
    assert Findings(content(ERRORS | changed, seeds)).verdict.result == result


def test_the_eye_beside_random_glimpses_and_the_noise_of_its_baselines():
    found = Findings(content())
    assert found.ratio().startswith("the eye errs on") and found.ratio().endswith("times as many")
    assert found.ratios() == [
        f"at the weights of ram, seed {seed}, leave-one-out has 2 times the variance (2 to 2)" for seed in (1, 2, 3)
    ]
    assert len(found.noise()) == 4 and found.by_seed()[0] == ["seed", "1", "2", "3"]
    without = {name: error for name, error in ERRORS.items() if name != "random"}
    assert Findings(content(without)).ratio() == ""
    assert "reproduced: an eye that chooses" in summary(content())
