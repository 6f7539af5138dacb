import itertools
import os
import subprocess
from pathlib import Path

import pytest
import torch

from backends.triton.cases import (
    ENTRIES,
    SMALL,
    Case,
    assert_gradients,
    backward,
    close,
    formula,
    forward,
    gradients,
    kept,
    leaves_of,
    masks,
    random,
    setup_of,
    twice,
    upstream,
)
from interpreter import interpreted, tiles
from saccade.auxiliary import log_probability
from saccade.backends.triton import blocks, fused
from saccade.reads import Sample, largest
from tiny import python

pytestmark = interpreted


@pytest.fixture(autouse=True, scope="module")
def small_tiles():
    with pytest.MonkeyPatch.context() as patch:
        tiles(patch, SMALL, SMALL)
        yield


ALL = {
    "plain": Case(),
    "window": Case(mask="window"),
    "band, entry": Case(mask="band+entry"),
    "causal, odd sizes": Case(mask="causal", sizes=(20, 50, 20, 33)),
    "two intervals, temperature": Case(mask="two", factors=True),
    "ids, window": Case(mask="ids+window"),
    "bytes, causal": Case(mask="bytes+causal"),
    "wide": Case(sizes=(9, 30, 140, 20)),
    "slopes, softcap": Case(bias=fused.SLOPE, mask="causal", softcap=2.0),
    "table": Case(bias=fused.TABLE),
    "table, sinks": Case(bias=fused.TABLE, mask="entry", factors=True, sinks=True),
    "pairs": Case(bias=fused.PAIRS, mask="window", softcap=1.0),
    "additive": Case(score=fused.ADDITIVE, mask="band", sizes=(18, 20, 5, 5)),
    "additive of entries, entmax": Case(
        score=fused.ADDITIVE, normalizer=fused.ENTMAX, alpha=1.5, v_of_entries=True, sizes=(18, 20, 4, 5)
    ),
    "distance, sum": Case(score=fused.DISTANCE, normalizer=fused.SUM, eps=3.0),
    "distance": Case(score=fused.DISTANCE, mask="window"),
    "sum": Case(normalizer=fused.SUM, mask="band"),
    "identity": Case(normalizer=fused.IDENTITY, mask="two"),
    "sigmoid": Case(normalizer=fused.SIGMOID, mask="entry"),
    "sigmoid with a bias": Case(normalizer=fused.SIGMOID, factors=True),
    "sparsemax": Case(normalizer=fused.ENTMAX, alpha=2.0, factors=True, mask="bytes"),
    "entmax": Case(normalizer=fused.ENTMAX, alpha=1.3, mask="causal"),
    "dropout": Case(dropout_p=0.3, mask="causal"),
    "sigmoid, dropout": Case(normalizer=fused.SIGMOID, dropout_p=0.6),
    "everything dropped": Case(dropout_p=1.0),
}  # fmt: skip


CHEAP = "plain", "band, entry", "table, sinks", "additive", "sum", "dropout"
EVERY = [pytest.param(case, id=name, marks=[] if name in CHEAP else pytest.mark.slow) for name, case in ALL.items()]


@pytest.fixture(params=EVERY)
def case(request):
    return request.param


def test_output_statistics_and_gradients(case):
    looks = {"output": 11, "entropy": 12} | ({"lse": 13} if case.normalizer == fused.SOFTMAX else {})
    (exact, exact_grads), (rough, rough_grads) = twice(case, looks)
    setup, results = forward(case)
    close(results["output"], exact["output"], rough["output"], "output")
    close(results["entropy"], exact["entropy"], rough["entropy"], "entropy")
    close(fused.weights(setup, results), exact["weights"], rough["weights"], "weights")
    close(fused.received(setup, results), exact["received"], rough["received"], "received")
    assert (fused.weights(setup, results)[~masks(case.mask, *case.sizes[:2])[1]] == 0).all()
    if "lse" in looks:
        finite = exact["lse"] > -torch.inf
        assert torch.equal(results["norms"] > -torch.inf, finite)
        close(results["norms"][finite], exact["lse"][finite], rough["lse"][finite], "lse")
    assert_gradients(case, backward(case, setup, results, exact, looks), exact_grads, rough_grads)


EXAMPLES = [
    Case(mask="window", sinks=True, sizes=(20, 30, 8, 5)),
    Case(normalizer=fused.ENTMAX, alpha=1.5, mask="entry", dropout_p=0.3),
    Case(normalizer=fused.SUM, mask="causal"),
    Case(normalizer=fused.SIGMOID, factors=True, dropout_p=0.3),
    Case(normalizer=fused.IDENTITY, bias=fused.PAIRS, mask="bytes"),
    Case(score=fused.ADDITIVE, dropout_p=0.5, sizes=(20, 25, 4, 5)),
]


