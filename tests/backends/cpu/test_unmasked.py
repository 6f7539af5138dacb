import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from backends.cpu.cases import SCALES, draw, shapes
from backends.cpu.cases import run as additive
from near import assert_near
from saccade import AuxRequest, attend, masks, normalizers, scores
from saccade.backends import cpu
from saccade.backends.cpu import steps, unmasked

ALL = AuxRequest(lse=True, entropy=True, top=3)


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch):
    """What goes another way fails."""
    monkeypatch.setattr(steps, "serves_step", lambda call: False)
    monkeypatch.setattr(cpu, "one_block", None)


@pytest.fixture(params=[1, 40, 1 << 18])
def pairs(request, monkeypatch):
    """In a block: of a part of an entry, and of several entries."""
    monkeypatch.setattr(unmasked, "PAIRS", request.param)


def ramp(features):
    """A v whose entries half types hold."""
    return torch.arange(features) / 4 - 1


def parts(query, key, value, *, backend, request=ALL, temperature=1.0):
    """Output and statistics."""
    score = scores.Additive(ramp(query.shape[-1]).to(query.dtype))
    options = {"score": score, "normalizer": normalizers.Softmax(temperature), "aux": request}
    output, found = attend(query, key, value, backend=backend, **options)
    return [output, found.lse, found.entropy, *found.top]


@pytest.mark.usefixtures("pairs")
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)], ids=str)
def test_statistics_are_the_definitions(batch):
    inputs = draw(*batch, 11, 6), draw(*batch, 9, 6, seed=1), draw(*batch, 9, 4, seed=2)
    found = parts(*inputs, backend="cpu", temperature=0.7)

    def plain(*inputs):
        return parts(*inputs, backend="reference", temperature=0.7)

    assert torch.equal(found[-1], plain(*inputs)[-1])
    assert_near(found[:-1], lambda *inputs: plain(*inputs)[:-1], *inputs)


