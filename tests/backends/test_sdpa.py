import math

import pytest
import torch

from saccade import attend, masks
from saccade.backends import sdpa

X = torch.randn(2, 3, 5, 8, generator=torch.Generator().manual_seed(0))
FLAGS = torch.rand(2, 1, 5, 5, generator=torch.Generator().manual_seed(1)) < 0.5

PLAIN = {
    "no mask": (X, None),
    "causal": (X, masks.Causal()),
    "dense": (X, FLAGS),
    "of queries": (X, FLAGS[..., :1]),
    "of keys": (X, FLAGS[:1, :, :1]),
    "of one": (X, FLAGS[:1, :, :1, :1]),
    "nothing": (X, torch.zeros(1, 1, 1, 5, dtype=torch.bool)),
    "strided": (X.mT.contiguous().mT, FLAGS.mT),
    "not contiguous": (X[:, :, ::2], None),
}


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_plain_is_the_definition(name):
    x, mask = PLAIN[name]
    found, expected = sdpa.plain(x, x, x, mask), attend(x, x, x, mask=mask, backend="reference")
    torch.testing.assert_close(found, expected)
    assert torch.equal(attend(x, x, x, mask=mask), found)
    assert torch.equal(attend(x, x, x, mask=mask, backend="sdpa"), found)


def test_what_learns_is_plain_and_differentiable_twice():
    found = []
    for backend in ("auto", "reference"):
        x = X.clone().requires_grad_()
        first = torch.autograd.grad(attend(x, x, x, backend=backend).square().sum(), x, create_graph=True)
        found.append((*first, *torch.autograd.grad(first[0].square().sum(), x)))
    torch.testing.assert_close(*found, rtol=1e-3, atol=1e-3)


def test_forbidden_numbers_that_are_none_are_cleaned():
    value = X.clone()
    value[:, :, 2] = math.nan
    seen = torch.ones(1, 1, 1, 5, dtype=torch.bool)
    seen[..., 2] = False
    assert sdpa.plain(X, X, value, seen) is None
    torch.testing.assert_close(attend(X, X, value, mask=seen), attend(X, X, X, mask=seen))


NOT_PLAIN = {
    "three dimensions": ((X[0],) * 3, None),
    "two shapes": ((X[:, :, :3], X, X), None),
    "two types": ((X, X.double(), X), None),
    "float64": ((X.double(),) * 3, None),
    "nothing at all": ((X[:0],) * 3, None),
    "learns under a mask": ((X.clone().requires_grad_(), X, X), masks.Causal()),
    "a parameter": ((torch.nn.Parameter(X), X, X), None),
    "no tensors": (("x", "x", "x"), None),
    "aligned": ((X,) * 3, masks.Causal(align=0)),
    "composed": ((X,) * 3, masks.Causal() & FLAGS),
    "two dimensions": ((X,) * 3, FLAGS[0, 0]),
    "of another length": ((X,) * 3, FLAGS[..., :4]),
    "of floats": ((X,) * 3, FLAGS.float()),
}


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_what_is_not_plain_is_left_to_the_rest(name):
    inputs, mask = NOT_PLAIN[name]
    assert sdpa.plain(*inputs, mask) is None


def test_nothing_is_plain_under_autocast_and_transforms():
    with torch.autocast("cpu", torch.bfloat16):
        assert sdpa.plain(X, X, X, None) is None
    seen = []
    torch.func.vmap(lambda x: seen.append(sdpa.plain(x, x, x, None)) or x)(X[None])
    assert seen == [None]
