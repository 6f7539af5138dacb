"""The answers of the package entmax are those of `attend`: weights, gradients, and that of α."""

import pytest
import torch

from saccade import attend, masks, normalizers, scores
from tiers import every

entmax = pytest.importorskip("entmax", reason="entmax is not installed (pip install saccade-attention[dev])")

F64 = torch.float64
SAME = {
    "sparsemax": (lambda x: entmax.sparsemax(x, k=None), normalizers.Sparsemax()),
    "sparsemax of few": (lambda x: entmax.sparsemax(x, k=2), normalizers.Sparsemax()),
    "sparsemax_bisect": (entmax.sparsemax_bisect, normalizers.Sparsemax()),
    "entmax15": (entmax.entmax15, normalizers.Entmax(1.5)),
    **{
        f"entmax_bisect {alpha}": (lambda x, alpha=alpha: entmax.entmax_bisect(x, alpha), normalizers.Entmax(alpha))
        for alpha in (1.2, 1.5, 1.75, 2.0, 2.25, 4.0)
    },
}
UNEXPRESSED = {
    "normmax_bisect": "no normalizer of ours is the maximum under an α-norm",
    "budget_bisect": "weights sum to one; the first k of a budget are reads.TopK, which is another projection",
}
"""Functions without a counterpart, and why."""


def weights(x, normalizer, mask=None):
    """What attend makes of given scores `(..., n, d)`: queries against unit vectors, which are read themselves."""
    eye = torch.eye(x.shape[-1], dtype=x.dtype)
    return attend(x, eye, eye, score=scores.Dot(), normalizer=normalizer, mask=mask)


@every(("shape", "scale"), [((1, 1), 1.0), ((7, 2), 0.1), ((3, 5, 17), 5.0), ((2, 300), 100.0)])
@every("name", SAME)
def test_weights_and_gradients(name, shape, scale):
    theirs, normalizer = SAME[name]
    x = (scale * torch.randn(shape, dtype=F64)).requires_grad_()
    want, found = theirs(x), weights(x, normalizer)
    torch.testing.assert_close(found, want, atol=1e-9, rtol=1e-7)
    upstream = torch.randn(shape, dtype=F64)
    old, new = (torch.autograd.grad(side, x, upstream)[0] for side in (want, found))
    torch.testing.assert_close(new, old, atol=1e-6, rtol=1e-5)


def test_the_gradient_of_alpha():
    x, alpha = torch.randn(6, 9, dtype=F64), torch.linspace(1.1, 2.5, 6, dtype=F64)[:, None].requires_grad_()
    upstream = torch.randn_like(x)
    want, found = entmax.entmax_bisect(x, alpha), weights(x, normalizers.Entmax(alpha))
    torch.testing.assert_close(found, want, atol=1e-9, rtol=1e-7)
    old, new = (torch.autograd.grad(side, alpha, upstream)[0] for side in (want, found))
    torch.testing.assert_close(new, old, atol=1e-6, rtol=1e-5)


@every("name", [name for name in SAME if "of few" not in name])
def test_a_mask_is_scores_of_minus_infinity(name):
    theirs, normalizer = SAME[name]
    x, lengths = torch.randn(4, 3, 6, dtype=F64), torch.tensor([6, 5, 2, 1])
    hidden = torch.arange(6)[None] >= lengths[:, None]
    want = theirs(x.masked_fill(hidden[:, None], -1e12))
    torch.testing.assert_close(weights(x, normalizer, masks.Lengths(lengths)), want, atol=1e-9, rtol=1e-7)


def test_every_function_is_compared_or_has_a_reason():
    functions = {name for name in dir(entmax) if name.endswith(("max", "max15", "bisect")) and name.islower()}
    assert functions == {name.split()[0] for name in SAME} | UNEXPRESSED.keys()
    assert not [name for name in vars(normalizers) if name.lower() in ("normmax", "budget")]  # or they are compared
