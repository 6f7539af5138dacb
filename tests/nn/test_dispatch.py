"""Pairs are sorted by expert, and what is beyond an expert's capacity is dropped, and nothing else."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.nn._dispatch import Pairs, limit, sort

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(1, 5), st.booleans()), max_size=20)
"""Tokens, their experts, weights and whether they are there."""


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
