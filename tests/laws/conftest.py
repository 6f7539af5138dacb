"""Blocks and tiles small enough that a law at a handful of queries sees several of them, and remainders."""

import pytest

from saccade.backends import reference
from saccade.backends.chunked import additive, blocks, callables


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        for module in (blocks, callables):
            patch.setattr(module, "BLOCK", 37)
        patch.setattr(blocks.blocks, "__defaults__", (37,))
        patch.setattr(reference.participants, "__defaults__", (37,))
        patch.setattr(additive, "TILE", 64)
        yield
