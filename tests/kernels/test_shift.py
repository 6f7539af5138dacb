import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from near import assert_near
from saccade import nn
from saccade.kernels.heads import step
from saccade.kernels.shift import Shift
from saccade.kernels.threads import without_kernels


def memory_of(cell_dim, reads, writes, furthest):
    return nn.ExternalMemory(2, cell_dim, num_reads=reads, num_writes=writes, max_shift=furthest)


def step_of(module):
    """The step by kernels, and by its formula."""
    heads = Shift(module._by_shift, module.num_reads, module.num_writes, module.max_shift)
    return lambda *tensors: step(heads, *tensors), module._by_shift


def drawn(module, batch, cells, seed, scale=1.0, dtype=torch.float32):
    numbers = torch.Generator().manual_seed(seed)
    asked = torch.randn(batch, module.heads.out_features, generator=numbers, dtype=torch.float64) * scale
    memory = torch.randn(batch, cells, module.cell_dim, generator=numbers, dtype=torch.float64) * scale
    heads = module.num_reads, module.num_writes
    weights = [torch.randn(batch, count, cells, generator=numbers, dtype=torch.float64).softmax(-1) for count in heads]
    return [tensor.to(dtype).requires_grad_() for tensor in (asked, memory, *weights)]


def with_gradients(function, inputs):
    outputs = function(*inputs)
    ramps = (torch.linspace(-1, 2, part.numel(), dtype=part.dtype).reshape(part.shape) for part in outputs)
    total = sum((part * ramp).sum() for part, ramp in zip(outputs, ramps, strict=True))
    return [*outputs, *torch.autograd.grad(total, inputs)]


def largest(tensors):
    return max(1.0, *(part.abs().max().item() for part in tensors))


def shortest(module, asked, memory):
    """The length of the shortest key or cell: derivatives of a direction are as large as one over it."""
    size = module.cell_dim
    read, written = asked.detach().split([count * width for count, width in widths(module)], -1)
    heads = read.unflatten(-1, (module.num_reads, -1)), written.unflatten(-1, (module.num_writes, -1))
    return min(part[..., :size].norm(dim=-1).min().item() for part in (*heads, memory.detach()))


def widths(module):
    return (module.num_reads, module._reader), (module.num_writes, module._writer)


sizes = st.tuples(st.integers(1, 9), st.integers(1, 3), st.integers(1, 3), st.integers(0, 3))


@given(sizes, st.integers(1, 4), st.integers(1, 40), st.integers(0, 99), st.sampled_from([1e-3, 1.0, 3.0]))
@settings(deadline=None, max_examples=60)
def test_it_is_the_formula_with_its_gradients(heads, batch, cells, seed, scale):
    module = memory_of(*heads)
    inputs = drawn(module, batch, cells, seed, scale)
    ours, formula = step_of(module)

    def defined(*given):
        return with_gradients(formula, [tensor.requires_grad_() for tensor in given])

    found = with_gradients(ours, inputs)
    assert_near(found, defined, *inputs, unit=max(largest(found), 1 / shortest(module, *inputs[:2])))
    with torch.no_grad():
        assert all(torch.equal(*pair) for pair in zip(ours(*inputs), found[:4], strict=True))


