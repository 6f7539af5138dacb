"""The kernels that read rows of weights: entropy, the largest, draws."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from interpreter import interpreted
from saccade import reads
from saccade.auxiliary import entropy
from saccade.backends.triton.launch import flags, launch

pytestmark = interpreted


def weighed(rows, width, seed):
    """Weights with ties and zeros among them."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 4, (rows, width), generator=generator).double() / 4


SIZES = st.integers(1, 5), st.integers(1, 11), st.integers(0, 99)


@given(*SIZES)
def test_entropy_and_its_gradient(rows, width, seed):
    from saccade.backends.triton.kernels import statistics

    weights = weighed(rows, width, seed).requires_grad_()
    found, grad = weights.new_empty(rows), torch.linspace(-1, 2, rows, dtype=torch.float64)
    launch(statistics.entropy, -(-rows // 2), weights.detach(), found, rows, width, ROWS=2, BLOCK=4)
    expected = entropy(weights)
    torch.testing.assert_close(found, expected.detach())
    slopes = torch.empty_like(found[:, None].expand(rows, width)).contiguous()
    launch(statistics.entropy_gradient, -(-rows // 2), weights.detach(), grad, slopes, rows, width, ROWS=2, BLOCK=4)
    torch.testing.assert_close(slopes, torch.autograd.grad(expected, weights, grad)[0])


@given(*SIZES, st.integers(1, 12), st.booleans())
def test_the_largest_and_their_order(rows, width, seed, count, masked):
    from saccade.backends.triton.kernels import statistics

    weights, count = weighed(rows, width, seed), min(count, width)
    allowed = torch.rand(rows, width, generator=torch.Generator().manual_seed(seed)) < 0.6 if masked else None
    mask, asked = flags(allowed, weights.shape, weights)
    found = torch.empty(rows, count, dtype=torch.int64)
    given = weights, found, *mask, rows, rows, width, count
    launch(statistics.largest, -(-rows // 2), *given, MASKED=asked, ROWS=2, BLOCK=4)
    assert torch.equal(found, reads.largest(weights, count, allowed)[1])


@given(*SIZES, st.floats(0, 1, exclude_max=True))
def test_draws_are_the_definitions(rows, width, seed, u):
    from saccade.backends.triton.kernels import statistics

    weights, uniform = weighed(rows, width, seed), torch.full((rows,), u, dtype=torch.float64)
    found = torch.empty(rows, dtype=torch.int64)
    launch(statistics.draw, -(-rows // 2), weights, uniform, found, rows, width, ROWS=2, BLOCK=4)
    assert torch.equal(found, reads.Sample(uniform=uniform).index(weights, None))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_weight_of_zero_is_drawn_however_sums_round(dtype):
    from saccade.backends.triton.kernels import statistics

    weights = torch.tensor([[0.1] * 9 + [0.0, 0.0]], dtype=dtype)
    uniform, found = torch.tensor([math.nextafter(1.0, 0.0)], dtype=dtype), torch.empty(1, dtype=torch.int64)
    launch(statistics.draw, 1, weights, uniform, found, 1, 11, ROWS=2, BLOCK=4)
    assert found.item() == 8
