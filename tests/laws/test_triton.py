"""The laws once more, on Triton's kernels in its interpreter: every member with them, in few combinations, since the
interpreter is slow.
"""

from dataclasses import replace

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

from interpreter import interpreted, tiles
from laws import checks, smooth
from laws.case import Case
from laws.table import BIASES, GATES, MASKS, NORMALIZERS, READS, SCORES, SMALL, Sizes, each
from saccade import errors
from saccade.backends.triton import ENGINE

pytestmark = interpreted

OWN_SCORES = [name for name in SCORES if name != "callable"]
OWN_NORMALIZERS = [name for name in NORMALIZERS if name != "callable"]


@pytest.fixture(autouse=True, scope="module")
def several_tiles(small_blocks):
    before = ENGINE.pairs
    with pytest.MonkeyPatch.context() as patch:
        tiles(patch, 32, 4, 8)
        object.__setattr__(ENGINE, "pairs", 1 << 20)
        yield
    object.__setattr__(ENGINE, "pairs", before)


@pytest.fixture
def several_blocks():
    object.__setattr__(ENGINE, "pairs", 100)
    yield
    object.__setattr__(ENGINE, "pairs", 1 << 20)


@pytest.fixture
def large_tiles(monkeypatch):
    tiles(monkeypatch, 32, 1024, 64)


def members(masks=("none", "tensor"), reads=tuple(READS), seed=0):
    return each(OWN_SCORES, OWN_NORMALIZERS, masks, BIASES, GATES, reads, ["triton"], seed=seed)


@pytest.mark.parametrize("combination", members(MASKS, seed=21), ids="-".join)
def test_values(combination, several_blocks):
    checks.law_values(Case(*combination))


@pytest.mark.parametrize("combination", members(MASKS, ["soft", "top_k"], seed=22)[::2], ids="-".join)
def test_gradients(combination):
    smooth.law_gradients(Case(*combination))


@pytest.mark.slow
@pytest.mark.parametrize(("score", "normalizer"), [("additive_heads", "softmax"), ("cosine", "sparsemax")])
def test_empty_rows_and_hidden_keys(score, normalizer):
    case = Case(score, normalizer, read="sample", backend="triton", sizes=SMALL)
    checks.law_empty_rows(case)
    checks.law_no_keys(case)
    checks.law_hidden_keys(case)
    checks.law_forbidden_weights(case)


@pytest.mark.parametrize("normalizer", ["softmax", "sparsemax"])
def test_batch_order_and_repetition(normalizer):
    case = Case("additive", normalizer, mask="tensor", backend="triton")
    checks.law_batch(case)
    checks.law_repeats(case)
    checks.law_permuted_keys(case)
    checks.law_permuted_queries(case)


@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
def test_padding_and_causality(score):
    checks.law_padding(Case(score, backend="triton"))
    checks.law_causal(Case(score, backend="triton"), "end")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_accuracy_and_accumulation(dtype, large_tiles):
    sizes = Sizes(q=61, k=97)
    for score in ("additive", "cosine"):
        times = 3.0 if dtype == torch.float32 else 2.0
        checks.law_accuracy(Case(score, backend="triton", dtype=dtype, sizes=sizes), times)
    if dtype != torch.float32:
        checks.law_accumulation(Case(backend="triton", dtype=dtype))


@pytest.mark.slow
@pytest.mark.parametrize(("score", "normalizer"), [("additive", "softmax"), ("dot", "entmax_tensor")])
def test_first_and_second_derivatives(score, normalizer):
    smooth.law_derivatives_of_output(Case(score, normalizer, mask="tensor", backend="triton"))


@pytest.mark.parametrize("normalizer", ["softmax", "sparsemax"])
def test_draws_and_ties(normalizer):
    smooth.law_draws(Case("additive", normalizer, mask="tensor", backend="triton"))
    smooth.law_ties(Case(normalizer=normalizer, backend="triton"))


def test_dropout_of_the_same_noise(large_tiles):
    smooth.law_same_noise(Case("additive", "entmax", backend="triton"))


@pytest.mark.slow
def test_functional_transforms(large_tiles):
    smooth.law_functional(Case("additive", "softmax", mask="tensor", read="sample", backend="triton", sizes=SMALL))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_one_graph_for_every_length(large_tiles):
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    first = Case("additive", "entmax", mask="lengths", backend="triton")
    compiled = torch.compile(first.run, fullgraph=True, dynamic=True, backend=counter)
    for q, k in ((5, 7), (11, 13)):
        case = replace(first, sizes=Sizes((2, 3), q, k))
        inputs = checks.differentiable(case.inputs())
        found, truth = compiled(inputs), case.truth(inputs)[0]
        checks.same(found, truth)
        leaves = checks.learning(inputs)
        got = torch.autograd.grad(checks.pulled(found), leaves)
        checks.same(got, checks.gradients(checks.pulled(truth), leaves), 1e-7)
    assert counter.frame_count <= 2


@pytest.mark.parametrize("kind", ["score", "normalizer"])
def test_a_callable_is_refused(kind):
    case = Case(**{kind: "callable"}, backend="triton")
    with pytest.raises(errors.UnsupportedBackend, match="triton.*callable"):
        case.run(case.inputs())
