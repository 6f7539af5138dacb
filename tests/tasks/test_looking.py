"""`look --by jacobian` of every task whose models read sequences, from the command line."""

import json
from pathlib import Path

import pytest
import torch

from saccade import runs
from saccade.cli import main
from saccade.errors import ArgumentError
from saccade.tasks.answer.options import LookRequest as LookAtQuestion
from saccade.tasks.looking import LookRequest, Moved, signed_jacobian
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


PAIRS = [(f"a {n % 3} b {n}", f"{n % 3} a") for n in range(30)]
SIGNED = {
    **{name: RUNS[name] for name in ("rnnsearch", "bytenet", "las")},
    "pairs": ("memorize", {"data": PAIRS, "model": "lstm", **TINY}, "a 1 b 4"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIGNED)
def test_derivatives_with_signs_are_drawn(name, tmp_path, capsys):
    task, options, text = SIGNED[name]
    run = runs.train(task, run=tmp_path / "run", **options)
    capsys.readouterr()
    words = ["look", str(run.folder), text, "--by", "jacobian", "--json", "--output", str(tmp_path / "pictures")]
    assert main([*words, "--signed"]) == 0
    [numbers] = [path for path in capsys.readouterr().out.splitlines() if path.endswith(".json")]
    content = json.loads(Path(numbers).read_text(encoding="utf-8"))
    values = torch.tensor(content["values"])
    assert "with signs" in content["title"] and bool((values < 0).any()) and bool((values > 0).any())
    largest = float(values.abs().max())
    assert content["darkest"] == pytest.approx(1.0 if 0.5 < largest <= 1 else largest, rel=1e-3)


@pytest.mark.slow
def test_the_jacobian_of_a_fitted_start_is_one_line(tmp_path, capsys):
    run = runs.train(
        "classify-text", data=TEXTS, model="rnn-attention", run=tmp_path / "run", learning_rate=1e-9, **TINY
    )
    assert run.model.is_start
    capsys.readouterr()
    assert main(["look", str(run.folder), "good film", "--by", "jacobian", "--output", str(tmp_path / "pictures")]) == 2
    out, err = capsys.readouterr()
    assert "got scores of zeros, for example a run that is its fitted start (step 0)" in err
    assert len(err.strip().splitlines()) == 1 and not out


@pytest.mark.parametrize("block", [1, 64])
def test_signed_derivatives_are_those_by_a_factor_on_each_input(block):
    draws = torch.Generator().manual_seed(2)
    mix, first, inputs, weight = (
        torch.randn(shape, generator=draws, dtype=torch.float64) for shape in ((3, 4), (2, 5), (4, 2), (7, 5))
    )
    outputs, step, expected = torch.tensor([6, 0, 3]), 1e-6, torch.zeros(3, 4, dtype=torch.float64)

    def model(x):
        return (mix @ (x @ first).tanh()).sin()

    for place in range(4):
        factor = torch.ones(4, 1, dtype=torch.float64)
        factor[place] += step
        change = model(inputs * factor) - model(inputs * (2 - factor))
        expected[:, place] = (change @ weight.T / (2 * step))[torch.arange(3), outputs]
    with torch.inference_mode():  # as in answers
        signed = signed_jacobian(model, inputs, weight, outputs, block=block)
    torch.testing.assert_close(signed, expected, rtol=1e-7, atol=1e-8)
    assert bool((signed < 0).any())


def test_a_jacobian_of_zeros_is_no_picture():
    for signed in (False, True):
        with pytest.raises(ArgumentError, match=r"--by: expected a run whose network moves its outputs, got .* zeros"):
            Moved.by("jacobian", torch.zeros(2, 3), "", signed=signed)
    assert Moved.by("jacobian", torch.zeros(0, 3), "").values.shape == (0, 3)
    assert Moved.by("jacobian", torch.tensor([[0.0, -1.0]]), "", signed=True).values.tolist() == [[0.0, -1.0]]


@pytest.mark.parametrize("request_of", [LookRequest, LookAtQuestion])
@pytest.mark.parametrize(("by", "got"), [(None, "no --by"), ("attention", "--by attention")])
def test_signs_without_a_jacobian_are_rejected(request_of, by, got):
    with pytest.raises(ArgumentError, match=f"--signed: expected --by jacobian beside it, got {got}. Leave --signed"):
        request_of(by=by, signed=True)
    assert request_of(by="jacobian", signed=True).signed


def test_vectors_of_bits_have_no_signs(tmp_path):
    run = runs.train("memorize", data="copy", model="lstm", longest=3, run=tmp_path / "run", **TINY)
    with pytest.raises(ArgumentError, match="--signed: expected a run that writes a symbol a step, got one of bits"):
        run.draw("10110100 01001011", tmp_path / "pictures", by="jacobian", signed=True)


def test_what_no_model_has_is_refused(tmp_path):
    with pytest.raises(
        ArgumentError,
        match="--by: expected attention, .* or integrated-gradients, got gradients",
    ):
        LookRequest(by="gradients")
    run = runs.train("translate", data="dates", model="bytenet", run=tmp_path / "run", max_dilation=2, **TINY)
    with pytest.raises(ArgumentError, match="--by: expected gradient, .* for this run, got attention"):
        run.draw("3 mai 1990", tmp_path / "pictures", by="attention")
