import math
import warnings

import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade import attend, masks
from saccade.backends.blockwise import plan
from saccade.backends.blockwise.parts import Block


@given(st.lists(st.integers(0, 5), max_size=3).map(tuple), st.integers(0, 9), st.integers(0, 9), st.integers(1, 60))
def test_blocks_cover_every_query_once(batch, q_len, k_len, budget):
    seen = torch.zeros(*batch, q_len)
    for block in plan.whole(batch, q_len, k_len, budget):
        part = block.narrow(seen, ("q",))
        part.add_(1)
        single = block.rows == 1 and block.heads == 1
        assert part.numel() * k_len <= budget or single
    assert (seen == 1).all()


def test_one_query_against_many_keys_is_one_block():
    assert list(plan.whole((64,), 1, 32, 64 * 32)) == [Block(0, 0, 64, 0, 1)]
    assert len(list(plan.whole((), 10, 10, 30))) == math.ceil(10 / 3)


def test_what_is_traced_holds_for_other_values():
    x = torch.randn(2, 300, 4)

    def masked(query, lengths):
        return attend(query, query, query, mask=masks.Lengths(lengths), backend="chunked")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sizes become constants
        traced = torch.jit.trace(masked, (x, torch.tensor([100, 50])), check_trace=False)
    lengths = torch.tensor([300, 200])
    torch.testing.assert_close(traced(x, lengths), masked(x, lengths))
