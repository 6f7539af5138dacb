import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from near import assert_near
from saccade import numerics
from saccade.kernels.unit import unit


def draw(*shape, seed=0, scale=1.0):
    return (scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)).float()


def both(function, vectors):
    """The vectors of unit length, and the gradient of a weighted sum of them."""
    leaf = vectors.detach().clone().requires_grad_()
    found = function(leaf)
    ramp = torch.linspace(-1, 2, found.numel(), dtype=found.dtype).reshape(found.shape)
    return [found, *torch.autograd.grad((found * ramp).sum(), leaf)]


@given(st.lists(st.integers(1, 4), max_size=2), st.integers(1, 70), st.integers(0, 99))
def test_vectors_and_gradients_are_the_definitions(batch, size, seed):
    vectors = draw(*batch, size, seed=seed)
    assert_near(both(unit, vectors), lambda vectors: both(numerics.unit, vectors), vectors)


@pytest.mark.parametrize("scale", [1e-30, 1e18, 1e37])
def test_tiny_and_huge_vectors_keep_their_direction(scale):
    found = unit(draw(5, 16, scale=scale))
    assert_near([found], lambda vectors: [numerics.unit(vectors)], draw(5, 16, scale=scale))
    assert torch.linalg.vector_norm(found, dim=-1).sub(1).abs().max() < 1e-6


def test_zeros_stay_and_pass_their_gradient_on():
    vectors = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    found, grad = both(unit, vectors)
    expected, expected_grad = both(numerics.unit, vectors)
    assert torch.equal(found, expected) and torch.equal(grad[0], expected_grad[0])


def test_a_gradient_of_zero_stays_zero():
    vectors = torch.tensor([[torch.nan, 1.0], [torch.inf, 1.0], [1.0, 2.0]], requires_grad=True)
    (grad,) = torch.autograd.grad(unit(vectors)[2].sum(), vectors)
    assert torch.equal(grad[:2], torch.zeros(2, 2)) and grad[2].abs().sum() > 0


def test_strided_vectors_half_types_and_second_derivatives():
    vectors = draw(6, 5).T
    assert_near(both(unit, vectors), lambda vectors: both(numerics.unit, vectors), vectors)
    assert torch.equal(unit(vectors.half()), numerics.unit(vectors.half()))

    def curved(function, vectors):
        leaf = vectors.detach().clone().requires_grad_()
        (first,) = torch.autograd.grad(function(leaf).pow(3).sum(), leaf, create_graph=True)
        return list(torch.autograd.grad(first.square().sum(), leaf))

    assert_near(curved(unit, vectors), lambda vectors: curved(numerics.unit, vectors), vectors)


def test_a_used_result_is_written_over_by_its_next():
    first = unit(draw(3, 4), "test units")
    kept = first.clone()
    second = unit(draw(3, 4, seed=1), "test units")
    assert torch.equal(kept, unit(draw(3, 4))) and torch.equal(first, second)
