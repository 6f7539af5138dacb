"""Draws of a decoder's steps against the definition, drawn by the same uniforms."""

import math

import pytest
import torch

from backends.cpu.cases import SCALES, allowed, draw, flags
from near import assert_near
from saccade import AuxRequest, masks, normalizers, reads, remember, scores
from saccade.backends import cpu
from saccade.backends.cpu import draws, steps

ESTIMATORS = ["reinforce", "straight_through"]
LENGTHS = masks.Lengths(torch.tensor([1, 3, 7, 0, 5]))


@pytest.fixture(autouse=True)
def served(monkeypatch):
    """The draws of steps; a read of the backend that is none fails where `alone` is True."""
    done, run, alone = [], draws.run, {"alone": True}

    def counted(call):
        done.append(call)
        return run(call)

    def others(call):
        assert not alone["alone"] or not isinstance(call.read, reads.Sample)
        return one_block(call)

    one_block = cpu.one_block
    monkeypatch.setattr(cpu.draws, "run", counted)
    monkeypatch.setattr(cpu, "one_block", others)
    return done, alone


def uniforms(*shape, seed=0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def read(memory, query, estimator, uniform, backend, mask=None, temperature=1.0, **request):
    request = {"log_prob": True, "index": True, **request}
    options = {"mask": mask, "normalizer": normalizers.Softmax(temperature), "aux": AuxRequest(**request)}
    sample = reads.Sample(estimator, uniform=uniform.to(query.dtype))
    return memory.read(query, read=sample, backend=backend, **options)


def once(backend, estimator, entropy, uniform, *inputs, mask=None, temperature=1.0):
    """All that a read tells, and its gradients."""
    query, key, value, v = leaves = [tensor.detach().requires_grad_() for tensor in inputs]
    memory = remember(key, value, score=scores.Additive(v))
    output, aux = read(memory, query, estimator, uniform, backend, mask, temperature, entropy=entropy)
    told = [output, aux.log_prob, *([aux.entropy] if entropy else [])]
    ramps = (torch.linspace(-1, 2, part.numel(), dtype=part.dtype).reshape(part.shape) for part in told)
    total = sum((part * ramp).sum() for part, ramp in zip(told, ramps, strict=True))
    grads = torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True)
    return [*told, aux.index, *grads]


def assert_as_defined(estimator, entropy, uniform, *inputs, **options):
    found = once("cpu", estimator, entropy, uniform, *inputs, **options)
    assert_near(found, lambda *given: once("reference", estimator, entropy, uniform, *given, **options), *inputs)
    return found


@pytest.mark.parametrize("entropy", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("name", [None, *allowed(3)])
def test_it_is_the_definition_with_its_gradients(name, estimator, entropy):
    inputs = draw(2, 3, 17), draw(2, 7, 17, seed=1), draw(2, 7, 3, seed=2), draw(17, seed=3)
    mask = None if name is None else allowed(3)[name]
    assert_as_defined(estimator, entropy, uniforms(2, 3), *inputs, mask=mask)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("temperature", "threads"), [(0.3, 1), (5.0, 2)])
def test_of_any_temperature_by_any_number_of_threads(temperature, threads, estimator):
    inputs = draw(9, 2, 17), draw(9, 7, 17, seed=1), draw(9, 7, 3, seed=2), draw(17, seed=3)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        assert_as_defined(estimator, True, uniforms(9, 2), *inputs, temperature=temperature)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("gap", [5.0, 10.0, 15.0])
def test_a_nearly_certain_draw_keeps_its_gradients_digits(gap):
    """1 - w, which the gradient of log w is a multiple of, is not taken from 1."""
    query, v = torch.full((1, 1, 4), 0.3), torch.full((4,), gap / 7)
    key, value = torch.full((1, 3, 4), -1.5), draw(1, 3, 2)
    key[:, 1] = 1.5

    def grads(backend, dtype):
        leaves = [part.to(dtype).requires_grad_() for part in (query, key, v)]
        memory = remember(leaves[1], value.to(dtype), score=scores.Additive(leaves[2]))
        _, aux = read(memory, leaves[0], "reinforce", torch.tensor([[0.5]]), backend)
        assert int(aux.index) == 1
        return torch.autograd.grad(aux.log_prob.sum(), leaves)

    for found, exact in zip(grads("cpu", torch.float32), grads("reference", torch.float64), strict=True):
        torch.testing.assert_close(found.double(), exact, rtol=1e-3, atol=1e-4 * float(exact.abs().max()))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("scale", SCALES)
