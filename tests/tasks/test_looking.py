"""`look --by jacobian` of every task whose models read sequences, from the command line."""

import json
from pathlib import Path

import pytest
import torch

from saccade import runs
from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.tasks.looking import LookRequest
from tiny import few as few

TEXTS = [(f"{'good' if n % 2 else 'bad'} film {n}", str(n % 2)) for n in range(40)]
TINY = {"hidden_dim": 8, "max_steps": 1, "device": "cpu"}
UNSTARTED = {"max_steps": 1, "prior": "none"}  # a start may be better than a step
RUNS = {
    "rnnsearch": ("translate", {"data": "dates", "embedding_dim": 6, **TINY}, "3 mai 1990"),
    "bytenet": ("translate", {"data": "dates", "model": "bytenet", "max_dilation": 2, **TINY}, "3 mai 1990"),
    "las": ("transcribe", {"data": "tones", "embedding_dim": 6, "layers": 2, **TINY}, "docs/tones.wav"),
    "rnn-attention": ("classify-text", {"data": TEXTS, "model": "rnn-attention", **TINY, **UNSTARTED}, "good film"),
    "sum": (
        "classify-text",
        {"data": TEXTS, "model": "sum", "embedding_dim": 6, **UNSTARTED},
        "good film",
    ),
    "lstm": ("memorize", {"data": "copy", "model": "lstm", "longest": 3, **TINY}, "10110100 01001011"),
    "ntm": ("memorize", {"data": "copy", "model": "ntm", "longest": 3, **TINY}, "10110100 01001011"),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "sum")) for name in RUNS])
def test_rows_of_the_jacobian_are_drawn_and_are_shares(name, tmp_path, capsys):
    task, options, text = RUNS[name]
    run = runs.train(task, run=tmp_path / "run", **options)
    if options["data"] == "copy":
        text = next(runs.examples("memorize", "test", 1, data="copy", longest=3)).text
    capsys.readouterr()
    words = ["look", str(run.folder), text, "--by", "jacobian", "--json", "--output", str(tmp_path / "pictures")]
    assert main(words) == 0
    paths = capsys.readouterr().out.splitlines()
    [numbers] = [path for path in paths if path.endswith(".json")]
    told = json.loads(Path(numbers).read_text(encoding="utf-8"))
    assert "Jacobian" in told["title"]
    if task in ("translate", "memorize"):  # whose pictures tell in words what each row is moved by
        [svg] = [Path(path).read_text(encoding="utf-8") for path in paths if path.endswith(".svg")]
        assert "is moved most by" in svg and "attends to" not in svg
    rows = torch.tensor(told["values"])
    assert bool(((rows.sum(-1) - 1).abs() < 0.02).all()) and bool((rows >= 0).all())


def test_what_no_model_has_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="--by: expected attention or jacobian, got gradients"):
        LookRequest(by="gradients")
    run = runs.train("translate", data="dates", model="bytenet", run=tmp_path / "run", max_dilation=2, **TINY)
    with pytest.raises(ArgumentError, match="--by: expected jacobian of a model that does not attend, got attention"):
        run.draw("3 mai 1990", tmp_path / "pictures", by="attention")
