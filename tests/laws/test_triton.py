"""The laws once more, on Triton's kernels in its interpreter: every member with them, in few combinations, since the
interpreter is slow.
"""

from dataclasses import replace

import pytest
import torch

from calls import call_of, drawn
from interpreter import interpreted, tiles
from laws import checks, smooth
from laws.case import Case, differentiable, pairs_a_block
from laws.combinations import each, thinned
from laws.table import BIASES, MASKS, NORMALIZERS, PRIMES, READS, SCORES, SMALL, Sizes
from saccade import AuxRequest, attend, errors, masks, normalizers, scores
from saccade._definitions.structure import Grid
from saccade.backends.blockwise.blocks import backward, forward, result_names
from saccade.backends.triton import ENGINE

pytestmark = interpreted

OWN_SCORES = [
    name
    for name in SCORES
    if name not in ("callable", "softcap_tensor", "gaussian_tensor", "boxcar", "epanechnikov", "triangular")
]
STRUCTURED = [name for name in MASKS if name not in ("none", "tensor")]
SIZES = Sizes((2,), 5, 7, 5, 6, 3)
"""Over the end of a tile of four, in every dimension that tiles cut."""
OWN_NORMALIZERS = [name for name in NORMALIZERS if name not in ("callable", "entmax_tensor")]
OWN_BIASES = [name for name in BIASES if not name.startswith("position")]


@pytest.fixture(autouse=True, scope="module")
def several_tiles(small_blocks):
    with pytest.MonkeyPatch.context() as patch, pairs_a_block(1 << 20):
        tiles(patch, 4, 4)
        yield


@pytest.fixture
def several_blocks():
    with pairs_a_block(40):
        yield


@pytest.fixture
def large_tiles(monkeypatch):
    tiles(monkeypatch, 64, 64)


def members(masks=("none", "tensor"), reads=tuple(READS), seed=0):
    """Combinations that the kernels serve, with every statistic."""
    ranked = [name for name in OWN_NORMALIZERS if not name.startswith("sum")]
    combinations = each(OWN_SCORES, ranked, masks, OWN_BIASES, ("none",), reads, ["triton"], seed=seed)
    undrawn = "sigmoid", "sink", "identity"
    return [c for c in combinations if not (c[1] in undrawn and c[5] in ("sample", "straight_through"))]


def case(*names, **more):
    return Case(*names, backend="triton", dtype=torch.float32, **{"sizes": SIZES, **more})


@pytest.mark.parametrize("combination", members(MASKS, seed=21), ids="-".join)
def test_values(combination):
    checks.law_values(case(*combination[:-1]))


@pytest.mark.parametrize("combination", thinned(members(MASKS, ["soft", "top_k"], seed=22)), ids="-".join)
def test_gradients(combination):
    smooth.law_gradients(case(*combination[:-1]))


def test_every_member_is_served():
    served = set().union(*members(MASKS, seed=21), *members(MASKS, ["soft", "top_k"], seed=22))
    assert served >= {*OWN_SCORES, *MASKS, *OWN_BIASES, *READS} and served >= set(OWN_NORMALIZERS) - {"sum", "sum_eps"}


@pytest.mark.parametrize("normalizer", ["sum", "sum_eps"])
def test_shares_of_sums(normalizer):
    """Their weights are not ranked, since the sum may turn their order."""
    shares = case("location_positive" if "location_positive" in SCORES else "dot", normalizer, mask="tensor")
    inputs = differentiable(shares.inputs())
    inputs = {name: t.detach().abs().requires_grad_() if t.is_floating_point() else t for name, t in inputs.items()}
    request = AuxRequest(received=True, entropy=normalizer == "sum")
    found, expected = shares.run(inputs, request), shares.on("reference").run(inputs, request)
    checks.same(found, expected)
    learning = checks.learning(inputs)
    checks.same(checks.gradients(checks.pulled(*found), learning), checks.gradients(checks.pulled(*expected), learning))
    with pytest.raises(errors.UnsupportedBackend, match="rank"):
        shares.run(inputs, AuxRequest(top=2))


@pytest.mark.slow
@pytest.mark.parametrize(("score", "normalizer"), [("additive_heads", "softmax"), ("cosine", "sparsemax")])
def test_empty_rows_and_hidden_keys(score, normalizer):
    sampled = case(score, normalizer, read="sample", sizes=SMALL)
    checks.law_empty_rows(sampled)
    checks.law_no_keys(case(score, normalizer, sizes=SMALL))
    checks.law_hidden_keys(sampled)
    checks.law_forbidden_weights(sampled)


@pytest.mark.parametrize("normalizer", ["softmax", pytest.param("sparsemax", marks=pytest.mark.slow)])
def test_batch_order_and_repetition(normalizer):
    batched = case("additive", normalizer, mask="tensor", sizes=Sizes((2, 1), 3, 5, 3, 6, 2))
    checks.law_batch(batched)
    checks.law_repeats(batched)
    checks.law_permuted_keys(batched)
    checks.law_permuted_queries(batched)


