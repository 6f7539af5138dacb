"""The tables of docs/gpu-kernels.md are counted from the tiles of today's kernels."""

import pytest
import torch

from interpreter import interpreted
from saccade.backends.triton import blocks
from scripts import script

tool = script("tools/count_kernels.py")


def test_the_page_has_the_tables_of_the_tool():
    assert tool.written() in tool.PAGE.read_text(encoding="utf-8")


def test_products_of_a_whole_call_are_those_of_matrices():
    """Dot products: scores and outputs forward, backward five beside scores again. Others: each pass has its own."""
    pairs = 8 * 8192**2
    for kernel, products in zip(tool.KERNELS, (2, 1, 8, 3, 4, 1, 2, 1, 2, 1), strict=True):
        for half in (True, False):
            found = tool.bound(kernel, half, None)
            assert found.pair.products == products * 64
            rate = 798e12 if half else 51e12
            assert found.limit[0] >= 2 * products * 64 * pairs / rate * (1 - 1e-9)


def test_sums_of_windows_are_of_allowed_pairs_and_edges():
    [kernel, *_] = tool.KERNELS
    computed = 64 * 64 * sum(map(len, tool.visits(kernel.tile(half=True), 128, by_key=False)))
    allowed = 8192 * 129 - 128 * 129 // 2
    assert allowed < computed < 1.6 * allowed


@interpreted
@pytest.mark.parametrize("by_key", [False, True])
@pytest.mark.parametrize("left", [None, 40])
def test_tiles_are_those_that_kernels_list(left, by_key):
    mask = blocks.Allowed(1, low=None if left is None else -left, high=None if left is None else 1)
    lists = blocks.lists(mask, 200, 200, torch.device("cpu"), by_key=by_key, sizes=blocks.Shape(32, 16, 4, 1))
    for number, partial in enumerate(tool.visits(tool.Tile(32, 16, half=True), left, by_key, length=200)):
        count, full_from, full_to = lists.counts[:, 0, number].tolist()
        assert [not full_from <= step < full_to for step in range(count)] == partial
