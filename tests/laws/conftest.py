"""Blocks and tiles small enough that a law at a handful of queries sees several of them, and remainders."""

import pytest

from saccade.backends import reference
from saccade.backends.blockwise.engine import ENGINES, engine_named
from saccade.backends.chunked import additive


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    before = {engine: engine.pairs for engine in map(engine_named, ENGINES)}
    with pytest.MonkeyPatch.context() as patch:
        for engine in before:
            object.__setattr__(engine, "pairs", 50)
        patch.setattr(reference.looked_up, "__defaults__", (50,))
        patch.setattr(additive, "TILE", 64)
        yield
    for engine, pairs in before.items():
        object.__setattr__(engine, "pairs", pairs)


@pytest.fixture
def larger_blocks(small_blocks):
    """A handful of blocks for calls of thousands of pairs, which the small blocks would cut into hundreds."""
    before = {engine: engine.pairs for engine in map(engine_named, ENGINES)}
    for engine in before:
        object.__setattr__(engine, "pairs", 4000)
    yield
    for engine, pairs in before.items():
        object.__setattr__(engine, "pairs", pairs)
