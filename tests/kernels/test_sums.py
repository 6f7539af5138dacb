import torch
from torch import nn

from saccade.kernels.cells import gru_cell, linear_cell
from saccade.kernels.sums import Sums


def loop(linear, weight, bias, x, steps, *, plain):
    """A recurrence through a linear map and a gated unit, both used at every step."""
    if plain:
        from models.translators import gru

        step, unit = linear, lambda input_proj, hidden: gru(input_proj, hidden @ weight.T + bias, hidden)
    else:
        step, unit = linear_cell(linear), gru_cell(weight, bias)
    hidden = x
    for _ in range(steps):
        hidden = unit(step(hidden), hidden)
    return hidden.square().sum()


def made(seed=0, dtype=torch.float32):
    torch.manual_seed(seed)
    linear = nn.Linear(4, 12, dtype=dtype)
    weight, bias = nn.Parameter(torch.randn(12, 4, dtype=dtype)), nn.Parameter(torch.randn(12, dtype=dtype))
    return linear, weight, bias, torch.randn(5, 4, dtype=dtype, requires_grad=True)


def wanted(linear, weight, bias, x):
    return [linear.weight, linear.bias, weight, bias, x]


def test_the_sums_are_autograds():
    for steps in (1, 2, 7):
        parts = made(steps)
        ours, theirs = (
            torch.autograd.grad(loop(*parts, steps, plain=plain), wanted(*parts)) for plain in (False, True)
        )
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_pass_leaves_nothing_in_the_next():
    parts = made()
    loss = loop(*parts, 3, plain=False)
    first = torch.autograd.grad(loss, wanted(*parts), retain_graph=True)
    torch.autograd.grad(loss, parts[-1:], retain_graph=True)  # the state alone: no gate is asked
    again = torch.autograd.grad(loss, wanted(*parts), retain_graph=True)
    assert all(map(torch.equal, first, again))


def test_a_pass_that_breaks_off_leaves_nothing_in_the_next():
    parts = made()
    loss = loop(*parts, 3, plain=False)
    expected = torch.autograd.grad(loss, wanted(*parts), retain_graph=True)

    def interrupt(grad):
        raise KeyboardInterrupt

    handle = parts[-1].register_hook(interrupt)
    try:
        torch.autograd.grad(loss, wanted(*parts), retain_graph=True)
    except KeyboardInterrupt:
        handle.remove()
    assert all(map(torch.equal, expected, torch.autograd.grad(loss, wanted(*parts))))


def test_second_derivatives_go_through():
    def second(*, plain):
        first = torch.autograd.grad(loop(*parts, 2, plain=plain), wanted(*parts), create_graph=True)
        return torch.autograd.grad(sum(part.square().sum() for part in first), wanted(*parts))

    parts = made()
    torch.testing.assert_close(second(plain=False), second(plain=True), rtol=1e-3, atol=1e-4)


def test_nothing_is_kept_of_a_pass_that_missed_the_gate():
    class Lists(Sums):
        def start(self):
            return []

        def finish(self, total):
            return total

    sums = Lists()

    class Step(torch.autograd.Function):
        @staticmethod
        def forward(ctx, gate, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            sums.current().append(grad)
            return grad.new_zeros(()), grad

    x, weight = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    output = Step.apply(sums.gate(weight), x)
    for _ in range(3):
        torch.autograd.grad(output.sum(), x, retain_graph=True)
    assert not sums._passes


def test_what_is_done_to_a_map_is_done_in_the_loop_too():
    linear, rows = nn.Linear(3, 3), torch.ones(2, 3)
    linear.register_forward_hook(lambda module, inputs, output: 2 * output)
    assert torch.equal(linear_cell(linear)(rows), linear(rows))


def test_gradients_arrive_in_the_parameters_and_add_up_there():
    parts = made()
    for _ in range(2):
        loop(*parts, 3, plain=False).backward()
    twice = [tensor.grad for tensor in wanted(*parts)]
    once = torch.autograd.grad(loop(*parts, 3, plain=True), wanted(*parts))
    torch.testing.assert_close(twice, [2 * grad for grad in once], rtol=1e-4, atol=1e-5)


def test_weights_that_do_not_learn_get_nothing():
    linear, weight, bias, x = made()
    linear.requires_grad_(False)
    ours, theirs = (torch.autograd.grad(loop(linear, weight, bias, x, 3, plain=p), [weight, x]) for p in (False, True))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_in_float64_too():
    parts = made(dtype=torch.float64)
    ours, theirs = (torch.autograd.grad(loop(*parts, 3, plain=p), wanted(*parts)) for p in (False, True))
    torch.testing.assert_close(ours, theirs)
