"""The laws once more, on Triton's kernels in its interpreter: every member with them, in few combinations, since the
interpreter is slow.
"""

from dataclasses import replace

import pytest
import torch

from calls import call_of, drawn
from interpreter import interpreted, tiles
from laws import checks, smooth
from laws.case import Case, pairs_a_block
from laws.combinations import each, thinned
from laws.table import BIASES, GATES, MASKS, NORMALIZERS, READS, SCORES, SMALL, Sizes
from saccade import AuxRequest, attend, errors, masks, normalizers, scores
from saccade._definitions.structure import Grid
from saccade.backends.blockwise import plan
from saccade.backends.blockwise.blocks import backward, forward
from saccade.backends.blockwise.parts import Tiles
from saccade.backends.triton import ENGINE

pytestmark = interpreted

OWN_SCORES = [name for name in SCORES if name != "callable"]
STRUCTURED = [name for name in MASKS if name not in ("none", "tensor")]
SIZES = Sizes((2,), 5, 7, 5, 6, 3)
"""Over the end of a tile of four, in every dimension that tiles cut."""
OWN_NORMALIZERS = [name for name in NORMALIZERS if name != "callable"]


@pytest.fixture(autouse=True, scope="module")
def several_tiles(small_blocks):
    with pytest.MonkeyPatch.context() as patch, pairs_a_block(1 << 20):
        tiles(patch, 32, 4, 4)
        yield


@pytest.fixture
def several_blocks():
    with pairs_a_block(40):
        yield


@pytest.fixture
def large_tiles(monkeypatch):
    tiles(monkeypatch, 32, 1024, 64)


def members(masks=("none", "tensor"), reads=tuple(READS), seed=0):
    return each(OWN_SCORES, OWN_NORMALIZERS, masks, BIASES, GATES, reads, ["triton"], seed=seed)


@pytest.mark.parametrize("combination", members(MASKS, seed=21), ids="-".join)
def test_values(combination, several_blocks):
    checks.law_values(Case(*combination, sizes=SIZES))


@pytest.mark.parametrize("combination", thinned(members(MASKS, ["soft", "top_k"], seed=22)), ids="-".join)
def test_gradients(combination):
    smooth.law_gradients(Case(*combination, sizes=SIZES))


@pytest.mark.slow
@pytest.mark.parametrize(("score", "normalizer"), [("additive_heads", "softmax"), ("cosine", "sparsemax")])
def test_empty_rows_and_hidden_keys(score, normalizer):
    case = Case(score, normalizer, read="sample", backend="triton", sizes=SMALL)
    checks.law_empty_rows(case)
    checks.law_no_keys(case)
    checks.law_hidden_keys(case)
    checks.law_forbidden_weights(case)


@pytest.mark.parametrize("normalizer", ["softmax", pytest.param("sparsemax", marks=pytest.mark.slow)])
def test_batch_order_and_repetition(normalizer):
    case = Case("additive", normalizer, mask="tensor", backend="triton", sizes=Sizes((2, 1), 3, 5, 3, 6, 2))
    checks.law_batch(case)
    checks.law_repeats(case)
    checks.law_permuted_keys(case)
    checks.law_permuted_queries(case)


@pytest.mark.parametrize("score", ["additive", pytest.param("scaled_dot", marks=pytest.mark.slow)])
def test_padding_and_causality(score):
    checks.law_padding(Case(score, backend="triton", sizes=SIZES))
    checks.law_causal(Case(score, backend="triton", sizes=SIZES._replace(q=3, k=5)), "end")


@pytest.mark.parametrize("dtype", thinned([torch.bfloat16, torch.float32, torch.float16]), ids=str)
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


@pytest.mark.slow
@pytest.mark.parametrize("normalizer", ["softmax", "sparsemax"])
def test_draws_and_ties(normalizer):
    smooth.law_draws(Case("additive", normalizer, mask="tensor", backend="triton", sizes=SIZES))
    smooth.law_ties(Case(normalizer=normalizer, backend="triton", sizes=SIZES))


@pytest.mark.slow
def test_dropout_of_the_same_noise(large_tiles):
    smooth.law_same_noise(Case("additive", "entmax", backend="triton"))


@pytest.mark.slow
def test_functional_transforms(large_tiles):
    smooth.law_functional(Case("additive", "softmax", mask="tensor", read="sample", backend="triton", sizes=SMALL))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_one_graph_for_every_length(large_tiles):
    from torch._dynamo.testing import CompileCounterWithBackend

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


@pytest.fixture
def listed_blocks(monkeypatch):
    for name, value in (("SIZE", 4), ("LEAST", 0), ("SPARSE", 1.1), ("SLACK", 1.0), ("ENTRY", 0)):
        monkeypatch.setattr(plan, name, value)


