"""The kernels of additive scores, straight from their memory: every range, both sides, remainders of tiles."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import drawn
from interpreter import interpreted
from saccade.backends.triton import additive
from saccade.backends.triton.launch import flags, launch
from saccade.scores import EXPONENT_LIMIT, Additive

pytestmark = interpreted

RANGES = {"small": 0.05, "free": 1.0, "bounded": 15.0, "beyond": 100.0}
"""Of each way that a tile may take, a size of queries and keys that takes it in float32."""


def scores(query, key, v, allowed=None):
    from saccade.backends.triton.kernels import additive as kernels

    (batch, length, features), width = query.shape, key.shape[1]
    found = query.new_empty(batch, length, width)
    mask, masked = flags(allowed, found.shape, query)
    side, other = additive._side(query), additive._side(key)
    other = other._replace(powers=other.powers.mT.contiguous())
    programs = batch * -(-length // 2) * -(-width // 4)
    given = *side, *other, v, additive._step(v), *mask, found, length, width, features
    ranges = {**additive._constants(query), "FREE": additive.FREE[query.dtype]}
    launch(kernels.scores, programs, *given, **ranges, MASKED=masked, ROWS=2, KEYS=4)
    return found


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("features", [1, 4, 7])
def test_scores_of_every_range(name, features):
    query, key, v = drawn(2, 3, features), drawn(2, 5, features, seed=1), drawn(2, features, seed=2)
    query, key = (RANGES[name] * part.sign() * (part.abs() / part.abs().amax()) for part in (query, key))
    expected = Additive(v.double())(query.double(), key.double())
    torch.testing.assert_close(scores(query, key, v).double(), expected, rtol=1e-4, atol=2e-6)


def test_the_ranges_are_those_that_they_are_called():
    limit, free = EXPONENT_LIMIT[torch.float32], additive.FREE[torch.float32]
    assert RANGES["small"] < additive.SMALL < RANGES["free"] and 2 * RANGES["free"] <= free < 2 * RANGES["bounded"]
    assert RANGES["bounded"] <= limit < RANGES["beyond"]


def test_a_tile_in_which_nothing_is_allowed_is_left_out():
    query, key, v = drawn(1, 4, 3), drawn(1, 8, 3, seed=1), drawn(3, seed=2)
    allowed = torch.zeros(1, 4, 8, dtype=torch.bool)
    allowed[0, 1, 6] = True
    found, whole = scores(query, key, v, allowed), scores(query, key, v)
    assert torch.equal(found[0, :2, 4:], whole[0, :2, 4:])
    assert not found[0, 2:].any() and not found[0, :2, :4].any()


@settings(max_examples=5)
@given(st.integers(1, 5), st.integers(1, 7), st.integers(1, 6), st.booleans(), st.integers(0, 99))
@pytest.mark.parametrize("name", RANGES)
def test_gradients_of_both_sides(name, queries, keys, features, shared, seed):
    from saccade.backends.triton.kernels import additive as kernels

    query, key = (
        (RANGES[name] * drawn(2, length, features, seed=seed + number)).clamp(-RANGES[name], RANGES[name]).double()
        for number, length in enumerate((queries, keys))
    )
    v = drawn(*(() if shared else (2,)), features, seed=seed + 2).double()
    grad = drawn(2, queries, keys, seed=seed + 3).double()
    leaves = [part.clone().requires_grad_() for part in (query, key, v)]
    expected = torch.autograd.grad((Additive(leaves[2])(*leaves[:2]) * grad).sum(), leaves)
    for mine, other, upstream, truth in (
        (query, key, grad, expected[0]),
        (key, query, grad.mT, expected[1]),  # read by its strides, where it lies
    ):
        length, tiles = mine.shape[1], -(-mine.shape[1] // 2)
        found, parts = torch.empty_like(mine), mine.new_empty(2, tiles, features)
        sides = *additive._side(mine), *additive._side(other)
        launch(
            kernels.gradients,
            2 * tiles * -(-features // 4),
            *(*sides, v, additive._step(v), upstream, *upstream.stride(), found, parts),
            *(length, other.shape[1], features),
            **additive._constants(mine),
            WITH_V=mine is query,
            ROWS=2,
            FEATURES=4,
            CHUNK=4,
        )
        torch.testing.assert_close(found, truth, rtol=1e-6, atol=1e-9)
        if mine is query:
            of_v = parts.sum((0, 1)) if shared else parts.sum(1)
            torch.testing.assert_close(of_v, expected[2], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_tangent_of_both_kinds(dtype):
    """In the interpreter a kernel's functions are ones of numpy's arrays, called from a kernel of their own."""
    query = torch.cat([torch.linspace(-30, 30, 61), torch.tensor([0.0, 1e-6, -1e-3, 0.499, 0.5])]).to(dtype)
    found = scores(query.reshape(1, -1, 1), torch.zeros(1, 1, 1, dtype=dtype), torch.ones(1, dtype=dtype))
    torch.testing.assert_close(found[0, :, 0].double(), query.double().tanh(), rtol=2e-6, atol=2e-7)
