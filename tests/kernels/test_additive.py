import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.kernels import additive, packing
from saccade.scores import exponentials
from tiers import every, rest_slow

TYPES = [torch.float32, torch.float64]


def draw(*shape, scale=1.0, seed=0, dtype=torch.float64):
    return (scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)).to(dtype)


def flags(*shape, density=0.5, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) < density


def ours(query, key, v, allowed=None):
    return additive.scores(query, key, v, packing.packed(key.detach()), allowed)


def plain(query, key, v):
    return (torch.tanh(query[..., :, None, :] + key[..., None, :, :]) @ v[..., None, :, None])[..., 0]


def broadcast(found, shape):
    """The sum over what was broadcast, for numpy."""
    found = found.sum(tuple(range(found.ndim - len(shape))))
    return found.sum(tuple(i for i, size in enumerate(shape) if size == 1 and found.shape[i] != 1), keepdims=True)


def exact(query, key, v, upstream):
    """Scores and gradients in extended precision, and the sums of the absolute values of what is added in each."""
    q, k, w, g = (tensor.detach().numpy().astype(np.longdouble) for tensor in (query, key, v, upstream))
    tangent, w = np.tanh(q[..., :, None, :] + k[..., None, :, :]), w[..., None, None, :]
    slope, g = (1 - tangent) * (1 + tangent), g[..., None]
    parts = [(tangent * w).sum(-1), (g * slope * w).sum(-2), (g * slope * w).sum(-3), (g * tangent).sum((-2, -3))]
    size = np.abs(g * w), np.abs(g) * np.ones_like(tangent)
    sums = [np.abs(w).sum(-1), size[0].sum(-2), size[0].sum(-3), size[1].sum((-2, -3))]
    shapes = query.shape, key.shape, v.shape
    truth = [parts[0], *(broadcast(part, shape) for part, shape in zip(parts[1:], shapes, strict=True))]
    return truth, [sums[0], *(broadcast(part, shape) for part, shape in zip(sums[1:], shapes, strict=True))]


def with_gradients(function, inputs, upstream):
    leaves = [tensor.detach().requires_grad_() for tensor in inputs]
    found = function(*leaves)
    return [found.detach(), *torch.autograd.grad(found, leaves, upstream)]


def assert_accurate(query, key, v, allowed=None):
    """Scores and gradients: at most three times the plain formula's error, and 4 eps of all that is added."""
    shape = plain(query, key, v).shape
    seen = torch.ones(shape, dtype=torch.bool) if allowed is None else allowed.expand(shape)
    upstream = torch.linspace(-1, 2, seen.numel(), dtype=query.dtype).reshape(shape) * seen
    found = with_gradients(lambda q, k, w: ours(q, k, w, allowed), (query, key, v), upstream)
    theirs, (truth, sums) = with_gradients(plain, (query, key, v), upstream), exact(query, key, v, upstream)
    assert found[0].shape == shape and found[0].isfinite().all()
    for name, one, other, right, total in zip(("scores", "q", "k", "v"), found, theirs, truth, sums, strict=True):
        where = seen.numpy() if name == "scores" else np.ones(right.shape, bool)
        error, common = np.abs(one.numpy() - right)[where], np.abs(other.numpy() - right)[where]
        allowance = 4 * torch.finfo(query.dtype).eps * np.broadcast_to(total, right.shape)[where]
        assert (error <= 3 * common.max(initial=0) + allowance).all(), (name, error.max(), common.max())
    with torch.no_grad():
        assert torch.equal(ours(query, key, v, allowed), found[0])


SHAPES = [
    ((5, 3), (7, 3), (3,)),
    ((2, 5, 17), (2, 7, 17), (17,)),
    ((2, 3, 5, 4), (2, 3, 7, 4), (2, 1, 4)),
    ((2, 3, 4, 5, 2), (2, 3, 1, 7, 2), (4, 2)),
    ((2, 3, 4, 5, 2), (2, 1, 1, 7, 2), (2,)),
    ((5, 2), (3, 7, 2), (2,)),
    ((3, 6, 2), (1, 7, 2), (3, 2)),
    ((5, 2), (7, 2), (3, 2)),
    ((2, 1, 5, 2), (1, 3, 7, 2), (1, 2)),
    ((2, 0, 3), (2, 7, 3), (3,)),
    ((2, 5, 3), (2, 0, 3), (3,)),
    ((0, 5, 3), (0, 7, 3), (3,)),
    ((2, 5, 0), (2, 7, 0), (0,)),
]


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_it_is_the_formula_with_its_gradients(shapes, dtype):
    assert_accurate(*(draw(*shape, seed=seed, dtype=dtype) for seed, shape in enumerate(shapes)))


