"""Compare a call of Saccade with the plain formula of a lecture note, in float64, with gradients."""

import torch

ROUNDING = 1024 * torch.finfo(torch.float64).eps


def drawn(*shape, seed=0):
    """Normal numbers `shape` of float64; equal arguments give equal numbers."""
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + sum(shape)))


def inputs_of(shapes):
    return [drawn(*shape, seed=10 * place) for place, shape in enumerate(shapes)]


def assert_rounded(ours, plain):
    """Two tensors differ by rounding alone."""
    assert ours.shape == plain.shape and ours.dtype == plain.dtype == torch.float64
    torch.testing.assert_close(ours, plain, rtol=0.0, atol=ROUNDING * (1 + plain.detach().abs().max().item()))


def agree(ours, plain, *inputs):
    """Both functions of the inputs have equal values, and equal gradients by each input."""
    leaves = [part.detach().clone().requires_grad_() for part in inputs]
    results = [function(*leaves) for function in (ours, plain)]
    assert_rounded(*results)
    upstream = drawn(*results[1].shape, seed=99)
    gradients = [torch.autograd.grad(result, leaves, upstream, materialize_grads=True) for result in results]
    for mine, formula in zip(*gradients, strict=True):
        assert_rounded(mine, formula)


def agree_with_parameters(module, plain, *inputs):
    """`agree` for a module and a formula of its parameters, with gradients by both."""
    names = [name for name, _ in module.named_parameters()]

    def ours(*leaves):
        parameters = dict(zip(names, leaves[len(inputs) :], strict=True))
        return torch.func.functional_call(module, parameters, leaves[: len(inputs)])

    def formula(*leaves):
        return plain(*leaves[: len(inputs)], **dict(zip(names, leaves[len(inputs) :], strict=True)))

    agree(ours, lambda *leaves: formula(*leaves), *inputs, *module.parameters())


def evenly(count, *shape):
    """Uniform numbers `(count, *shape)` that fall into each interval as often as its length says, within 1 / count."""
    numbers = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    return numbers.view(-1, *[1] * len(shape)).expand(count, *shape)
