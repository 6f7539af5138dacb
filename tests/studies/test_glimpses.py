import json
from dataclasses import replace

import pytest
import torch

from saccade.cli import main
from saccade.tasks.glimpse import GLIMPSE
from saccade.train.task import options_class
from studies import glimpses as study
from studies.frame.seeds import pack
from studies.glimpses import ESTIMATORS, MODELS, STUDY, Findings, Options, noise, variants
from study_rows import complete, run_of

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
            about = {"images": 500, "labels": 10, "paths": 10, "wrong": pack(wrong, "counts"), "error": error}
            about |= {"error_of_mean": error, "error_likeliest": error, "deviation": 0.05, "entropy": None}
            key = {"model": name, "seed": seed}
            rows.append({**key, "measured": "paths", **NAMES[name], **about})
            variances = {"variance": 2.0, "batches": [2.0, 2.2]}
            estimators = {"learned": variances, "leave-one-out": {"variance": 4.0, "batches": [4.0, 4.4]}}
            sizes = {"groups": 2, "draws": 2, "rollouts": 128}
            rows.append({**key, "measured": "noise", **sizes, "estimators": estimators if name == "ram" else {}})
            runs[f"{name}-{seed}"] = run_of(name, seed)
    return {"rows": rows, "runs": runs, "data": "translated", "arguments": {"seeds": seeds}, "command": "c"}


def test_claims_are_about_models_that_differ_in_one_thing():
    findings = Findings(content())
    assert [(more, fewer, paper) for _, more, fewer, paper in findings.compared] == [
        ("random", "ram", ""),
        ("ram, 1 scale", "ram", ""),
        ("ram, 2 glimpses", "ram", ""),
        ("whole, 4 pieces", "ram, 4 pieces", "8.09 − 4.08"),
    ]
    assert findings.claims[0].number.value == pytest.approx(0.3, abs=0.02)
    assert findings.verdict.result == "reproduced"


def test_in_clutter_the_first_eye_has_the_papers_errors():
    report = content()
    for row in report["rows"]:
        row.update({"pieces": 4 - row["pieces"]} if "pieces" in row else {})
        row["model"] = row["model"].replace("4 pieces", "0 pieces")
    assert [(more, fewer, paper) for _, more, fewer, paper in Findings(report).compared] == [
        ("random", "ram", "14.4 − 4.04"),
        ("ram, 1 scale", "ram", ""),
        ("ram, 2 glimpses", "ram", ""),
        ("whole", "ram", "8.09 − 4.08"),
    ]


@pytest.mark.parametrize(
    ("changed", "seeds", "result"),
    [
        ({"random": 0.05}, 3, "contradicted"),
        ({"random": 0.1}, 3, "not decided"),
        ({}, 1, "not decided"),
        ({"ram": 0.9}, 3, "not decided"),
    ],
)
def test_the_numbers_decide(changed, seeds, result):
    assert Findings(content(ERRORS | changed, seeds)).verdict.result == result


def test_the_noise_of_each_baseline():
    fields = Findings(content()).fields()
    ratios = fields["ratios"].split("\n\n")
    assert ratios[0] == (
        "At the weights of ram, seed 1, leave-one-out has 2 times the variance (2 to 2), beside the learned baseline "
        "with one."
    )
    assert len(ratios) == 3 and len(fields["noise"]) == 4
    assert fields["seeds"][0] == ["seed", "1", "2", "3"]


def test_the_page_is_complete(tmp_path):
    words = ["1406.6247", "**reproduced**: an eye that chooses", "8.09 − 4.08", "could not be checked"]
    complete(STUDY, content(), tmp_path, [*words, "2 times 2 gradients", "500 images"], "glimpses")


def test_every_variant_differs_from_the_first_as_its_name_says():
    first, *others = variants(Options(data="translated", canvas=100))
    assert first.name == "ram" and {"canvas": 100, "glimpses": 6, "scales": 3}.items() <= first.values.items()
    for other in others:
        model, _, changed = other.name.partition(", ")
        assert other.model == model
        if model == "ram":
            differ = {key for key in other.values if other.values[key] != first.values.get(key)}
            kind = changed.split()[1].rstrip("s")
            assert differ == ({"data", "distractors"} if kind == "piece" else {f"{kind}s"})
    assert {"ram, 8 pieces", "whole, 4 pieces", "random, 8 pieces", "ram, 1 scale"} <= {one.name for one in others}


