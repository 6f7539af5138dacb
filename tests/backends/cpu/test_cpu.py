"""What it refuses, what it leaves to others, and what `explain` says."""

import pytest
import torch

from backends.cpu.cases import draw
from saccade import AuxRequest, attend, errors, explain, masks, normalizers, reads, remember, scores
from saccade.backends import choose, cpu
from saccade.kernels import team

ADDITIVE = {"score": scores.Additive(torch.ones(6))}
CALLABLE = {"score": lambda query, key: query @ key.mT}

SERVED = {
    "dot": {"score": scores.Dot()},
    "sparse": {"score": scores.Cosine(), "normalizer": normalizers.Sparsemax()},
    "sink": {**ADDITIVE, "normalizer": normalizers.Softmax(sink=0.0)},
    "temperatures": {**ADDITIVE, "normalizer": normalizers.Softmax(torch.ones(1))},
    "bias": {**ADDITIVE, "bias": torch.ones(5, 5)},
    "gate": {**ADDITIVE, "gate": torch.ones(5, 5)},
    "top": {**ADDITIVE, "read": reads.TopK(2)},
    "statistics": {**ADDITIVE, "aux": AuxRequest(lse=True)},
    "normalizer": {**ADDITIVE, "normalizer": lambda found, mask: found.softmax(-1)},
    "callable": CALLABLE,
}


@pytest.mark.parametrize("name", SERVED)
@pytest.mark.parametrize("dtype", cpu.DTYPES, ids=str)
def test_every_call_on_a_cpu_is_served(name, dtype):
    x, options = draw(2, 5, 6).to(dtype), SERVED[name]
    if isinstance(options.get("score"), scores.Additive):
        options = {**options, "score": scores.Additive(torch.ones(6, dtype=dtype))}
    assert "cpu" not in explain(x, x, x, **options, backend="cpu").why
    found, expected = (attend(x, x, x, **options, backend=backend) for backend in ("cpu", "reference"))
    close = 1e-5 if x.dtype in (torch.float32, torch.float64) else 2e-2
    leaf = lambda part: part[0] if isinstance(part, tuple) else part
    torch.testing.assert_close(leaf(found), leaf(expected), rtol=close, atol=close)


def test_where_there_is_no_numba_it_says_so(monkeypatch):
    monkeypatch.setitem(team._found, "numba", "Numba cannot be imported: none here")
    x = draw(2, 5, 6)
    with pytest.raises(errors.UnsupportedBackend, match="backend='cpu': Numba cannot be imported: none here"):
        attend(x, x, x, backend="cpu")
    assert explain(x, x, x, **ADDITIVE).why["cpu"] == "Numba cannot be imported: none here"
    long = torch.empty(1, 4096, 6)
    assert explain(long, long, long, **ADDITIVE).backend == "chunked"
    assert attend(x, x, x, **ADDITIVE).shape == (2, 5, 6)


def test_another_device_is_told():
    x = torch.empty(2, 5, 6, device="meta")
    with pytest.raises(errors.UnsupportedBackend, match="on a CPU, and this is torch.float32 on meta"):
        attend(x, x, x, score=scores.Additive(torch.ones(6, device="meta")), backend="cpu")


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # of torch's own, at the first dual tensor
def test_tensors_that_are_not_plain_are_told():
    x, dual = draw(2, 5, 6), torch.autograd.forward_ad
    with pytest.raises(errors.UnsupportedBackend, match="plain dense tensors"):
        attend(torch._neg_view(x), x, x, backend="cpu")
    with dual.dual_level(), pytest.raises(errors.UnsupportedBackend, match="forward-mode"):
        moved = dual.make_dual(x, torch.ones_like(x))
        attend(moved, x, x, backend="cpu")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_callable_is_not_traced():
    torch._dynamo.reset()
    x = draw(2, 5, 6)

    def reason(x):
        return explain(x, x, x, **CALLABLE).why["cpu"]

    assert "callable" in torch.compile(reason, backend="eager", fullgraph=True)(x)
    named = torch.compile(lambda x: attend(x, x, x, **CALLABLE, backend="cpu"), backend="eager")
    with pytest.raises(Exception, match="callable cannot cross"):
        named(x)


