"""What the backend serves, when `auto` takes it, and what it says otherwise."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from interpreter import interpreted
from saccade import AuxRequest, attend, errors, explain, normalizers, reads, scores
from saccade.backends import reference, triton

X = torch.randn(2, 5, 8)


@pytest.fixture
def cuda(monkeypatch):
    """Tensors that say that they are on CUDA and hold nothing."""
    monkeypatch.setattr(triton, "MISSING", False)
    with FakeTensorMode():
        yield


def tensor(*shape, **more):
    return torch.empty(shape, device="cuda", **more)


def planned(**options):
    x = tensor(2, 5, 8)
    return explain(x, x, x, **options)


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
        ({"normalizer": normalizers.Sparsemax()}, True),
        ({"normalizer": normalizers.Entmax()}, True),
        ({"read": reads.Sample()}, True),
        ({"aux": AuxRequest(entropy=True)}, True),
        ({"normalizer": normalizers.Sigmoid()}, False),
        ({}, False),
    ],
)
def test_on_cuda_it_is_taken_if_its_kernels_take_part(options, taken, cuda):
    assert (planned(**options).backend == "triton") == taken


def test_on_cuda_few_terms_are_left_to_the_plain_formula(cuda, monkeypatch):
    additive = {"score": scores.Additive(tensor(8))}
    small = planned(**additive)
    assert small.backend == "reference" and "plain formula" in small.why["triton"]
    assert planned(**additive, aux=AuxRequest(entropy=True)).backend == "triton"
    monkeypatch.setattr(reference, "FAR_SMALL", 4 * 2 * 5 * 5 * 8 - 1)
    assert planned(**additive).backend == "triton"


def test_on_cuda_fewer_terms_are_kept_for_a_backward(cuda, monkeypatch):
    additive = {"score": scores.Additive(tensor(8, requires_grad=True))}
    assert planned(**additive).backend == "reference"
    monkeypatch.setattr(reference, "FAR_SMALL_RECORDED", 4 * 2 * 5 * 5 * 8 - 1)
    assert planned(**additive).backend == "triton"
    with torch.no_grad():
        assert planned(**additive).backend == "reference"


@interpreted
def test_a_plan_says_what_it_would_allocate():
    long = torch.empty(1, 1 << 15, 32)
    plan = explain(long, long, long, score=scores.Additive(torch.ones(32)), backend="triton")
    assert plan.backend == "triton" and plan.peak_bytes < 300 << 20
