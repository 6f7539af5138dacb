import pytest
import torch

from saccade.backends.chunked import additive
from saccade.backends.chunked.additive import FusedAdditive
from saccade.scores import EXPONENT_LIMIT, Additive, exponentials
from tiers import every


def fused(query, key, v):
    return FusedAdditive(v, exponentials(key.detach()))(query, key)


def draw(*shape, scale=1.0, dtype=torch.float64, seed=0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def both(query, key, v):
    """Scores and gradients by the identity and by the definition."""
    found = []
    for score in (fused, lambda q, k, w: Additive(w)(q, k)):
        leaves = [tensor.clone().requires_grad_() for tensor in (query, key, v)]
        scores = score(*leaves)
        ramp = torch.linspace(-1, 2, scores.numel(), dtype=scores.dtype).reshape(scores.shape)
        found.append((scores, *torch.autograd.grad((scores * ramp).sum(), leaves)))
    return found


@pytest.mark.parametrize("tile", [1, 7, 50, 1 << 18])
@pytest.mark.parametrize(
    ("query", "key", "v"),
    [
        ((5, 3), (7, 3), (3,)),
        ((2, 5, 3), (2, 7, 3), (3,)),
        ((2, 3, 5, 4), (2, 3, 7, 4), (3, 4)),
        ((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 4)),
        ((2, 3, 4, 5, 2), (2, 3, 1, 7, 2), (2,)),
        ((2, 3, 4, 5, 2), (2, 3, 1, 7, 2), (3, 1, 2)),
        ((2, 3, 4, 5, 2), (2, 3, 1, 7, 2), (3, 4, 2)),
        ((1, 5, 2), (3, 7, 2), (2,)),
        ((2, 1, 1, 2), (2, 1, 7, 2), (2,)),
    ],
    ids=str,
)
def test_the_identity_is_the_definition(query, key, v, tile, monkeypatch):
    monkeypatch.setattr(additive, "TILE", tile)
    ours, theirs = both(draw(*query), draw(*key, seed=1), draw(*v, seed=2))
    torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-11)


@every("dtype", [torch.float32, torch.float64])
@every("scale", [1e-6, 1e-3, 0.05, 0.2, 1.0, 5.0, 20.0, 100.0, 1e4])
def test_every_range_keeps_its_digits(scale, dtype):
    query, key, v = (
        draw(5, 8, scale=scale, dtype=dtype),
        draw(7, 8, scale=scale, dtype=dtype, seed=1),
        draw(8, seed=2, dtype=dtype),
    )
    ours = both(query, key, v)[0]
    exact = both(query.double(), key.double(), v.double())[1]
    allowance = 6 * torch.finfo(dtype).eps * v.double().abs().sum() * min(1.0, 8 * scale)
    assert (ours[0].double() - exact[0]).abs().max() <= allowance
    for got, want in zip(ours[1:], exact[1:], strict=True):
        assert (got.double() - want).abs().max() <= 200 * torch.finfo(dtype).eps * max(want.abs().max().item(), 0.01)


@pytest.mark.parametrize("dtype", EXPONENT_LIMIT)
def test_the_guard_holds_at_both_ends(dtype):
    limit = EXPONENT_LIMIT[dtype]
    inside = torch.tensor([-limit, limit], dtype=dtype)
    assert exponentials(inside).isfinite().all() and (exponentials(inside) >= torch.finfo(dtype).tiny).all()
    assert exponentials(torch.tensor([limit * 1.01, -limit * 1.01, torch.inf, torch.nan], dtype=dtype)).isnan().all()
    for sign in (-1, 1):
        edge = sign * torch.tensor([[limit * 0.99], [limit * 1.01]], dtype=dtype)
        for key in (edge, -edge, -edge + 0.25):
            scores = fused(edge, key, torch.ones(1, dtype=dtype))
            torch.testing.assert_close(scores, torch.tanh(edge + key.mT), rtol=0, atol=8 * torch.finfo(dtype).eps)


def test_one_key_out_of_range_costs_no_other_its_digits():
    query, key, v = draw(5, 8), draw(7, 8, seed=1), draw(8, seed=2)
    key[3] = 1e9
    torch.testing.assert_close(fused(query, key, v), Additive(v)(query, key), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sizes", [(0, 3, 2), (3, 0, 2), (3, 4, 0)])
def test_nothing_to_compare(sizes):
    length, width, dim = sizes
    scores = fused(torch.ones(2, length, dim), torch.ones(2, width, dim), torch.ones(dim))
    assert scores.shape == (2, length, width) and (scores == 0).all()


def test_no_tensor_of_queries_by_keys_by_features(monkeypatch):
    seen = []
    real = additive.tile_terms
    monkeypatch.setattr(additive, "TILE", 1 << 10)
    monkeypatch.setattr(additive, "tile_terms", lambda *args: seen.append(terms := real(*args)) or terms)
    fused(draw(64, 16), draw(96, 16, seed=1), draw(16, seed=2))
    assert max(terms.numel() for terms in seen) <= 1 << 10


@pytest.mark.parametrize("batch", [(), (3,)])
def test_vectors_without_a_feature_score_nothing(batch):
    query, key, v = torch.zeros(*batch, 4, 0), torch.zeros(*batch, 5, 0), torch.zeros(*batch, 0)
    assert torch.equal(fused(query, key, v), torch.zeros(*batch, 4, 5))
