"""The plain formulas of softmax, sparsemax and entmax; the laws hold them as the reference, too."""

import math

import pytest
import torch

from calls import drawn
from saccade import attend, normalizers
from saccade._definitions import simplex
from saccade._definitions.simplex import lowered
from saccade.kernels import weights

MASK = torch.tensor([[True] * 5, [True, False, True, True, False], [False] * 5])
FORMULAS = {
    "softmax": simplex.softmax,
    "sparsemax": simplex.sparsemax,
    **{
        f"entmax at {alpha}": lambda scores, mask, a=alpha: simplex.entmax(
            scores, torch.tensor(a, dtype=scores.dtype), mask
        )
        for alpha in (1.0, 1.5, 3.0)
    },
}


def test_lowered_scores_are_finite_in_empty_rows():
    found, empty = lowered(torch.full((2, 3), math.nan), torch.tensor([[False] * 3, [False, True, False]]))
    assert found[0].tolist() == [0.0] * 3 and empty.tolist() == [[True], [False]]
    assert found[1].isneginf().tolist() == [True, False, True] and lowered(found, None) == (found, None)


@pytest.mark.parametrize("name", FORMULAS)
def test_rows_sum_to_one_where_something_is_allowed(name):
    found = FORMULAS[name](drawn(3, 5).double(), MASK)
    torch.testing.assert_close(found.sum(-1), MASK.any(-1).double())
    assert (found[~MASK] == 0).all()
    assert FORMULAS[name](torch.zeros(3, 0), None).shape == (3, 0)


@pytest.mark.parametrize("name", FORMULAS)
def test_they_are_differentiated_twice(name):
    scores = drawn(3, 5, seed=1).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: FORMULAS[name](x, MASK), scores, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda x: FORMULAS[name](x, MASK), scores, fast_mode=True)


def test_the_log_partition_of_nothing():
    found = simplex.log_partition(torch.zeros(3, 5), MASK)
    torch.testing.assert_close(found, torch.tensor([math.log(5), math.log(3), -math.inf]))
    assert simplex.log_partition(torch.zeros(3, 0), None).tolist() == [-math.inf] * 3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_types_are_computed_in_float32(dtype):
    scores = drawn(4, 300, scale=0.01).to(dtype)
    for normalizer in (normalizers.Sparsemax(), normalizers.Entmax()):
        assert torch.equal(normalizer.formula(scores, None), normalizer.formula(scores.float(), None).to(dtype))


def scores_of(weights, alpha, dtype=torch.float64):
    """Scores whose entmax these weights are, by its definition at a threshold of 0; no key of weight 0 comes near."""
    weights = torch.tensor([weights], dtype=torch.float64)
    return (weights ** (alpha - 1) / (alpha - 1)).masked_fill(weights == 0, -1.0).to(dtype)


