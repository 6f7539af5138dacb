import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from saccade import AuxRequest, attend, biases, errors, explain, masks, normalizers, reads, scores
from saccade.backends import flex, triton

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


@pytest.fixture
def unchecked(monkeypatch):
    """Functions of positions, which nothing calls on a device that is not there."""
    monkeypatch.setattr(triton, "MISSING", False)
    monkeypatch.setattr(masks.Where, "check", lambda self, extent: None)
    monkeypatch.setattr(flex.points, "unknown", lambda call: None)
    monkeypatch.setattr(triton, "closing_over", lambda call: False)


def test_auto_takes_it_for_functions_of_positions(cuda, unchecked):
    x, dilated = long(), masks.Where(lambda i, j: (i - j) % 2 == 0)
    plan = explain(x, x, x, mask=dilated)
    assert plan.backend == "flex" and plan.peak_bytes < 64 << 20
    assert "flex compiles" in plan.why["triton"] and "lay mask or bias out" in plan.why["sdpa"]
    assert explain(x, x, x, mask=dilated, aux=AuxRequest(entropy=True)).backend == "triton"
    assert explain(x, x, x, mask=masks.Window(100, 100)).backend == "triton"


def test_auto_leaves_calls_of_few_pairs_alone(cuda, unchecked):
    x = long(512)
    plan = explain(x, x, x, mask=masks.Where(lambda i, j: i >= j))
    assert plan.backend == "triton" and "too few" in plan.why["flex"]


def test_a_named_flex_says_no_more_of_the_others_than_is_so(cuda):
    x = long()
    plan = explain(x, x, x, backend="flex")
    assert plan.backend == "flex" and plan.why["sdpa"] == "the call names flex"
