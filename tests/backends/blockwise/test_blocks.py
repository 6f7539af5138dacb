import math
import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.backends.blockwise.blocks import Block, blocks


@given(st.lists(st.integers(0, 5), max_size=3).map(tuple), st.integers(0, 9), st.integers(0, 9), st.integers(1, 60))
def test_blocks_cover_every_query_once(batch, q_len, k_len, budget):
    seen = torch.zeros(*batch, q_len)
    for block in blocks(batch, q_len, k_len, budget):
        part = block.narrow(seen, ("q",))
        part.add_(1)
        single = block.rows == 1 and block.heads == 1
        assert part.numel() * k_len <= budget or single
    assert (seen == 1).all()


def test_what_is_shared_is_not_narrowed():
    block = Block(dim=1, first=2, heads=1, start=3, rows=2)
    assert block.narrow(torch.zeros(2, 4, 7, 5), ("q", "k")).shape == (2, 1, 2, 5)
    assert block.narrow(torch.zeros(2, 1, 7, 5), ("k", "d")).shape == (2, 1, 7, 5)
    assert block.narrow(torch.zeros(2, 4, 1, 1), ("q", "1")).shape == (2, 1, 1, 1)


def test_one_query_against_many_keys_is_one_block():
    assert list(blocks((64,), 1, 32, 64 * 32)) == [Block(0, 0, 64, 0, 1)]
    assert len(list(blocks((), 10, 10, 30))) == math.ceil(10 / 3)


MEMORY = """
import resource, torch
from saccade import AuxRequest, attend, masks, normalizers, reads, scores
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def go(n):
    q, k, v = (torch.randn(n, 16, requires_grad=True) for _ in range(3))
    out, aux = attend(q, k, v, mask=masks.Causal(), backend="chunked", aux=AuxRequest(received=True), {options})
    (out.square().sum() + aux.received.square().sum()).backward()
go(64)
before = peak()
go(6144)
grown = peak() - before
assert grown < 140, f"{{grown:.0f}} MiB"  # the weights alone would take 144 MiB, several times over
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", ["normalizer=normalizers.Sigmoid()", "score=lambda a, b: a @ b.mT"])
def test_memory_is_linear_forward_and_backward(options):
    # every large tensor its own mapping: what is alive is measured, not what the allocator's heap keeps for later
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000"}
    command = [sys.executable, "-W", "ignore", "-c", MEMORY.format(options=options)]
    subprocess.run(command, check=True, env=environment)