def test_a_callable_under_transforms_is_the_reference():
    x = draw(3, 5, 6)
    mapped = torch.func.vmap(lambda row: attend(row, row, row, **CALLABLE, backend="cpu"))(x)
    torch.testing.assert_close(mapped, attend(x, x, x, **CALLABLE, backend="reference"))


def test_transforms_are_served():
    x = draw(3, 5, 6)
    for dtype in cpu.DTYPES[:2]:
        part, score = x.to(dtype), scores.Additive(torch.ones(6, dtype=dtype))
        mapped = torch.func.vmap(lambda row, score=score: attend(row, row, row, score=score, backend="cpu"))(part)
        torch.testing.assert_close(mapped, attend(part, part, part, score=score, backend="reference"))


WISE = {
    "additive": (ADDITIVE, "small"),
    "additive, sigmoid": ({**ADDITIVE, "normalizer": normalizers.Sigmoid()}, "small"),
    "sparsemax": ({"normalizer": normalizers.Sparsemax()}, "small"),
    "entropy": ({"aux": AuxRequest(entropy=True)}, "small"),
    "sigmoid": ({"normalizer": normalizers.Sigmoid()}, "nothing"),
    "sink": ({"normalizer": normalizers.Softmax(sink=0.0)}, "nothing"),
    "callable": (CALLABLE, "small"),
    "callables": ({**CALLABLE, "normalizer": lambda found, mask: found.softmax(-1)}, "nothing"),
}


@pytest.mark.parametrize("name", WISE)
def test_auto_takes_it_where_it_pays(name):
    small, (options, reason) = draw(2, 5, 6), WISE[name]
    found = explain(small, small, small, **options)
    assert (found.backend == "cpu") == (reason is None)
    assert reason is None or (reason in found.why["cpu"] and found.backend in ("reference", "chunked"))
    long = torch.empty(1, 300, 6)
    plan = explain(long, long, long, **options)
    assert (plan.backend == "cpu") == (reason != "nothing")
    assert plan.backend == "cpu" or "nothing of this call" in plan.why["cpu"]


def test_torchs_kernels_come_first():
    long = torch.empty(1, 300, 6)
    assert explain(long, long, long).backend == "sdpa"
    assert explain(long, long, long, mask=masks.Causal()).backend == "sdpa"


@pytest.mark.parametrize("length", [256, 257, 16384])
def test_auto_takes_additive_scores_from_some_terms_on(length):
    x = torch.empty(1, length, 4)
    plan = explain(x, x, x, score=scores.Additive(torch.ones(4)))
    assert plan.backend == "cpu" and plan.peak_bytes < (64 << 20) + 64 * x.numel()
    few = torch.empty(1, length, 4)[:, : cpu.TERMS // (4 * length) - 1]
    found = explain(few, x, x, score=scores.Additive(torch.ones(4)))
    assert found.backend != "cpu" and "small" in found.why["cpu"]


def test_auto_takes_it_for_the_reads_of_a_memory_however_small(monkeypatch):
    ran = []
    monkeypatch.setattr(cpu, "run", lambda call, run=cpu.run: ran.append(call) or run(call))
    x = draw(2, 5, 4)
    remember(x, x, score=scores.Additive(torch.ones(4))).read(x[:, :1])
    assert len(ran) == 1


def test_under_autocast_additive_scores_are_of_its_type():
    x = draw(2, 5, 6)
    with torch.autocast("cpu", torch.bfloat16):
        found = attend(x, x, x, **ADDITIVE)
    half = x.bfloat16()
    expected = attend(half, half, half, score=scores.Additive(torch.ones(6).bfloat16()), backend="reference")
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found, expected)


def test_it_is_one_of_the_backends():
    assert choose.BACKENDS["cpu"] is cpu


def test_under_autocast_it_serves_what_is_cast_already():
    x, score = draw(2, 20, 6), scores.Additive(torch.ones(6))
    with torch.autocast("cpu", torch.bfloat16):
        found = attend(x, x, x, score=score, backend="cpu")
        expected = attend(x, x, x, score=score, backend="reference")
    assert found.dtype == expected.dtype == torch.bfloat16
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)
