import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.translators import gru
from near import assert_near
from saccade.errors import ShapeError
from saccade.kernels.cells import gru_cell
from saccade.kernels.gates import gated, gates_forward


def draw(rows, size, seed, scale=1.0, dtype=torch.float32):
    numbers = torch.Generator().manual_seed(seed)
    widths = 3 * size, 3 * size, size
    made = (torch.randn(rows, width, generator=numbers, dtype=torch.float64) * scale for width in widths)
    return [tensor.to(dtype).requires_grad_() for tensor in made]


def with_gradients(function, inputs):
    output = function(*inputs)
    ramp = torch.linspace(-1, 2, output.numel(), dtype=output.dtype).reshape(output.shape)
    return [output, *torch.autograd.grad((output * ramp).sum(), inputs)]


@given(st.integers(0, 40), st.integers(1, 70), st.integers(0, 99), st.sampled_from([1e-3, 1.0, 10.0, 60.0]))
def test_it_is_the_unit_with_its_gradients(rows, size, seed, scale):
    inputs = draw(rows, size, seed, scale)

    def defined(*given):
        return with_gradients(gru, [tensor.requires_grad_() for tensor in given])

    assert_near(with_gradients(gated, inputs), defined, *inputs)
    with torch.no_grad():
        assert_near(gated(*inputs), gru, *inputs)


def test_float64_is_exact_and_differentiable_again():
    inputs = draw(3, 4, 0, dtype=torch.float64)
    assert torch.autograd.gradcheck(gated, inputs) and torch.autograd.gradgradcheck(gated, inputs, fast_mode=True)


def test_rows_may_lie_apart():
    input_proj, hidden_proj, hidden = (tensor.detach() for tensor in draw(6, 5, 1))
    apart = torch.stack([input_proj, input_proj.flip(0)], 1)[:, 0]
    columns = hidden.T.contiguous().T
    assert apart.stride() == (30, 1) and columns.stride() == (1, 6)
    assert torch.equal(gated(apart, hidden_proj, columns), gated(input_proj, hidden_proj, hidden))
    wide = torch.cat([hidden_proj, hidden_proj], 1)[:, :15]
    assert torch.equal(gated(input_proj, wide, hidden), gated(input_proj, hidden_proj, hidden))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_not_a_number_stays_in_its_row(place):
    inputs = [tensor.detach() for tensor in draw(5, 4, 2)]
    clean = gated(*inputs)
    inputs[place][3] = float("nan")
    found = gated(*inputs)
    assert found[3].isnan().all() and torch.equal(found[[0, 1, 2, 4]], clean[[0, 1, 2, 4]])


def test_second_derivatives_and_many_at_once():
    def second(function, inputs):
        first = torch.autograd.grad(function(*inputs).square().sum(), inputs, create_graph=True)
        return torch.autograd.grad(sum(part.square().sum() for part in first), inputs)

    inputs = draw(3, 4, 0)
    torch.testing.assert_close(second(gated, inputs), second(gru, inputs), rtol=1e-4, atol=1e-5)
    output, ways = gated(*inputs), torch.eye(12).view(12, 3, 4)
    many = torch.autograd.grad(output, inputs, ways, is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(output, inputs, way, retain_graph=True) for way in ways]
    for place, part in enumerate(many):
        torch.testing.assert_close(part, torch.stack([grads[place] for grads in each]))


def test_a_state_that_broadcasts_is_torchs():
    input_proj, hidden_proj, hidden = (tensor.detach() for tensor in draw(4, 2, 0))
    torch.testing.assert_close(gated(input_proj, hidden_proj, hidden[:1]), gru(input_proj, hidden_proj, hidden[:1]))


def test_what_a_kernel_would_not_notice_is_refused():
    input_proj, hidden_proj, hidden = (tensor.detach() for tensor in draw(4, 2, 0))
    with pytest.raises(ShapeError, match=r"input_proj: expected \(4, 6\) .*got \(4, 5\)"):
        gates_forward(input_proj[:, :5], hidden_proj, hidden)
    with pytest.raises(ShapeError, match=r"hidden_proj: .*got \(3, 6\)"):
        gates_forward(input_proj, hidden_proj[:3], hidden)
    with pytest.raises(ShapeError, match="input_proj: .*float64"):
        gates_forward(input_proj.double(), hidden_proj, hidden)
    step = gru_cell(torch.randn(6, 2, requires_grad=True), torch.zeros(6))
    with pytest.raises(ShapeError, match="input_proj"):
        step(input_proj[:, :5], hidden)


@pytest.mark.parametrize("gates", [torch.bfloat16, torch.float32])
def test_a_state_of_another_type_stays_as_exact_as_it_is(gates):
    """As under autocast, where products are of a half type and a first state is not."""
    entering, before, hidden = torch.randn(3, 6, dtype=gates), torch.randn(3, 6, dtype=gates), torch.randn(3, 2)
    found = gated(entering, before, hidden)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, gated(entering.float(), before.float(), hidden), atol=0.05, rtol=0.05)