@given(
    st.sampled_from(TYPES),
    st.integers(1, 3),
    st.integers(0, 5),
    st.sampled_from([0, 1, 3, 5, 15, 16, 17, 77, 511, 512, 513]),
    st.integers(1, 9),
    st.sampled_from([None, 0.0, 0.01, 0.7]),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.integers(0, 99),
)
def test_any_sizes_and_masks(dtype, batch, queries, keys, features, density, whole, seed):
    full = batch, queries, keys
    shape = [size if own else 1 for size, own in zip(full, whole, strict=True)]
    allowed = None if density is None else flags(*shape, density=density, seed=seed)
    query, key = draw(batch, queries, features, seed=seed), draw(batch, keys, features, seed=seed + 1)
    assert_accurate(*(part.to(dtype) for part in (query, key, draw(features, seed=seed + 2))), allowed)


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
@pytest.mark.parametrize(("keys", "scale"), [(1, 1.0), (15, 0.05), (16, 60.0), (17, 1.0), (511, 0.05), (513, 60.0)])
def test_keys_that_fill_no_whole_vector(keys, scale, dtype):
    query, key, v = draw(2, 6, 5, scale=scale), draw(2, keys, 5, scale=scale, seed=1), draw(5, seed=2)
    assert_accurate(*(part.to(dtype) for part in (query, key, v)))


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
@pytest.mark.parametrize(
    ("first", "width", "beside"),
    [(0, 1, 0.0), (3, 15, math.nan), (16, 16, math.inf), (5, 17, 1e4), (2, 511, math.nan), (17, 513, math.inf)],
)
def test_views_of_packed_keys_see_nothing_beside_them(first, width, beside, dtype):
    query, key, v = draw(2, 6, 5, dtype=dtype), draw(2, 600, 5, seed=1, dtype=dtype), draw(5, seed=2, dtype=dtype)
    upstream, seen = draw(2, 6, width, seed=3, dtype=dtype), key[:, first : first + width]
    expected = with_gradients(ours, (query, seen, v), upstream)
    around = torch.full_like(key, beside)
    around[:, first : first + width] = seen
    keys = packing.packed(around)[..., first : first + width]
    found = with_gradients(lambda q, k, w: additive.scores(q, k, w, keys, None), (query, seen, v), upstream)
    assert all(map(torch.equal, found, expected))


@every("dtype", TYPES)
@every("width", [1, 15, 17, 40])
def test_packed_keys_of_a_sliding_window(width, dtype):
    query, key, v = draw(3, 6, 5, dtype=dtype), draw(48, 5, seed=1, dtype=dtype), draw(5, seed=2, dtype=dtype)
    windows = key.as_strided((3, width, 5), (20, 5, 1))
    whole = packing.packed(key)
    keys = whole.as_strided((3, *whole.shape[:1], width), (4, whole.stride(0), 1))
    upstream = draw(3, 6, width, seed=3, dtype=dtype)
    found = with_gradients(lambda q, k, w: additive.scores(q, k, w, keys, None), (query, windows, v), upstream)
    assert all(map(torch.equal, found, with_gradients(ours, (query, windows.clone(), v), upstream)))


def test_packed_keys_lie_in_whole_vectors():
    for length, stride in ((1, 16), (16, 16), (17, 32), (77, 80)):
        keys = packing.packed(draw(2, length, 6))
        assert keys.shape == (2, 9, length) and keys.stride() == (9 * stride, stride, 1)
        assert (keys.as_strided((2, 9, stride), keys.stride())[..., length:] == 0).all()


