"""The plain formulas of softmax, sparsemax and entmax; the laws hold them as the reference, too."""

import math

import pytest
import torch

from calls import drawn
from saccade import normalizers, simplex
from saccade.simplex import lowered

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
    assert torch.autograd.gradcheck(lambda given: FORMULAS[name](given, MASK), scores)
    assert torch.autograd.gradgradcheck(lambda given: FORMULAS[name](given, MASK), scores)


def test_the_log_partition_of_nothing():
    found = simplex.log_partition(torch.zeros(3, 5), MASK)
    torch.testing.assert_close(found, torch.tensor([math.log(5), math.log(3), -math.inf]))
    assert simplex.log_partition(torch.zeros(3, 0), None).tolist() == [-math.inf] * 3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_types_are_computed_in_float32(dtype):
    scores = drawn(4, 300, scale=0.01).to(dtype)
    for normalizer in (normalizers.Sparsemax(), normalizers.Entmax()):
        assert torch.equal(normalizer.formula(scores, None), normalizer.formula(scores.float(), None).to(dtype))
