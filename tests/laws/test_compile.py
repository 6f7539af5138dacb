"""Law 5: one graph for every length, forward and backward, export, and autocast as torch's own attention has it."""

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

from laws import checks
from laws.case import Case
from laws.table import NORMALIZERS, SCORES, Sizes
from saccade import AuxOutput, attend, masks, scores

COMPILED = {
    "additive, statistics": Case("additive", "entmax", mask="lengths", gate="window", read="sample", backend="auto"),
    "scaled dot, statistics": Case("scaled_dot", "softmax", mask="causal_end", bias="alibi", backend="auto"),
    "sdpa": Case("cosine", mask="lengths", backend="auto"),
    "gaussian, top k": Case("gaussian_tensor", "sink", mask="composed", bias="window", read="top_k", backend="chunked"),
    "callable": Case("callable", "callable", mask="window", backend="auto"),
    "sdpa, causal": Case("scaled_dot", mask="causal_end", backend="auto"),
    "kernel": Case("triangular", "sum", mask="documents", gate="product", backend="reference"),
}
LENGTHS = ((5, 7), (11, 13), (64, 30))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_one_graph_for_every_length(name):
    torch._dynamo.reset()
    first, counter = COMPILED[name], CompileCounterWithBackend("aot_eager")
    request = first.everything() if "statistics" in name else None
    compiled = torch.compile(
        lambda inputs: checks.packed(first.run(inputs, request)), fullgraph=True, dynamic=True, backend=counter
    )
    for q, k in LENGTHS:
        case = Case(**{**vars(first), "sizes": Sizes((2, 3), q, k)})
        inputs = checks.differentiable(case.inputs())
        (output, aux), (truth, found) = compiled(inputs), case.truth(inputs)
        checks.same((output, aux), (truth, found))
        asked = None if request is None else AuxOutput(**{field: getattr(found, field) for field in request.names()})
        leaves = checks.learning(inputs)
        got = torch.autograd.grad(checks.pulled(output, aux), leaves)
        checks.same(got, checks.gradients(checks.pulled(truth, asked), leaves), 1e-7)
    assert counter.frame_count <= 2


class Module(torch.nn.Module):
    def __init__(self, case):
        super().__init__()
        self.case = case

    def forward(self, query, key, value):
        arguments = self.case.arguments(
            {"score.v": torch.ones(11, dtype=torch.float64)} if self.case.score == "additive" else {}
        )
        return attend(query, key, value, **{**arguments, "mask": masks.Causal("end")})


@pytest.mark.slow
@pytest.mark.parametrize("score", ["scaled_dot", "additive", "gaussian"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_export(score):
    module, length = Module(Case(score)), torch.export.Dim("length", min=2, max=4096)
    x, y, z = (torch.randn(2, 5, 11, dtype=torch.float64) for _ in range(3))
    program = torch.export.export(module, (x, y, z), dynamic_shapes=({1: length}, {1: length}, {1: length}))
    longer = [torch.randn(2, 23, 11, dtype=torch.float64) for _ in range(3)]
    checks.same(program.module()(*longer), module(*longer))


@pytest.mark.parametrize("score", [name for name in SCORES if name != "callable"])
def test_autocast_casts_as_torchs_attention_does(score):
    normalizer = "sum" if "nonnegative" in SCORES[score].traits else "softmax"
    case = Case(score, normalizer, dtype=torch.float32, backend="auto")
    inputs = checks.differentiable(case.inputs())
    half = Case(score, normalizer, dtype=torch.bfloat16, backend="auto")
    with torch.autocast("cpu", torch.bfloat16):
        output = case.run(inputs)
    assert output.dtype == torch.bfloat16
    assert torch.equal(output, half.run(half.inputs()))
    assert all(grad.dtype == torch.float32 for grad in checks.gradients(output.sum(), checks.learning(inputs)))


def test_autocast_leaves_float64_alone():
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    with torch.autocast("cpu", torch.bfloat16):
        assert attend(x, x, x, score=scores.Cosine()).dtype == torch.float64


@pytest.mark.parametrize(("dtype", "backend"), [(torch.bfloat16, "reference"), (torch.float16, "chunked")], ids=str)
@pytest.mark.parametrize("normalizer", [name for name in NORMALIZERS if not name.startswith("sum")])
def test_statistics_of_half_types_are_float32(normalizer, dtype, backend):
    case = Case(normalizer=normalizer, dtype=dtype, backend=backend)
    for weights in (False, True):
        output, aux = case.run(case.inputs(), case.everything(weights=weights))
        assert output.dtype == dtype
        assert {t.dtype for t in torch.utils._pytree.tree_leaves(aux)} == {torch.float32, torch.int64}
