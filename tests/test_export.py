"""Exported programs run without Saccade, and compute what `attend` does."""

import re
import subprocess

import pytest
import torch

from laws import checks
from laws.case import Case
from laws.table import BIASES, MASKS, NORMALIZERS, READS, SCORES
from saccade import attend, export, masks, scores
from saccade.backends.blockwise.function import backward_op
from tiny import environment, python

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # torch's own
QUERIES, KEYS = (torch.export.Dim(name, min=2, max=4096) for name in ("queries", "keys"))
SHAPES = ({1: QUERIES}, {1: KEYS}, {})


class Additive(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.v = torch.nn.Parameter(torch.linspace(-1, 1, 4))

    def forward(self, query, key, lengths):
        return attend(query, key, key, score=scores.Additive(self.v), mask=masks.Lengths(lengths))


class Half(torch.nn.Module):
    def forward(self, query, key, lengths):
        mask = masks.Window(key.shape[1] // 2, 1, align="start") & masks.Lengths(lengths)
        return attend(query, key, key, score=scores.Additive(torch.ones(4)), mask=mask)


def drawn(queries, keys):
    draws = torch.Generator().manual_seed(queries)
    return (*(torch.randn(2, size, 4, generator=draws) for size in (queries, keys)), torch.tensor([3, keys]))


def decomposed(module, **more):
    program = torch.export.export(module, drawn(5, 7), dynamic_shapes=SHAPES, **more)
    return program, program.run_decompositions(export.decompositions())


def operators(program):
    """The operators of Saccade in a program."""
    return {str(node.target) for node in program.graph.nodes if "saccade" in str(node.target)}


def test_every_operator_has_a_decomposition():
    registered = {name for name in torch._C._dispatch_get_all_op_names() if name.startswith("saccade::")}
    assert registered == {operator.name() for operator in export.decompositions()}


@pytest.mark.parametrize("module", [Additive, pytest.param(Half, marks=pytest.mark.slow)])
@pytest.mark.parametrize("strict", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_decomposed_program_computes_attention_of_any_length(module, strict):
    _, program = decomposed(module(), strict=strict)
    assert operators(program) == set()
    torch.testing.assert_close(program.module()(*drawn(23, 31)), module()(*drawn(23, 31)), atol=1e-6, rtol=0)


def test_gradients_of_the_decomposition_are_those_of_the_operator():
    program, _ = decomposed(Additive())
    [node] = [node for node in program.graph.nodes if "blockwise_forward" in str(node.target)]
    query, key, lengths = drawn(5, 7)
    leaves = [query, key, key.clone(), torch.linspace(-1, 1, 4)[None], lengths, torch.zeros(0, dtype=torch.float64)]
    arguments = [query.cos()], leaves, [], node.args[1], "chunked", [True, True, True, True, False, False]
    gradients = export.decompositions()[torch.ops.saccade.blockwise_backward.default](*arguments)
    torch.testing.assert_close(gradients, backward_op(*arguments), atol=1e-6, rtol=1e-5)


WITHOUT = """
import sys
sys.modules["saccade"] = None  # its import raises
import torch
inputs, expected = torch.load(sys.argv[2])
output = torch.export.load(sys.argv[1]).module()(*inputs)
print((output - expected).abs().max().item())
"""


@pytest.mark.slow  # a process of its own
def test_a_decomposed_program_runs_without_saccade(tmp_path):
    _, program = decomposed(Additive())
    torch.export.save(program, tmp_path / "additive.pt2")
    inputs = drawn(23, 31)
    torch.save((inputs, Additive()(*inputs).detach()), tmp_path / "expected.pt")
    command = [*python("-W", "ignore", "-c", WITHOUT), tmp_path / "additive.pt2", tmp_path / "expected.pt"]
    process = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert float(process.stdout) <= 1e-6


class Call(torch.nn.Module):
    def __init__(self, case):
        super().__init__()
        self.case = case

    def forward(self, inputs):
        return checks.packed(self.case.run(inputs, self.case.everything()))


CASES = {
    **{f"score {name}": Case(name, "sum" if "nonnegative" in SCORES[name].traits else "softmax") for name in SCORES},
    **{f"normalizer {name}": Case("additive", name) for name in NORMALIZERS if not name.startswith("sum")},
    **{f"mask {name}": Case("additive", mask=name) for name in MASKS},
    **{f"bias {name}": Case("additive", bias=name) for name in BIASES},
    **{f"read {name}": Case("additive", read=name) for name in READS},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if not re.search("callable|where|position", name)])
def test_every_definition_is_decomposed(name):
    module = Call(CASES[name].on("chunked"))
    inputs = module.case.inputs()
    program = torch.export.export(module, (inputs,)).run_decompositions(export.decompositions())
    assert operators(program) == set()
    checks.same(program.module()(inputs), module(inputs), 1e-6)
