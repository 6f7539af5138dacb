"""Differences of captions: errors by the jackknife, and the command on runs that were trained for it."""

import json
import math
import runpy
import statistics
import sys
from pathlib import Path

import pytest

from saccade import runs

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "caption_difference.py"


def test_the_error_of_a_mean_is_that_of_the_mean():
    difference = runpy.run_path(str(SCRIPT))["difference"]

    def right(found, true):
        return statistics.fmean(float(text in own) for text, own in zip(found, true, strict=True))

    true = [["a"]] * 12
    one, other = ["a"] * 9 + ["b"] * 3, ["a", "b"] * 6
    each = [(mine == "a") - (theirs == "a") for mine, theirs in zip(one, other, strict=True)]
    found = difference(right, one, other, true)
    assert found["difference"] == pytest.approx(statistics.fmean(each))
    assert found["error"] == pytest.approx(statistics.stdev(each) / math.sqrt(12))
    assert difference(right, one, one, true) == {"difference": 0.0, "error": 0.0}


@pytest.mark.slow
def test_runs_are_compared_by_what_they_write(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("saccade.tasks.caption.data.scenes.HELD_OUT", 5)
    monkeypatch.setattr("saccade.tasks.image.dataset._SEEN", 5)
    sizes = {"widths": "4,6", "cell_dim": 4, "hidden_dim": 6, "embedding_dim": 4, "stem_stride": 6}
    common = {"data": "scenes", "max_steps": 2, "batch_size": 4, "device": "cpu", "most": 2, **sizes}
    folders = [str(tmp_path / name) for name in ("one", "two")]
    for folder, model in zip(folders, ("show-attend-and-tell", "show-and-tell"), strict=True):
        runs.train("caption", run=folder, model=model, **common)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *folders, "--output", str(tmp_path / "out.json")])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    told = json.loads((tmp_path / "out.json").read_text())
    assert told["images"] == 5 and set(told["than"][folders[1]]) == {"bleu4", "cider"}
    assert all(math.isfinite(number) for one in told["than"][folders[1]].values() for number in one.values())
    assert "bleu4" in capsys.readouterr().out
