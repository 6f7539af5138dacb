"""A step of an external memory by kernels is the step of its formula, whatever its heads."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernels.memories import KINDS, drawn, largest, memory_of, shortest, steps_of, with_gradients
from near import assert_near
from saccade import plainly

sizes = st.tuples(st.integers(1, 9), st.integers(1, 3), st.integers(1, 3), st.integers(0, 3))
batches, seeds = st.integers(1, 4), st.integers(0, 99)


@pytest.mark.parametrize("kind", KINDS)
@given(sizes, batches, st.integers(1, 40), seeds, st.sampled_from([1e-3, 1.0, 3.0]))
def test_it_is_the_formula_with_its_gradients(kind, heads, batch, cells, seed, scale):
    module = memory_of(kind, *heads)
    inputs = drawn(module, batch, cells, seed, scale)
    ours, formula = steps_of(module)

    def defined(*given):
        return with_gradients(formula, [tensor.requires_grad_() for tensor in given])

    found = with_gradients(ours, inputs)
    assert_near(found, defined, *inputs, unit=max(largest(found), 1 / shortest(module, *inputs[:2])))
    with torch.no_grad():
        assert all(torch.equal(*pair) for pair in zip(ours(*inputs), found, strict=False))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1e-10, 0.0])
def test_cells_of_one_small_number_have_the_formulas_gradients(kind, scale):
    """Their cosine is 1 or -1 whatever the number: its gradient is 0, and not a rounding error over the number."""
    module = memory_of(kind, 1, 1, 1, 1)
    inputs = drawn(module, 2, 5, 0, 1.0)
    inputs = [inputs[0], (inputs[1] * scale).detach().requires_grad_(), *inputs[2:]]
    ours, formula = steps_of(module)
    for one, other in zip(with_gradients(ours, inputs), with_gradients(formula, inputs), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("kind", KINDS)
@given(sizes, batches, st.integers(1, 9), seeds)
def test_in_float64_it_is_the_formula(kind, heads, batch, cells, seed):
    module = memory_of(kind, *heads)
    inputs = drawn(module, batch, cells, seed, 2.0, torch.float64)
    ours, formula = steps_of(module)
    for one, other in zip(with_gradients(ours, inputs), with_gradients(formula, inputs), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("heads", [(2, 1, 1, 1), (3, 2, 2, 2)])
def test_gradients_are_derivatives_and_differentiable_again(kind, heads):
    module = memory_of(kind, *heads)
    inputs, (ours, _) = drawn(module, 2, 4, 0, dtype=torch.float64), steps_of(module)
    assert torch.autograd.gradcheck(ours, inputs)
    assert torch.autograd.gradgradcheck(ours, inputs, fast_mode=True)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_some_outputs_alone(kind):
    module = memory_of(kind, 5, 2)
    inputs, steps = drawn(module, 3, 6, 1, dtype=torch.float64), steps_of(module)
    for place in range(len(steps[0](*inputs))):
        totals = (step(*inputs)[place].sin().sum() for step in steps)
        found, expected = (torch.autograd.grad(total, inputs, materialize_grads=True) for total in totals)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_zeros_and_extreme_sizes_keep_their_directions(kind):
    module, sizes = memory_of(kind, 3, 1), torch.tensor([0.0, 1e-25, 1e25, 1e-18, 1e18])
    asked, memory, *state = drawn(module, 5, 6, 2)
    with torch.no_grad():
        memory[:, :3] *= sizes[:, None, None]
        asked[:, :3] *= sizes.flip(0)[:, None]
    found, expected = (step(asked, memory, *state) for step in steps_of(module))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    grad, plain = (torch.autograd.grad(outputs[2].sin().sum(), asked)[0] for outputs in (found, expected))
    assert grad.isfinite().all()
    torch.testing.assert_close(grad, plain, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_again_and_alone(kind):
    module = memory_of(kind, 20, 1)
    inputs, (ours, _) = drawn(module, 5, 64, 3), steps_of(module)
    found = with_gradients(ours, inputs)
    assert all(torch.equal(*pair) for pair in zip(found, with_gradients(ours, inputs), strict=True))
    alone = ours(*[part[2:3] for part in inputs])
    assert all(torch.equal(part[2:3], one) for part, one in zip(found, alone, strict=False))


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_bit(kind):
    module, threads = memory_of(kind, 6, 2), torch.get_num_threads()
    inputs, (ours, _), found = drawn(module, 7, 9, 8), steps_of(module), []
    for count in (1, 2):
        torch.set_num_threads(count)
        try:
            found.append(with_gradients(ours, inputs))
        finally:
            torch.set_num_threads(threads)
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_may_lie_as_they_like(kind):
    module = memory_of(kind, 4, 2)
    inputs, (ours, _) = [part.detach() for part in drawn(module, 3, 5, 4)], steps_of(module)
    apart = [torch.stack((part, part), -1)[..., 0] for part in inputs]
    alike = [part[:1].expand(part.shape) for part in inputs]
    assert all(torch.equal(*pair) for pair in zip(ours(*apart), ours(*inputs), strict=True))
    assert all(torch.equal(part[0], part[2]) for part in ours(*alike))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_a_number_stays_in_its_example(kind):
    module = memory_of(kind, 4, 2)
    inputs, (ours, _) = [part.detach() for part in drawn(module, 3, 5, 5)], steps_of(module)
    clean = ours(*inputs)
    for place in range(len(inputs)):
        spoilt = [part.clone() for part in inputs]
        spoilt[place][1] = float("nan")
        found = ours(*spoilt)
        assert any(part[1].isnan().any() for part in found)
        assert all(torch.equal(*(part[[0, 2]] for part in pair)) for pair in zip(found, clean, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_what_kernels_do_not_serve_goes_by_the_formula(kind):
    module = memory_of(kind, 3, 1)
    inputs, (ours, formula) = drawn(module, 2, 4, 6, dtype=torch.float64), steps_of(module)
    with plainly():
        assert all(torch.equal(*pair) for pair in zip(ours(*inputs), formula(*inputs), strict=True))
    halves = [part.detach().bfloat16() for part in inputs]
    pairs = zip(ours(*halves), formula(*halves), strict=True)
    assert all(one.dtype == torch.bfloat16 and torch.equal(one, other) for one, other in pairs)
    mapped = torch.func.vmap(lambda *parts: ours(*(part[None] for part in parts))[1][0])(*inputs)
    torch.testing.assert_close(mapped, formula(*inputs)[1])
    assert all(part.shape[0] == 0 for part in ours(*(part[:0] for part in inputs)))


@pytest.mark.parametrize("cells", [1, 2, 3, 7])
@pytest.mark.parametrize("furthest", [0, 1, 5, 8])
def test_heads_go_round_however_few_cells_there_are(cells, furthest):
    """A head that stays where it was and then moves by one number of cells alone is there, counted round."""
    module = memory_of("shift", 2, 1, 1, furthest)
    asked, memory, reading, writing = (part.detach() for part in drawn(module, 1, cells, 0))
    reading = torch.eye(cells)[:1, None]
    for by in range(-furthest, furthest + 1):
        moved = asked.clone()
        moved[0, 3] = -100.0  # the gate: stay
        moved[0, 5 : 6 + 2 * furthest] = torch.where(torch.arange(-furthest, furthest + 1) == by, 100.0, -100.0)
        found = steps_of(module)[0](moved, memory, reading, writing)[2]
        assert found[0, 0].tolist() == torch.eye(cells)[by % cells].tolist()


def test_powers_do_not_vanish():
    module = memory_of("shift", 2, 1)
    asked, memory, reading, writing = (part.detach() for part in drawn(module, 1, 1000, 0))
    asked[0, 3], asked[0, 4] = -100.0, 200.0  # stay, and to a power that each of a thousand shares loses its digits in
    asked[0, 5:8] = torch.tensor([-100.0, 100.0, -100.0])
    reading = torch.full((1, 1, 1000), 1e-3)
    found = steps_of(module)[0](asked, memory, reading, writing)[2]
    torch.testing.assert_close(found, reading)


def test_of_cells_equally_in_use_the_first_is_written():
    module = memory_of("links", 2, 1)
    asked, memory, reading, writing, used, last, links = (part.detach() for part in drawn(module, 1, 6, 0))
    writer = asked[:, module._reader :]
    writer[0, 3:5] = 100.0  # where it is free, and altogether
    asked[0, 3] = -100.0  # nothing is freed
    used = torch.tensor([[1.0, 0.0, 1.0, 0.0, 0.0, 1.0]])
    state = memory, reading, torch.zeros_like(writing), used, last, links
    for step in steps_of(module):
        _, _, _, written, usage, following, new = step(asked, *state)
        assert written[0, 0].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
        assert usage.tolist() == used.tolist() and following.tolist() == written[0].tolist()
        torch.testing.assert_close(new[0, 1], last[0] * torch.tensor([1.0, 0.0, 1.0, 1.0, 1.0, 1.0]))


def test_gradients_pass_cells_that_are_quite_free():
    """The products of usages have a factor 0: what divides by it has no gradient."""
    module = memory_of("links", 3, 2)
    inputs = drawn(module, 2, 5, 1, dtype=torch.float64)
    with torch.no_grad():
        inputs[3].zero_()
        inputs[4][:, 1:3] = torch.tensor([0.0, 1.0])
    found, expected = (torch.autograd.grad(step(*inputs)[3].sin().sum(), inputs[4])[0] for step in steps_of(module))
    assert found.isfinite().all()
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)
