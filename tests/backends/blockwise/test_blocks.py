import os
import subprocess
import sys

import pytest

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
