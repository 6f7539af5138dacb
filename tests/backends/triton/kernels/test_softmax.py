"""The kernels of the softmax at extremes, straight from their memory."""

import math

import pytest
import torch

from calls import drawn
from interpreter import interpreted
from saccade.backends.triton.launch import flags, launch

pytestmark = interpreted


def softmax(scores, allowed=None):
    from saccade.backends.triton.kernels import softmax as kernels

    weights, lse = torch.empty_like(scores), scores.new_empty(scores.shape[:-1])
    mask, masked = flags(allowed, scores.shape, scores)
    sizes = lse.numel(), *scores.shape[-2:]
    launch(kernels.softmax, -(-lse.numel() // 2), scores, weights, lse, *mask, *sizes, MASKED=masked, ROWS=2, BLOCK=4)
    return weights, lse


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e4])
def test_rows_of_several_pieces(dtype, scale):
    scores = drawn(2, 3, 11, scale=scale, dtype=dtype)
    weights, lse = softmax(scores)
    torch.testing.assert_close(weights, torch.softmax(scores, -1))
    torch.testing.assert_close(lse, torch.logsumexp(scores, -1))


def test_what_is_forbidden_is_not_read():
    scores, allowed = drawn(2, 3, 11), torch.rand(2, 3, 11) < 0.5
    allowed[0, 1] = False
    weights, lse = softmax(scores.masked_fill(~allowed, math.nan), allowed)
    expected = torch.softmax(scores.masked_fill(~allowed, -math.inf), -1).nan_to_num()
    torch.testing.assert_close(weights, expected)
    assert lse[0, 1] == -math.inf and not weights[0, 1].any()


def test_scores_of_minus_infinity_weigh_nothing():
    weights, lse = softmax(torch.tensor([[[-math.inf] * 5, [-math.inf, 0.0, -math.inf, 0.0, -math.inf]]]))
    assert weights.tolist() == [[[0.0] * 5, [0.0, 0.5, 0.0, 0.5, 0.0]]]
    assert lse[0, 0] == -math.inf and math.isclose(lse[0, 1], math.log(2), rel_tol=1e-6)


def test_the_gradient_does_not_read_what_acts_on_nothing():
    from saccade.backends.triton.kernels import softmax as kernels

    scores = drawn(3, 7, dtype=torch.float64).masked_fill_(torch.rand(3, 7) < 0.3, -math.inf).requires_grad_()
    weights, grad, of_lse = torch.softmax(scores, -1), drawn(3, 7, seed=1).double(), drawn(3, seed=2).double()
    lse = torch.logsumexp(scores, -1)
    (expected,) = torch.autograd.grad((weights * grad).sum() + (lse * of_lse).sum(), scores)
    found, poisoned = torch.empty_like(grad), grad.masked_fill(weights == 0, math.nan)
    launch(kernels.softmax_gradient, 2, weights.detach(), poisoned, of_lse, found, 3, 7, ROWS=2, BLOCK=4)
    torch.testing.assert_close(found, expected)
