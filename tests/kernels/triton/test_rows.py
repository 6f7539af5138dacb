"""Entmax of rows by Triton's kernels, against the formula in float64."""

import math

import pytest
import torch

from interpreter import interpreted
from near import assert_near
from saccade._definitions import simplex
from saccade.kernels import gpu_rows, weights
from saccade.normalizers import Entmax, Sparsemax
from tiers import every

pytestmark = interpreted

ALPHAS = [1.0001, 1.01, 1.3, 1.5, 2.0]


def draw(*shape, scale=1.0, seed=0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def flags(*shape):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(1)) < 0.6


def formula(scores, alpha, mask):
    mask = None if mask is None else mask.expand(scores.shape)
    return simplex.sparsemax(scores, mask) if alpha == 2 else simplex.entmax(scores, alpha, mask)


def with_gradient(function, scores, upstream):
    scores = scores.detach().requires_grad_()
    found = function(scores)
    return found, *torch.autograd.grad(found, scores, upstream)


def assert_formula(scores, alpha, mask=None):
    """Weights and gradients are the formula's, with its support, and rows sum to one or to zero."""
    upstream = draw(*scores.shape, seed=2)
    result = with_gradient(lambda scores: gpu_rows.entmax(scores, alpha, mask), scores, upstream)
    assert_near(
        result, lambda *tensors: with_gradient(lambda scores: formula(scores, alpha, mask), *tensors), scores, upstream
    )
    exact = formula(scores.double(), alpha, mask)
    clear = (exact == 0) | (exact > 1e-5)  # not nearer to the threshold than a score's last digit
    assert torch.equal((result[0] > 0)[clear], (exact > 0)[clear])
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand(scores.shape)
    torch.testing.assert_close(result[0].sum(-1), allowed.any(-1).float())
    assert all((part[~allowed] == 0).all() for part in result)
    return result[0]


@every("alpha", ALPHAS)
@pytest.mark.parametrize("keys", [1, 2, 33, 300])
def test_rows_of_one_piece(keys, alpha):
    assert_formula(draw(5, keys), alpha)
    assert_formula(draw(5, keys, scale=4.0), alpha, flags(5, keys))


@every("alpha", ALPHAS)
def test_rows_of_several_pieces(monkeypatch, alpha):
    monkeypatch.setattr(gpu_rows, "PIECE", 16)
    assert_formula(draw(2, 32), alpha)
    assert_formula(draw(2, 45), alpha, torch.arange(45) >= 20)


MASKS = {
    "keys": lambda: flags(7),
    "queries": lambda: flags(6, 1),
    "batch": lambda: flags(3, 1, 1, 1),
    "three dimensions": lambda: flags(3, 1, 6, 7),
    "columns": lambda: flags(7, 6).mT,
    "empty rows": lambda: torch.arange(6)[:, None] > torch.arange(7) + 2,
}


@every("name", MASKS)
def test_masks_of_any_strides(name):
    assert_formula(draw(3, 2, 6, 7), 1.5, MASKS[name]())


def test_mask_dimensions_beyond_three_are_copied():
    assert_formula(draw(2, 2, 2, 2, 2, 3), 2.0, flags(2, 1, 2, 1, 2, 3))


@every("alpha", ALPHAS)
def test_ties_and_large_scores(alpha):
    tied = torch.tensor([[1.0, 0.5, 1.0, 0.5, -9.0], [0.0] * 5])
    for scores in (tied, 1e4 + tied, -1e4 + tied, 1e4 * tied, torch.tensor([[1e30, -1e30, 1e30, 0.0, -3e30]])):
        result = assert_formula(scores, alpha)
        assert torch.equal(result[:, 0], result[:, 2])


@every("alpha", ALPHAS)
def test_nan_and_infinities_stay_in_their_rows(alpha):
    scores = draw(4, 9)
    clean = gpu_rows.entmax(scores, alpha, None)
    scores[1, 5], scores[2, 5] = math.nan, math.inf
    result = gpu_rows.entmax(scores, alpha, None)
    assert result[1:3].isnan().all() and torch.equal(result[[0, 3]], clean[[0, 3]])
    scores[3, 5] = -math.inf
    mask = torch.arange(9) != 5
    assert torch.equal(gpu_rows.entmax(scores, alpha, mask), gpu_rows.entmax(scores.masked_fill(~mask, 0), alpha, mask))
    assert gpu_rows.entmax(scores, alpha, None)[3, 5] == 0
    nothing = gpu_rows.entmax(torch.full((2, 3), -math.inf), alpha, torch.tensor([[True], [False]]))
    assert nothing[0].isnan().all() and (nothing[1] == 0).all()


@every("alpha", ALPHAS)
def test_a_row_does_not_depend_on_its_neighbours(alpha):
    scores = torch.cat([draw(3, 40, scale=scale) for scale in (0.1, 1.0, 9.0)])
    alone = torch.cat([gpu_rows.entmax(row[None], alpha, None) for row in scores])
    assert torch.equal(gpu_rows.entmax(scores, alpha, None), alone)


def test_second_derivatives_are_those_of_the_formula():
    scores, mask, upstream = draw(3, 6).requires_grad_(), flags(3, 6), draw(3, 6, seed=2)

    def second(function):
        (grad,) = torch.autograd.grad(function(scores, 1.5, mask), scores, upstream, create_graph=True)
        return torch.autograd.grad(grad.square().sum(), scores)[0]

    torch.testing.assert_close(second(gpu_rows.entmax), second(formula))


def test_empty_batches_and_strided_scores():
    assert gpu_rows.entmax(draw(0, 5), 1.5, flags(5)).shape == (0, 5)
    assert_formula(draw(7, 3, 2).movedim(0, -1), 1.5, flags(3, 1, 7))
    result = gpu_rows.entmax(draw(7, 1).expand(7, 3).mT, 1.5, None)
    assert torch.equal(result[0], result[2])


def test_normalizers_take_the_kernels_on_their_device(monkeypatch):
    monkeypatch.setattr(gpu_rows, "DEVICE", "cpu")
    scores, mask = draw(2, 5).bfloat16().requires_grad_(), flags(5)
    for normalizer in (Sparsemax(), Entmax(1.3), Entmax(2)):
        result = normalizer(scores, mask)
        assert result.grad_fn.next_functions[0][0].name() == "_EntmaxBackward" and result.dtype == scores.dtype
        torch.testing.assert_close(result, normalizer.formula(scores, mask.expand(2, 5)))


def test_formulas_serve_what_the_kernels_do_not(monkeypatch):
    monkeypatch.setattr(gpu_rows, "DEVICE", "cpu")
    scores = draw(2, 5)
    assert weights.serves_rows(scores, None) and weights.serves_rows(scores, flags(5), 1.5)
    for alpha in (1.0, 2.5, torch.tensor(1.5)):
        assert not weights.serves_rows(scores, None, alpha)
    assert not weights.serves_rows(scores.double(), None) and not weights.serves_rows(draw(2, 0), None)
    assert not weights.serves_rows(scores, torch.ones(5)) and not weights.serves_rows(scores, flags(3, 2, 5))
    monkeypatch.setattr(gpu_rows, "MISSING", True)
    assert not weights.serves_rows(scores, None)
    assert not gpu_rows.serves_rows(2.0, scores.to("meta"))


@pytest.mark.parametrize("alpha", [1.5, 2.0])
def test_rows_without_keys_have_no_weights(alpha):
    scores = draw(3, 0)
    result = with_gradient(lambda scores: gpu_rows.entmax(scores, alpha, None), scores, scores)
    assert [part.shape for part in result] == [(3, 0)] * 2
