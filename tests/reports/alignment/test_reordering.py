from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.reports.alignment.reordering import blocks, by_words, crossed, diagonal, off_diagonal

ROWS = st.lists(st.integers(0, 6), min_size=1, max_size=8)


def read_at(most):
    return torch.eye(7, dtype=torch.float64)[list(most)]


@given(ROWS)
def test_crossed_pairs_survive_a_swap_of_sides(most):
    found = crossed(most)
    assert found == [(i, j) for i, j in combinations(range(len(most)), 2) if most[j] < most[i]]
    assert len(crossed(sorted(most))) == 0


@given(ROWS)
def test_each_falling_neighbour_is_in_one_group(most):
    found = blocks(read_at(most))
    inside = {place for block in found for place in block.target[:-1]}
    assert inside == {place for place in range(len(most) - 1) if most[place + 1] < most[place]}
    assert all(list(block.source) == sorted(block.source, reverse=True) and block.sure == 1.0 for block in found)


@given(st.integers(1, 9), st.integers(1, 9))
def test_diagonal_runs_evenly_and_is_the_same_from_behind(target, source):
    line = diagonal(torch.zeros(target, source))
    torch.testing.assert_close(line + line.flip(0), torch.full_like(line, source - 1.0))
    weights = torch.rand(target, source)
    torch.testing.assert_close(off_diagonal(weights).flip(0), off_diagonal(weights.flip(0, 1)))


def test_weight_beyond_the_margin_counts_as_it_is():
    weights = torch.tensor([[0.5, 0.0, 0.3, 0.2], [0.0, 0.0, 0.0, 0.0], [0.1, 0.1, 0.8, 0.0], [0.0, 0.0, 0.0, 2.0]])
    assert off_diagonal(weights).tolist() == pytest.approx([0.5, 0.0, 0.1, 0.0])
    assert off_diagonal(weights, 2.0).tolist() == pytest.approx([0.2, 0.0, 0.0, 0.0])


def test_words_sum_over_source_and_average_over_own_pieces():
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0], [0.0, 0.4, 0.6]])
    found, source, target = by_words(weights, ["a", " ", "b"], [" x", "y", " z"])
    assert (source, target) == (["a", "b"], ["xy", "z"])
    torch.testing.assert_close(found, torch.tensor([[0.3, 0.7], [0.0, 1.0]]))
