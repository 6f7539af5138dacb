import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from near import assert_near
from saccade.kernels import all_pairs, packing
from saccade.kernels.rows import TYPES
from tiers import rest_slow


def draw(*shape, scale=1.0, seed=0, dtype=torch.float64):
    return (scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)).to(dtype)


def ours(query, key, v, temperature=1.0, keys=None):
    """Weights (scores without a temperature), lse and entropy, and whether anything was computed from the numbers."""
    packed = packing.pack(query, key, keys, kept=True)
    found = query.new_full((*query.shape[:2], key.shape[1]), torch.nan)
    lse, entropy = (query.new_full(query.shape[:2], torch.nan) for _ in range(2))
    raw = all_pairs.weights_over(found, query, key, v, packed, temperature, lse, entropy)
    return found, lse, entropy, bool(raw), packed


def scores(query, key, v):
    return (torch.tanh(query[:, :, None] + key[:, None]) @ (v if v.ndim == 1 else v[:, None, :, None])).view(
        *query.shape[:2], key.shape[1]
    )


def plain(query, key, v, temperature=1.0):
    found = scores(query, key, v) / temperature
    weights = found.softmax(-1)
    return weights, found.logsumexp(-1), -torch.special.xlogy(weights, weights).sum(-1)


def with_gradients(query, key, v, upstream, temperature):
    found, _, _, raw, packed = ours(query, key, v, temperature)
    return found, *all_pairs.differentiated(upstream, found, query, key, v, packed, temperature, raw)


def plainly(query, key, v, upstream, temperature):
    leaves = [part.detach().requires_grad_() for part in (query, key, v)]
    found = plain(*leaves, temperature)[0]
    return found.detach(), *torch.autograd.grad(found, leaves, upstream)


def inputs(batch, queries, keys, features, *, shared=True, scale=1.0, seed=0):
    return (
        draw(batch, queries, features, scale=scale, seed=seed),
        draw(batch, keys, features, scale=scale, seed=seed + 1),
        draw(*([] if shared else [batch]), features, seed=seed + 2),
    )


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
@pytest.mark.parametrize("scale", [0.05, 8.0, 500.0])
@pytest.mark.parametrize("shared", [True, False])
def test_it_is_the_formula_with_its_gradients(dtype, scale, shared):
    parts = [part.to(dtype) for part in inputs(2, 21, 37, 9, shared=shared, scale=scale)]
    assert_near(ours(*parts, 0.7)[:3], lambda *parts: plain(*parts, 0.7), *parts)
    upstream = draw(2, 21, 37, seed=5, dtype=dtype)
    assert_near(with_gradients(*parts, upstream, 0.7), lambda *parts: plainly(*parts, 0.7), *parts, upstream)


@given(
    st.sampled_from(sorted(TYPES, key=str)),
    st.integers(1, 3),
    st.integers(1, 70),
    st.sampled_from([1, 3, 15, 16, 17, 64, 77, 511, 512, 513]),
    st.sampled_from([1, 2, 4, 15, 16, 17, 33, 300]),
    st.booleans(),
    st.integers(0, 99),
)
def test_any_sizes(dtype, batch, queries, keys, features, shared, seed):
    parts = [part.to(dtype) for part in inputs(batch, queries, keys, features, shared=shared, seed=seed)]
    assert_near(ours(*parts)[:3], plain, *parts)
    upstream = draw(batch, queries, keys, seed=seed + 5, dtype=dtype)
    assert_near(with_gradients(*parts, upstream, 1.0), lambda *parts: plainly(*parts, 1.0), *parts, upstream)


def test_scores_are_written_where_no_temperature_is_given():
    parts = inputs(2, 5, 7, 6)
    found, lse, entropy, raw, _ = ours(*parts, None)
    assert_near([found], lambda *parts: [scores(*parts)], *parts)
    assert lse.isnan().all() and entropy.isnan().all() and not raw


@pytest.mark.parametrize("scale", [0.02, 60.0])
def test_it_says_what_was_computed_from_the_numbers(scale):
    query, key, v = inputs(2, 5, 600, 6)
    assert not ours(query, key, v)[3]
    query[1, 3] *= scale / query[1, 3].abs().max()
    key[1, 512:] *= scale / key[1, 512:].abs().max()  # a tile of its own
    assert ours(query.float(), key.float(), v.float())[3]


def test_keys_are_packed_once_for_several_calls():
    query, key, v = (part.float() for part in inputs(2, 9, 20, 6))
    keys = packing.pack(query[:, :0], key, kept=True).keys
    again = ours(query[:, 2:7].contiguous(), key, v, keys=keys)
    assert again[4].keys is keys
    for part, whole in zip(again[:3], ours(query, key, v)[:3], strict=True):
        assert torch.equal(part, whole[:, 2:7])


@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan])
def test_what_is_not_finite_shows_where_it_is_alone(value):
    query, key, v = (part.float() for part in inputs(2, 5, 7, 6))
    query[1, 2, 3] = value
    found = ours(query, key, v)[0]
    expected = plain(query.nan_to_num(0, 1e4, -1e4), key, v)[0]
    if value != value:
        expected[1, 2] = torch.nan
    torch.testing.assert_close(found, expected, equal_nan=True)


@pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)
def test_the_same_bits_for_any_number_of_threads(dtype):
    parts, before, found = [part.to(dtype) for part in inputs(3, 37, 530, 9)], torch.get_num_threads(), []
    upstream = draw(3, 37, 530, seed=5, dtype=dtype)
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append([*with_gradients(*parts, upstream, 1.0), *ours(*parts)[1:3]])
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(map(torch.equal, other, found[0]))