@pytest.mark.parametrize("score", ["additive", pytest.param("scaled_dot", marks=pytest.mark.slow)])
def test_padding_and_causality(score):
    checks.law_padding(case(score))
    checks.law_causal(case(score, sizes=SIZES._replace(q=3, k=5)), "end")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_accuracy_and_accumulation(dtype, large_tiles):
    sizes = Sizes(q=61, k=97)
    for score in ("additive", "cosine"):
        times = 3.0 if dtype == torch.float32 else 2.0
        checks.law_accuracy(Case(score, backend="triton", dtype=dtype, sizes=sizes), times)
    if dtype != torch.float32:
        checks.law_accumulation(Case(backend="triton", dtype=dtype))


@pytest.mark.slow
@pytest.mark.parametrize("normalizer", ["softmax", "sparsemax"])
def test_draws_and_ties(normalizer):
    smooth.law_draws(case("additive", normalizer, mask="tensor"))
    smooth.law_ties(case(normalizer=normalizer))


def test_dropout_of_the_same_noise(large_tiles):
    smooth.law_same_noise(case("additive", "entmax", sizes=PRIMES))


@pytest.mark.slow
def test_functional_transforms(large_tiles):
    smooth.law_functional(case("additive", "softmax", mask="tensor", read="sample", sizes=SMALL))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_one_graph_for_every_length(large_tiles):
    from torch._dynamo.testing import CompileCounterWithBackend

    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    first = case("additive", "entmax", mask="lengths")
    compiled = torch.compile(first.run, fullgraph=True, dynamic=True, backend=counter)
    for q, k in ((5, 7), (11, 13)):
        inputs = checks.differentiable(replace(first, sizes=Sizes((2, 3), q, k)).inputs())
        found, truth = compiled(inputs), replace(first, sizes=Sizes((2, 3), q, k)).truth(inputs)[0]
        checks.same(found, truth)
        leaves = checks.learning(inputs)
        got = torch.autograd.grad(checks.pulled(found), leaves)
        checks.same(got, checks.gradients(checks.pulled(truth), leaves), 1e-7)
    assert counter.frame_count <= 2


