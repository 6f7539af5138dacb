import json
import shutil

import pytest
import torch

from saccade import runs
from saccade.cli import main
from saccade.tasks.translate.data.dates import Dates
from tiers import rest_slow


@pytest.mark.parametrize("split", rest_slow(["test", "validation"]))
def test_metrics_overall_and_by_language_and_a_file(run, split, capsys):
    assert main(["eval", str(run), "--split", split]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert err == "" and lines[0].startswith(f"exact match on {split}: 0.") and len(lines) == 24
    assert any(line.endswith("  French") for line in lines)
    assert [line.split()[0] for line in lines[-3:]] == ["baseline"] * 3
    results = json.loads((run / f"results-{split}.json").read_text())
    assert {"task", "model", "split", "metrics", "groups", "examples", "hardware", "versions", "config"} <= set(results)
    assert f"{results['metrics']['exact_match']:.4f}" in lines[0]
    if split == "test":
        assert results["metrics"] == json.loads((run / "results.json").read_text())["metrics"]


def test_the_search_may_be_another_and_the_results_say_so(run, capsys):
    assert main(["eval", str(run), "--split", "validation", "--beam-size", "2", "--length-penalty", "1"]) == 0
    name = "results-validation-beam-size-2-length-penalty-1.0.json"
    found = json.loads((run / name).read_text())
    assert found["asked"] == {"beam_size": 2, "length_penalty": 1.0}
    assert found["config"]["options"]["beam_size"] == 1  # how the run itself answers
    capsys.readouterr()


def test_another_way_to_decode_is_in_name_and_the_results(run, tmp_path, capsys):
    one, other = tmp_path / "runs/one", tmp_path / "100%/other"
    for folder in (one, other):
        shutil.copytree(run, folder, ignore=shutil.ignore_patterns("results-*"))
    assert main(["eval", str(one), "--split", "validation", "--length-penalty", "0", "--replace-unknown"]) == 0
    plain = json.loads((one / "results-validation-length-penalty-0.0-replace-unknown.json").read_text())
    assert plain["asked"] == {"length_penalty": 0.0, "replace_unknown": True}
    words = ["--min-length", "11", "--beam-size", "2", "--coverage-penalty", "0.1", "--ensemble", str(other)]
    assert main(["eval", str(one), "--split", "validation", *words]) == 0
    name = "results-validation-beam-size-2-min-length-11-coverage-penalty-0.1-ensemble-..%2F100%25%2Fother.json"
    found = json.loads((one / name).read_text())
    assert found["asked"] == {"beam_size": 2, "coverage_penalty": 0.1, "min_length": 11, "ensemble": [str(other)]}
    assert found["parameters"] == 2 * plain["parameters"]
    assert found["metrics"]["exact_match"] == 0  # a date has ten characters
    assert len(list(one.glob("results-validation*"))) == 2
    far = tmp_path / ("far-" * 20) / ("away-" * 20)
    shutil.copytree(one, far)
    assert main(["eval", str(one), "--split", "validation", "--ensemble", str(far)]) == 0
    [long] = one.glob("results-validation-asked-*.json")
    assert json.loads(long.read_text())["asked"] == {"ensemble": [str(far)]}
    capsys.readouterr()


def test_data_that_are_not_those_of_the_training_are_named(run, capsys, monkeypatch):
    monkeypatch.setattr(Dates, "fingerprint", "dates of another CLDR")
    assert main(["eval", str(run), "--split", "validation"]) == 0
    [note] = capsys.readouterr().err.splitlines()
    assert "the data are not those that" in note and "dates of another CLDR" in note


@pytest.mark.slow
def test_errors_are_the_examples_with_the_largest_losses(tmp_path, capsys):
    folder = str(tmp_path / "run")
    words = [
        "--max-steps",
        "2",
        "--batch-size",
        "4",
        "--hidden-dim",
        "8",
        "--device",
        "cpu",
        "--validation-examples",
        "4",
    ]
    assert main(["train", "memorize", "--data", "copy", "--model", "lstm", "--run", folder, *words]) == 0
    capsys.readouterr()
    assert main(["eval", folder, "--split", "validation", "--errors", "3"]) == 0
    out, err = capsys.readouterr()
    rows = [line.split("\t") for line in out.splitlines() if "\t" in line]
    assert "the largest losses: loss, input, target, answer\n" in err
    run = runs.load(folder, device="cpu")
    with torch.inference_mode():
        losses = [
            float(run.task.loss(run.model, run.task.codec.collate(run.task.samples("validation", [i]))).total)
            for i in range(run.task.data.size("validation"))
        ]
    assert [float(row[0]) for row in rows] == pytest.approx(sorted(losses, reverse=True)[:3], abs=1e-3)
    worst = run.task.example("validation", losses.index(max(losses)))
    assert rows[0][1:] == [worst.text, worst.answer, str(run.predict([worst.text])[0])]
    shutil.copytree(folder, tmp_path / "twin")
    assert main(["eval", folder, "--split", "validation", "--errors", "3", "--ensemble", str(tmp_path / "twin")]) == 2
    assert "errors: expected one run whose examples have a loss each, got an ensemble" in capsys.readouterr().err


def test_a_number_of_errors_is_above_0(run, capsys):
    assert main(["eval", str(run), "--errors", "0"]) == 2
    assert capsys.readouterr().err == "error: --errors: expected a number above 0, got 0\n"
