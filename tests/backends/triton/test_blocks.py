"""Lists of the blocks that a mask leaves, and ranges of blocks without a list."""

import pytest
import torch

from backends.triton.cases import ENTRIES, SMALL, Case, forward, masks
from interpreter import interpreted, tiles
from saccade.backends.triton import blocks, fused

TILE = blocks.Shape(SMALL, SMALL, 4, 1)
pytestmark = interpreted


@pytest.fixture(autouse=True, scope="module")
def small_tiles():
    with pytest.MonkeyPatch.context() as patch:
        tiles(patch, SMALL, SMALL)
        yield


@pytest.mark.parametrize("by_key", [False, True])
@pytest.mark.parametrize("name", ["window", "two", "ids", "bytes", "ids+window+bytes", "two+band+entry", "ids+causal"])
def test_lists_hold_the_blocks_of_a_mask(name, by_key):
    q_len, k_len = 70, 53
    mask, allowed = masks(name, q_len, k_len)
    lists = blocks.lists(mask, q_len, k_len, allowed.device, by_key=by_key, sizes=TILE)
    padded = torch.zeros(ENTRIES, 80, 64, dtype=torch.bool)
    padded[:, :q_len, :k_len] = allowed
    split = padded.unflatten(2, (-1, SMALL)).unflatten(1, (-1, SMALL)).movedim(3, 2)  # (N, blocks, blocks, rows, keys)
    split = split.transpose(1, 2) if by_key else split
    for n, rows in enumerate(split):
        for row, pairs in enumerate(rows):
            count, full_from, full_to = lists.counts[:, n, row].tolist()
            listed = lists.order[n, row, :count].tolist()
            assert listed == sorted(listed) and full_from <= full_to <= count
            assert set(pairs.any((-1, -2)).nonzero()[:, 0].tolist()) <= set(listed)
            other = q_len if by_key else k_len
            for block in listed[full_from:full_to]:
                inner = pairs[block]
                assert (block + 1) * SMALL <= other
                assert (inner[:, : k_len - row * SMALL] if by_key else inner[: q_len - row * SMALL]).all()


def test_exact_lists_of_bands_have_no_empty_block():
    q_len, k_len = 70, 53
    mask, allowed = masks("causal", q_len, k_len)
    alike = {"q_ids": torch.zeros(ENTRIES, q_len).int(), "k_ids": torch.zeros(ENTRIES, k_len).int()}
    lists = blocks.lists(mask._replace(**alike), q_len, k_len, allowed.device, by_key=False, sizes=TILE)
    assert lists.counts[0].tolist() == [[1, 2, 3, 4, 4]] * ENTRIES
    runs = list(zip(*lists.counts[1:, 0].tolist(), strict=True))
    assert runs == [(1, 1), (0, 1), (0, 2), (0, 3), (0, 3)]


@pytest.mark.parametrize(
    ("name", "by_query", "by_key"), [("window", 0, 1), ("causal", 0, 0), ("band+entry", 0, 0), ("two", 1, 1)]
)
def test_ranges_need_no_lists(name, by_query, by_key, monkeypatch):
    made, make = [], fused.lists

    def noted(*arguments, by_key, sizes):
        made.append(by_key)
        return make(*arguments, by_key=by_key, sizes=sizes)

    monkeypatch.setattr(fused, "lists", noted)
    setup, results = forward(Case(mask=name))
    fused.backward(setup, results, torch.ones_like(results["output"]))
    assert made == [False] * by_query * 2 + [True] * by_key


def test_lists_are_kept_for_later_calls(monkeypatch):
    setup, _ = forward(Case(mask="two"))
    kept = setup._replace(kept={})
    ones = torch.ones_like(fused.forward(kept)["output"])
    expected = fused.backward(kept, fused.forward(kept), ones)
    monkeypatch.setattr(fused, "lists", None)
    again = fused.backward(kept, fused.forward(kept), ones)
    assert all(torch.equal(again[name], expected[name]) for name in expected)


@pytest.mark.parametrize("by_key", [False, True])
def test_ids_of_documents_may_have_64_bits(by_key):
    q_ids, k_ids = torch.tensor([[5, 2**32 + 1] * 16]), torch.tensor([[5] * 16 + [2**32 + 1] * 16])
    mask = blocks.Allowed(1, q_ids=q_ids, k_ids=k_ids)
    lists = blocks.lists(mask, 32, 32, q_ids.device, by_key=by_key, sizes=TILE)
    assert lists.order.tolist() == [[[0, 1], [0, 1]]] and lists.counts[0].tolist() == [[2, 2]]
