import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade import masks
from saccade.backends.cpu.intervals import intervals
from saccade.structure import Grid

NUMBER = st.integers(0, 12)


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
def test_intervals_are_what_the_mask_allows(data, queries, keys):
    mask = data.draw(simple(queries))
    for _ in range(data.draw(st.integers(0, 2))):
        mask = mask & data.draw(simple(queries))
    grid = Grid(queries, keys, 0, queries, torch.device("cpu"), rank=1)
    starts, ends = (bound.expand(2, queries)[..., None] for bound in intervals(mask, grid))
    places = torch.arange(keys)
    expected = mask.dense(grid).expand(2, queries, keys)
    assert torch.equal((places >= starts) & (places < ends), expected)
    assert starts.min() >= 0 and ends.max() <= keys


def test_masks_of_more_than_one_interval_and_of_ones_own_have_none():
    class Mine(masks.Window):
        def dense(self, grid):
            return ~super().dense(grid)

    grid = Grid(4, 4, 0, 4, torch.device("cpu"))
    flags = torch.ones(4, 4, dtype=torch.bool)
    others = ~masks.Causal(), masks.Causal() | masks.Prefix(2), masks.as_mask(flags), Mine(1, 0)
    assert all(intervals(mask, grid) is None for mask in (*others, masks.Causal() & ~masks.Prefix(1)))
