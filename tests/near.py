"""How near is near enough: as near as the plain formula comes in the same type, by law 3, whatever machine rounds.

A constant that one processor's rounding stays below, another's exceeds: products are summed in another order there. So
the plain formula is asked how far it is from float64, and not once, where it may be lucky, but for neighbours of the
inputs too, which are as good as the inputs themselves: what a last digit of them moves, no way of computing is held to.
"""

import copy

import torch
from torch.utils._pytree import tree_leaves, tree_map

NEIGHBOURS = 4
FEW = {torch.float64: 1 << 22, torch.float32: 8, torch.bfloat16: 2, torch.float16: 2}
"""Last digits beside the error of the plain formula. Beside float64 nothing is truer: its rounding is in the truth."""


def assert_near(found, plain, *inputs, times=3.0, unit=1.0):
    """Each tensor of `found` errs at most `times` as much as the same of `plain(*inputs)`, and a few last digits of the
    largest number in it and of `unit`, the size of what it was made from.

    Integers, and numbers that are not finite, are the same.
    """
    inputs = tree_map(lambda part: part.detach() if isinstance(part, torch.Tensor) else part, inputs)
    truth = tree_leaves(plain(*widened(inputs)))
    errors = plain_errors(plain, inputs, truth)
    ours = tree_leaves(found)
    assert len(ours) == len(truth)
    for place, (one, exact, error) in enumerate(zip(ours, truth, errors, strict=True)):
        assert one.shape == exact.shape
        if not exact.is_floating_point():
            assert torch.equal(one, exact), f"part {place}"
            continue
        slack = FEW[one.dtype] * torch.finfo(one.dtype).eps * (largest(exact) + unit)
        allowed, is_off = times * error + slack, distance(one, exact)
        assert is_off <= allowed, f"part {place} of {tuple(one.shape)} errs by {is_off:.2e}, allowed are {allowed:.2e}"


def plain_errors(plain, inputs, truth):
    """The most that the plain formula errs in each part, at the inputs and at what is a last digit away."""
    worst = [0.0] * len(truth)
    for seed in range(NEIGHBOURS + 1):
        found = tree_leaves(plain(*(moved(inputs, seed) if seed else inputs)))
        if any(not torch.equal(*pair) for pair in zip(found, truth, strict=True) if not pair[1].is_floating_point()):
            continue  # another choice was made: what follows from it is no error of rounding
        worst = [
            max(most, distance(one, exact)) if exact.is_floating_point() else most
            for most, one, exact in zip(worst, found, truth, strict=True)
        ]
    return worst


def distance(one, exact):
    """The largest difference; infinite where one is finite, infinite or no number and the other is not."""
    one, exact = one.detach().double(), exact.detach()
    finite = exact.isfinite()
    if not torch.equal(one.isfinite(), finite) or not torch.equal(
        one[~finite].nan_to_num(nan=0.5), exact[~finite].nan_to_num(nan=0.5)
    ):
        return float("inf")
    return largest(one[finite] - exact[finite])


def largest(tensor):
    finite = tensor[tensor.isfinite()]
    return finite.abs().max().item() if finite.numel() else 0.0


def widened(inputs):
    return tree_map(lambda part: part.double() if is_floating(part) else part, inputs)


def moved(inputs, seed):
    """Every number of them a last digit up, down, or where it was."""
    numbers = torch.Generator().manual_seed(seed)

    def step(part):
        if not is_floating(part):
            return part
        steps = torch.randint(-1, 2, part.shape, generator=numbers).to(part.dtype)
        return part * (1 + steps * torch.finfo(part.dtype).eps)

    return tree_map(step, inputs)


def with_parameters(model, parameters):
    """Another such model, of these parameters and their type."""
    made = copy.deepcopy(model).to(parameters[0].dtype)
    with torch.no_grad():
        for mine, given in zip(made.parameters(), parameters, strict=True):
            mine.copy_(given)
    return made


def is_floating(part):
    return isinstance(part, torch.Tensor) and part.is_floating_point()
