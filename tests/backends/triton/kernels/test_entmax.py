"""The kernels of entmax: thresholds by Newton's method and by halving, for every way that α is said."""

import pytest
import torch

from calls import drawn
from interpreter import interpreted
from saccade import normalizers
from saccade.backends.triton.launch import flags, launch

pytestmark = interpreted


def entmax(scores, alpha, kind, allowed=None):
    from saccade.backends.triton.kernels import entmax as kernels

    rows, width = scores.shape[0] * scores.shape[1], scores.shape[-1]
    weights = torch.empty_like(scores)
    mask, masked = flags(allowed, scores.shape, scores)
    alphas, tolerance = torch.full((rows,), alpha, dtype=scores.dtype), 2 * torch.finfo(scores.dtype).eps
    given = scores, weights, alphas, tolerance, *mask, rows, scores.shape[1], width
    launch(kernels.entmax, -(-rows // 2), *given, MASKED=masked, KIND=kind, ROWS=2, BLOCK=4)
    return weights


OTHERS = [(2.0, 0, 4, 0.1), (1.5, 0, 11, 1.0), (1.0, 0, 1, 1.0), (3.5, 3, 6, 0.1)]


@pytest.mark.parametrize(
    ("alpha", "kind", "width", "scale"),
    [
        *[(2.0, 1, 9, 1.0), (1.5, 2, 5, 30.0), (1.2, 0, 9, 30.0)],
        *(pytest.param(*values, marks=pytest.mark.slow) for values in OTHERS),
    ],
)
def test_weights_are_the_definitions(alpha, kind, width, scale):
    scores = drawn(2, 2, width, scale=scale, dtype=torch.float64)
    expected = normalizers.Entmax(alpha)(scores, None)
    torch.testing.assert_close(entmax(scores, alpha, kind), expected, rtol=1e-7, atol=1e-9)


STEEP = torch.tensor([[0.0, 1e-20, 0.0, -1e-30, 1e-9], [1.0, 1.0, 1.0, 1.0, 1.0], [2.0, 2.0, -1.0, 1.99, 2.0]])


@pytest.mark.parametrize("alpha", [50.0, *(pytest.param(alpha, marks=pytest.mark.slow) for alpha in (2.5, 100.0))])
def test_ties_of_a_steep_alpha_are_the_definitions(alpha):
    """Weights and gradients in float32 of an α above 2 in each row."""
    from saccade.backends.triton import rows

    scores, grad = STEEP.clone().requires_grad_(), torch.tensor([0.0, 3.0, -3.0, 2.0, 1.0])
    alphas = torch.tensor([[alpha], [alpha], [1.5]], requires_grad=True)
    weights = rows.entmax(scores, None, alphas)
    wide = scores.detach().double().requires_grad_(), alphas.detach().double().requires_grad_()
    exact = normalizers.Entmax(wide[1])(wide[0], None)
    torch.testing.assert_close(weights.double(), exact, rtol=2e-6, atol=1e-7)
    found = torch.autograd.grad((weights * grad).sum(), (scores, alphas))
    for ours, theirs in zip(found, torch.autograd.grad((exact * grad).sum(), wide), strict=True):
        assert ours.isfinite().all()
        small = theirs.abs() < 1e31  # larger ones end at 2⁻²⁴ of float32's largest number
        torch.testing.assert_close(ours.double()[small], theirs[small], rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize(("alpha", "kind"), [(2.0, 1), (1.5, 2), (1.3, 0)])
def test_forbidden_keys_weigh_nothing(alpha, kind):
    scores, allowed = drawn(2, 3, 9, dtype=torch.float64), torch.rand(2, 3, 9) < 0.5
    allowed[1, 2] = False
    found = entmax(scores.masked_fill(~allowed, torch.nan), alpha, kind, allowed)
    torch.testing.assert_close(found, normalizers.Entmax(alpha)(scores, allowed), rtol=1e-7, atol=1e-9)
    assert not found[1, 2].any()


@pytest.mark.parametrize(("alpha", "kind"), [(2.0, 1), (1.5, 2), (1.3, 0), (1.0, 3), (3.0, 3)])
def test_gradients_are_the_definitions(alpha, kind):
    from saccade.backends.triton.kernels import entmax as kernels

    scores = drawn(3, 7, dtype=torch.float64).requires_grad_()
    alphas = torch.full((3, 1), alpha, dtype=torch.float64, requires_grad=True)
    weights, grad = normalizers.Entmax(alphas)(scores, None), drawn(3, 7, seed=1).double()
    expected, of_alpha = torch.autograd.grad((weights * grad).sum(), [scores, alphas])
    found, of_alphas = torch.empty_like(grad), torch.zeros(3, dtype=torch.float64)
    given = weights.detach(), grad, found, alphas.detach()[:, 0].contiguous(), of_alphas, 3, 7
    launch(kernels.entmax_gradient, 2, *given, KIND=kind, LEARNS=kind in (0, 3), ROWS=2, BLOCK=4)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-9)
    if kind in (0, 3):
        torch.testing.assert_close(of_alphas, of_alpha[:, 0], rtol=1e-6, atol=1e-9)