@pytest.mark.parametrize("combination", thinned(members(STRUCTURED, seed=23)[::2]), ids="-".join)
def test_values_by_blocks_of_keys(combination, listed_blocks):
    checks.law_values(Case(*combination, sizes=SIZES))


@pytest.mark.parametrize("combination", thinned(members(STRUCTURED, ["soft", "top_k"], seed=24)[::2]), ids="-".join)
def test_gradients_by_blocks_of_keys(combination, listed_blocks):
    smooth.law_gradients(Case(*combination, sizes=SIZES))


LONG = {
    "window": masks.Window(5, 0),
    "a window of documents": masks.Window(9, 9) & masks.Documents(torch.arange(27) // 7, torch.arange(27) // 7),
    "prefix and causal": masks.Prefix(6) | masks.Causal() & masks.Window(5, None),
    "lengths": masks.Lengths(torch.tensor([19, 0])),
    "around": masks.Around(torch.arange(27.0) * 0.8 + 5, 4.0),
    "nothing of it": ~masks.Window(3, 27) & masks.Prefix(20),
}


SEEN = [("lengths", False), *((name, False) for name in LONG if name != "lengths"), ("a window of documents", True)]


@pytest.mark.parametrize("case", thinned(SEEN, len(SEEN)), ids=str)
def test_what_nobody_may_see_is_not_read(case, monkeypatch, large_tiles):
    """Off the size of blocks, with empty rows, and NaN in keys and values of forbidden pairs alone."""
    name, whole = case
    tiles(monkeypatch, 4, 8, 8)
    monkeypatch.setattr(plan, "LEAST", 1 << 30 if whole else 0)
    monkeypatch.setattr(plan, "SIZE", 8)
    tensors = [drawn(2, 27, 3, seed=seed, dtype=torch.float64) for seed in range(3)]
    v, mask = drawn(3, seed=4, dtype=torch.float64), LONG[name]
    unseen = ~mask.dense(Grid(27, 27, 0, 27, torch.device("cpu"))).expand(2, 27, 27).any(-2)
    found = []
    for backend in ("reference", "triton"):
        leaves = [tensor.clone().requires_grad_() for tensor in (*tensors, v)]
        query, key, value = leaves[:3]
        if backend == "triton":
            key, value = (part.masked_fill(unseen[..., None], torch.nan) for part in (key, value))
        options = {"score": scores.Additive(leaves[3]), "mask": mask, "backend": backend}
        output, aux = attend(query, key, value, **options, aux=AuxRequest(entropy=True, lse=True, top=2, received=True))
        found.append((output, aux, torch.autograd.grad(checks.pulled(output, aux), leaves)))
    checks.same(found[1], found[0], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("normalizer", [normalizers.Softmax(), normalizers.Entmax(1.5)], ids=str)
def test_on_a_device_nothing_is_waited_for(normalizer, monkeypatch):
    """On "meta" there is nothing to look at: what asks for a value fails."""
    monkeypatch.setattr("saccade.backends.triton.additive.launch", lambda *arguments, **constants: None)
    for module in ("additive", "rows"):
        monkeypatch.setattr(f"saccade.backends.triton.{module}.launch_rows", lambda *arguments, **constants: None)
    monkeypatch.setattr(plan, "FAR", 0)
    monkeypatch.setattr(plan, "FAR_SPARSE", plan.SPARSE)
    x, request = drawn(2, 300, 4), AuxRequest(entropy=True, received=True, top=2)
    mask = masks.Window(70, 0) & masks.Lengths(torch.tensor([300, 20]))
    call = call_of(x, x, x, mask=mask, score=scores.Additive(drawn(4)), normalizer=normalizer, aux=request).aligned()
    call = call.map(lambda tensor, axes: tensor.to("meta"))
    assert any(isinstance(part, Tiles) for part in plan.parts(call, ENGINE.pairs))
    results = forward(ENGINE, call)
    wanted = [leaf.tensor.is_floating_point() for leaf in call.leaves()]
    grads = [torch.ones_like(result) for result in results if result.is_floating_point()]
    found = backward(ENGINE, call, grads, wanted)
    assert [part.shape for part in found] == [(2, 300, 4)] * 3 + [(1, 4)]


@pytest.mark.parametrize("kind", ["score", "normalizer"])
def test_a_callable_is_refused(kind):
    case = Case(**{kind: "callable"}, backend="triton")
    with pytest.raises(errors.UnsupportedBackend, match="triton.*callable"):
        case.run(case.inputs())