@given(sizes, st.integers(1, 3), st.integers(1, 7), st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_in_float64_it_is_the_formula(heads, batch, cells, seed):
    module = memory_of(*heads)
    inputs = drawn(module, batch, cells, seed, 2.0, torch.float64)
    ours, formula = step_of(module)
    pairs = zip(with_gradients(ours, inputs), with_gradients(formula, inputs), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("heads", [(2, 1, 1, 1), (3, 2, 2, 2)])
def test_its_gradients_are_its_derivatives_and_differentiable_again(heads):
    module = memory_of(*heads)
    inputs = drawn(module, 2, 4, 0, dtype=torch.float64)
    ours, _ = step_of(module)
    assert torch.autograd.gradcheck(ours, inputs)
    assert torch.autograd.gradgradcheck(ours, inputs, fast_mode=True)


def test_gradients_of_some_outputs_alone():
    module = memory_of(5, 2, 1, 1)
    inputs, (ours, formula) = drawn(module, 3, 6, 1, dtype=torch.float64), step_of(module)
    for place in range(4):
        totals = (step_by(*inputs)[place].sin().sum() for step_by in (ours, formula))
        found, expected = (torch.autograd.grad(total, inputs, materialize_grads=True) for total in totals)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


def test_cells_of_zeros_and_of_extreme_sizes_have_their_directions():
    module = memory_of(3, 1, 1, 1)
    asked, memory, reading, writing = drawn(module, 5, 6, 2)
    sizes = torch.tensor([0.0, 1e-25, 1e25, 1e-18, 1e18])
    with torch.no_grad():
        memory[:, :3] *= sizes[:, None, None]
        asked[:, :3] *= sizes.flip(0)[:, None]
    ours, formula = step_of(module)
    found, expected = (by(asked, memory, reading, writing) for by in (ours, formula))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    grad, plain = (torch.autograd.grad(outputs[2].sin().sum(), asked)[0] for outputs in (found, expected))
    assert grad.isfinite().all()
    torch.testing.assert_close(grad, plain, rtol=1e-4, atol=1e-6)


def test_the_same_call_gives_the_same_bits_and_an_example_alone_what_it_gives_in_a_batch():
    module = memory_of(20, 1, 1, 1)
    inputs, (ours, _) = drawn(module, 5, 128, 3), step_of(module)
    found = with_gradients(ours, inputs)
    assert all(torch.equal(*pair) for pair in zip(found, with_gradients(ours, inputs), strict=True))
    outputs = ours(*[part[2:3] for part in inputs])
    assert all(torch.equal(part[2:3], alone) for part, alone in zip(found, outputs, strict=False))


def test_tensors_may_lie_as_they_like():
    module = memory_of(4, 2, 1, 1)
    inputs, (ours, _) = [part.detach() for part in drawn(module, 3, 5, 4)], step_of(module)
    apart = [torch.stack((part, part), -1)[..., 0] for part in inputs]
    alike = [part[:1].expand(part.shape) for part in inputs]
    assert all(torch.equal(*pair) for pair in zip(ours(*apart), ours(*inputs), strict=True))
    assert all(torch.equal(part[0], part[2]) for part in ours(*alike))


@pytest.mark.parametrize("place", range(4))
def test_what_is_not_a_number_stays_in_its_example(place):
    module = memory_of(4, 2, 1, 1)
    inputs, (ours, _) = [part.detach() for part in drawn(module, 3, 5, 5)], step_of(module)
    clean = ours(*inputs)
    inputs[place][1] = float("nan")
    found = ours(*inputs)
    assert found[1][1].isnan().all()
    assert all(torch.equal(*(part[[0, 2]] for part in pair)) for pair in zip(found, clean, strict=True))


def test_what_kernels_do_not_serve_goes_by_the_formula():
    module = memory_of(3, 1, 1, 1)
    inputs, (ours, formula) = drawn(module, 2, 4, 6, dtype=torch.float64), step_of(module)
    with without_kernels("to see"):
        assert all(torch.equal(*pair) for pair in zip(ours(*inputs), formula(*inputs), strict=True))
    halves = [part.detach().bfloat16() for part in inputs]
    pairs = zip(ours(*halves), formula(*halves), strict=True)
    assert all(one.dtype == torch.bfloat16 and torch.equal(one, other) for one, other in pairs)
    mapped = torch.func.vmap(lambda *parts: ours(*(part[None] for part in parts))[1][0])(*inputs)
    torch.testing.assert_close(mapped, formula(*inputs)[1])
    assert [part.shape[0] for part in ours(*(part[:0] for part in inputs))] == [0, 0, 0, 0]
