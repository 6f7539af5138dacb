"""The largest of rows by lanes, against sorting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numba")

from saccade.kernels.compiled import loops
from saccade.kernels.compiled.top import FEW, FEW_ROOM, LANES, few_of, lanes_of, top_of, top_one_by_one

NOTHING = np.empty(0, np.bool_)


@loops
def few(weights, allowed, values, indices):
    room = np.empty(FEW_ROOM, np.int64)
    few_of(weights, allowed, room.ctypes.data, values, indices)


def ranked(weights, allowed, count):
    """The allowed ones from the largest on, the lower index first of equals."""
    order = sorted((j for j in range(len(weights)) if allowed[j]), key=lambda j: (-weights[j], j))[:count]
    return order + [-1] * (count - len(order))


def tops(function, weights, allowed, count):
    values, indices, room = np.empty(count, weights.dtype), np.empty(count, np.int64), np.empty(LANES, weights.dtype)
    if function is top_of:
        lanes_of(weights, room)
        top_of(weights, allowed, room, weights.dtype.type(0), values, indices)
    else:
        function(weights, allowed, values, indices)
    return values, indices


@pytest.mark.parametrize(("function", "most"), [(top_of, 16), (few, 4)], ids=["many", "few"])
@given(
    st.integers(1, 700),
    st.integers(1, 16),
    st.sampled_from([3, 50, 1 << 20]),
    st.sampled_from([None, 0.0, 0.1, 0.8]),
    st.integers(0, 999),
)
def test_the_largest_in_their_order(function, most, size, count, levels, density, seed):
    """Few levels are many ties, and weights of 0 that are allowed."""
    numbers, count = np.random.default_rng(seed), count if function is top_of else min(count, most, size)
    weights = (numbers.integers(0, levels, size) / levels).astype(np.float32)
    allowed = np.ones(size, np.bool_) if density is None else numbers.random(size) < density
    weights[~allowed] = 0
    values, indices = tops(function, weights, NOTHING if density is None else allowed, count)
    expected = ranked(weights, allowed, count)
    assert indices.tolist() == expected
    assert values.tolist() == [weights[j] if j >= 0 else -np.inf for j in expected]


@given(st.integers(1, 300), st.integers(0, 999))
def test_each_lane_knows_its_largest(size, seed):
    row = np.random.default_rng(seed).standard_normal(size).astype(np.float32)
    lanes = lanes_of(row, np.empty(LANES, np.float32))
    assert lanes.size == FEW
    for lane in range(FEW):
        assert lanes[lane] == max(row[lane::FEW], default=-np.inf)


@pytest.mark.parametrize("place", [0, 7, 99])
def test_nan_does_not_stay_unseen(place):
    weights = np.random.default_rng(0).random(100).astype(np.float32)
    weights[place] = np.nan
    values, indices = tops(top_one_by_one, weights, NOTHING, 3)
    assert indices[0] == place and values[0] == np.inf
    rest = np.where(np.isnan(weights), -1, weights)
    assert indices[1:].tolist() == ranked(rest, np.ones(100, bool), 2)