KEYS = 1030  # two whole tiles and a rest
tiled = torch.ones(2, 1, 5, KEYS, dtype=torch.bool)
tiled[0, 0, 1:4, :512], tiled[1, 0, 2, 512:1024], tiled[:, :, 3, 1024:], tiled[:, :, 4] = False, False, False, False
MASKS = {
    "dense": flags(2, 3, 5, KEYS),
    "of each key": flags(KEYS),
    "of each query": flags(5, 1),
    "of each entry": flags(2, 1, 1, 1),
    "of heads": flags(3, 1, KEYS),
    "queries alike": flags(2, 1, 1, KEYS).expand(2, 3, 5, KEYS),
    "keys alike": flags(2, 3, 5, 1).expand(2, 3, 5, KEYS),
    "turned": flags(2, 3, KEYS, 5).mT,
    "every other": flags(2, 3, 5, 2 * KEYS)[..., ::2],
    "a part": flags(2, 3, 9, KEYS + 7)[..., 2:7, 3:-4],
    "without tiles": tiled,
    "all": torch.tensor(True),
    "nothing": torch.tensor(False),
}


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
@pytest.mark.parametrize("name", MASKS)
def test_masks(name, dtype):
    inputs = [draw(2, 3, 5, 6), draw(2, 3, KEYS, 6, seed=1), draw(3, 6, seed=2)]
    assert_accurate(*(part.to(dtype) for part in inputs), MASKS[name])


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
@pytest.mark.parametrize("scale", [1e-6, 5.0, 1e4])
def test_every_range_keeps_its_digits(scale, dtype):
    query, key, v = draw(2, 5, 7, scale=scale), draw(2, 520, 7, scale=scale, seed=1), draw(7, seed=2)
    inputs = [part.to(dtype) for part in (query, key, v)]
    assert_accurate(*inputs)
    inputs[0][:, :3] /= scale  # small queries and large keys, row by row
    assert_accurate(*inputs)
    inputs[1][:, 511:] /= scale  # and tile by tile
    assert_accurate(*inputs)


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
@pytest.mark.parametrize("far", [21.0, 43.1, 351.0])
def test_numbers_that_cancel_keep_their_digits(far, dtype):
    query, key, v = draw(1, 5, 9), draw(1, 6, 9, seed=1), draw(9, seed=2)
    for sign in (1, -1):
        assert_accurate(*(part.to(dtype) for part in (query + sign * far, key - sign * far, v)))
    mirrored = (-query[:, [0, 1, 2, 3, 4, 0]] + 0.1 * key) * far
    assert_accurate(*(part.to(dtype) for part in (query * far, mirrored, v)))


@pytest.mark.parametrize(("scale", "total"), [(1.0, 1.0), (30.0, 16.0), (300.0, 1.0)])
def test_single_precision_is_within_the_contract(scale, total):
    query, key, v = draw(6, 33, 33, scale=scale), draw(6, 47, 33, scale=-scale, seed=1), draw(33, seed=2)
    key[:, :5] = -query[:, :5] + 0.1 * draw(6, 5, 33, seed=3)
    query, key, v = query.float(), key.float(), (v * total / v.abs().sum()).float()
    truth = plain(query.double(), key.double(), v.double())
    assert (ours(query, key, v) - truth).abs().max() < 2e-5


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_shows_where_it_is_alone(value, dtype):
    query, key, v = draw(2, 5, 6), draw(2, 520, 6, seed=1), draw(6, seed=2)
    query[0, 1, 4], key[1, 513, 2] = value, value
    found, expected = (
        function(*(part.to(dtype) for part in (query, key, v))) for function in (ours, lambda *x: plain(*x))
    )
    assert torch.equal(found.isnan(), expected.isnan())
    assert found.isnan().sum() == (525 if math.isnan(value) else 0)
    close = 1e-5 if dtype == torch.float32 else 1e-13
    torch.testing.assert_close(found, expected, rtol=0, atol=close, equal_nan=True)


def test_what_is_not_a_number_and_cancels_is_none():
    query, key = torch.tensor([[math.inf, 0.0]]), torch.tensor([[-math.inf, 0.0], [1.0, 0.0]])
    assert ours(query, key, torch.ones(2)).isnan().tolist() == [[True, False]]


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
def test_a_gradient_of_zero_reads_no_forbidden_tile(dtype):
    query, key, v = draw(2, 5, 6, dtype=dtype), draw(2, 1030, 6, seed=1, dtype=dtype), draw(6, seed=2, dtype=dtype)
    key[:, 600] = math.nan
    allowed = torch.ones(1030, dtype=torch.bool)
    allowed[512:1024] = False
    upstream = draw(2, 5, 1030, dtype=dtype) * allowed
    clean = key.masked_fill(~allowed[:, None], 0.0)
    found = with_gradients(lambda *parts: ours(*parts, allowed), (query, key, v), upstream)
    expected = with_gradients(lambda *parts: ours(*parts, allowed), (query, clean, v), upstream)
    assert all(part.isfinite().all() for part in found)
    torch.testing.assert_close(found, expected)  # here by the tangent, there by the identity


@pytest.mark.parametrize(
    ("shapes", "mask"),
    [
        (((2, 3, 5), (2, 4, 5), (5,)), None),
        (((2, 3, 3), (2, 4, 3), (2, 3)), flags(3, 4)),
        (((2, 2, 3, 4), (2, 1, 4, 4), (4,)), flags(2, 1, 1, 4, density=0.6)),
    ],
    ids=["whole", "masked", "groups"],
)
@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_first_and_second_derivatives(shapes, mask, scale):
    leaves = [draw(*shape, scale=scale, seed=seed).requires_grad_() for seed, shape in enumerate(shapes)]

    def function(query, key, v):
        found = ours(query, key, v, mask)
        return found if mask is None else found.masked_fill(~mask, 0.0)

    assert torch.autograd.gradcheck(function, leaves) and torch.autograd.gradgradcheck(function, leaves, fast_mode=True)


