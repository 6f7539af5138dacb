import pytest
import torch

from saccade import attend
from saccade._definitions.numerics import (
    broadcast_shapes,
    divide,
    float32_precision,
    like,
    root,
    shares,
    squared_distance,
    unit,
    wide,
)


def test_wide_widens_half_types_alone():
    kept = {
        dtype: wide(torch.ones(1, dtype=dtype)).dtype
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64)
    }
    assert list(kept.values()) == [torch.float32, torch.float32, torch.float32, torch.float64, torch.int64]


def test_like_leaves_numbers_alone():
    assert like(0.5, torch.ones(1)) == 0.5
    assert like(torch.ones(1), torch.ones(1, dtype=torch.float64)).dtype == torch.float64


def test_division_by_zero_is_zero_with_finite_derivatives():
    numerator, denominator = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([0.0, 4.0], requires_grad=True)
    result = divide(numerator, denominator)
    assert result.tolist() == [0.0, 0.5]
    assert [grad.tolist() for grad in torch.autograd.grad(result.sum(), (numerator, denominator))] == [
        [0.0, 0.25],
        [0.0, -0.125],
    ]


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_unit_vectors_lose_nothing_at_any_scale(scale):
    x = torch.tensor([[3.0, 4.0], [0.0, 0.0]]) * scale
    torch.testing.assert_close(unit(x), torch.tensor([[0.6, 0.8], [0.0, 0.0]]))
    assert unit(torch.ones(2, 0)).shape == (2, 0)


def test_unit_has_two_finite_derivatives_at_zero():
    x = torch.zeros(1, 3, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(unit(x).square().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first + x).square().sum(), x)
    assert first.isfinite().all() and second.isfinite().all()


def test_the_derivatives_of_unit():
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(unit, x) and torch.autograd.gradgradcheck(unit, x)


def test_root_at_zero():
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    assert torch.autograd.grad(root(x).sum(), x)[0].tolist() == [0.0, 0.25]


def test_squared_distance_keeps_digits_far_from_the_origin():
    query = torch.randn(3, 5, dtype=torch.float64) + 1e6
    key = torch.cat((query[:1], query[1:] + 1e-3))
    exact = (query[:, None] - key[None]).square().sum(-1)
    torch.testing.assert_close(squared_distance(query, key), exact, rtol=1e-12, atol=0.0)
    assert squared_distance(query, key)[0, 0] == 0


def test_the_derivatives_of_squared_distance():
    tensors = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 1, 3, 2), (3, 4, 2))]
    assert torch.autograd.gradcheck(squared_distance, tensors) and torch.autograd.gradgradcheck(
        squared_distance, tensors
    )


@pytest.mark.parametrize("size", [1.0, 1e-25, 1e-35])
def test_shares_of_tiny_weights_have_finite_gradients(size):
    """The square of their sum is below what float32 holds."""
    weights = torch.tensor([[1.0, 3.0, 0.0]]) * size
    weights.requires_grad_()
    found = shares(weights)
    torch.testing.assert_close(found, torch.tensor([[0.25, 0.75, 0.0]]))
    (gradient,) = torch.autograd.grad(found, weights, torch.tensor([[4.0, -8.0, 2.0]]))
    exact = torch.tensor([[4.0, -8.0, 2.0]]) - (0.25 * 4 - 0.75 * 8)
    expected = exact / (4 * size) if size > 1e-30 else torch.zeros(1, 3)
    torch.testing.assert_close(gradient, expected)


def test_shares_of_nothing_are_zeros():
    weights = torch.zeros(2, 3, requires_grad=True)
    (gradient,) = torch.autograd.grad(shares(weights).sum(), weights)
    assert not shares(weights).any() and not gradient.any()


def test_unit_vectors_that_are_mapped_over_have_gradients_outside():
    vectors = torch.randn(3, 5, dtype=torch.float64)
    inside = torch.func.grad(lambda x: torch.func.vmap(unit)(x)[..., 0].sum())(vectors)
    torch.testing.assert_close(inside, torch.func.grad(lambda x: unit(x)[..., 0].sum())(vectors))


@pytest.mark.parametrize("shapes", [[(2,), (3, 1), (1, 1, 1)], [(), (0, 1), (4,)], [(1,), (0,)], [()], []])
def test_shapes_broadcast_as_torch_has_it(shapes):
    assert broadcast_shapes(*shapes) == torch.broadcast_shapes(*shapes)


@pytest.mark.parametrize("shapes", [[(2,), (3,)], [(0,), (2,)], [(1, 4), (5, 1), (3, 1)]])
def test_shapes_that_do_not_broadcast_are_an_error(shapes):
    with pytest.raises(RuntimeError, match="do not broadcast"):
        broadcast_shapes(*shapes)


@pytest.mark.parametrize(("precision", "on_cpu", "on_cuda"), [("highest", "ieee", "ieee"), ("medium", "bf16", "tf32")])
def test_precision_of_products_is_torchs_by_either_interface(precision, on_cpu, on_cuda):
    before = torch.backends.mkldnn.matmul.fp32_precision, torch.backends.cuda.matmul.fp32_precision
    try:
        torch.set_float32_matmul_precision(precision)
        assert (float32_precision("cpu"), float32_precision("cuda")) == (on_cpu, on_cuda)
        torch.backends.cuda.matmul.fp32_precision = "tf32"  # after which torch's getter of both raises
        assert (float32_precision("cpu"), float32_precision("cuda")) == (on_cpu, "tf32")
        x = torch.randn(1, 2, 3)
        assert attend(x, x, x).shape == x.shape
    finally:
        torch.set_float32_matmul_precision("highest")
        torch.backends.mkldnn.matmul.fp32_precision, torch.backends.cuda.matmul.fp32_precision = before
    assert torch.get_float32_matmul_precision() == "highest"
