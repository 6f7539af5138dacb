"""What the backend serves, when `auto` takes it, and what it says otherwise."""

import pytest
import torch

from interpreter import interpreted
from saccade import AuxRequest, attend, errors, explain, normalizers, reads, scores
from saccade._call.call import Call
from saccade._dispatch import choose
from saccade.backends import triton

X = torch.randn(2, 5, 8)


def call(device="cpu", **options):
    """A call of tensors on any device, without their data."""
    x = torch.empty(2, 5, 8, device=device)
    given = {"mask": None, "bias": None, "gate": None, "dropout_p": 0.0, "noise": None, "aux": AuxRequest()}
    given |= {"score": scores.ScaledDot(), "normalizer": normalizers.Softmax(), "read": reads.Soft()}
    return Call(x, x, x, **{**given, **options})


def test_without_the_interpreter_a_cpu_is_refused(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    with pytest.raises(errors.UnsupportedBackend, match="triton.*CUDA.*on cpu.*TRITON_INTERPRET=1"):
        attend(X, X, X, backend="triton")


def test_without_triton_the_reason_is_said(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(triton, "MISSING", True)
    with pytest.raises(errors.UnsupportedBackend, match="not installed: pip install triton"):
        attend(X, X, X, backend="triton")


def test_auto_never_takes_the_interpreter(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(triton, "MISSING", False)
    plan = explain(X, X, X, normalizer=normalizers.Sparsemax())
    assert plan.backend != "triton" and plan.why["triton"] == "Triton's interpreter is for tests"


@pytest.mark.parametrize(
    ("options", "taken"),
    [
        ({"score": scores.Additive(torch.ones(8))}, True),
        ({"normalizer": normalizers.Sparsemax()}, True),
        ({"normalizer": normalizers.Entmax()}, True),
        ({"read": reads.Sample()}, True),
        ({"aux": AuxRequest(entropy=True)}, True),
        ({"normalizer": normalizers.Sigmoid()}, False),
        ({}, False),
    ],
)
def test_on_cuda_it_is_taken_where_its_kernels_take_part(options, taken, monkeypatch):
    elsewhere = call("meta", **options)
    monkeypatch.setattr(triton, "unsupported", lambda call: None)
    monkeypatch.setattr(triton, "FEW", 0)
    assert (triton.unwise(elsewhere) is None) == taken
    if "aux" not in options:
        assert (choose.decide(elsewhere) == "triton") == taken


def test_on_cuda_few_terms_are_left_to_the_plain_formula(monkeypatch):
    monkeypatch.setattr(triton, "unsupported", lambda call: None)
    small = call("meta", score=scores.Additive(torch.ones(8)))
    assert "plain formula" in triton.unwise(small) and choose.decide(small) == "reference"
    assert triton.unwise(call("meta", score=scores.Additive(torch.ones(8)), aux=AuxRequest(entropy=True))) is None
    monkeypatch.setattr(triton, "FEW", 4 * 2 * 5 * 5 * 8 - 1)
    assert choose.decide(small) == "triton"


def test_on_cuda_fewer_terms_are_kept_for_a_backward(monkeypatch):
    monkeypatch.setattr(triton, "unsupported", lambda call: None)
    v = torch.ones(8, requires_grad=True)
    assert choose.decide(call("meta", score=scores.Additive(v))) == "reference"
    monkeypatch.setattr(triton, "FEW_RECORDED", 4 * 2 * 5 * 5 * 8 - 1)
    assert choose.decide(call("meta", score=scores.Additive(v))) == "triton"
    with torch.no_grad():
        assert choose.decide(call("meta", score=scores.Additive(v))) == "reference"


@interpreted
def test_a_plan_says_what_it_would_allocate():
    long = torch.empty(1, 1 << 15, 32)
    plan = explain(long, long, long, score=scores.Additive(torch.ones(32)), backend="triton")
    assert plan.backend == "triton" and plan.peak_bytes < 300 << 20
