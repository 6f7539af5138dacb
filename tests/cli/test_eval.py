import json

import pytest

from saccade.cli import main


@pytest.mark.parametrize("split", ["test", "validation"])
def test_metrics_overall_and_by_language_and_a_file(run, split, capsys):
    assert main(["eval", str(run), "--split", split]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert err == "" and lines[0].startswith(f"exact match on {split}: 0.") and len(lines) == 21
    assert any(line.endswith("  French") for line in lines)
    results = json.loads((run / f"results-{split}.json").read_text())
    assert {"task", "model", "split", "metrics", "groups", "examples", "hardware", "versions", "config"} <= set(results)
    assert f"{results['metrics']['exact_match']:.4f}" in lines[0]
    if split == "test":
        assert results["metrics"] == json.loads((run / "results.json").read_text())["metrics"]
