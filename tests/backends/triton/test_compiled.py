"""What the interpreter lets pass and a compiler does not: every kernel is compiled for a GPU that need not be there,
and where there is one, run.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from interpreter import REASON

COMPILES = """
import inspect
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from saccade.backends.triton.kernels import additive, entmax, softmax, statistics

POINTERS = {
    "allowed": "*u8", "reached": "*u8", "index": "*i64", "indices": "*i64", "tolerance": "fp32",
    **dict.fromkeys(
        ("query", "key", "query_powers", "key_powers", "v", "query_sizes", "key_sizes", "found", "mine", "other",
         "mine_powers", "other_powers", "mine_sizes", "other_sizes", "grad", "parts", "scores", "weights", "lse",
         "lse_grad", "alpha", "alpha_found", "uniform"), "*DTYPE"),
}

def compiled(kernel, dtype, **constants):
    parameters = list(inspect.signature(kernel.fn).parameters.values())
    types = {
        p.name: "constexpr" if p.annotation is tl.constexpr else POINTERS.get(p.name, "i32").replace("DTYPE", dtype)
        for p in parameters
    }
    values = {(i,): constants[p.name] for i, p in enumerate(parameters) if types[p.name] == "constexpr"}
    source = ASTSource(fn=kernel, signature=types, constexprs=values)
    options = {"enable_fp_fusion": True}
    assert triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm["cubin"]

ROWS = {"ROWS": 4, "BLOCK": 256}
for dtype, limit, cap in (("fp32", 43.0, 2.0**31), ("fp64", 350.0, 2.0**255)):
    ranges = {"SMALL": 0.25, "LIMIT": limit, "CAP": cap}
    compiled(additive.scores, dtype, **ranges, FREE=10.7, MASKED=True, ROWS=1, KEYS=128)
    tiles = {"MASKED": True, "MINE": 32, "OTHERS": 64}
    compiled(additive.gradients, dtype, **ranges, **tiles, WITH_V=True, ROWS=16, FEATURES=64, CHUNK=32)
    compiled(softmax.softmax, dtype, MASKED=True, **ROWS)
    compiled(statistics.draw, dtype, **ROWS)
dtype, ranges = "fp32", {"SMALL": 0.25, "LIMIT": 43.0, "CAP": 2.0**31}
compiled(additive.scores, dtype, **ranges, FREE=10.7, MASKED=False, ROWS=32, KEYS=64)
compiled(softmax.softmax_gradient, dtype, **ROWS)
for kind in range(3):
    compiled(entmax.entmax, dtype, MASKED=True, KIND=kind, **ROWS)
    compiled(entmax.entmax_gradient, dtype, KIND=kind, LEARNS=kind == 0, **ROWS)
compiled(statistics.entropy, dtype, **ROWS)
compiled(statistics.entropy_gradient, dtype, **ROWS)
compiled(statistics.largest, dtype, MASKED=False, **ROWS)
"""

RUNS = """
import torch
from saccade import AuxRequest, attend, masks, normalizers, reads, scores

shapes = (2, 3, 70, 40), (2, 3, 300, 40), (2, 3, 300, 9), (40,)
query, key, value, v = (torch.randn(*shape, device="cuda") for shape in shapes)
alike = normalizers.Softmax(), normalizers.Sparsemax(), normalizers.Entmax(1.5), normalizers.Entmax(1.3)
uniform = torch.rand(2, 3, 70, device="cuda")
for score in (scores.Additive, lambda v: scores.Cosine(3.0)):
    for normalizer in alike:
        found = []
        for backend, dtype in (("triton", torch.float32), ("reference", torch.float64)):
            leaves = [t.detach().to(dtype).requires_grad_() for t in (query, key, value, v)]
            output, aux = attend(
                *leaves[:3], score=score(leaves[3]), normalizer=normalizer, mask=masks.Causal(align=200),
                read=reads.Sample("straight_through", uniform=uniform), backend=backend,
                aux=AuxRequest(index=True, log_prob=True, entropy=True, top=3, received=True),
            )
            total = output.square().sum() + aux.entropy.sum() + aux.log_prob.sum() + aux.received.square().sum()
            moving = leaves if score is scores.Additive else leaves[:3]
            found.append((output, aux.entropy, *torch.autograd.grad(total, moving)))
        same = (found[0][0].double() - found[1][0]).abs().amax(-1) < 1e-3
        assert same.double().mean() > 0.999, "draws"  # a uniform may lie between two roundings of a sum
        torch.testing.assert_close(found[0][1].double(), found[1][1], rtol=1e-3, atol=1e-4)
        for ours, theirs in zip(found[0][2:], found[1][2:]):
            assert (ours.double() - theirs).norm() <= 1e-2 * theirs.norm() + 1e-3
"""


def run_compiled(script, cache):
    """A process of its own, since a process either compiles or interprets."""
    environment = {
        **os.environ,
        "TRITON_INTERPRET": "0",
        "TRITON_CACHE_DIR": str(cache),
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3] / "src"), os.environ.get("PYTHONPATH", "")]),
    }
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)


@pytest.mark.slow
@pytest.mark.skipif(REASON == "Triton is not installed", reason="Triton is not installed")
def test_every_kernel_compiles_for_a_gpu(tmp_path):
    run_compiled(COMPILES, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU")
@pytest.mark.skipif(REASON == "Triton is not installed", reason="Triton is not installed")
def test_what_a_gpu_computes(tmp_path):
    run_compiled(RUNS, tmp_path)
