import weakref

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from calls import call_of
from near import assert_near
from saccade import attend, explain, masks, normalizers, scores
from saccade.backends import sdpa
from tiers import every

X = torch.randn(2, 3, 5, 8, generator=torch.Generator().manual_seed(0))
FLAGS = torch.rand(2, 1, 5, 5, generator=torch.Generator().manual_seed(1)) < 0.5

LEARNS = {
    "no mask": ((2, 3, 5, 8), None, (True, True, True)),
    "causal": ((2, 3, 5, 8), masks.Causal(), (True, True, True)),
    "dense": ((2, 3, 5, 8), FLAGS, (True, True, True)),
    "three dimensions": ((3, 5, 8), None, (True, True, True)),
    "two dimensions": ((5, 8), masks.Causal(), (True, True, True)),
    "queries": ((2, 3, 5, 8), masks.Causal(), (True, False, False)),
    "keys": ((5, 8), FLAGS[0, 0], (False, True, False)),
    "values": ((2, 3, 5, 8), FLAGS, (False, False, True)),
}


@every("scale", [None, 0.7])
@every("name", LEARNS)
def test_what_learns_is_differentiable_twice(name, scale):
    shape, mask, learns = LEARNS[name]
    options = {} if scale is None else {"score": scores.ScaledDot(scale)}
    found = []
    for backend in ("auto", "reference"):
        generator = torch.Generator().manual_seed(3)
        inputs = [torch.randn(shape, generator=generator).requires_grad_(wanted) for wanted in learns]
        wanted = [tensor for tensor in inputs if tensor.requires_grad]
        loss = attend(*inputs, mask=mask, backend=backend, **options).square().sum()
        first = torch.autograd.grad(loss, wanted, create_graph=True)
        second = torch.autograd.grad(sum(grad.square().sum() for grad in first), wanted)
        found.append((*first, *second))
    assert explain(*inputs, mask=mask, **options).backend == "sdpa"
    torch.testing.assert_close(*found, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("scale", [-0.7, 0.0])
@pytest.mark.parametrize("mask", [None, masks.Causal(), FLAGS], ids=["none", "causal", "dense"])
def test_a_scale_of_any_sign_has_right_derivatives(mask, scale):
    def call(*tensors):
        return attend(*tensors, mask=mask, score=scores.ScaledDot(scale))

    generator = torch.Generator().manual_seed(4)
    inputs = [torch.randn(2, 3, 5, 2, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(3)]
    assert explain(*inputs, mask=mask, score=scores.ScaledDot(scale)).backend == "sdpa"
    plain = attend(*inputs, mask=mask, score=scores.ScaledDot(scale), backend="reference")
    torch.testing.assert_close(call(*inputs), plain)
    assert torch.autograd.gradcheck(call, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(call, inputs, fast_mode=True)


def test_a_causal_mask_of_somebody_elses_is_asked():
    class Later(masks.Causal):
        def dense(self, grid):
            return self.relative(grid) <= 1

    torch.testing.assert_close(attend(X, X, X, mask=Later()), attend(X, X, X, mask=Later(), backend="reference"))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_types_are_differentiable_twice(dtype):
    def second(x, **options):
        x = x.detach().requires_grad_()
        output = attend(x, x, x, mask=masks.Causal(), **options)
        (first,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), x)

    assert_near(second(X.to(dtype)), lambda x: second(x, backend="reference"), X.to(dtype), times=2.0)


def test_what_is_saved_is_freed_with_the_graph():
    x = X.clone().requires_grad_()
    inner = x * 2
    output = attend(inner, inner, inner)
    alive = weakref.ref(inner)
    del inner
    torch.autograd.grad(output.sum(), x)
    assert alive() is None


@pytest.mark.parametrize("mask", [None, FLAGS], ids=["no mask", "dense"])
def test_a_checkpointed_model_runs_once_each_way(mask):
    calls = []

    def model(x):
        calls.append(None)
        for _ in range(3):
            x = attend(x, x, x, mask=mask)
        return x

    found = []
    for run in (model, lambda x: checkpoint(model, x, use_reentrant=False)):
        x = X.clone().requires_grad_()
        output = run(x)
        forward = len(calls)
        first = torch.autograd.grad(output.square().sum(), x, create_graph=True)[0]
        found.append((output, first, torch.autograd.grad(first.square().sum(), x)[0]))
        calls.clear()
        assert forward == 1
        torch.autograd.grad(run(x).sum(), x)
        assert len(calls) == (1 if run is model else 2)
        calls.clear()
    torch.testing.assert_close(found[0], found[1])


def test_what_is_saved_is_not_unpacked_forward():
    unpacked = []
    x = X.clone().requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept, lambda kept: unpacked.append(None) or kept):
        output = attend(x, x, x)
    assert not unpacked
    expected = torch.autograd.grad(attend(x, x, x, backend="reference").sum(), x)[0]
    torch.testing.assert_close(torch.autograd.grad(output.sum(), x)[0], expected)


class _Nothing(torch.autograd.Function):
    """No gradient comes back."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return None


@pytest.mark.parametrize("create_graph", [False, True])
def test_no_gradient_gives_none(create_graph):
    x = X.clone().requires_grad_()
    output = _Nothing.apply(attend(x, x, x))
    found = torch.autograd.grad(output.sum(), x, create_graph=create_graph, allow_unused=True)[0]
    assert found is None or not found.any()


def test_where_products_are_rounded_ours_are_taken(monkeypatch):
    """torch's kernels set each of their small products up anew there; the numbers are the definition's all the same."""
    monkeypatch.setattr(sdpa, "_native", lambda dtype: True)
    exact = attend(X, X, X, backend="reference")
    torch.set_float32_matmul_precision("medium")
    try:
        plan = explain(X, X, X)
        assert plan.backend != "sdpa" and "rounded to bfloat16" in plan.why["sdpa"]
        torch.testing.assert_close(attend(X, X, X), exact, rtol=2e-2, atol=2e-2)
        torch.testing.assert_close(attend(X, X, X, backend="sdpa"), exact, rtol=2e-2, atol=2e-2)
        assert explain(X.double(), X.double(), X.double()).backend == "sdpa"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert explain(X, X, X).backend == "sdpa"


def test_a_broadcast_mask_counts_its_own_entries_alone(monkeypatch):
    """Nothing of queries by keys is laid out for it, so that `auto` need not look for another backend."""
    padding, bias = torch.ones(2, 1, 1, 5, dtype=torch.bool), torch.zeros(2, 1, 1, 5)
    options = {"mask": padding}, {"mask": FLAGS}, {"bias": bias}
    assert [sdpa.laid_out(call_of(X, X, X, **option)) for option in options] == [10, 50, 0]
    assert sdpa.laid_out(call_of(X, X, X, bias=bias, mask=padding)) == 50
    monkeypatch.setattr(sdpa, "LAYOUT_LIMIT", 40)
    assert explain(X, X, X, mask=padding).backend == "sdpa"
    assert "laid out" in explain(X, X, X, mask=FLAGS).why["sdpa"]


def test_a_mask_of_groups_is_laid_out_for_each():
    query, key = X[:, :, None].expand(2, 3, 4, 5, 8), X[:, :, None]
    assert sdpa.laid_out(call_of(query, key, key, mask=FLAGS[:, :, None, :1])) == 2 * 4 * 5 * 5


SINKS = {"one": (), "heads": (3, 1, 1), "queries": (2, 1, 5, 1)}


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("mask", [None, masks.Causal(), FLAGS], ids=["none", "causal", "dense"])
def test_a_sink_on_torchs_kernel_is_the_definitions(mask, sink):
    """Output, first and second derivatives, that of a sink that learns among them; a row may see the sink alone."""
    generator = torch.Generator().manual_seed(6)
    shapes = (2, 3, 5, 4), (2, 1, 5, 4), (2, 1, 5, 7), SINKS[sink]
    inputs = [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]

    def call(query, key, value, sink, backend="sdpa"):
        return attend(query, key, value, mask=mask, normalizer=normalizers.Softmax(0.7, sink=sink), backend=backend)

    torch.testing.assert_close(call(*inputs), call(*inputs, backend="reference"))
    assert torch.autograd.gradcheck(call, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(call, inputs, fast_mode=True)


@pytest.mark.parametrize("mask", [None, masks.Causal(), FLAGS], ids=["none", "causal", "dense"])
def test_a_sink_of_minus_infinity_is_none(mask):
    never = normalizers.Softmax(sink=torch.full((3, 1, 1), -torch.inf))
    torch.testing.assert_close(attend(X, X, X, mask=mask, normalizer=never, backend="sdpa"), attend(X, X, X, mask=mask))


@pytest.mark.parametrize("mask", [None, masks.Causal(), FLAGS], ids=["none", "causal", "dense"])
def test_a_sink_of_infinity_takes_everything(mask):
    query, sink = X.clone().requires_grad_(), torch.full((3, 1, 1), torch.inf, requires_grad=True)
    output = attend(query, X, X, mask=mask, normalizer=normalizers.Softmax(sink=sink), backend="sdpa")
    output.sum().backward()
    assert not output.any() and not query.grad.any() and not sink.grad.any()


def test_a_bias_is_read_where_it_is():
    """Nothing is allocated for it: what a key forbidden by it holds is cleaned all the same."""
    bias = torch.zeros(2, 3, 5, 5)
    bias[..., 2] = -torch.inf
    bias[:, :, 0] = -torch.inf
    call = call_of(X, X, X, bias=bias)
    assert sdpa.peak_bytes(call) == 0 and sdpa.laid_out_bias(call, 1.0)[0].data_ptr() == bias.data_ptr()
    poisoned = X.clone()
    poisoned[..., 2, :] = torch.nan
    output = attend(X, poisoned, poisoned, bias=bias, backend="sdpa")
    torch.testing.assert_close(output, attend(X, X, X, bias=bias, backend="reference"))
    assert not output[:, :, 0].any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("q_len", [5, 300])
@pytest.mark.parametrize("mask", [None, masks.Causal("end")], ids=["none", "causal"])
@pytest.mark.parametrize("sink", [None, 0.3])
def test_widened_half_types_are_as_near_as_the_formula(sink, mask, q_len, dtype, monkeypatch):
    monkeypatch.setattr(sdpa, "_native", lambda dtype: False)
    generator = torch.Generator().manual_seed(7)
    query, key, value = (torch.randn(2, n, 8, generator=generator).to(dtype) for n in (q_len, 307, 307))
    options = {"mask": mask, "normalizer": normalizers.Softmax(sink=sink)}

    def call(backend, *tensors):
        leaves = [tensor.detach().requires_grad_() for tensor in tensors]
        output = attend(*leaves, backend=backend, **options)
        assert output.dtype == tensors[0].dtype
        return output, *torch.autograd.grad(output.float().square().sum(), leaves)

    found, plain = call("sdpa", query, key, value), call("reference", query, key, value)
    exact = call("reference", query.double(), key.double(), value.double())
    for one, other, truth in zip(found, plain, exact, strict=True):
        assert (one - truth).abs().max() <= 2 * (other - truth).abs().max() + 1e-6


def test_half_types_that_the_cpu_does_not_multiply_are_widened(monkeypatch):
    half = X.half()
    long = torch.zeros(1, 1, 300, 8, dtype=torch.float16)
    for known in (False, True):
        monkeypatch.setattr(sdpa, "_native", lambda dtype, known=known: known)
        assert sdpa.widens(call_of(half, half, half)) and not sdpa.widens(call_of(X, X, X))
        assert sdpa.widens(call_of(long, long, long)) is not known


@pytest.mark.parametrize("scale", [1e-46, -1e-46, 0.0])
def test_a_scale_that_is_no_number_of_kernels_is_zero(scale):
    query, key, value = torch.randn(3, 2, 9, 4).unbind(0)
    how = {"score": scores.ScaledDot(scale), "mask": masks.Causal()}
    expected = attend(query, key, value, backend="reference", **how)
    torch.testing.assert_close(attend(query, key, value, backend="sdpa", **how), expected)


FEW = {
    "one query": {},
    "turned": {"score": scores.ScaledDot(scale=-0.3)},
    "cosine": {"score": scores.Cosine(3.0)},
    "warm": {"normalizer": normalizers.Softmax(temperature=2.0)},
}


def sides(dtype, queries=1, layout=None):
    generator = torch.Generator().manual_seed(4)
    shapes = (3, 2, queries, 16), (3, 2, 50, 16), (3, 2, 50, 24)
    found = [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
    return [part.transpose(1, 2).contiguous().transpose(1, 2) for part in found] if layout else found


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("case", FEW)
@pytest.mark.parametrize("numbers", [1, 50 * 24 * 2])
def test_a_few_entries_at_a_time_are_the_call(monkeypatch, case, dtype, numbers):
    monkeypatch.setattr(sdpa, "NUMBERS", numbers)
    calls, by_entries = [], sdpa.by_entries
    monkeypatch.setattr(sdpa, "by_entries", lambda call: calls.append(1) or by_entries(call))
    for queries, layout in ((1, None), (3, "turned")):
        tensors = sides(dtype, queries, layout)
        found = attend(*tensors, backend="sdpa", **FEW[case])
        assert found.dtype == dtype
        assert_near(found, lambda *sides: attend(*sides, backend="reference", **FEW[case]), *tensors)
    assert calls == [1, 1]


def test_what_learns_or_is_masked_goes_another_way(monkeypatch):
    monkeypatch.setattr(sdpa, "NUMBERS", 1)
    monkeypatch.setattr(sdpa, "by_entries", lambda *given: pytest.fail("a part of a call"))
    query, key, value = sides(torch.bfloat16)
    attend(query, key.requires_grad_(), value, backend="sdpa").float().sum().backward()
    assert key.grad is not None
    with torch.no_grad():
        attend(query, key, value, mask=torch.ones(1, 50, dtype=torch.bool), backend="sdpa")
        attend(query[:1], key, value, backend="sdpa")
        attend(query.float(), key.float(), value.float(), backend="sdpa")
