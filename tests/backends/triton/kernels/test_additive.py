"""The kernels of additive scores, straight from their memory: every range, both sides, remainders of tiles."""

import pytest
import torch

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
    side, other = additive.side(query), additive.side(key)
    other = other._replace(powers=other.powers.mT.contiguous())
    programs = batch * -(-length // 2) * -(-width // 4)
    reached = torch.full((batch, -(-length // 2), -(-width // 4)), 7, dtype=torch.uint8)
    given = *side, *other, v, additive._step(v), *mask, found, reached, length, width, features
    ranges = {**additive._constants(query), "FREE": additive.FREE[query.dtype]}
    launch(kernels.scores, programs, *given, **ranges, MASKED=masked, ROWS=2, KEYS=4)
    return found, reached


@pytest.mark.parametrize("name", RANGES)
def test_scores_of_every_range(name):
    query, key, v = drawn(2, 3, 7), drawn(2, 5, 7, seed=1), drawn(2, 7, seed=2)
    query, key = (RANGES[name] * part.sign() * (part.abs() / part.abs().amax()) for part in (query, key))
    expected = Additive(v.double())(query.double(), key.double())
    torch.testing.assert_close(scores(query, key, v)[0].double(), expected, rtol=1e-4, atol=2e-6)


def test_the_ranges_are_those_that_they_are_called():
    limit, free = EXPONENT_LIMIT[torch.float32], additive.FREE[torch.float32]
    assert RANGES["small"] < additive.SMALL < RANGES["free"] and 2 * RANGES["free"] <= free < 2 * RANGES["bounded"]
    assert RANGES["bounded"] <= limit < RANGES["beyond"]


def test_a_tile_in_which_nothing_is_allowed_is_left_out():
    query, key, v = drawn(1, 4, 3), drawn(1, 8, 3, seed=1), drawn(3, seed=2)
    allowed = torch.zeros(1, 4, 8, dtype=torch.bool)
    allowed[0, 1, 6] = True
    (found, reached), (whole, unwritten) = scores(query, key, v, allowed), scores(query, key, v)
    assert torch.equal(found[0, :2, 4:], whole[0, :2, 4:])
    assert not found[0, 2:].any() and not found[0, :2, :4].any()
    assert reached.tolist() == [[[0, 1], [0, 0]]] and (unwritten == 7).all()


@pytest.mark.parametrize(("name", "shared"), list(zip(RANGES, [True, False, True, False], strict=True)))
def test_gradients_of_both_sides(name, shared):
    from saccade.backends.triton.kernels import additive as kernels

    queries, keys, features, seed = 5, 7, 6, 3
    query, key = (
        (RANGES[name] * drawn(2, length, features, seed=seed + number)).clamp(-RANGES[name], RANGES[name]).double()
        for number, length in enumerate((queries, keys))
    )
    v = drawn(*(() if shared else (2,)), features, seed=seed + 2).double()
    grad, unmasked = drawn(2, queries, keys, seed=seed + 3).double(), torch.empty(0, dtype=torch.uint8)
    leaves = [part.clone().requires_grad_() for part in (query, key, v)]
    expected = torch.autograd.grad((Additive(leaves[2])(*leaves[:2]) * grad).sum(), leaves)
    for mine, other, upstream, truth in (
        (query, key, grad, expected[0]),
        (key, query, grad.mT, expected[1]),  # read by its strides, where it lies
    ):
        length, tiles = mine.shape[1], -(-mine.shape[1] // 2)
        found, parts = torch.empty_like(mine), mine.new_empty(2, tiles, features)
        sides = *additive.side(mine), *additive.side(other)
        launch(
            kernels.gradients,
            2 * tiles * -(-features // 4),
            *(*sides, v, additive._step(v), upstream, *upstream.stride()),
            *(unmasked, 0, 0, 0, found, parts),
            *(length, other.shape[1], features),
            **additive._constants(mine),
            MASKED=False,
            MINE=1,
            OTHERS=1,
            WITH_V=mine is query,
            ROWS=2,
            FEATURES=4,
            CHUNK=4,
        )
        torch.testing.assert_close(found, truth, rtol=1e-6, atol=1e-9)
        if mine is query:
            of_v = parts.sum((0, 1)) if shared else parts.sum(1)
            torch.testing.assert_close(of_v, expected[2], rtol=1e-6, atol=1e-8)


def test_gradients_read_reached_tiles_alone():
    """Six queries and keys in tiles of two queries by four keys, of which the map has the last one alone."""
    from saccade.backends.triton.kernels import additive as kernels

    query, key, v = drawn(1, 6, 3).double(), drawn(1, 6, 3, seed=1).double(), drawn(3, seed=2).double()
    grad = torch.full((1, 6, 6), torch.nan, dtype=torch.float64)
    grad[0, 4:, 4:] = drawn(2, 2, seed=3).double()
    reached = torch.zeros(1, 3, 2, dtype=torch.uint8)
    reached[0, 2, 1] = 1
    leaves = [part.clone().requires_grad_() for part in (query, key)]
    scored = Additive(v)(*leaves)
    expected = torch.autograd.grad((scored * grad.nan_to_num(0.0)).sum(), leaves)
    within = additive.Tiles(reached, 2, 4)
    for mine, other, upstream, tiles, truth in (
        (query, key, grad, within, expected[0]),
        (key, query, grad.mT, within.of_keys(), expected[1]),
    ):
        found = torch.empty_like(mine)
        launch(
            kernels.gradients,
            3,
            *(*additive.side(mine), *additive.side(other), v, 0, upstream, *upstream.stride()),
            *(tiles.reached, *tiles.reached.stride(), found, found),
            *(6, 6, 3),
            **additive._constants(mine),
            MASKED=True,
            MINE=tiles.mine,
            OTHERS=tiles.others,
            WITH_V=False,
            ROWS=2,
            FEATURES=4,
            CHUNK=2,
        )
        torch.testing.assert_close(found, truth, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_tangent_of_both_kinds(dtype):
    """In the interpreter a kernel's functions are ones of numpy's arrays, called from a kernel of their own."""
    query = torch.cat([torch.linspace(-30, 30, 61), torch.tensor([0.0, 1e-6, -1e-3, 0.499, 0.5])]).to(dtype)
    found, _ = scores(query.reshape(1, -1, 1), torch.zeros(1, 1, 1, dtype=dtype), torch.ones(1, dtype=dtype))
    torch.testing.assert_close(found[0, :, 0].double(), query.double().tanh(), rtol=2e-6, atol=2e-7)