LOOKS = [{"picks": 21}, {"received": 22}, {"weights": 23, "output": 11}]


@pytest.mark.parametrize(
    ("case", "looks"),
    [
        pytest.param(case, looks, marks=[] if number in (0, 5, 10, 15) else pytest.mark.slow)
        for number, (case, looks) in enumerate(itertools.product(EXAMPLES, LOOKS))
    ],
)
def test_gradients_of_looks(case, looks):
    (exact, exact_grads), (_, rough_grads) = twice(case, looks)
    setup, results = forward(case)
    assert_gradients(case, backward(case, setup, results, exact, looks), exact_grads, rough_grads)


def test_gradients_of_all_looks_together():
    case = Case(mask="two", factors=True, sinks=True, dropout_p=0.2, bias=fused.TABLE)
    looks = {"output": 1, "lse": 2, "entropy": 3, "picks": 4, "received": 5, "weights": 6}
    (exact, exact_grads), (_, rough_grads) = twice(case, looks)
    setup, results = forward(case)
    assert_gradients(case, backward(case, setup, results, exact, looks), exact_grads, rough_grads)


@pytest.mark.parametrize(("normalizer", "dropout_p"), [(fused.SOFTMAX, 0.5), (fused.SIGMOID, 0.0), (fused.ENTMAX, 0.0)])
def test_draws_are_those_of_the_read(normalizer, dropout_p):
    case = Case(mask="window", normalizer=normalizer, alpha=1.5, dropout_p=dropout_p, sizes=(20, 30, 8, 5))
    setup, results = forward(case)
    uniform = random(ENTRIES, case.sizes[0], seed=3).frac().abs().float()
    index, logs = fused.drawn(setup, results, uniform)
    dropped = fused.weights(setup, results) * kept(case)
    expected = Sample(uniform=uniform).index(dropped.float(), None)
    assert torch.equal(index.long(), expected)
    assert (index >= 0).any() and (index < 0).any()
    torch.testing.assert_close(logs, log_probability(dropped, expected).float(), rtol=0, atol=2e-6)


def test_draw_of_the_largest_uniform_has_a_weight():
    case = Case(mask="entry")
    setup, results = forward(case)
    index, _ = fused.drawn(setup, results, torch.full((ENTRIES, 37), 1 - 2**-24))
    assert (fused.weights(setup, results).gather(-1, index.long()[..., None]) > 0).all()


def test_top_holds_the_largest_and_the_lower_of_equals():
    case = Case(mask="window")
    leaves = leaves_of(case)
    leaves["key"] = (leaves["key"] * 0).index_fill(1, torch.tensor([3, 4, 20]), 1.0)
    results = fused.forward(setup_of(case, leaves), top=3)
    scores, allowed = (leaves["query"] @ leaves["key"].mT).float(), masks("window", 37, 41)[1]
    _, expected = largest(scores, 3, allowed)
    assert torch.equal(results["top_keys"], expected)
    weights = fused.weights(setup_of(case, leaves), results)
    exact = weights.gather(-1, expected.clamp(min=0)).masked_fill(expected < 0, 0.0)
    torch.testing.assert_close(results["top_weights"], exact)


def test_nan_at_forbidden_keys_and_queries_stays_there():
    case = Case(mask="entry+window", bias=fused.TABLE, factors=True)
    leaves, allowed = leaves_of(case), masks("entry+window", 37, 41)[1]
    clean = setup_of(case, leaves)
    for name in ("key", "value"):
        leaves[name] = leaves[name].masked_fill(~allowed.any(-2)[..., None], torch.nan)
    leaves["query"] = leaves["query"].masked_fill(~allowed.any(-1)[..., None], torch.nan)
    dirty = setup_of(case, leaves)
    grad = torch.ones(ENTRIES, 37, 5)
    both = [fused.backward(setup, fused.forward(setup), grad) for setup in (clean, dirty)]
    assert torch.equal(fused.forward(clean)["output"], fused.forward(dirty)["output"])
    assert all(torch.equal(both[0][name], both[1][name]) for name in both[0])