def test_policies_are_models_and_clutter_needs_a_canvas():
    assert {*MODELS} <= {*GLIMPSE.models}
    among = {one.name: one.values for one in variants(Options(data="cluttered")) if "piece" in one.name}
    assert {"data": "translated", "distractors": 0}.items() <= among["ram, 0 pieces"].items()
    assert "ram, 4 pieces" not in among
    assert not any("piece" in one.name for one in variants(Options(data="my/images")))
    assert [one.name for one in variants(Options(quick=True, data="translated"))] == ["ram", "random", "ram, 1 scale"]


SMALL = {"glimpses": 2, "patch": 4, "hidden_dim": 8, "glimpse_dim": 4}


def task_of(model, **options):
    kind = options_class(GLIMPSE, model)
    return GLIMPSE.prepare(kind(model=model, data="translated", batch_size=16, canvas=32, **SMALL, **options))


@pytest.fixture
def few(monkeypatch):
    for name, count in (("GROUPS", 2), ("DRAWS", 3), ("ROLLOUTS", 16)):
        monkeypatch.setattr(study, name, count)


def test_every_estimator_has_the_same_weights(few):
    task = task_of("ram", baseline="learned", samples=1)
    model = task.build().eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    rows = noise(task, model, 1)
    assert list(rows) == list(ESTIMATORS) and all(len(row["batches"]) == 2 for row in rows.values())
    assert all(rows[name]["variance"] > 0 for name in ("learned", "moving-average"))
    assert 0 < rows["moving-average"]["average"] < 1 and "average" not in rows["learned"]
    assert noise(task, model, 1) == rows != noise(task, model, 2)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert list(noise(task.changed(samples=2), model, 1)) == list(rows)


@pytest.mark.parametrize("model", ["random", "soft-tiles"])
def test_a_model_that_learns_no_draws_has_no_noise(few, model):
    task = task_of(model)
    assert noise(task, task.build(), 1) == {}


def test_an_untrained_baseline_is_left_out(few):
    task = task_of("ram", baseline="moving-average", samples=1)
    assert list(noise(task, task.build(), 1)) == ["moving-average", "leave-one-out"]


@pytest.mark.slow
def test_a_complete_study_is_not_measured_again(few_digits, monkeypatch, tmp_path):
    monkeypatch.setattr(study, "SIZES", {**SMALL, "scales": 2})
    monkeypatch.setattr(study, "MODELS", ("ram", "random"))
    monkeypatch.setattr(study, "GROUPS", 2)
    monkeypatch.setattr(study, "DRAWS", 2)
    whole = study.variants
    names = ["ram", "random", "whole, 4 pieces"]
    chosen = replace(STUDY.measure, variants=lambda options: [one for one in whole(options) if one.name in names])
    monkeypatch.setattr(study, "STUDY", replace(STUDY, measure=chosen))
    monkeypatch.chdir(tmp_path)
    words = ["report", "glimpses", "--data", "translated", "--canvas", "32", "--max-steps", "2"]
    assert main(words) == 0
    folder = tmp_path / "reports/glimpses-translated"
    before = (folder / "report.json").read_bytes()
    report = json.loads(before)
    assert [run["model"] for run in report["runs"].values()] == names and len(report["rows"]) == 2 * len(names)
    rows = {row["model"]: row for row in report["rows"] if row["measured"] == "paths"}
    assert [rows[name]["pieces"] for name in ("ram", "whole, 4 pieces")] == [0, 4]
    assert rows["ram"]["deviation"] == 0.05 and rows["whole, 4 pieces"]["deviation"] is None
    assert rows["ram"]["entropy"] < rows["random"]["entropy"] and rows["whole, 4 pieces"]["entropy"] is None
    config = json.loads((folder / "runs/ram-1/config.json").read_text())["options"]
    values = {"schedule_steps": 2, "batch_size": 128, "samples": 1, "baseline": "learned", "canvas": 32, **SMALL}
    assert values.items() <= config.items()
    noises = {row["model"]: list(row["estimators"]) for row in report["rows"] if row["measured"] == "noise"}
    assert noises["ram"] == list(ESTIMATORS) and noises["random"] == noises["whole, 4 pieces"] == []
    assert main(words) == 0 and (folder / "report.json").read_bytes() == before


def test_missing_data_are_rejected(rejects):
    rejects("glimpses --data none --output report", "no data set")
