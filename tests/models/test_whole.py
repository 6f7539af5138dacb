"""Networks that see whole images: pooling that every device has a gradient of."""

import pytest
import torch
from torch.nn import functional as F

from saccade.models.whole import Options, Whole, pooled_by_products


@pytest.mark.parametrize("sides", [(16, 16), (13, 29), (3, 1), (60, 7)])
def test_pooling_by_products_is_adaptive_pooling(sides):
    features = torch.rand(2, 3, *sides, dtype=torch.float64, requires_grad=True)
    for side in (1, 5, 16):
        found, expected = pooled_by_products(features, side), F.adaptive_avg_pool2d(features, side)
        torch.testing.assert_close(found, expected)
        weights = torch.rand_like(found)
        grads = [torch.autograd.grad((pooled * weights).sum(), features)[0] for pooled in (found, expected)]
        torch.testing.assert_close(*grads)


def test_products_replace_pooling_without_reproducible_bits():
    """On a device without numbers, as none with a GPU is at hand: what is recorded is what would be run there."""
    with torch.device("meta"):
        logits = Whole(1, 3, Options(channels=2, pooled=3, hidden_dim=5))(torch.rand(2, 1, 20, 30))
    names, left = set(), [logits.grad_fn]
    while left:
        names.add(left[-1].name())
        left += [parent for parent, _ in left.pop().next_functions if parent is not None]
    assert logits.shape == (2, 3) and not any("AdaptiveAvgPool" in name for name in names)
