"""Every kernel, compiled without a GPU, and run where there is one."""

import json
import os
import subprocess

import pytest
import torch

from interpreter import REASON
from scripts import ROOT, script
from tiny import python

RUNS = """
import torch
from saccade import AuxRequest, attend, masks, normalizers, reads, scores

shapes = (2, 3, 70, 40), (2, 3, 300, 40), (2, 3, 300, 9), (40,)
query, key, value, v = (torch.randn(*shape, device="cuda") for shape in shapes)
alike = normalizers.Softmax(), normalizers.Sparsemax(), normalizers.Entmax(1.5), normalizers.Entmax(1.3)
uniform = torch.rand(2, 3, 70, device="cuda")
for score in (scores.Additive, lambda v: scores.Cosine(3.0)):
    for normalizer in alike:
        sides = []
        for backend, dtype in (("triton", torch.float32), ("reference", torch.float64)):
            leaves = [t.detach().to(dtype).requires_grad_() for t in (query, key, value, v)]
            output, aux = attend(
                *leaves[:3], score=score(leaves[3]), normalizer=normalizer, mask=masks.Causal(align=200),
                read=reads.Sample("straight_through", uniform=uniform), backend=backend,
                aux=AuxRequest(index=True, log_prob=True, entropy=True, top=3, received=True),
            )
            total = output.square().sum() + aux.entropy.sum() + aux.log_prob.sum() + aux.received.square().sum()
            moving = leaves if score is scores.Additive else leaves[:3]
            sides.append((output, aux.entropy, *torch.autograd.grad(total, moving)))
        same = (sides[0][0].double() - sides[1][0]).abs().amax(-1) < 1e-3
        assert same.double().mean() > 0.999, "draws"  # a uniform may lie between two roundings of a sum
        torch.testing.assert_close(sides[0][1].double(), sides[1][1], rtol=1e-3, atol=1e-4)
        for ours, theirs in zip(sides[0][2:], sides[1][2:]):
            assert (ours.double() - theirs).norm() <= 1e-2 * theirs.norm() + 1e-3
"""


def run_compiled(cache, *command):
    """A process of its own, since a process either compiles or interprets."""
    environment = {
        **os.environ,
        "TRITON_INTERPRET": "0",
        "TRITON_CACHE_DIR": str(cache),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
    }
    return subprocess.run(python(*command), check=False, env=environment).returncode


def test_the_page_has_the_stored_registers():
    tool = script("tools/ptxas.py")
    stored = json.loads(tool.FILE.read_text(encoding="utf-8"))
    assert tool.write(stored) == tool.PAGE.read_text(encoding="utf-8"), "run python tools/ptxas.py"
    assert not tool.failures(stored)


def test_products_of_half_types_take_tensor_cores():
    rows = json.loads(script("tools/ptxas.py").FILE.read_text(encoding="utf-8"))["rows"]
    products = [row for row in rows if row["kernel"] in ("forward", "queries", "keys") and row["dtype"] == "bfloat16"]
    assert {row["kernel"] for row in products} == {"forward", "queries", "keys"}
    assert all(row["wgmma"] + row["mma"] > 0 for row in products)
    plain = [row for row in products if row["call"] == "softmax" and row["capability"] == 90]
    assert plain and all(row["wgmma"] > 0 and row["loads_of_16_bytes"] > 0 for row in plain)


@pytest.mark.slow
@pytest.mark.skipif(REASON == "Triton is not installed", reason="Triton is not installed")
def test_every_kernel_compiles_into_the_registers(tmp_path):
    tool, path = script("tools/ptxas.py"), tmp_path / "registers.json"
    assert run_compiled(tmp_path, str(ROOT / "tools/ptxas.py"), "--to", str(path)) == 0, "kernels spill"
    compiled, stored = (json.loads(file.read_text(encoding="utf-8")) for file in (path, tool.FILE))
    names = ("call", "kernel", "dtype", "features", "capability")
    registers, before = (
        {(*map(row.get, names), *row["tile"]): row["registers"] for row in content["rows"]}
        for content in (compiled, stored)
    )
    assert registers.keys() == before.keys(), "run python tools/ptxas.py"
    if compiled["versions"] == stored["versions"]:
        assert registers == before, "run python tools/ptxas.py"


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU")
@pytest.mark.skipif(REASON == "Triton is not installed", reason="Triton is not installed")
def test_what_a_gpu_computes(tmp_path):
    assert run_compiled(tmp_path, "-c", RUNS) == 0
