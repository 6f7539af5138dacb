"""What the interpreter lets pass and a compiler does not: every kernel is compiled for a GPU that need not be there,
and where there is one, run.
"""

import os
import subprocess
from pathlib import Path

import pytest
import torch

from interpreter import REASON
from tiny import python

COMPILES = """
import inspect
import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from saccade.backends.triton import additive as tiles, launch
from saccade.kernels.triton import additive, entmax, softmax, statistics
from saccade.scores import EXPONENT_LIMIT

POINTERS = {
    "allowed": "*u8", "reached": "*u8", "index": "*i64", "indices": "*i64", "tolerance": "fp32",
    **dict.fromkeys(
        ("query", "key", "query_powers", "key_powers", "v", "query_sizes", "key_sizes", "out", "mine", "other",
         "mine_powers", "other_powers", "mine_sizes", "other_sizes", "grad", "parts", "scores", "weights", "lse",
         "lse_grad", "alpha", "alpha_out", "uniform", "x", "sizes"), "*DTYPE"),
}

def compiled(kernel, dtype, warps=4, **constants):
    parameters = list(inspect.signature(kernel.fn).parameters.values())
    types = {
        p.name: "constexpr" if p.annotation is tl.constexpr else POINTERS.get(p.name, "i32").replace("DTYPE", dtype)
        for p in parameters
    }
    values = {(i,): constants[p.name] for i, p in enumerate(parameters) if types[p.name] == "constexpr"}
    source = ASTSource(fn=kernel, signature=types, constexprs=values)
    options = {"enable_fp_fusion": True, "num_warps": warps}
    assert triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm["cubin"]

SHAPES = [{"ROWS": shape.rows, "BLOCK": shape.block, "warps": shape.warps} for shape in (launch.SHORT, launch.LONG)]
for dtype in (torch.float32, torch.float64):
    name, cap = {torch.float32: "fp32", torch.float64: "fp64"}[dtype], tiles.CAP[dtype]
    ranges = {"SMALL": tiles.SMALL, "LIMIT": EXPONENT_LIMIT[dtype], "CAP": cap}
    single = name == "fp32"
    wide = ((tiles.WIDE_ROWS, tiles.WIDE_KEYS), (tiles.ONE_ROW, tiles.ITS_KEYS)) if single else ()
    for rows, keys in ((tiles.ROWS, tiles.KEYS), *wide):
        free = {**ranges, "FREE": tiles.FREE[dtype], "ROWS": rows, "KEYS": keys}
        compiled(additive.scores, name, **free, MASKED=rows != tiles.WIDE_ROWS)
    few = ((tiles.FEW_ROWS, tiles.FEW_FEATURES),) if single else ()
    for rows, features in ((tiles.GRADIENT_ROWS, tiles.FEATURES), *few):
        within = {"MASKED": True, "MINE": tiles.ROWS, "OTHERS": tiles.KEYS, "CHUNK": tiles.CHUNK}
        compiled(additive.gradients, name, **ranges, **within, WITH_V=True, ROWS=rows, FEATURES=features)
    for shape in SHAPES if single else ():
        compiled(additive.powers, name, LIMIT=EXPONENT_LIMIT[dtype], **shape)
        compiled(softmax.softmax, name, MASKED=True, **shape)
        compiled(softmax.softmax_gradient, name, **shape)
        for kind in range(4) if shape is SHAPES[0] else [0]:
            compiled(entmax.entmax, name, MASKED=True, KIND=kind, **shape)
            compiled(entmax.entmax_gradient, name, KIND=kind, LEARNS=kind == 3, **shape)
        compiled(statistics.entropy, name, **shape)
        compiled(statistics.entropy_gradient, name, **shape)
        compiled(statistics.largest, name, MASKED=False, **shape)
        compiled(statistics.draw, name, **shape)
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
    subprocess.run(python("-c", script), check=True, env=environment)


@pytest.mark.slow
@pytest.mark.skipif(REASON == "Triton is not installed", reason="Triton is not installed")
def test_every_kernel_compiles_for_a_gpu(tmp_path):
    run_compiled(COMPILES, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU")
@pytest.mark.skipif(REASON == "Triton is not installed", reason="Triton is not installed")
def test_what_a_gpu_computes(tmp_path):
    run_compiled(RUNS, tmp_path)