def test_derivatives_of_tangents():
    leaves = [draw(2, 3, 3, scale=0.5), draw(2, 4, 3, scale=0.5, seed=1) - 400.0, draw(3, seed=2)]
    leaves[0] = leaves[0] + 400.0  # out of the exponential's range
    leaves = [leaf.requires_grad_() for leaf in leaves]
    assert torch.autograd.gradcheck(ours, leaves) and torch.autograd.gradgradcheck(ours, leaves, fast_mode=True)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_gradient_alone(place):
    inputs = [draw(2, 5, 6), draw(2, 7, 6, seed=1), draw(6, seed=2)]
    every = with_gradients(ours, inputs, torch.ones(2, 5, 7, dtype=torch.float64))[1 + place]
    inputs[place].requires_grad_()
    (one,) = torch.autograd.grad(ours(*inputs).sum(), inputs[place])
    assert torch.equal(one, every)


def test_many_gradients_at_once():
    leaves = [draw(1, 2, 4).requires_grad_(), draw(1, 5, 4, seed=1).requires_grad_(), draw(4, seed=2).requires_grad_()]
    found, ways = ours(*leaves), torch.eye(10, dtype=torch.float64).view(10, 1, 2, 5)
    many = torch.autograd.grad(found, leaves, ways, is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(found, leaves, way, retain_graph=True) for way in ways]
    for place, part in enumerate(many):
        torch.testing.assert_close(part, torch.stack([grads[place] for grads in each]))


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
@pytest.mark.parametrize("scale", [0.1, 1.0, 60.0])
def test_the_same_bits_for_any_number_of_threads(dtype, scale):
    inputs = draw(3, 37, 9, scale=scale), draw(3, 1030, 9, scale=scale, seed=1), draw(9, seed=2)
    inputs, before, found = [part.to(dtype) for part in inputs], torch.get_num_threads(), []
    upstream = draw(3, 37, 1030, seed=3, dtype=dtype)
    try:
        for threads in (1, 1, 2, 2, 3):
            torch.set_num_threads(threads)
            found.append(with_gradients(ours, inputs, upstream))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(map(torch.equal, other, found[0]))


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
def test_a_query_alone_has_the_same_bits(dtype):
    query, key, v = draw(3, 6, 9, dtype=dtype), draw(3, 520, 9, seed=1, dtype=dtype), draw(9, seed=2, dtype=dtype)
    whole = ours(query, key, v)
    for n in range(3):
        for i in range(6):
            assert torch.equal(ours(query[n : n + 1, i : i + 1], key[n : n + 1], v), whole[n : n + 1, i : i + 1])


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
def test_strides_are_honoured(dtype):
    inputs = draw(2, 5, 6), draw(2, 7, 6, seed=1), draw(6, seed=2)
    query, key, v = (part.to(dtype) for part in inputs)
    upstream = draw(2, 7, 5, seed=3, dtype=dtype).mT
    expected = with_gradients(ours, (query, key, v), upstream.contiguous())
    twisted = query.mT.contiguous().mT, torch.stack([key, key], -1)[..., 0], torch.stack([v, v], 1)[:, 0]
    assert all(map(torch.equal, with_gradients(ours, twisted, upstream), expected))
    constant = torch.ones((), dtype=dtype).expand(2, 5, 7)  # as the gradient of a sum is
    whole = with_gradients(ours, (query, key, v), torch.ones(2, 5, 7, dtype=dtype))
    assert all(map(torch.equal, with_gradients(ours, twisted, constant), whole))


@every("dtype", TYPES)
@every("features", [1, 4, 6, 9])
def test_packed_keys(features, dtype):
    key = draw(2, 7, features, dtype=dtype)
    found = packing.packed(key)
    assert found.shape == (2, -(-features // 4) * 4 + 1, 7) and found.dtype == dtype
    torch.testing.assert_close(found[:, :features], torch.exp(2 * key).mT)
    assert (found[:, features:-1] == 0).all() and torch.equal(found[:, -1], key.abs().amax(-1))
    torch.testing.assert_close(packing.packed(key, powers=torch.exp(2 * key)), found)


@pytest.mark.parametrize("scale", [1.0, 60.0, 1e4])
def test_known_powers_may_be_anything_out_of_range(scale):
    query, key, v = draw(2, 5, 6).float(), draw(2, 7, 6, scale=scale, seed=1).float(), draw(6, seed=2).float()
    keys = packing.packed(key, powers=exponentials(key))  # torch's exp rounds otherwise in another layout
    torch.testing.assert_close(additive.scores(query, key, v, keys, None), ours(query, key, v), rtol=0, atol=4e-6)