def test_every_range_keeps_its_digits(scale, estimator):
    inputs = draw(2, 3, 33, scale=scale), draw(2, 7, 33, scale=scale, seed=1), draw(2, 7, 3, seed=2), draw(33, seed=3)
    assert_as_defined(estimator, True, uniforms(2, 3), *inputs)


@pytest.mark.parametrize(
    ("query", "keys", "v"),
    [
        ((1, 6), (7, 6), (6,)),
        ((2, 3, 1, 6), (2, 1, 7, 6), (6,)),
        ((2, 3, 2, 6), (2, 3, 7, 6), (3, 6)),
        ((3, 2, 6), (1, 7, 6), (6,)),
        ((2, 6), (3, 7, 6), (6,)),
    ],
    ids=str,
)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_any_batch_draws_by_its_own_uniforms(query, keys, v, estimator):
    inputs = draw(*query), draw(*keys, seed=1), draw(*keys, seed=2), draw(*v, seed=3)
    batch = torch.broadcast_shapes(query[:-2], keys[:-2])
    assert_as_defined(estimator, True, uniforms(*batch, query[-2]), *inputs)
    assert_as_defined(estimator, True, uniforms(query[-2]), *inputs)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_what_nobody_may_attend_to_influences_nothing(estimator):
    inputs = [draw(2, 2, 6), draw(2, 7, 6, seed=1), draw(2, 7, 3, seed=2), draw(6, seed=3)]
    mask = torch.ones(7, dtype=torch.bool)
    mask[[2, 6]] = False
    clean = once("cpu", estimator, True, uniforms(2, 2), *inputs, mask=mask)
    inputs[1][:, 2], inputs[2][:, 2], inputs[1][:, 6], inputs[2][:, 6] = math.nan, math.inf, math.inf, math.nan
    assert all(map(torch.equal, once("cpu", estimator, True, uniforms(2, 2), *inputs, mask=mask), clean))


def decoded(backend, estimator, *inputs, again=False, second=False):
    """The gradients of a loop of reads of one memory, drawn and soft, each query from the reads before."""
    query, key, value, v = leaves = [tensor.detach().requires_grad_() for tensor in inputs]
    memory, total = remember(2 * key, value + key, score=scores.Additive(v), mask=LENGTHS), torch.zeros(())
    for seed in range(4):
        output, aux = read(memory, query, estimator, uniforms(5, 2, seed=seed), backend, entropy=seed % 2 == 0)
        query = query + 0.3 * output + 0.1 * memory.read(query, backend=backend)
        total = total + output.square().sum() + (aux.log_prob * torch.arange(10).view(5, 2)).sum()
        total = total if aux.entropy is None else total + aux.entropy.square().sum()
    if second:
        first = torch.autograd.grad(total, leaves, create_graph=True)
        return torch.autograd.grad(sum(grad.square().sum() for grad in first), leaves)
    if again:
        torch.autograd.grad(total, leaves, retain_graph=True)
        torch.autograd.grad(total, leaves[:1], retain_graph=True)
    return torch.autograd.grad(total, leaves)


@pytest.mark.parametrize("options", [{}, {"again": True}, {"second": True}], ids=str)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_loop_over_a_memory_sums_gradients_of_its_reads(estimator, options, served):
    inputs = draw(5, 2, 12), draw(5, 7, 12, seed=1), draw(5, 7, 12, seed=2), draw(12, seed=3)
    found = decoded("cpu", estimator, *inputs, **options)
    assert len(served[0]) == 4
    assert_near(found, lambda *given: decoded("reference", estimator, *given, **options), *inputs)


