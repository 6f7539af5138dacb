import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from near import assert_near
from saccade import auxiliary, reads
from saccade.kernels import statistics
from tiers import rest_slow

TYPES = [torch.float32, torch.float64]
typed = pytest.mark.parametrize("dtype", rest_slow(TYPES), ids=str)


def draw(*shape, seed=0, dtype=torch.float64, sparse=False):
    made = torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    made = (made - 0.7).clamp(min=0) if sparse else made
    return (made / made.sum(-1, keepdim=True).clamp(min=1e-9)).to(dtype)


def flags(*shape, density=0.6, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) < density


# entropy


@typed
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (3, 127), (2, 3, 129), (2, 1024), (0, 4), (4, 0)], ids=str)
def test_entropy_is_the_definition_with_its_gradient(shape, sparse, dtype):
    weights, pull = draw(*shape, dtype=dtype, sparse=sparse).requires_grad_(), draw(*shape, seed=1).sum(-1).to(dtype)
    found = statistics.entropy(weights)
    (ours,) = torch.autograd.grad(found, weights, pull)

    def defined(given, upstream):
        entropies = auxiliary.entropy(given.requires_grad_())
        return entropies, *torch.autograd.grad(entropies, given, upstream)

    assert_near((found, ours), defined, weights, pull)
    assert (ours[weights == 0] == 0).all()
    with torch.no_grad():
        assert torch.equal(statistics.entropy(weights), found)


@typed
def test_entropy_of_nothing_of_one_and_of_equals(dtype):
    rows = torch.stack([torch.zeros(8), torch.eye(8)[3], torch.full((8,), 1 / 8), torch.eye(8)[0] * math.nan]).to(dtype)
    found = statistics.entropy(rows)
    assert found[:2].tolist() == [0.0, 0.0] and found[3].isnan()
    torch.testing.assert_close(found[2].double(), torch.tensor(math.log(8), dtype=torch.float64), rtol=1e-6, atol=0)


def test_derivatives_of_entropy():
    weights = draw(2, 3, 5).requires_grad_()
    assert torch.autograd.gradcheck(statistics.entropy, weights)
    assert torch.autograd.gradgradcheck(statistics.entropy, weights)


def test_entropy_of_rows_that_lie_apart():
    weights = draw(6, 5).mT.requires_grad_()
    ours, theirs = statistics.entropy(weights), auxiliary.entropy(weights)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(*(torch.autograd.grad(found.sum(), weights)[0] for found in (ours, theirs)))


def test_many_gradients_of_entropy_at_once():
    weights, ways = draw(4, 5).requires_grad_(), torch.eye(4, dtype=torch.float64)
    found = statistics.entropy(weights)
    (many,) = torch.autograd.grad(found, weights, ways, is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(found, weights, way, retain_graph=True)[0] for way in ways]
    torch.testing.assert_close(many, torch.stack(each))


# the largest


@typed
@pytest.mark.parametrize(("width", "k"), [(1, 1), (5, 8), (127, 2), (128, 9), (129, 3), (300, 40)])
@pytest.mark.parametrize("density", [None, 0.02, 0.6])
def test_the_largest_are_the_definitions(density, width, k, dtype):
    weights = (draw(2, 4, width) * 40).round().to(dtype)  # with ties
    weights[1] = weights[1].sort(-1).values  # each new one is the largest
    allowed = None if density is None else flags(2, 1, width, density=density)
    whole = None if allowed is None else allowed.expand(weights.shape)
    weights = weights if whole is None else weights * whole
    values, indices = statistics.largest(weights, k, allowed)
    expected = reads.largest(weights, k, whole)
    assert values.dtype == dtype and indices.dtype == torch.int64 and values.shape == (2, 4, min(k, width))
    assert torch.equal(values, expected[0]) and torch.equal(indices, expected[1])


@typed
def test_ties_go_to_the_lower_index(dtype):
    weights = torch.tensor([[0.0] * 5, [1, 3, 3, 1, 3], [-1, -2, -1, -0.5, -2]], dtype=dtype)
    assert statistics.largest(weights, 3)[1].tolist() == [[0, 1, 2], [1, 2, 4], [3, 0, 2]]


@typed
def test_fewer_allowed_than_asked_for(dtype):
    allowed = torch.tensor([[True, False, True, False], [False] * 4])
    weights = torch.tensor([[0.0, 0.9, 0.1, 0.5]] * 2, dtype=dtype) * allowed
    values, indices = statistics.largest(weights, 3, allowed)
    assert indices.tolist() == [[2, 0, -1], [-1, -1, -1]]
    torch.testing.assert_close(values, torch.tensor([[0.1, 0, 0], [0, 0, 0]], dtype=dtype))


@typed
def test_what_is_not_a_number_is_among_the_largest(dtype):
    """As in the definition: a row that is broken says so."""
    weights = torch.tensor([[math.nan] * 3, [0.5, math.nan, 0.25]], dtype=dtype)
    assert statistics.largest(weights, 1)[0].isnan().all()


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (2, 0, 4)], ids=str)
def test_the_largest_of_nothing(shape):
    values, indices = statistics.largest(torch.zeros(shape), 3, torch.ones(1, dtype=torch.bool))
    assert values.shape == indices.shape == (*shape[:-1], min(3, shape[-1]))