LONG = {
    "window": masks.Window(5, 0),
    "a window of documents": masks.Window(9, 9) & masks.Documents(torch.arange(27) // 7, torch.arange(27) // 7),
    "prefix and causal": masks.Prefix(6) | masks.Causal() & masks.Window(5, None),
    "lengths": masks.Lengths(torch.tensor([19, 0])),
    "every second length": masks.Lengths(torch.tensor([19, 27, 0, 27], dtype=torch.int32)[::2]),
    "around": masks.Around(torch.arange(27.0) * 0.8 + 5, 4.0),
    "nothing of it": ~masks.Window(3, 27) & masks.Prefix(20),
}


@pytest.mark.parametrize("name", LONG)
def test_what_nobody_may_see_is_not_read(name, monkeypatch):
    """Off the size of blocks, with empty rows, and NaN in keys and values of forbidden pairs alone."""
    tiles(monkeypatch, 4, 8)
    tensors = [drawn(2, 27, 3, seed=seed) for seed in range(3)]
    v, mask = drawn(3, seed=4), LONG[name]
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
    checks.same(found[1], found[0])


def test_a_prepared_mask_is_listed_once(monkeypatch):
    from saccade.backends.triton import fused, setup

    x, ids = drawn(2, 27, 4), torch.arange(27) // 5
    plain = masks.Documents(ids, ids) & (masks.Prefix(6) | masks.Window(9, 0))
    mask, listed, made = masks.prepare(plain, 27, 27, "cpu"), [], fused.lists
    monkeypatch.setattr(
        setup, "allowed_of", lambda *call, original=setup.allowed_of: listed.append("mask") or original(*call)
    )
    monkeypatch.setattr(fused, "lists", lambda *call, **more: listed.append(more["by_key"]) or made(*call, **more))
    outputs = []
    for _ in range(2):
        leaf = x.clone().requires_grad_()
        output = attend(leaf, leaf, leaf, mask=mask, backend="triton")
        outputs.append((output, *torch.autograd.grad(output.square().sum(), leaf)))
    assert listed == ["mask", False, True] and all(torch.equal(*pair) for pair in zip(*outputs, strict=True))
    checks.same(outputs[0][0], attend(x, x, x, mask=plain, backend="reference"))


def test_streams_and_graphs_share_no_lists(monkeypatch):
    from saccade.backends import triton
    from saccade.backends.triton import fused, setup

    x, ids = drawn(2, 9, 4), torch.arange(9) // 5
    mask, listed, made = masks.prepare(masks.Documents(ids, ids), 9, 9, "cpu"), [], fused.lists
    monkeypatch.setattr(fused, "lists", lambda *call, **more: listed.append(more["by_key"]) or made(*call, **more))
    for stream, capturing in ((1, False), (2, False), (1, True), (1, True), (2, False), (1, False)):
        monkeypatch.setattr(setup, "stream_of", lambda device, stream=stream: stream)
        monkeypatch.setattr(triton, "capturing", lambda call, capturing=capturing: capturing)
        leaf = x.clone().requires_grad_()
        attend(leaf, leaf, leaf, mask=mask, backend="triton").sum().backward()
    assert listed == [False, True] * 4


@pytest.mark.parametrize("normalizer", [normalizers.Softmax(), normalizers.Entmax(1.5)], ids=str)
def test_gradients_under_vmap_are_those_of_each(normalizer):
    query, key, value, pulls = drawn(5, 4), drawn(7, 4, seed=1), drawn(7, 3, seed=2), drawn(6, 5, 3, seed=3)

    def pulled(backend):
        _, pull = torch.func.vjp(lambda *rows: attend(*rows, normalizer=normalizer, backend=backend), query, key, value)
        return torch.func.vmap(pull)(pulls)

    for actual, expected in zip(pulled("triton"), pulled("reference"), strict=True):
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("size", [0.0, 50.0, 95.0])
def test_gradients_of_lse_beside_a_large_sink(size):
    leaves = [drawn(2, 9, 4, seed=seed).requires_grad_() for seed in range(3)]
    sink, gradients = torch.full((1, 1), size, requires_grad=True), []
    for backend in ("triton", "reference"):
        output, aux = attend(
            *leaves, normalizer=normalizers.Softmax(sink=sink), aux=AuxRequest(lse=True), backend=backend
        )
        gradients.append(torch.autograd.grad(output.sum() + aux.lse.sin().sum(), [*leaves, sink]))
    for actual, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("name", ["none", "documents", "pairs", "bias"])
@pytest.mark.parametrize("batch", [(), (2, 3)])
@pytest.mark.parametrize(("q_len", "k_len"), [(0, 7), (5, 0), (0, 0)])
def test_no_queries_or_no_keys(q_len, k_len, batch, name):
    query, key, value = drawn(*batch, q_len, 4), drawn(*batch, k_len, 4), drawn(*batch, k_len, 3)
    ids = torch.zeros(q_len, dtype=torch.int64), torch.zeros(k_len, dtype=torch.int64)
    pairs = torch.ones(q_len, k_len, dtype=torch.bool)
    options = {"documents": {"mask": masks.Documents(*ids)}, "pairs": {"mask": pairs}, "bias": {"bias": pairs.float()}}
    leaves = [tensor.requires_grad_() for tensor in (query, key, value)]
    output = attend(*leaves, **options.get(name, {}), backend="triton")
    assert torch.equal(output, torch.zeros(*batch, q_len, 3))
    assert all(torch.equal(part, torch.zeros_like(part)) for part in torch.autograd.grad(output.sum(), leaves))


def test_no_keys_to_rank_are_refused():
    query, key = drawn(5, 4), drawn(0, 4)
    with pytest.raises(errors.UnsupportedBackend, match="at least one key"):
        attend(query, key, key, aux=AuxRequest(top=2), backend="triton")


@pytest.mark.parametrize("normalizer", [normalizers.Softmax(), normalizers.Entmax(1.5)], ids=str)
def test_on_a_device_nothing_is_waited_for(normalizer, monkeypatch):
    """On "meta" there is nothing to look at: what asks for a value fails."""
    for module in ("blocks", "fused"):
        monkeypatch.setattr(f"saccade.backends.triton.{module}.launch", lambda *arguments, **constants: None)
    x, ids = drawn(2, 300, 4), torch.arange(300) // 70
    mask = masks.Window(70, 0) & masks.Lengths(torch.tensor([300, 20])) & ~masks.Documents(ids, ids)
    mask = mask & (masks.Prefix(20) | masks.Intervals(ids, ids + 30)) & masks.Documents(ids, ids)
    request = AuxRequest(entropy=True, received=True, top=2)
    call = call_of(x, x, x, mask=mask, score=scores.Additive(drawn(4)), normalizer=normalizer, aux=request).aligned()
    call = call.map(lambda tensor, axes: tensor.to("meta"))
    results = forward(ENGINE, call)
    needed = [leaf.tensor.is_floating_point() for leaf in call.leaves()]
    floating = [result for result, _ in zip(results, result_names(call), strict=False) if result.is_floating_point()]
    grads = [torch.ones_like(result) for result in floating]
    gradients = backward(ENGINE, call, grads, needed, results)
    assert [part.shape for part in gradients] == [(2, 300, 4)] * 3 + [(1, 4)]


@pytest.mark.parametrize("kind", ["score", "normalizer"])
def test_a_callable_is_refused(kind):
    case = Case(**{kind: "callable"}, backend="triton")
    with pytest.raises(errors.UnsupportedBackend, match="triton.*callable"):
        case.run(case.inputs())
