"""Draws of a decoder's steps against the definition, drawn by the same uniforms."""

import math

import pytest
import torch

from backends.cpu.cases import SCALES, allowed, draw, flags
from near import assert_near
from saccade import AuxRequest, masks, reads, remember, scores
from saccade.backends import cpu
from saccade.backends.cpu import draws

ESTIMATORS = ["reinforce", "straight_through"]
LENGTHS = masks.Lengths(torch.tensor([1, 3, 7, 0, 5]))


@pytest.fixture
def served(monkeypatch):
    """How many reads were draws of a step."""
    done, run = [], draws.run

    def counted(call):
        done.append(call)
        return run(call)

    monkeypatch.setattr(cpu.draws, "run", counted)
    return done


def uniforms(*shape, seed=0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def read(memory, query, estimator, uniform, backend, mask=None, **request):
    options = {"mask": mask, "aux": AuxRequest(log_prob=True, index=True, **request), "backend": backend}
    return memory.read(query, read=reads.Sample(estimator, uniform=uniform.to(query.dtype)), **options)


def once(backend, estimator, entropy, uniform, *inputs, mask=None):
    """All that a read tells, and its gradients."""
    query, key, value, v = leaves = [tensor.detach().requires_grad_() for tensor in inputs]
    memory = remember(key, value, score=scores.Additive(v))
    output, aux = read(memory, query, estimator, uniform, backend, mask, entropy=entropy)
    told = [output, aux.log_prob, *([aux.entropy] if entropy else [])]
    ramps = (torch.linspace(-1, 2, part.numel(), dtype=part.dtype).reshape(part.shape) for part in told)
    total = sum((part * ramp).sum() for part, ramp in zip(told, ramps, strict=True))
    grads = torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True)
    return [*told, aux.index, *grads]


def assert_as_defined(estimator, entropy, uniform, *inputs, mask=None):
    found = once("cpu", estimator, entropy, uniform, *inputs, mask=mask)
    assert_near(found, lambda *given: once("reference", estimator, entropy, uniform, *given, mask=mask), *inputs)
    return found


@pytest.mark.parametrize("entropy", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("name", [None, *allowed(3)])
def test_it_is_the_definition_with_its_gradients(name, estimator, entropy, served):
    inputs = draw(2, 3, 17), draw(2, 7, 17, seed=1), draw(2, 7, 3, seed=2), draw(17, seed=3)
    mask = None if name is None else allowed(3)[name]
    assert_as_defined(estimator, entropy, uniforms(2, 3), *inputs, mask=mask)
    assert served


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
def test_a_loop_over_a_memory_sums_its_gradients_with_those_of_soft_reads(estimator, options, served):
    inputs = draw(5, 2, 12), draw(5, 7, 12, seed=1), draw(5, 7, 12, seed=2), draw(12, seed=3)
    found = decoded("cpu", estimator, *inputs, **options)
    assert len(served) == 4
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
    query, key, v = (part.to(dtype) for part in (draw(2, 1, 4), draw(2, keys, 4, seed=1), draw(4, seed=2)))
    memory = remember(key, key, score=scores.Additive(v))
    found = read(memory, query, "reinforce", uniforms(2, 1), "cpu", **request_)
    expected = read(memory, query, "reinforce", uniforms(2, 1), "reference", **request_)
    assert not served
    torch.testing.assert_close(found[0], expected[0])
    assert torch.equal(found[1].index, expected[1].index)


def test_without_gradients_the_same_is_drawn():
    key, v, query = draw(3, 9, 4), draw(4, seed=1), draw(3, 1, 4, seed=2)
    memory = remember(key, key, score=scores.Additive(v), mask=flags(3, 1, 9, density=0.7))
    with torch.inference_mode():
        quiet = read(memory, query, "reinforce", uniforms(3, 1), "cpu")
    loud = read(memory, query.requires_grad_(), "reinforce", uniforms(3, 1), "cpu")
    assert torch.equal(quiet[0], loud[0]) and torch.equal(quiet[1].log_prob, loud[1].log_prob)
