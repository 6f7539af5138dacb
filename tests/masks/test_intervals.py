from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade import masks
from saccade._call import block_map
from saccade._definitions.structure import Grid, registered
from saccade._dispatch import key_range
from saccade.masks._intervals import by_numbers, everybody, intervals, participants
from saccade.masks.base import Contiguous

NUMBER = st.integers(0, 12)


@registered
@dataclass(frozen=True)
class Second(Contiguous):
    """A new mask, of the second key alone."""

    def interval(self, grid, queries=None):
        return 1, 2


def test_a_new_contiguous_mask_is_in_all_walks():
    mask, grid = Second() & masks.Causal("end"), Grid(2, 6, 0, 2, torch.device("cpu"))
    assert mask.dense(grid).int().tolist() == [[0, 1, 0, 0, 0, 0]] * 2
    assert by_numbers(mask) and not by_numbers(mask & torch.tensor([True])) and not everybody(Second(), grid)
    assert [bound.tolist() for bound in intervals(mask, grid)] == [[1], [2, 2]]
    assert block_map.mapped(mask, grid, 2).some.tolist() == [[True, False, False]]
    assert key_range.bounds(mask, grid) == (1, 2)


@st.composite
def simple(draw, queries):
    """A mask of one interval a query, with tensors for a batch of two or without any."""
    pair = st.lists(NUMBER, min_size=2, max_size=2).map(torch.tensor)
    some = st.lists(st.integers(-3, 15), min_size=queries, max_size=queries).map(torch.tensor)
    align = draw(st.one_of(st.integers(-5, 9), st.sampled_from(["start", "end"]), pair))
    side = st.one_of(st.none(), NUMBER)
    return draw(
        st.one_of(
            st.just(masks.Causal(align)),
            st.builds(masks.Window, side, side, st.just(align)),
            st.builds(masks.Prefix, st.one_of(NUMBER, pair)),
            st.builds(masks.Lengths, pair),
            st.builds(masks.Intervals, st.one_of(st.integers(-3, 15), some), st.one_of(st.integers(-3, 15), some)),
        )
    )


@given(st.data(), st.integers(1, 12), NUMBER)
def test_documents_whose_keys_lie_together_are_intervals(data, queries, keys):
    """In any order, with ids that queries alone have, beside any other mask."""
    names = data.draw(st.permutations(range(-2, 5)))
    key_ids = torch.tensor(
        sorted(data.draw(st.lists(st.sampled_from(names), min_size=keys, max_size=keys)), key=names.index)
    )
    query_ids = torch.tensor(data.draw(st.lists(st.integers(-3, 6), min_size=2 * queries, max_size=2 * queries)))
    mask = masks.Documents(query_ids.view(2, queries), key_ids.long()) & data.draw(simple(queries))
    grid = Grid(queries, keys, 0, queries, torch.device("cpu"), rank=1)
    if not keys:
        assert intervals(mask, grid) is None
        return
    assert_same(mask, grid)


def test_documents_in_pieces_are_not():
    ids = torch.tensor([1, 2, 1])
    grid = Grid(3, 3, 0, 3, torch.device("cpu"))
    assert intervals(masks.Documents(ids, ids), grid) is None
    assert intervals(masks.Documents(ids, ids.sort().values), grid) is not None


def assert_same(mask, grid):
    starts, ends = (bound.expand(2, grid.q_len)[..., None] for bound in intervals(mask, grid))
    places = torch.arange(grid.k_len)
    expected = mask.dense(grid).expand(2, grid.q_len, grid.k_len)
    assert torch.equal((places >= starts) & (places < ends), expected)
    assert starts.min() >= 0 and ends.max() <= grid.k_len


@given(st.data(), st.integers(1, 12), NUMBER)
def test_intervals_are_what_the_mask_allows(data, queries, keys):
    mask = data.draw(simple(queries))
    for _ in range(data.draw(st.integers(0, 2))):
        mask = mask & data.draw(simple(queries))
    grid = Grid(queries, keys, 0, queries, torch.device("cpu"), rank=1)
    assert_same(mask, grid)


@pytest.mark.parametrize("align", [2**63 - 1, 2**63 - 3, -(2**63)])
def test_aligns_at_the_ends_of_what_integers_hold(align):
    grid = Grid(3, 5, 0, 3, torch.device("cpu"), rank=1)
    at = torch.tensor([align, align])
    for mask in (masks.Causal(at), masks.Window(None, 0, align=at), masks.Window(2, 1, align=at)):
        assert_same(mask, grid)


def test_aligns_at_the_ends_do_not_wrap_around():
    after, grid = torch.tensor(2**63 - 1), Grid(3, 5, 0, 3, torch.device("cpu"))
    assert masks.Causal(after).dense(grid).all() and not masks.Window(2, 0, align=after).dense(grid).any()


def test_masks_of_several_intervals_have_none():
    class Mine(masks.Window):
        def dense(self, grid):
            return ~super().dense(grid)

    grid = Grid(4, 4, 0, 4, torch.device("cpu"))
    flags = torch.ones(4, 4, dtype=torch.bool)
    others = ~masks.Causal(), masks.Causal() | masks.Prefix(2), masks.as_mask(flags), Mine(1, 0)
    assert all(intervals(mask, grid) is None for mask in (*others, masks.Causal() & ~masks.Prefix(1)))


@given(st.data(), NUMBER, NUMBER)
def test_who_takes_part_is_what_the_mask_laid_out_says(data, queries, keys):
    mask, grid = data.draw(simple(queries)), Grid(queries, keys, 0, queries, torch.device("cpu"), rank=1)
    dense = mask.dense(grid).expand(2, queries, keys)
    for found, expected in zip(participants(mask, grid), (dense.any(-2), dense.any(-1)), strict=True):
        assert torch.equal(found.expand_as(expected), expected)
    if everybody(mask, grid):
        assert dense.any(-2).all() and dense.any(-1).all() and queries and keys
    elif isinstance(mask, masks.Causal) and not mask.leaves() and queries and keys:
        assert not (dense.any(-2).all() and dense.any(-1).all())
