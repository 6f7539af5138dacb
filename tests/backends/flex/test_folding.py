"""Any number of batch dimensions as the two of flex_attention's."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from calls import call_of, drawn
from saccade.backends.flex.folding import folding


@st.composite
def calls(draw):
    """A call of groups: dimensions of the batch, then such that share keys."""
    outer, inner = (draw(st.lists(st.integers(1, 3), max_size=2)) for _ in range(2))
    keys = (*outer, *(1 for _ in inner), 5, 4)
    return call_of(torch.zeros(*outer, *inner, 3, 4), torch.zeros(keys), torch.zeros(keys))


@given(calls())
def test_nothing_is_lost_and_order_is_kept(call):
    fold = folding(call)
    assert 0 <= fold.split <= len(call.batch) - fold.groups
    numbers = torch.arange(call.query.numel(), dtype=torch.float32).reshape(call.query.shape)
    folded = fold.rows(numbers)
    assert folded.ndim == 4 and torch.equal(folded.reshape(call.query.shape), numbers)
    keys = fold.keys(call.key)
    assert keys.shape[0] == folded.shape[0] and folded.shape[1] % keys.shape[1] == 0


@given(calls(), st.integers(0, 99))
def test_heads_find_their_own_keys(call, seed):
    """Head h of the query belongs to head h // (H / Hkv) of the keys, as flex_attention has it."""
    fold = folding(call)
    keys = drawn(*call.key.shape, seed=seed)
    folded, rows = fold.keys(keys), fold.rows(keys.expand(*call.batch, *keys.shape[-2:]))
    share = rows.shape[1] // folded.shape[1]
    assert torch.equal(folded.repeat_interleave(share, 1), rows)


@given(calls(), st.data())
def test_an_entry_is_read_at_its_point(call, data):
    fold = folding(call)
    sizes = [1 if data.draw(st.booleans()) else size for size in (*call.batch, 3, 5)]
    tensor = drawn(*sizes, seed=7)
    read = fold.read(tensor, "q", "k")
    whole = fold.rows(tensor.expand(*call.batch, 3, 5))
    points = [data.draw(st.integers(0, size - 1)) for size in whole.shape]
    assert read(*map(torch.tensor, points)) == whole[tuple(points)]


def test_what_is_the_same_for_all_is_not_copied():
    call = call_of(torch.zeros(2, 3, 4, 5, 8), torch.zeros(2, 3, 1, 7, 8), torch.zeros(2, 3, 1, 7, 8))
    fold = folding(call)
    assert fold.groups == 1 and fold.split == 1 and fold.rows(call.query).shape == (2, 12, 5, 8)
    assert fold.definition(torch.zeros(7), 1).shape == (1, 1, 7)
    assert fold.definition(torch.zeros(2, 1, 1, 5, 7), 2).shape == (2, 1, 5, 7)
    assert fold.definition(torch.zeros(3, 1, 1), 1).shape == (1, 12, 1)
    assert fold.keys(call.key).shape == (2, 3, 7, 8)


def test_numbers_become_tensors_of_the_scores_type():
    x = torch.zeros(2, 3, 4, dtype=torch.bfloat16)
    fold = folding(call_of(x, x, x))
    assert fold.real(math.pi).dtype == fold.real(torch.zeros(2).double()).dtype == torch.float32
    assert fold.whole(3).dtype == torch.int64 and fold.whole(3) == 3