@given(st.integers(1, 3), st.integers(1, 20), st.integers(1, 70), st.integers(1, 20), st.integers(0, 99))
def test_the_largest_of_any_sizes(batch, queries, keys, features, seed):
    inputs = (draw(batch, size, features, seed=seed + place) for place, size in enumerate((queries, keys, keys)))
    query, key, value = (part.double() for part in inputs)
    request = AuxRequest(top=min(4, keys), lse=True, entropy=True)
    found, expected = (parts(query, key, value, backend=name, request=request) for name in ("cpu", "reference"))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    single = parts(query.float(), key.float(), value.float(), backend="cpu", request=request)
    weights = scores.Additive(ramp(features).double())(query, key).softmax(-1)
    torch.testing.assert_close(weights.gather(-1, single[-1]), expected[-2], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_computed_in_float32(dtype):
    inputs = [draw(2, 11, 6, seed=seed).to(dtype) for seed in range(3)]
    found = parts(*inputs, backend="cpu")
    expected = parts(*(part.float() for part in inputs), backend="cpu")
    assert torch.equal(found[0], expected[0].to(dtype))
    torch.testing.assert_close(found[1:], expected[1:], rtol=0, atol=0)


ONE_BATCH = [
    shape for shape in shapes(11) if shape[0][:-2] == shape[1][:-2] == shape[2][:-2] and 0 not in sum(shape, ())
]


@pytest.mark.parametrize("shapes", ONE_BATCH, ids=str)
def test_gradients_of_additive_scores_are_the_definitions(shapes):
    inputs = [draw(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    found = additive("cpu", *inputs, temperature=0.6)
    assert_near(found, lambda *x: additive("reference", *x, temperature=0.6, dtype=x[0].dtype), *inputs)
    score, normalizer = scores.Additive(inputs[3]), normalizers.Softmax(0.6)
    with torch.no_grad():
        again = attend(*inputs[:3], score=score, normalizer=normalizer, backend="cpu")
    torch.testing.assert_close(again, found[0].detach())


@pytest.mark.parametrize("scale", SCALES)
def test_numbers_of_any_size(scale):
    inputs = draw(2, 11, 6, scale=scale), draw(2, 9, 6, scale=scale, seed=1), draw(2, 9, 3, seed=2), draw(6, seed=3)
    assert_near(additive("cpu", *inputs), lambda *x: additive("reference", *x, dtype=x[0].dtype), *inputs)


@pytest.mark.parametrize("v", [(3,), (2, 3)], ids=str)
def test_it_is_differentiable_twice(v):
    shapes = (2, 5, 3), (2, 4, 3), (2, 4, 2), v
    inputs = [draw(*shape, seed=seed).double().requires_grad_() for seed, shape in enumerate(shapes)]

    def call(query, key, value, v):
        return attend(query, key, value, score=scores.Additive(v), backend="cpu")

    assert torch.autograd.gradcheck(call, inputs) and torch.autograd.gradgradcheck(call, inputs, fast_mode=True)


def test_strided_inputs_are_differentiable_twice():
    inputs = [draw(*shape).double().requires_grad_() for shape in ((2, 3, 5), (2, 3, 4), (2, 2, 4), (6,))]

    def call(query, key, value, v):
        return attend(query.mT, key.mT, value.mT, score=scores.Additive(v[::2]), backend="cpu")

    assert torch.autograd.gradcheck(call, inputs) and torch.autograd.gradgradcheck(call, inputs, fast_mode=True)


@pytest.mark.parametrize("learning", range(4))
def test_one_input_alone_may_learn(learning):
    inputs = [draw(2, 5, 3), draw(2, 4, 3, seed=1), draw(2, 4, 2, seed=2), draw(3, seed=3)]
    inputs[learning].requires_grad_()

    def gradient(backend):
        output = attend(*inputs[:3], score=scores.Additive(inputs[3]), backend=backend)
        return torch.autograd.grad(output.square().sum(), inputs[learning])[0]

    torch.testing.assert_close(gradient("cpu"), gradient("reference"), rtol=1e-4, atol=1e-5)


def test_a_backward_under_autocast_is_that_of_the_forward():
    query, key, value = (draw(2, 5, 3, seed=seed).requires_grad_() for seed in range(3))
    output = attend(query, key, value, score=scores.Additive(torch.ones(3)), backend="cpu").square().sum()
    expected = torch.autograd.grad(output, (query, key, value), retain_graph=True)
    with torch.autocast("cpu"):
        found = torch.autograd.grad(output, (query, key, value))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_many_gradients_at_once():
    query, key, value = (draw(2, 5, 3, seed=seed).requires_grad_() for seed in range(3))
    output = attend(query, key, value, score=scores.Additive(torch.ones(3)), backend="cpu")
    upstream = draw(4, *output.shape, seed=9)
    many = torch.autograd.grad(output, query, upstream, is_grads_batched=True, retain_graph=True)[0]
    each = [torch.autograd.grad(output, query, one, retain_graph=True)[0] for one in upstream]
    torch.testing.assert_close(many, torch.stack(each))


@pytest.mark.parametrize(
    "options",
    [
        {"mask": masks.Causal()},
        {"normalizer": normalizers.Sparsemax()},
        {"aux": AuxRequest(weights=True)},
        {"bias": torch.zeros(4, 4)},
        {"gate": torch.ones(4, 4)},
        {"dropout_p": 0.5},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_else_a_call_may_have_goes_another_way(options, monkeypatch):
    refused, serves = [], unmasked.serves
    monkeypatch.setattr(unmasked, "serves", lambda call: refused.append(serves(call)) or serves(call))
    monkeypatch.setattr(cpu, "one_block", lambda call: True)
    x = draw(2, 4, 3)
    attend(x, x, x, score=scores.Additive(torch.ones(3)), backend="cpu", **options)
    assert refused == [False]
