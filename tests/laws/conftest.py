"""Blocks and tiles small enough that a law at a handful of queries sees several of them, and remainders."""

import pytest

from laws.case import pairs_a_block
from saccade.backends import reference
from saccade.backends.chunked import additive


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    with pairs_a_block(50), pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference.looked_up, "__defaults__", (50,))
        patch.setattr(additive, "TILE", 64)
        yield


@pytest.fixture
def larger_blocks(small_blocks):
    """A handful of blocks for calls of thousands of pairs, which the small blocks would cut into hundreds."""
    with pairs_a_block(4200):
        yield
