import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interpreter import interpreted, tiles
from saccade.backends.triton import additive
from saccade.backends.triton.additive import additive_scores
from saccade.scores import EXPONENT_LIMIT, Additive, by_key, exponentials

pytestmark = interpreted

TILES = "ROWS", "KEYS", "WIDE_ROWS", "WIDE_KEYS", "ITS_KEYS"
SHIPPED = {name: getattr(additive, name) for name in (*TILES, "GRADIENT_ROWS", "FEW_ROWS", "CHUNK")}


@pytest.fixture(autouse=True, scope="module")
def small():
    with pytest.MonkeyPatch.context() as patch:
        tiles(patch, 4, 4, 8)
        yield


def draw(*shape, scale=1.0, dtype=torch.float64, seed=0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def by_kernels(query, key, v, allowed=None):
    return additive_scores(query, key, v, by_key(exponentials(key.detach())), allowed)


def plain(query, key, v, allowed=None):
    return Additive(v)(query, key)


def results(function, inputs, dtype, allowed=None):
    """Scores where allowed, and gradients of all three."""
    leaves = [tensor.detach().to(dtype).requires_grad_() for tensor in inputs]
    scores = function(*leaves, allowed)
    scores = scores if allowed is None else scores.masked_fill(~allowed, 0.0)
    ramp = torch.linspace(-1, 2, scores.numel(), dtype=dtype).reshape(scores.shape)
    return [scores, *torch.autograd.grad((scores * ramp).sum(), leaves)]


def assert_as_defined(*inputs, dtype=torch.float32, allowed=None):
    """At most three times as far from the truth as the plain formula, and rounding of the largest."""
    exact = results(plain, [tensor.double() for tensor in inputs], torch.float64, allowed)
    eps = torch.finfo(dtype).eps
    rounding = 4 * eps * inputs[2].double().abs().sum()  # of a sum of terms that are at most |v|
    for number, (ours, theirs, truth) in enumerate(
        zip(results(by_kernels, inputs, dtype, allowed), results(plain, inputs, dtype, allowed), exact, strict=True)
    ):
        if truth.numel():
            error, largest = (theirs.double() - truth).abs().max(), truth.abs().max()
            limit = 3 * error + (rounding if number == 0 else 60 * eps * largest + 1e3 * torch.finfo(dtype).tiny)
            limit = limit + (2 * rounding if number else 0)
            assert (ours.double() - truth).abs().max() <= limit


RARE = [0.2, 1.0, 60.0, 1e4]


@pytest.mark.parametrize(
    "scale", [1e-6, 0.3, 12.0, 300.0, *(pytest.param(scale, marks=pytest.mark.slow) for scale in RARE)]
)
def test_every_range_keeps_its_digits(scale):
    inputs, dtype = (draw(5, 13, scale=scale), draw(9, 13, scale=scale, seed=1), draw(13, seed=2)), torch.float32
    assert_as_defined(*inputs, dtype=dtype)
    if scale <= 0.2:  # relative to scores that are as small
        eager, ours = (results(f, inputs, dtype)[0].double() for f in (plain, by_kernels))
        truth = results(plain, inputs, torch.float64)[0]
        spread = 8 * torch.finfo(dtype).eps * truth.abs().max()
        assert (ours - truth).abs().max() <= 3 * (eager - truth).abs().max() + spread


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_float32_is_within_2e5_of_the_largest_score(scale):
    inputs = draw(5, 64, scale=scale), draw(9, 64, scale=scale, seed=1), draw(64, seed=2)
    truth = results(plain, inputs, torch.float64)[0]
    found = results(by_kernels, inputs, torch.float32)[0]
    torch.testing.assert_close(found.double(), truth, rtol=0, atol=2e-5 * inputs[2].abs().sum().item())


SHAPES = [
    ((5, 3), (7, 3), (3,)),
    ((1, 4), (9, 4), (4,)),
    ((1, 5, 2), (3, 7, 2), (2,)),
    ((2, 1, 4, 5, 2), (2, 1, 1, 7, 2), (1, 4, 2)),
    pytest.param(((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 4)), marks=pytest.mark.slow),
    pytest.param(((2, 3, 4, 5, 2), (2, 3, 1, 7, 2), (3, 1, 2)), marks=pytest.mark.slow),
    ((2, 0, 3), (2, 7, 3), (3,)),
    ((2, 5, 3), (2, 0, 3), (3,)),
    ((2, 5, 0), (2, 7, 0), (0,)),
    ((0, 5, 3), (0, 7, 3), (3,)),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_any_batch_dimensions(shapes):
    assert_as_defined(*(draw(*shape, seed=seed) for seed, shape in enumerate(shapes)), dtype=torch.float64)


@settings(max_examples=4)
@given(st.integers(1, 19), st.integers(1, 19), st.integers(1, 19), st.integers(0, 99))
def test_any_sizes_under_a_mask(queries, keys, features, seed):
    allowed = torch.rand(2, queries, keys, generator=torch.Generator().manual_seed(seed)) < 0.4
    allowed[0] = False  # whole tiles without a pair
    assert_as_defined(
        *(draw(2, queries, features, seed=seed), draw(2, keys, features, seed=seed + 1), draw(features, seed=seed + 2)),
        dtype=torch.float64,
        allowed=allowed,
    )


def test_strides_are_honoured():
    whole = draw(5, 2, 14), draw(14, 9, seed=1), draw(14, 2, seed=2)
    query, key, v = whole[0][:, 0, ::2], whole[1].mT[:, 7:], whole[2][::2, 1]
    assert not query.is_contiguous() and not key.is_contiguous() and not v.is_contiguous()
    assert_as_defined(query, key, v, dtype=torch.float64)


def test_nothing_is_computed_where_nothing_is_allowed():
    allowed = torch.zeros(8, 16, dtype=torch.bool)
    allowed[:, :8] = True
    scores = by_kernels(draw(8, 3), draw(16, 3, seed=1), torch.ones(3, dtype=torch.float64), allowed)
    assert (scores[:, :8] != 0).all() and (scores[:, 8:] == 0).all()


@pytest.mark.parametrize("queries", [1, 11])
def test_gradients_ask_for_nothing_where_none_is_allowed(queries):
    """What is handed back for tiles without an allowed pair may be anything, their keys and queries too."""
    allowed = torch.zeros(2, queries, 30, dtype=torch.bool)
    allowed[0, : queries // 2 + 1, 3:6] = allowed[0, -1, 22] = allowed[1, 0, 29] = True
    query, key, v = draw(2, queries, 5), draw(2, 30, 5, seed=1), draw(5, seed=2)
    upstream = draw(2, queries, 30, seed=3).masked_fill(~allowed, 0.0)
    tile = (1, 8) if queries == 1 else (8, 8)
    padded = torch.nn.functional.pad(allowed, (0, -30 % tile[1], 0, -queries % tile[0]))
    reached = padded.unflatten(-1, (-1, tile[1])).unflatten(-3, (-1, tile[0])).any(-3).any(-1)
    reached = reached.repeat_interleave(tile[0], 1).repeat_interleave(tile[1], 2)[:, :queries, :30]
    found = []
    for function, handed in ((plain, upstream), (by_kernels, upstream.masked_fill(~reached, torch.nan))):
        leaves = [part.clone().requires_grad_() for part in (query, key, v)]
        found.append(torch.autograd.grad(function(*leaves, allowed), leaves, handed))
    torch.testing.assert_close(found[1], found[0])


def test_tiles_of_gradients_lie_in_tiles_of_scores():
    for tile in TILES:
        assert not any(SHIPPED[tile] % SHIPPED[inner] for inner in ("GRADIENT_ROWS", "FEW_ROWS", "CHUNK"))


@pytest.mark.parametrize("dtype", EXPONENT_LIMIT)
def test_the_guards_hold_at_both_ends(dtype):
    limit = EXPONENT_LIMIT[dtype]
    for size in (limit, additive.FREE[dtype] / 2, additive.SMALL):
        for sign in (-1, 1):
            edge = sign * size * torch.tensor([[0.99], [1.01]], dtype=dtype)
            for key in (edge, -edge, -edge + 0.25):
                scores = by_kernels(edge, key, torch.ones(1, dtype=dtype))
                torch.testing.assert_close(scores, torch.tanh(edge + key.mT), rtol=0, atol=8 * torch.finfo(dtype).eps)


def test_a_number_that_is_none_is_seen():
    query, key, v = draw(3, 5), draw(9, 5, seed=1), draw(5, seed=2)
    key[2, 1] = torch.nan
    scores = by_kernels(query, key, v)
    assert scores[:, 2].isnan().all() and scores[:, :2].isfinite().all() and scores[:, 3:].isfinite().all()
