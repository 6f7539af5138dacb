"""Law 5: one graph for every length, forward and backward, export, and autocast as torch's own attention has it."""

import pytest
import torch

from laws import checks
from laws.case import Case
from laws.table import NORMALIZERS, SCORES, Sizes
from saccade import AuxOutput, attend, biases, errors, masks, normalizers, reads, scores
from tiers import rest_slow

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
    from torch._dynamo.testing import CompileCounterWithBackend

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


LEARNS = torch.tensor(1.5, dtype=torch.float64)
TRANSFORMED = {
    "dot": {},
    "cosine": {"score": scores.Cosine(2.0)},
    "additive": {"score": scores.Additive(torch.linspace(-1, 1, 4, dtype=torch.float64))},
    "kernel": {"score": scores.Kernel("triangular", 4.0), "normalizer": normalizers.Sum()},
    "sparsemax": {"normalizer": normalizers.Sparsemax()},
    "entmax": {"normalizer": normalizers.Entmax(LEARNS)},
    "alibi": {"bias": biases.Alibi(torch.tensor([0.5, 0.25], dtype=torch.float64))},
    "causal": {"mask": masks.Causal()},
    "top k": {"read": reads.TopK(2)},
}
TRANSFORMS = {
    "grad": lambda f, x: torch.func.grad(lambda x: f(x, x, x).square().sum())(x),
    "grad of the query": lambda f, x: torch.func.grad(lambda y: f(y, x, x).square().sum())(x),
    "grad of the value": lambda f, x: torch.func.grad(lambda y: f(x, x, y).square().sum())(x),
    "vjp": lambda f, x: torch.func.vjp(lambda x: f(x, x, x), x)[1](x)[0],
    "jacrev": lambda f, x: torch.func.jacrev(lambda x: f(x, x, x))(x),
    "vmap of grad": lambda f, x: torch.func.vmap(torch.func.grad(lambda x: f(x, x, x).square().sum()))(x),
    "hessian": lambda f, x: torch.func.hessian(lambda x: f(x, x, x).square().sum())(x),
}


def transformed(transform, options):
    """A transform of self-attention, as a function of one tensor."""
    return lambda x: TRANSFORMS[transform](lambda *tensors: attend(*tensors, **options), x)


def assert_compiles(transform, options, **settings):
    torch._dynamo.reset()
    x = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    function = transformed(transform, options)
    compiled = torch.compile(function, backend="eager", **settings)
    torch.testing.assert_close(compiled(x), function(x), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["dot", "sparsemax"])
def test_a_compiled_gradient_is_the_gradient(name):
    assert_compiles("grad", TRANSFORMED[name], fullgraph=True)


LEFT_OUT = {"alibi": ["vmap of grad"], "entmax": ["vmap of grad", "hessian"]}
"""Slopes are of heads, which one sample lacks; entmax takes long to trace several times."""

OTHERS = list(TRANSFORMS)[1:]
PAIRS = [
    (name, transform)
    for number, name in enumerate(TRANSFORMED)
    for transform in ("grad", OTHERS[number % len(OTHERS)], OTHERS[(number + 3) % len(OTHERS)])
    if transform not in LEFT_OUT.get(name, ())
]
"""Every definition with `grad` and two more, every transform with several definitions."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(("name", "transform"), PAIRS)
def test_compiled_transforms_are_the_transforms(name, transform):
    assert_compiles(transform, TRANSFORMED[name], fullgraph=True)


@pytest.mark.parametrize("backend", rest_slow(["chunked", "cpu"]))
def test_named_blocks_refuse_compiled_transforms(backend):
    torch._dynamo.reset()
    compiled = torch.compile(transformed("grad", {"backend": backend}), backend="eager")
    with pytest.raises(errors.UnsupportedBackend, match="compiler inside a torch.func transform.*backend='auto'"):
        compiled(torch.randn(2, 3, 4, dtype=torch.float64))


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
