"""The table of hard attention's steps is that of its file, and both ways compute the same."""

import importlib
import json
from pathlib import Path

import pytest
import torch

from saccade import AuxRequest, reads, remember, scores
from saccade.backends.cpu import draws
from saccade.kernels.cross_entropy import linear_cross_entropies
from saccade.tasks.translate import vocabulary
from studies.frame.options import Trained

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("hard_steps")


def test_the_page_has_the_table_of_the_kept_run(script):
    kept = json.loads((ROOT / "benchmarks/results/hard-steps.json").read_text(encoding="utf-8"))
    assert list(kept["seconds"]) == list(script.rows(2)) and kept["rounds"] >= 5
    assert all(len(ways[script.WITH]) == kept["rounds"] for ways in kept["seconds"].values())
    assert script.table(kept) in (ROOT / "docs/benchmarks-hard.md").read_text(encoding="utf-8")


def test_without_what_is_compiled_the_same_comes_out(script):
    torch.manual_seed(0)
    features, weight, bias = torch.randn(5, 3), torch.randn(7, 3), torch.randn(7)
    target = torch.tensor([1, 2, 3, 4, 6])
    torch.testing.assert_close(
        script.whole(features, weight, bias, target, 0.1), linear_cross_entropies(features, weight, bias, target, 0.1)
    )
    memory = remember(torch.randn(2, 5, 4), torch.randn(2, 5, 4), score=scores.Additive(torch.randn(4)))
    sample = reads.Sample(uniform=torch.rand(2, 1))
    query, told = torch.randn(2, 1, 4), []

    def read():
        return memory.read(query, read=sample, aux=AuxRequest(log_prob=True), backend="cpu")

    run = draws.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draws, "run", lambda call: told.append(call) or run(call))
        found = read()
        with script.uncompiled():
            other = read()
    assert len(told) == 1
    torch.testing.assert_close((found[0], found[1].log_prob), (other[0], other[1].log_prob))


@pytest.mark.slow
def test_every_row_is_timed_both_ways(script, monkeypatch):
    monkeypatch.setattr(vocabulary, "_ENDLESS", 200)
    monkeypatch.setattr("saccade.tasks.translate.data.dates.HELD_OUT", 20)
    found = script.measured(Trained(data="dates", threads=1), samples=2, batches=1, rounds=1)
    assert list(found) == list(script.rows(2))
    assert all(ways[way][0] > 0 for ways in found.values() for way in (script.WITH, script.WITHOUT))
