"""A gate by blocks of tokens gives the same choices; pairs are sorted by expert and limited to a capacity."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.nn import _routing, gating
from saccade.nn._routing import Pairs, limit, sort

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(1, 5), st.booleans()), max_size=20)
"""Tokens, their experts, weights and whether they are there."""


def drawn(*sizes, seed):
    return torch.randn(*sizes, dtype=torch.float64, generator=torch.Generator().manual_seed(seed), requires_grad=True)


@pytest.mark.parametrize("masked", [False, True])
def test_parts_are_the_whole(masked, monkeypatch):
    tokens, gate = drawn(23, 4, seed=1), drawn(5, 4, seed=2)
    there = torch.arange(23) % 3 != 1 if masked else None

    def measured():
        routes = _routing.by_tokens(tokens, gate, None, 2, there)
        loss = gating.squared_variation(routes.importance) + routes.lse.sum() + (routes.pairs.weight**2).sum()
        return routes, torch.autograd.grad(loss, (tokens, gate), create_graph=True)

    whole, grads = measured()
    monkeypatch.setattr(_routing, "_AT_ONCE", 30)  # six tokens
    parts, again = measured()
    for one, other in zip([*whole.pairs, *whole[1:], *grads], [*parts.pairs, *parts[1:], *again], strict=True):
        torch.testing.assert_close(one, other)
    second = [torch.autograd.grad(sum(g.square().sum() for g in each), (tokens, gate)) for each in (grads, again)]
    for one, other in zip(*second, strict=True):
        torch.testing.assert_close(one, other)


def test_the_backward_of_a_part_sees_the_noise_that_was_drawn(monkeypatch):
    monkeypatch.setattr(_routing, "_AT_ONCE", 30)
    tokens, gate, noise = drawn(11, 4, seed=1), drawn(5, 4, seed=2), drawn(5, 4, seed=3)

    def measures(tokens, gate, noise):
        torch.manual_seed(5)
        routes = _routing.by_tokens(tokens, gate, noise, 2, None)
        return routes.pairs.weight, routes.load, routes.importance

    assert torch.autograd.gradcheck(measures, (tokens, gate, noise))


def test_experts_take_as_many_of_the_tokens_that_there_are():
    tokens, gate = drawn(9, 4, seed=1), drawn(3, 4, seed=2)
    there = torch.tensor([True] * 4 + [False] * 5)
    routes = _routing.by_experts(tokens, gate, lambda count: count // 2, there)
    assert routes.load.tolist() == [2.0] * 3 and set(routes.pairs.token[routes.pairs.kept].tolist()) <= set(range(4))
    scores = (tokens @ gate.mT).softmax(-1)[:4]
    torch.testing.assert_close(routes.importance, scores.topk(2, 0).values.sum(0))


def test_a_group_that_nobody_came_to_expects_nobody():
    tokens, far = drawn(6, 4, seed=1).abs(), torch.tensor([[9.0] * 4, [-9.0] * 4], dtype=torch.float64)
    routes = _routing.by_groups(tokens, (far, None), (drawn(6, 4, seed=2), None), 1, None)
    assert routes.load.tolist()[3:] == [0.0] * 3 and routes.load.sum() == 6


def made(rows):
    parts = [torch.tensor(list(part)) for part in zip(*rows, strict=True)] or [torch.zeros(0, dtype=torch.int64)] * 4
    return Pairs(parts[0], parts[1], parts[2].double(), parts[3].bool())


@given(PAIRS)
def test_an_experts_pairs_are_together_in_their_order(rows):
    found, ends = sort(made(rows), 4)
    wanted = [row[:3] for expert in range(4) for row in rows if row[3] and row[1] == expert]
    assert list(zip(*(part.tolist() for part in found[:3]), strict=True)) == wanted
    assert ends.tolist() == [sum(row[3] and row[1] <= expert for row in rows) for expert in range(4)]


@given(PAIRS, st.integers(0, 4), st.sampled_from(["weight", "order"]))
def test_what_is_beyond_the_capacity_is_dropped(rows, capacity, drop):
    found = limit(made(rows), 4, torch.tensor(capacity), drop)
    kept = set()
    for expert in range(4):
        mine = [place for place, row in enumerate(rows) if row[3] and row[1] == expert]
        if drop == "weight":
            mine.sort(key=lambda place: -rows[place][2])  # of equals the first
        kept |= set(mine[:capacity])
    assert found.kept.nonzero()[:, 0].tolist() == sorted(kept)
    assert found.weight.tolist() == [row[2] if place in kept else 0 for place, row in enumerate(rows)]
