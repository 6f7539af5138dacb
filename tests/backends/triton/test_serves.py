"""What the backend serves, when `auto` takes it, and what it says otherwise."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from interpreter import interpreted
from saccade import AuxRequest, attend, biases, errors, explain, masks, normalizers, reads, scores
from saccade.backends import triton

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
    ("options", "backend"),
    [
        ({"normalizer": normalizers.Sparsemax()}, "triton"),
        ({"read": reads.Sample()}, "triton"),
        ({"aux": AuxRequest(entropy=True)}, "triton"),
        ({"normalizer": normalizers.Sigmoid()}, "triton"),
        ({"mask": masks.Window(2, 0)}, "triton"),
        ({"mask": masks.Causal()}, "sdpa"),
        ({}, "sdpa"),
    ],
)
def test_on_cuda_it_is_taken_beyond_torchs_kernels(options, backend, cuda):
    assert planned(**options).backend == backend


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"gate": biases.Alibi(torch.ones(2))}, "no gate"),
        ({"score": scores.Kernel("boxcar", 1.0)}, "compact support"),
        ({"normalizer": normalizers.Entmax(3.0)}, "alpha from 1 to 2"),
        ({"normalizer": normalizers.Sum(), "aux": AuxRequest(top=2)}, "rank"),
        ({"normalizer": normalizers.Identity(), "read": reads.Sample()}, "sum to one"),
        ({"read": reads.TopK(17)}, "at most 16"),
        ({"read": reads.Argmax(), "dropout_p": 0.1}, "soft read alone"),
        ({"bias": biases.Position(lambda i, j: -1.0 * (i - j).abs())}, "function"),
    ],
)
def test_other_calls_are_refused_with_a_reason(options, reason, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(triton, "MISSING", False)
    with pytest.raises(errors.UnsupportedBackend, match=reason):
        explain(X, X, X, backend="triton", **options)


def test_wide_and_double_features_are_refused(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(triton, "MISSING", False)
    for x, reason in ((X.double(), "float64"), (X.bfloat16(), "bfloat16"), (torch.zeros(2, 257), "1 to 256 features")):
        with pytest.raises(errors.UnsupportedBackend, match=reason):
            explain(x, x, x, backend="triton")


@interpreted
def test_a_plan_says_what_it_would_allocate():
    long = torch.empty(1, 1 << 15, 32)
    plan = explain(long, long, long, score=scores.Additive(torch.ones(32)), backend="triton")
    assert plan.backend == "triton" and plan.peak_bytes < 300 << 20


@interpreted
def test_a_plan_counts_a_mask_that_is_laid_out():
    x = torch.empty(1, 1000, 16)
    plain, laid_out = (
        explain(x, x, x, mask=mask, backend="triton").peak_bytes
        for mask in (masks.Causal(), masks.Where(lambda i, j: i >= j))
    )
    assert laid_out - plain == 1000 * 1000
