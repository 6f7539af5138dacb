import math

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from saccade import AuxRequest, attend, biases, errors, explain, masks, normalizers, reads, scores
from saccade.backends import flex
from tiers import every

X = torch.randn(2, 3, 5, 16)


@pytest.fixture
def cuda(monkeypatch):
    """Tensors that say that they are on CUDA and hold nothing."""
    monkeypatch.setattr(flex, "TRITON", True)
    with FakeTensorMode():
        yield


def long(length=4096, **more):
    return torch.empty(2, 8, length, 64, device="cuda", dtype=torch.bfloat16, **more)


class Mine(masks.Mask):
    def dense(self, grid):
        return grid.keys() != 1

    __match_args__ = ()


def test_not_on_a_cpu():
    with pytest.raises(errors.UnsupportedBackend, match="backend='flex': its kernels run on CUDA alone.*on cpu.*auto"):
        attend(X, X, X, backend="flex")
    assert "CUDA" in explain(X, X, X).why["flex"]


def test_not_without_triton(cuda, monkeypatch):
    monkeypatch.setattr(flex, "TRITON", False)
    x = long()
    with pytest.raises(errors.UnsupportedBackend, match="Triton, which is not installed"):
        explain(x, x, x, backend="flex")


@pytest.mark.parametrize(
    ("x", "reason"),
    [({"dtype": torch.float64}, "float64"), ({"size": (2, 8, 5, 8)}, "16 features or more")],
)
def test_what_the_kernels_cannot_multiply(x, reason, cuda):
    x = torch.empty(x.pop("size", (2, 8, 5, 64)), device="cuda", **x)
    assert reason in explain(x, x, x).why["flex"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"score": scores.Additive(torch.ones(16))}, "Additive"),
        ({"score": lambda q, k: q @ k.mT}, "score"),
        ({"normalizer": normalizers.Entmax()}, "Entmax"),
        ({"normalizer": normalizers.Softmax(torch.ones(1))}, "temperature"),
        ({"score": scores.ScaledDot(softcap=torch.ones(1, 1))}, "softcap tensor"),
        ({"gate": torch.ones(5, 5)}, "gate"),
        ({"read": reads.TopK(2)}, "TopK"),
        ({"aux": AuxRequest(lse=True, entropy=True, top=2)}, "entropy, top"),
        ({"dropout_p": 0.5}, "dropout"),
        ({"bias": biases.Alibi(torch.ones(3, requires_grad=True))}, "a bias that needs gradients"),
        ({"mask": masks.Causal() & ~Mine()}, "one query and one key for Mine"),
    ],
)
def test_what_it_does_not_know_has_a_reason(options, reason, monkeypatch):
    monkeypatch.setattr(flex, "unsupported", flex.unserved)
    told = explain(X, X, X, **options).why["flex"]
    assert reason in told
    with pytest.raises(errors.UnsupportedBackend) as caught:
        attend(X, X, X, backend="flex", **options)
    assert told in str(caught.value) and "auto" in str(caught.value)


def test_not_inside_torch_func(monkeypatch):
    monkeypatch.setattr(flex, "unsupported", flex.unserved)
    with pytest.raises(errors.UnsupportedBackend, match=r"torch\.func"):
        torch.func.grad(lambda x: attend(x, x, x, backend="flex").sum())(X)


def test_a_learned_bias_is_served_without_gradients(monkeypatch):
    monkeypatch.setattr(flex, "unsupported", flex.unserved)
    with torch.no_grad():
        assert explain(X, X, X, bias=biases.Alibi(torch.ones(3, requires_grad=True)), backend="flex").backend == "flex"


def test_auto_takes_it_where_blocks_can_be_skipped(cuda, monkeypatch):
    for name in ("PAIRS", "FLOAT_PAIRS"):
        monkeypatch.setattr(flex, name, 1 << 20)
    x, ids = long(), torch.empty(2, 1, 4096, device="cuda", dtype=torch.int64)
    lengths = masks.Lengths(torch.empty(2, 1, device="cuda", dtype=torch.int64))
    for mask in (masks.Window(100, 100), masks.Causal() & lengths, masks.Causal() & masks.Documents(ids, ids)):
        plan = explain(x, x, x, mask=mask)
        assert plan.backend == "flex"
        assert "laid out" in plan.why["sdpa"] or "skips" in plan.why["sdpa"]
        assert plan.why["chunked"] == "flex is faster here" and plan.peak_bytes < 64 << 20


def test_auto_takes_it_where_torchs_other_kernels_refuse(cuda):
    x = long()
    for options in ({"score": scores.ScaledDot(softcap=2.0)}, {"aux": AuxRequest(lse=True)}):
        assert explain(x, x, x, **options).backend == "flex"


@pytest.mark.parametrize(
    ("mask", "reason"),
    [
        (None, "without a mask"),
        (masks.Causal(), "know this mask themselves"),
        (masks.Window(None, 3000), "too many"),
        (~masks.Window(0, 0), "too many"),
    ],
)
def test_auto_leaves_the_rest_to_torchs_other_kernels(mask, reason, cuda, monkeypatch):
    for name in ("PAIRS", "FLOAT_PAIRS"):
        monkeypatch.setattr(flex, name, 1 << 20)
    x = long()
    plan = explain(x, x, x, mask=mask)
    assert plan.backend == "sdpa" and reason in plan.why["flex"]


def test_auto_leaves_calls_of_few_pairs_alone(cuda):
    x = long(512)
    plan = explain(x, x, x, mask=masks.Window(9, 9))
    assert plan.backend == "sdpa" and "too few" in plan.why["flex"]


def test_a_named_flex_says_no_more_of_the_others_than_is_so(cuda):
    x = long()
    plan = explain(x, x, x, backend="flex")
    assert plan.backend == "flex" and plan.why["sdpa"] == "the call names flex"


@every(
    "mask",
    [
        masks.Causal("start"),
        masks.Causal("end"),
        masks.Causal(-300),
        masks.Window(50, 20, "end"),
        masks.Window(None, 20, "start"),
        masks.Prefix(200),
        masks.Prefix(5000),
        masks.Around(torch.full((900,), 600.0), 40.0),
        masks.Causal("end") & masks.Window(100, 100, "end"),
        masks.Prefix(100) | masks.Window(50, 0, "end"),
        ~masks.Causal("end"),
        masks.Lengths(torch.tensor(5)),
    ],
)
@every("lengths", [(900, 1300), (900, 700)])
def test_the_share_of_pairs_is_about_right_and_never_too_small(mask, lengths):
    grid = flex.Grid(lengths[0], lengths[1], 0, lengths[0], torch.device("cpu"))
    share = mask.dense(grid).expand(lengths).double().mean().item()
    told = flex.allowed(mask, *lengths)
    assert share - 0.02 <= told <= 1
    if not isinstance(mask, masks.Both | masks.Either | masks.Not | masks.Lengths):
        assert math.isclose(told, share, abs_tol=0.03)