STEEP = [[0.5, 0.3, 0.2, 0.0], [0.25, 0.25, 0.25, 0.25], [0.4, 0.4, 0.2, 0.0], [0.9, 0.1, 0.0, 0.0]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("alpha", [3.0, 10.0, 50.0])
@pytest.mark.parametrize("weights", STEEP, ids=str)
def test_weights_of_a_large_alpha_are_exact(weights, alpha, dtype):
    if dtype == torch.float32 and 0.1 in weights and alpha == 50.0:
        pytest.skip("0.1^49 is no number of float32")
    scores, expected = scores_of(weights, alpha, dtype), torch.tensor([weights], dtype=dtype)
    close = {"rtol": 4 * torch.finfo(dtype).eps, "atol": 0.0}
    for order in (alpha, torch.tensor(alpha, dtype=dtype)):
        torch.testing.assert_close(simplex.entmax(scores, order, None), expected, **close)
        torch.testing.assert_close(normalizers.Entmax(order)(scores, None), expected, **close)
    mapped = torch.vmap(lambda row: simplex.entmax(row, alpha, None))(scores)
    torch.testing.assert_close(mapped, expected, **close)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("alpha", [20.0, 100.0])
@pytest.mark.parametrize("width", [2, 3, 200])
def test_tied_scores_of_a_large_alpha_have_gradients(width, alpha, learned):
    for weigh in (simplex.entmax, lambda scores, order, mask: normalizers.Entmax(order)(scores, mask)):
        scores = torch.zeros(1, width, requires_grad=True)
        order = torch.tensor(alpha, requires_grad=True) if learned else alpha
        weigh(scores, order, None)[0, 0].backward()
        largest, log_slope = torch.finfo(torch.float32).max, (alpha - 2) * math.log(width)
        assert scores.grad.isfinite().all() and (not learned or abs(order.grad) < 1e-6)
        if log_slope < 70:  # it is no sum that may leave float32
            expected = torch.full((1, width), -1 / width).index_fill(1, torch.tensor(0), 1 - 1 / width)
            torch.testing.assert_close(scores.grad, expected * math.exp(log_slope), rtol=2e-5, atol=0.0)
        else:
            assert scores.grad[0, 0] > largest / 2**25 and (scores.grad[0, 1:] < 0).all()


@pytest.mark.parametrize("small", [1e-6, 1e-12])
def test_the_slope_of_a_tiny_weight_cancels(small):
    alpha, weights = 4.0, [1 - small, small]
    steep = small ** (2 - alpha)
    expected = weights[0] ** (2 - alpha) * steep / (weights[0] ** (2 - alpha) + steep)
    row = torch.tensor([[weights[0] ** 3 / 3, small**3 / 3]]).sub(small**3 / 3)
    for weigh in (simplex.entmax, lambda scores, order, mask: normalizers.Entmax(order)(scores, mask)):
        scores = row.clone().requires_grad_()
        found = weigh(scores, alpha, None)
        if found[0, 1] == 0:  # its score is rounded out of the support
            continue
        found[0, 0].backward()
        torch.testing.assert_close(scores.grad, torch.tensor([[expected, -expected]]), rtol=1e-4, atol=0.0)


@pytest.mark.parametrize("solve", [simplex.entmax, weights.entmax], ids=["formula", "kernel"])
@pytest.mark.parametrize("tensor", [False, True], ids=["number", "tensor"])
def test_gradients_at_ties_of_a_steep_alpha_are_finite(solve, tensor):
    """Slopes beyond the dtype of either sign: ∞ − ∞ would be NaN."""
    rows, grad = torch.tensor([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1e-20]]), torch.tensor([0.0, 3.0, -3.0, 2.0])

    def gradient(rows, alpha):
        alpha = torch.full((), alpha, dtype=rows.dtype) if tensor else alpha
        rows = rows.detach().requires_grad_()
        return torch.autograd.grad((solve(rows, alpha) * grad).sum(), rows)[0]

    for alpha in (50.0, 100.0, 1000.0):
        for dtype in (torch.float32, torch.float64):
            assert gradient(rows.to(dtype), alpha).isfinite().all()
    exact = gradient(rows.double(), 50.0)
    most = torch.finfo(torch.float32).max / 2**24
    torch.testing.assert_close(gradient(rows, 50.0).double(), exact.clamp(-most, most), rtol=2e-3, atol=0)


@pytest.mark.parametrize("backend", ["reference", "chunked", "cpu"])
def test_a_steep_alpha_has_finite_gradients_of_queries(backend):
    """Scores' gradients at ties are beyond any dtype, and a query's is their sum over keys."""
    inputs = [torch.zeros(1, 4, 3), torch.ones(1, 6, 3), torch.arange(18.0).reshape(1, 6, 3)]
    query, key, value = (tensor.requires_grad_() for tensor in inputs)
    attend(query, key, value, normalizer=normalizers.Entmax(1000.0), backend=backend).square().sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in (query, key, value))


@pytest.mark.parametrize("alpha", [1.5, 3.0, 50.0, 100.0])
def test_a_transform_has_the_gradients_of_a_steep_alpha(alpha):
    """Near ties, where the last digits of a threshold decide and slopes differ by tens of orders."""
    rows = torch.tensor([[1.0, 1 + 2**-22, 1 - 2**-23, 0.99], [0.0, 1e-8, 1e-9, 1e-30], [1.0, 1.0, 1.0, -5.0]])
    rows, alphas, grad = rows.double(), torch.full((3, 1), alpha, dtype=torch.float64), drawn(3, 4).double()

    def call(rows, alphas):
        return (simplex.entmax(rows, alphas) * grad).sum()

    leaves = rows.requires_grad_(), alphas.requires_grad_()
    expected = torch.autograd.grad(call(*leaves), leaves)
    found = torch.func.grad(call, (0, 1))(rows.detach(), alphas.detach())
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    single = torch.func.grad(call)(rows.detach().float(), alphas.detach().float())
    assert single.isfinite().all()