def test_derivatives_of_the_largest():
    weights, allowed = draw(2, 3, 6).requires_grad_(), flags(2, 1, 6, seed=3)
    for mask in (None, allowed):
        function = lambda part, mask=mask: statistics.largest(part if mask is None else part * mask, 4, mask)[0]
        assert torch.autograd.gradcheck(function, weights) and torch.autograd.gradgradcheck(function, weights)


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 99), st.sampled_from(TYPES))
def test_the_largest_of_any_row(width, k, seed, dtype):
    weights, allowed = draw(3, width, seed=seed, dtype=dtype, sparse=True), flags(3, width, seed=seed)
    weights = weights * allowed
    found, expected = statistics.largest(weights, k, allowed), reads.largest(weights, k, allowed)
    assert all(map(torch.equal, found, expected))


# draws


def expected_draw(weights, uniform):
    """`reads.Sample` of float64 weights."""
    return reads.Sample(uniform=uniform.double()).index(weights.double(), None)


@typed
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("width", [1, 127, 129, 1000])
def test_draws_are_the_definitions(width, sparse, dtype):
    weights = draw(500, width, dtype=dtype, sparse=sparse)
    uniform = torch.rand(500, generator=torch.Generator().manual_seed(2), dtype=dtype)
    uniform[:20], uniform[20:40] = 0.0, 1 - torch.finfo(dtype).eps / 2
    found = statistics.draw(weights, uniform)
    assert found.dtype == torch.int64 and torch.equal(found, expected_draw(weights, uniform))
    drawn = found >= 0
    assert (weights.gather(-1, found.clamp(min=0)[:, None])[drawn] > 0).all()
    assert torch.equal(drawn, weights.sum(-1) > 0)


@typed
def test_draws_at_the_edges(dtype):
    least, most = 0.0, 1 - torch.finfo(dtype).eps / 2
    weights = torch.tensor([[0, 0.25, 0, 0.75, 0]], dtype=dtype)
    uniforms = torch.tensor([least, 0.249, 0.25, 0.5, most], dtype=dtype)
    assert statistics.draw(weights.expand(5, 5), uniforms).tolist() == [1, 1, 3, 3, 3]
    wide = torch.zeros(4, 400, dtype=dtype)
    wide[:, [130, 260]] = 0.5
    uniforms = torch.tensor([least, 0.499, 0.5, most], dtype=dtype)
    assert statistics.draw(wide, uniforms).tolist() == [130, 130, 260, 260]


@typed
def test_where_rounding_leaves_none_the_last_is_drawn(dtype):
    weights = torch.zeros(3, 300, dtype=dtype)
    weights[0, 7], weights[1, [3, 200]], weights[2, :] = 1e-30, 1.0, 1 / 3
    one = torch.ones(3, dtype=dtype)  # what a uniform just below 1 becomes where it is rounded
    assert statistics.draw(weights, one).tolist() == [7, 200, 299]
    assert torch.equal(statistics.draw(weights, one), expected_draw(weights, one))


@typed
def test_draws_from_negative_weights(dtype):
    numbers = torch.Generator().manual_seed(3)
    weights = torch.randn(400, 300, generator=numbers, dtype=torch.float64).to(dtype)
    weights[100:200], weights[200:300] = weights[100:200] + 0.2, weights[200:300, :1] * 0 - 1
    weights[300:350] = torch.tensor([3.0, -2.0, 1.0], dtype=dtype).repeat(100)
    uniform = torch.rand(400, generator=numbers, dtype=dtype)
    found = statistics.draw(weights, uniform)
    assert torch.equal(found, expected_draw(weights, uniform))
    assert (found[200:300] == -1).all() and (found == -1).sum() < 250


@typed
def test_rows_without_a_sum_are_not_drawn_from(dtype):
    weights = torch.stack([torch.zeros(5), torch.tensor([1.0, -1, 0, 0, 0]), torch.full((5,), math.nan)]).to(dtype)
    assert statistics.draw(weights, torch.full((3,), 0.5, dtype=dtype)).tolist() == [-1, -1, -1]
    assert statistics.draw(weights[:, :0], torch.zeros(3, dtype=dtype)).tolist() == [-1, -1, -1]
    assert statistics.draw(weights[:0], torch.zeros(0, dtype=dtype)).shape == (0,)


@typed
def test_a_uniform_may_be_shared_and_rows_lie_apart(dtype):
    weights, uniform = draw(4, 3, 9, dtype=dtype), torch.rand(3, dtype=torch.float64)
    found = statistics.draw(weights, uniform)
    assert torch.equal(found, statistics.draw(weights.mT.contiguous().mT, uniform.to(dtype).expand(4, 3)))
    assert torch.equal(found, expected_draw(weights, uniform.to(dtype).expand(4, 3)))


@typed
def test_draws_have_the_weights_frequencies(dtype):
    weights = torch.tensor([0.1, 0.0, 0.6, 0.3], dtype=dtype)
    found = statistics.draw(weights.expand(10_000, 4), (torch.arange(10_000, dtype=dtype) + 0.5) / 10_000)
    share = found.bincount(minlength=4) / 10_000
    assert (share - weights).abs().max() < 2e-4 and share[1] == 0


def test_many_of_the_largest_are_those_of_the_definition():
    found = draw(3, 200).softmax(-1)
    for k in (31, 32, 33, 200):
        for ours, theirs in zip(statistics.largest(found, k), reads.largest(found, k, None), strict=True):
            assert torch.equal(ours, theirs)
