import os
import subprocess

import pytest
import torch

from saccade import attend, masks
from tiny import python

MEMORY = """
import resource, torch
from saccade import AuxRequest, attend, masks, normalizers, reads, scores
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def go(n, **options):
    q, k, v = (torch.randn(n, 16, requires_grad=True) for _ in range(3))
    out, aux = attend(q, k, v, mask=masks.Causal(), backend="chunked", aux=AuxRequest(received=True), **options)
    (out.square().sum() + aux.received.square().sum()).backward()
ways = {"normalizer": normalizers.Sigmoid()}, {"score": lambda a, b: a @ b.mT}
for options in ways:
    go(2048, **options)  # of several blocks: imports what the larger one runs
before = peak()
for options in ways:
    go(6144, **options)
    grown = peak() - before
    assert grown < 140, f"{grown:.0f} MiB"  # the weights alone would take 144 MiB, several times over
"""


@pytest.mark.slow
def test_memory_is_linear_forward_and_backward():
    # every large tensor its own mapping: what is alive is measured, not what the allocator's heap keeps for later
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000"}
    subprocess.run(python("-W", "ignore", "-c", MEMORY), check=True, env=environment)


@pytest.mark.parametrize("mask", ["around", "dense", "where", "causal"])
def test_heads_share_a_mask_only_where_it_is_one(mask):
    # blocks of one head each: 600 x 600 pairs are more than a block's
    generator = torch.Generator().manual_seed(5)
    query, key, value = (torch.randn(1, 3, 800, 4, dtype=torch.float64, generator=generator) for _ in range(3))
    centers = torch.rand(1, 3, 800, generator=generator, dtype=torch.float64) * 800
    allowed = torch.rand(1, 3, 800, 800, generator=generator) < 0.4
    given = {
        "around": ~masks.Around(centers, 30.0),
        "dense": masks.Dense(allowed),
        "where": masks.Where(lambda i, j: allowed[:, :, i, j]),
        "causal": ~(masks.Window(3, 0) | masks.Prefix(7)),
    }[mask]
    tensors = [tensor.requires_grad_() for tensor in (query, key, value)]
    results = []
    for backend in ("chunked", "reference"):
        output = attend(*tensors, mask=given, backend=backend)
        results.append([output.detach(), *torch.autograd.grad(output.square().sum(), tensors)])
    torch.testing.assert_close(*results)
