"""A grouped product is each row times its group's matrix, whatever the groups, to the second derivatives."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from near import assert_near
from saccade.kernels.grouped import by_blocks, grouped_product

COUNTS = {"even": (5, 5, 5), "empty": (0, 11, 0, 3, 0), "one": (7,), "long": (0, 70, 1), "none": (0, 0)}
"""How many rows each group has."""


def plain(rows, weights, counts):
    parts = zip(rows.split(list(counts)), weights, strict=True)
    return torch.cat([part @ weight for part, weight in parts])


def made(counts, sizes, dtype=torch.float64):
    numbers = torch.Generator().manual_seed(sum(counts))
    rows = torch.randn(sum(counts), sizes[0], dtype=dtype, generator=numbers, requires_grad=True)
    weights = torch.randn(len(counts), *sizes, dtype=dtype, generator=numbers, requires_grad=True)
    return rows, weights, torch.tensor(counts).cumsum(0).int()


@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("sizes", [(4, 8), (3, 5)], ids=["torch's kernel", "blocks"])
def test_it_is_the_product_of_each_group(counts, sizes):
    rows, weights, ends = made(counts, sizes, torch.float32)
    found = grouped_product(rows, weights, ends)
    assert_near([found], lambda rows, weights: [plain(rows, weights, counts)], rows, weights)
    wanted = torch.randn(found.shape, generator=torch.Generator().manual_seed(1))
    grads = torch.autograd.grad((found * wanted).sum(), (rows, weights))
    double = [part.detach().double().requires_grad_() for part in (rows, weights)]
    exact = torch.autograd.grad((plain(*double, counts) * wanted.double()).sum(), double)
    for grad, one in zip(grads, exact, strict=True):
        torch.testing.assert_close(grad.double(), one, atol=1e-4, rtol=1e-4)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6))
def test_blocks_hold_groups_of_any_size(counts):
    rows, weights, ends = made(counts, (3, 2))
    torch.testing.assert_close(by_blocks(rows, weights, ends), plain(rows, weights, counts))


@pytest.mark.parametrize("counts", [(2, 0, 3), (1, 4)])
def test_derivatives_are_those_of_differences(counts):
    rows, weights, ends = made(counts, (3, 2))
    assert torch.autograd.gradcheck(grouped_product, (rows, weights, ends))
    assert torch.autograd.gradgradcheck(grouped_product, (rows, weights, ends))


def test_second_derivatives_of_torchs_kernel_are_those_of_blocks():
    rows, weights, ends = made((3, 0, 4), (4, 8), torch.float32)

    def curvature(product):
        grads = torch.autograd.grad(product(rows, weights, ends).pow(3).sum(), (rows, weights), create_graph=True)
        return torch.autograd.grad(sum(grad.sum() for grad in grads), (rows, weights))

    for found, wanted in zip(curvature(grouped_product), curvature(by_blocks), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_types_stay_what_they_are(dtype):
    rows, weights, ends = made((3, 4), (8, 16), dtype)
    assert_near([grouped_product(rows, weights, ends)], lambda *parts: [plain(*parts, (3, 4))], rows, weights)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch scripts its own rules of forward mode
def test_transforms_of_float32_are_those_of_the_blocks():
    rows, weights, ends = (tensor.detach() for tensor in made((2, 4), (8, 4), torch.float32))

    def transformed(product):
        function = partial(product, weights=weights, ends=ends)
        pushed = torch.func.jvp(function, (rows,), (rows,))[1]
        return torch.func.jacrev(function)(rows), pushed, torch.func.vmap(function)(rows[None])

    torch.testing.assert_close(transformed(grouped_product), transformed(by_blocks))


@pytest.mark.slow
def test_a_compiler_traces_float32():
    rows, weights, ends = made((2, 4), (8, 4), torch.float32)
    torch._dynamo.reset()
    compiled = torch.compile(grouped_product, backend="eager", fullgraph=True)
    found, expected = (
        torch.autograd.grad(product(rows, weights, ends).square().sum(), (rows, weights))
        for product in (compiled, grouped_product)
    )
    torch.testing.assert_close(found, expected)