def test_many_gradients_at_once():
    leaves = [tensor.requires_grad_() for tensor in (draw(1, 2, 4), draw(1, 5, 4, seed=1), draw(4, seed=3))]
    query, key, v = leaves
    memory = remember(key, key, score=scores.Additive(v))
    output, _ = read(memory, query, "straight_through", uniforms(1, 2), "cpu")
    ways = torch.eye(8)
    many = torch.autograd.grad(output, leaves, ways.view(8, 1, 2, 4), is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(output, leaves, way.view(1, 2, 4), retain_graph=True) for way in ways]
    for place, part in enumerate(many):
        torch.testing.assert_close(part, torch.stack([grads[place] for grads in each]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["output", "log_prob", "entropy"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_what_alone_learns_has_its_gradient_alone(name, estimator):
    def grads(backend):
        leaves = [draw(2, 2, 4), draw(2, 5, 4, seed=1), draw(2, 5, 3, seed=2), draw(4, seed=3)]
        query, key, value, v = leaves = [tensor.requires_grad_() for tensor in leaves]
        memory = remember(key, value, score=scores.Additive(v))
        output, aux = read(memory, query, estimator, uniforms(2, 2), backend, entropy=True)
        part = output if name == "output" else getattr(aux, name)
        return torch.autograd.grad(part.square().sum(), leaves, allow_unused=True, materialize_grads=True)

    torch.testing.assert_close(grads("cpu"), grads("reference"), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("request_", "keys", "dtype"),
    [
        ({"weights": True}, 5, torch.float32),
        ({"top": 2}, 5, torch.float32),
        ({}, 0, torch.float32),
        ({}, 5, torch.float64),
    ],
    ids=str,
)
def test_what_is_asked_for_beside_a_draw_is_told_elsewhere(request_, keys, dtype, served):
    served[1]["alone"] = False
    query, key, v = (part.to(dtype) for part in (draw(2, 1, 4), draw(2, keys, 4, seed=1), draw(4, seed=2)))
    memory = remember(key, key, score=scores.Additive(v))
    found = read(memory, query, "reinforce", uniforms(2, 1), "cpu", **request_)
    expected = read(memory, query, "reinforce", uniforms(2, 1), "reference", **request_)
    assert not served[0]
    torch.testing.assert_close(found[0], expected[0])
    assert torch.equal(found[1].index, expected[1].index)


def test_without_gradients_the_same_is_drawn():
    key, v, query = draw(3, 9, 4), draw(4, seed=1), draw(3, 1, 4, seed=2)
    memory = remember(key, key, score=scores.Additive(v), mask=flags(3, 1, 9, density=0.7))
    with torch.inference_mode():
        quiet = read(memory, query, "reinforce", uniforms(3, 1), "cpu")
    loud = read(memory, query.requires_grad_(), "reinforce", uniforms(3, 1), "cpu")
    assert torch.equal(quiet[0], loud[0]) and torch.equal(quiet[1].log_prob, loud[1].log_prob)


@pytest.mark.parametrize(
    "request_", [{"index": False}, {"log_prob": False}, {"log_prob": False, "index": False, "entropy": True}], ids=str
)
def test_what_is_not_asked_for_is_not_told(request_):
    key, v, query = draw(3, 9, 4), draw(4, seed=1), draw(3, 1, 4, seed=2)
    memory = remember(key, key, score=scores.Additive(v))
    found, expected = (read(memory, query, "reinforce", uniforms(3, 1), by, **request_) for by in ("cpu", "reference"))
    for name in ("index", "log_prob", "entropy"):
        one, other = getattr(found[1], name), getattr(expected[1], name)
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other)


def test_what_nothing_passes_through_has_no_gradient_to_ask_for():
    query, key, value, v = draw(2, 1, 4), draw(2, 5, 4, seed=1), draw(2, 5, 3, seed=2), draw(4, seed=3)
    for learning in ("query", "value", "none"):
        leaves = {"query": query.clone(), "value": value.clone()}
        if learning != "none":
            leaves[learning].requires_grad_()
        for estimator in ESTIMATORS:
            found = {}
            for backend in ("cpu", "reference"):
                memory = remember(key, leaves["value"], score=scores.Additive(v))
                output, aux = read(memory, leaves["query"], estimator, uniforms(2, 1), backend, entropy=True)
                found[backend] = [part.requires_grad for part in (output, aux.log_prob, aux.entropy)]
            assert found["cpu"] == found["reference"], (learning, estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_second_derivative_where_the_value_does_not_learn(estimator):
    def second(backend):
        query = draw(2, 2, 4).requires_grad_()
        memory = remember(draw(2, 5, 4, seed=1), draw(2, 5, 3, seed=2), score=scores.Additive(draw(4, seed=3)))
        output, aux = read(memory, query, estimator, uniforms(2, 2), backend)
        total = aux.log_prob.square().sum() + (output * output.detach()).sum()
        (first,) = torch.autograd.grad(total, query, create_graph=True)
        return torch.autograd.grad(first.square().sum(), query)

    torch.testing.assert_close(second("cpu"), second("reference"), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_second_derivatives_past_an_empty_row_of_nan(estimator):
    leaves = [draw(2, 2, 4), draw(2, 5, 4, seed=1), draw(2, 5, 3, seed=2), draw(4, seed=3)]
    leaves[0][0, 1] = math.nan
    query, key, value, v = leaves = [tensor.requires_grad_() for tensor in leaves]
    mask = torch.ones(2, 2, 5, dtype=torch.bool)
    mask[0, 1] = False
    memory = remember(key, value, score=scores.Additive(v))
    output, aux = read(memory, query, estimator, uniforms(2, 2), "cpu", mask)
    first = torch.autograd.grad(output.square().sum() + aux.log_prob.sum(), leaves, create_graph=True)
    second = torch.autograd.grad(sum(grad.square().sum() for grad in first), leaves)
    assert all(tensor.isfinite().all() for tensor in (*first, *second))


def test_an_infinite_gradient_spoils_the_drawn_value_alone():
    value = draw(2, 5, 3, seed=2).requires_grad_()
    memory = remember(draw(2, 5, 4, seed=1), value, score=scores.Additive(draw(4, seed=3)))
    output, aux = read(memory, draw(2, 2, 4), "reinforce", torch.tensor([[0.0, 0.999]]), "cpu")
    grad = torch.ones_like(output)
    grad[0, 0] = math.inf
    (found,) = torch.autograd.grad(output, value, grad)
    assert found[0, aux.index[0, 0]].isinf().all()
    found[0, aux.index[0, 0]] = 0.0
    assert found.isfinite().all() and float(found.sum()) == 9.0


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_saved_tensors_of_other_strides_are_read_as_they_are(estimator):
    inputs = draw(2, 3, 17), draw(2, 7, 17, seed=1), draw(2, 7, 3, seed=2), draw(17, seed=3)
    expected = once("cpu", estimator, True, uniforms(2, 3), *inputs)

    def twisted(tensor):
        return tensor.mT.contiguous() if tensor.ndim > 1 else tensor

    def straightened(tensor):
        return tensor.mT if tensor.ndim > 1 else tensor

    with torch.autograd.graph.saved_tensors_hooks(twisted, straightened):
        found = once("cpu", estimator, True, uniforms(2, 3), *inputs)
    torch.testing.assert_close(found, expected)


def test_draws_without_gradients_leave_the_sums_to_those_with_them():
    key, v, query = draw(3, 9, 4).requires_grad_(), draw(4, seed=1), draw(3, 1, 4, seed=2)
    memory = remember(key, key, score=scores.Additive(v))
    with torch.no_grad():
        read(memory, query, "reinforce", uniforms(3, 1), "cpu")
    read(memory, query, "reinforce", uniforms(3, 1), "cpu")
    gate, _ = memory.state.of(steps.Steps).of(memory.key, memory.value)
    assert gate.requires_grad