@pytest.mark.parametrize("alpha", [1.3, 1.5, 2.0])
@pytest.mark.parametrize("number", [torch.nan, torch.inf])
def test_entmax_of_nan_and_infinite_scores_is_nan(number, alpha):
    case = Case(normalizer=fused.ENTMAX, alpha=alpha, mask="causal")
    leaves = leaves_of(case)
    leaves["key"][:, 3] = number
    setup = setup_of(case, leaves)
    setup = setup._replace(query=setup.query.abs())
    results = fused.forward(setup, entropy=True)
    assert results["output"][:, :3].isfinite().all() and results["output"][:, 3:].isnan().all()
    assert results["entropy"][:, :3].isfinite().all() and results["entropy"][:, 3:].isnan().all()
    values = fused.backward(setup, results, torch.ones_like(results["output"]))["value"]
    assert values[:, :4].isnan().all()


def test_offsets_and_grids_beyond_32_bits_are_errors(monkeypatch):
    setup = setup_of(Case(), leaves_of(Case()))
    for module in (blocks, fused):
        monkeypatch.setattr(module, "LARGEST", 41 * 9)  # numbers of an entry, and fewer than programs of 200 entries
    with pytest.raises(ValueError, match="at most 369 programs, got 600"):
        fused.forward(setup._replace(batch=(200,)))
    monkeypatch.setattr(fused, "LARGEST", 41 * 9 - 1)
    with pytest.raises(ValueError, match="at most 368 numbers of one entry"):
        fused.forward(setup)


@pytest.mark.parametrize("scale", [0.05, 3.0, 200.0], ids=["polynomials", "exponentials", "tangents"])
def test_additive_terms_of_every_range(scale):
    case = Case(score=fused.ADDITIVE, sizes=(9, 18, 5, 3))
    both = []
    for dtype in (torch.float64, torch.float32):
        leaves = leaves_of(case)
        leaves |= {name: (leaves[name] * scale).float() for name in ("query", "key")}
        leaves = {name: leaf.to(dtype).requires_grad_() for name, leaf in leaves.items()}
        results = formula(case, leaves)
        both.append((results, gradients(case, leaves, results, {"output": 1})))
    setup = setup_of(case, leaves)
    results = fused.forward(setup)
    close(results["output"], both[0][0]["output"], both[1][0]["output"], "output")
    of_kernels = fused.backward(setup, results, upstream(case, "output", results["output"], 1))
    assert_gradients(case, of_kernels, both[0][1], both[1][1])


def test_half_types_round_weights_and_results_alone():
    dtype = torch.float16  # the interpreter multiplies no bfloat16
    case = Case(mask="causal", sizes=(20, 20, 8, 5))
    leaves = {name: leaf.to(dtype).double().requires_grad_() for name, leaf in leaves_of(case).items()}
    exact = formula(case, leaves)["output"]
    grads = torch.autograd.grad(exact.sum(), list(leaves.values()))
    setup = setup_of(case, leaves)
    setup = setup._replace(**{name: leaf.detach().to(dtype) for name, leaf in leaves.items()})
    results = fused.forward(setup)
    of_kernels = fused.backward(setup, results, torch.ones_like(results["output"]))
    for ours, truth in zip((results["output"], *(of_kernels[name] for name in leaves)), (exact, *grads), strict=True):
        assert ours.dtype == dtype
        assert (ours.double() - truth).abs().max() <= 4 * torch.finfo(dtype).eps * truth.abs().max()


@pytest.mark.parametrize("normalizer", [fused.SOFTMAX, fused.SUM, fused.ENTMAX])
def test_no_keys_give_zeros(normalizer):
    case = Case(normalizer=normalizer, alpha=1.5, sizes=(3, 0, 4, 2))
    setup = setup_of(case, leaves_of(case))
    results = fused.forward(setup, entropy=True)
    assert (results["output"] == 0).all() and (results["entropy"] == 0).all()
    of_kernels = fused.backward(setup, results, torch.ones_like(results["output"]))
    assert (of_kernels["query"] == 0).all() and of_kernels["key"].shape == (ENTRIES, 0, 4)


def test_a_table_of_one_number_has_the_sum_of_all_gradients():
    case = Case(bias=fused.TABLE, mask="causal", normalizer=fused.SIGMOID, sizes=(20, 20, 8, 5))
    setup = setup_of(case, leaves_of(case))._replace(bias=torch.zeros(ENTRIES, 1))
    results = fused.forward(setup)
    w, grad = fused.weights(setup, results), torch.ones_like(results["output"])
    table_grad = fused.backward(setup, results, grad)["table"].sum(1)[:, 0]
    torch.testing.assert_close(table_grad, (w * (1 - w) * (grad @ setup.value.mT)).sum((1, 2)))


@pytest.mark.slow
def test_no_kernel_spills_registers_on_a_gpu(tmp_path):
    script = Path(__file__).parents[3] / "tools" / "ptxas.py"
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    subprocess.run(python(script), check=True, env=environment)
