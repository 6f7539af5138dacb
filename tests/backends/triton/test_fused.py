import itertools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from interpreter import interpreted
from saccade._definitions import simplex
from saccade.auxiliary import entropy as entropy_of
from saccade.auxiliary import log_probability
from saccade.backends.triton import fused
from saccade.backends.triton.fused import Allowed, Setup
from saccade.reads import Sample, largest
from tiny import python

pytestmark = interpreted

ENTRIES, SMALL = 2, 16


@pytest.fixture(autouse=True, scope="module")
def small_tiles():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fused, "tile", lambda *_, **__: fused.Shape(SMALL, SMALL, 4, 1))
        yield


@dataclass(frozen=True)
class Case:
    score: int = fused.DOT
    normalizer: int = fused.SOFTMAX
    alpha: float = 1.0
    mask: str = "none"
    bias: int = 0
    softcap: float | None = None
    factors: bool = False
    sinks: bool = False
    eps: float = 0.0
    dropout_p: float = 0.0
    each: bool = False
    sizes: tuple[int, int, int, int] = (37, 41, 8, 5)

    @property
    def scale(self):
        return {fused.DOT: self.sizes[2] ** -0.5, fused.ADDITIVE: 1.0, fused.DISTANCE: -0.1}[self.score]


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def spans(q_len, k_len, *, back, ahead):
    """Intervals (1, N, Lq) of a window about the diagonal, those of every fifth query empty."""
    i = torch.arange(q_len)
    starts, ends = (i - back).clamp(0, k_len), (i + ahead).clamp(0, k_len)
    ends = torch.where(i % 5 == 4, starts, ends)
    return (part.int().expand(1, ENTRIES, q_len).contiguous() for part in (starts, ends))


def masks(name, q_len, k_len):
    """A mask for the kernels, and the pairs that it allows, (N, Lq, Lk)."""
    i, j = torch.arange(q_len)[:, None], torch.arange(k_len)[None]
    every = torch.ones(ENTRIES, q_len, k_len, dtype=torch.bool)
    mask, parts = Allowed(ENTRIES), name.split("+")
    if "band" in parts:
        mask, every = mask._replace(low=-9, high=3), every & (j >= i - 9) & (j < i + 3)
    if "causal" in parts:
        mask, every = mask._replace(high=1), every & (j <= i)
    if "entry" in parts:
        first, end = torch.tensor([2, 19], dtype=torch.int32), torch.tensor([17, 38], dtype=torch.int32)
        mask = mask._replace(first=first, end=end)
        every = every & (j >= first[:, None, None]) & (j < end[:, None, None])
    if "window" in parts or "two" in parts:
        starts, ends = spans(q_len, k_len, back=20, ahead=1)
        within = (j >= starts[0, 0, :, None]) & (j < ends[0, 0, :, None])
        if "two" in parts:
            more, last = spans(q_len, k_len, back=-6, ahead=30)
            within = within | ((j >= more[0, 0, :, None]) & (j < last[0, 0, :, None]))
            starts, ends = torch.cat([starts, more]), torch.cat([ends, last])
        mask, every = mask._replace(starts=starts, ends=ends), every & within
    if "ids" in parts:
        q_ids, k_ids = (
            (torch.arange(length) * 3 // length).int().expand(ENTRIES, -1).contiguous() for length in (q_len, k_len)
        )
        mask, every = mask._replace(q_ids=q_ids, k_ids=k_ids), every & (q_ids[:, :, None] == k_ids[:, None])
    if "bytes" in parts:
        pairs = random(ENTRIES, q_len, k_len, seed=7) < -0.5
        pairs[:, : 2 * SMALL, :SMALL] = True
        pairs[:, :, SMALL : 2 * SMALL] = False
        mask, every = mask._replace(pairs=pairs.view(torch.uint8)), every & pairs
    return None if name == "none" else mask, every


def leaves_of(case):
    q_len, k_len, dim, width = case.sizes
    leaves = {
        "query": random(ENTRIES, q_len, dim, seed=1),
        "key": random(ENTRIES, k_len, dim, seed=2),
        "value": random(ENTRIES, k_len, width, seed=3),
    }
    if case.score == fused.ADDITIVE:
        leaves["v"] = random(ENTRIES, dim, seed=4) if case.each else random(dim, seed=4)
    if case.normalizer == fused.SUM:  # sums are far from 0
        leaves["query"], leaves["key"] = leaves["query"].abs(), leaves["key"].abs()
    if case.bias:
        shapes = {fused.SLOPE: (ENTRIES,), fused.TABLE: (ENTRIES, 15), fused.PAIRS: (ENTRIES, q_len, k_len)}
        leaves["bias"] = random(*shapes[case.bias], seed=5)
    if case.factors:
        leaves["factors"] = random(ENTRIES, q_len, seed=6).abs() + 0.5
    if case.sinks:
        leaves["sinks"] = random(ENTRIES, q_len, seed=7)
    return {name: leaf.float().double() for name, leaf in leaves.items()}


def setup_of(case, leaves):
    of_bias = leaves["bias"].stride(0) if "bias" in leaves else 0
    mask = masks(case.mask, *case.sizes[:2])[0]
    of_mask = int(mask is not None and mask.entries > 1)
    steps = ENTRIES, 0, 1, 0, 1, 0, 1, 0, of_mask, 0, of_bias
    constants = {"batch": (ENTRIES,), "steps": steps, "mask": mask, "bias_kind": case.bias, "align": 1}
    constants |= {name: getattr(case, name) for name in ("score", "normalizer", "scale", "softcap", "eps", "alpha")}
    if case.dropout_p:
        constants |= {"dropout_p": case.dropout_p, "noise": noise_of(case)}
    return Setup(**{n: t.detach().float() for n, t in leaves.items()}, **constants, bias_learns=case.bias > 0)


def noise_of(case):
    return torch.randint(1 << 32, (ENTRIES, case.sizes[0]), generator=torch.Generator().manual_seed(8))


def kept(case):
    """What dropout multiplies weights by, as `backends.reference.dropout` defines it."""
    if not case.dropout_p:
        return 1.0
    bits = noise_of(case)[..., None] ^ ((torch.arange(case.sizes[1]) * 0x5BD1E995) & 0xFFFFFFFF)
    for multiplier in (0x7FEB352D, 0x45D9F3B5):
        bits = ((bits ^ (bits >> 16)) * multiplier) & 0xFFFFFFFF
    bits = bits ^ (bits >> 15)
    return (bits >= int(case.dropout_p * (1 << 32))).double() / max(1 - case.dropout_p, 1e-300)


def scores_of(case, leaves):
    query, key, bias = leaves["query"], leaves["key"], leaves.get("bias")
    i, j = torch.arange(case.sizes[0])[:, None], torch.arange(case.sizes[1])[None]
    if case.score == fused.DOT:
        scores = case.scale * (query @ key.mT)
    elif case.score == fused.DISTANCE:
        scores = case.scale * (query[:, :, None] - key[:, None]).square().sum(-1)
    else:
        terms = torch.tanh(query[:, :, None] + key[:, None])
        scores = (terms * leaves["v"].reshape(-1, 1, 1, case.sizes[2])).sum(-1)
    if case.softcap:
        scores = case.softcap * torch.tanh(scores / case.softcap)
    if case.bias == fused.SLOPE:
        scores = scores - bias[:, None, None] * (i + 1 - j).abs()
    elif case.bias == fused.TABLE:
        scores = scores + bias[:, (j - i - 1).clamp(-7, 7) + 7]
    elif case.bias == fused.PAIRS:
        scores = scores + bias
    return scores


def formula(case, leaves):
    """Every result by plain tensors of queries by keys, in the dtype of the leaves."""
    scores, allowed = scores_of(case, leaves), masks(case.mask, *case.sizes[:2])[1]
    lse, factors = None, leaves.get("factors")
    if factors is not None:
        scores = scores + factors[..., None] if case.normalizer == fused.SIGMOID else scores * factors[..., None]
    if case.normalizer == fused.SOFTMAX:
        weights, lse = simplex.softmax(scores, allowed), simplex.log_partition(scores, allowed)
        if case.sinks:
            weights = weights * torch.sigmoid(lse.masked_fill(lse == -torch.inf, 0.0) - leaves["sinks"])[..., None]
    elif case.normalizer == fused.ENTMAX:
        weights = simplex.entmax(scores, torch.tensor(case.alpha, dtype=scores.dtype), allowed)
    elif case.normalizer == fused.SIGMOID:
        weights = torch.sigmoid(scores).masked_fill(~allowed, 0.0)
    else:
        weights = scores.masked_fill(~allowed, 0.0)
        if case.normalizer == fused.SUM:
            total = weights.sum(-1, keepdim=True)
            weights = weights / (total + case.eps).masked_fill(total == 0, 1.0)
    dropped = weights * kept(case)
    output = (dropped @ leaves["value"].to(dropped.dtype)).to(scores.dtype)
    return {"output": output, "lse": lse, "entropy": entropy_of(weights), "weights": weights, "sums": dropped.sum(-1),
            "received": weights.sum(-2), "picks": weights.gather(-1, picks_of(case).clamp(min=0))}  # fmt: skip


def picks_of(case):
    """Three keys of each row, some of them none."""
    keys = torch.rand(ENTRIES, case.sizes[0], 3, generator=torch.Generator().manual_seed(9)) * (case.sizes[1] + 5)
    return keys.long() - 5


def close(ours, exact, rough, name):
    """Error at most four times that of the plain float32 formula, and rounding of the largest."""
    error = (rough.double() - exact).abs().max()
    limit = 4 * error + 16 * torch.finfo(torch.float32).eps * exact.abs().max().clamp(min=1.0)
    assert (ours.double() - exact).abs().max() <= limit, name


def gradients(case, leaves, results, looks):
    """Gradients of all leaves by autograd, from those of the results in `looks`."""
    terms = []
    for name, seed in looks.items():
        result = results[name]
        if name == "lse":
            result = result.masked_fill(~masks(case.mask, *case.sizes[:2])[1].any(-1), 0.0)
        terms.append((result * upstream(case, name, result, seed)).sum())
    return dict(zip(leaves, torch.autograd.grad(sum(terms), list(leaves.values()), allow_unused=True), strict=True))


def upstream(case, name, result, seed):
    """A gradient of a result; picks of -1 have none."""
    gradient = random(*result.shape, seed=seed).float().to(result.dtype)
    return gradient.masked_fill(picks_of(case) < 0, 0.0) if name == "picks" else gradient


NAMES = {"query": "query", "key": "key", "value": "value", "v": "v", "factors": "factor", "sinks": "sink"}


def summed(case, found):
    """Gradients of the kernels by leaf, summed over the parts that they come in."""
    bias = {fused.SLOPE: "slope", fused.TABLE: "table", fused.PAIRS: "bias"}.get(case.bias)
    for name in ("v", "table", "slope"):
        if name in found:
            found[name] = found[name].sum(1)
    if case.score == fused.ADDITIVE and not case.each:
        found["v"] = found["v"].sum(0)
    return {leaf: found[name] for leaf, name in {**NAMES, "bias": bias}.items() if name in found}


def twice(case, looks):
    """Results and gradients of the formula, in float64 and in float32."""
    both = []
    for dtype in (torch.float64, torch.float32):
        leaves = {name: leaf.to(dtype).requires_grad_() for name, leaf in leaves_of(case).items()}
        results = formula(case, leaves)
        both.append((results, gradients(case, leaves, results, looks)))
    return both


def assert_gradients(case, found, exact, rough):
    for name, ours in summed(case, found).items():
        if exact[name] is not None:
            close(ours, exact[name], rough[name], name)


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
        score=fused.ADDITIVE, normalizer=fused.ENTMAX, alpha=1.5, each=True, sizes=(18, 20, 4, 5)
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


def forward(case):
    setup = setup_of(case, leaves_of(case))
    return setup, fused.forward(setup, entropy=True)


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


def backward(case, setup, results, exact, looks):
    grads = {name: upstream(case, name, exact[name], seed).float() for name, seed in looks.items()}
    picks = (picks_of(case).int(), grads["picks"]) if "picks" in grads else None
    names = "lse", "entropy", "received", "weights", "sums"
    of_looks = {f"{name}_grad": grads[name] for name in names if name in grads}
    return fused.backward(setup, results, grads.get("output"), picks=picks, **of_looks)


ONE_EACH = [
    Case(mask="window", sinks=True, sizes=(20, 30, 8, 5)),
    Case(normalizer=fused.ENTMAX, alpha=1.5, mask="entry", dropout_p=0.3),
    Case(normalizer=fused.SUM, mask="causal"),
    Case(normalizer=fused.SIGMOID, factors=True, dropout_p=0.3),
    Case(normalizer=fused.IDENTITY, bias=fused.PAIRS, mask="bytes"),
    Case(score=fused.ADDITIVE, dropout_p=0.5, sizes=(20, 25, 4, 5)),
]


LOOKS = [{"picks": 21}, {"received": 22}, {"weights": 23, "output": 11}, {"sums": 24}]


@pytest.mark.parametrize(
    ("case", "looks"),
    [
        pytest.param(case, looks, marks=[] if number in (0, 5, 10, 15) else pytest.mark.slow)
        for number, (case, looks) in enumerate(itertools.product(ONE_EACH, LOOKS))
    ],
)
def test_gradients_of_looks(case, looks):
    (exact, exact_grads), (_, rough_grads) = twice(case, looks)
    setup, results = forward(case)
    assert_gradients(case, backward(case, setup, results, exact, looks), exact_grads, rough_grads)


def test_gradients_of_all_looks_together():
    case = Case(mask="two", factors=True, sinks=True, dropout_p=0.2, bias=fused.TABLE)
    looks = {"output": 1, "lse": 2, "entropy": 3, "picks": 4, "received": 5, "weights": 6, "sums": 7}
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


@pytest.mark.parametrize("by_key", [False, True])
@pytest.mark.parametrize("name", ["window", "two", "ids", "bytes", "ids+window+bytes", "two+band+entry", "ids+causal"])
def test_lists_hold_the_blocks_of_a_mask(name, by_key):
    q_len, k_len = 70, 53
    mask, allowed = masks(name, q_len, k_len)
    found = fused.lists(mask, q_len, k_len, allowed.device, by_key=by_key)
    padded = torch.zeros(ENTRIES, 80, 64, dtype=torch.bool)
    padded[:, :q_len, :k_len] = allowed
    tiles = padded.unflatten(2, (-1, SMALL)).unflatten(1, (-1, SMALL)).movedim(3, 2)  # (N, blocks, blocks, rows, keys)
    tiles = tiles.transpose(1, 2) if by_key else tiles
    for n, rows in enumerate(tiles):
        for row, blocks in enumerate(rows):
            codes = found.order[n, row, : found.counts[n, row]]
            assert codes.tolist() == sorted(codes.tolist())
            assert set(blocks.any((-1, -2)).nonzero()[:, 0].tolist()) <= set((codes // 2).tolist())
            other = q_len if by_key else k_len
            for code in codes[codes % 2 == 1].tolist():
                inner = blocks[code // 2]
                assert (code // 2 + 1) * SMALL <= other
                assert (inner[:, : k_len - row * SMALL] if by_key else inner[: q_len - row * SMALL]).all()


def test_exact_lists_of_bands_have_no_empty_block():
    q_len, k_len = 70, 53
    mask, allowed = masks("causal", q_len, k_len)
    alike = {"q_ids": torch.zeros(ENTRIES, q_len).int(), "k_ids": torch.zeros(ENTRIES, k_len).int()}
    found = fused.lists(mask._replace(**alike), q_len, k_len, allowed.device)
    assert found.counts.tolist() == [[1, 2, 3, 4, 4]] * ENTRIES


@pytest.mark.parametrize(
    ("name", "by_query", "by_key"), [("window", 0, 1), ("causal", 0, 0), ("band+entry", 0, 0), ("two", 1, 1)]
)
def test_ranges_need_no_lists(name, by_query, by_key, monkeypatch):
    made, make = [], fused.lists

    def noted(*arguments, by_key, sizes):
        made.append(by_key)
        return make(*arguments, by_key=by_key, sizes=sizes)

    monkeypatch.setattr(fused, "lists", noted)
    setup, results = forward(Case(mask=name))
    fused.backward(setup, results, torch.ones_like(results["output"]))
    assert made == [False] * by_query * 2 + [True] * by_key


def test_lists_are_kept_for_later_calls(monkeypatch):
    setup, _ = forward(Case(mask="two"))
    kept = setup._replace(kept={})
    ones = torch.ones_like(fused.forward(kept)["output"])
    expected = fused.backward(kept, fused.forward(kept), ones)
    monkeypatch.setattr(fused, "lists", None)
    again = fused.backward(kept, fused.forward(kept), ones)
    assert all(torch.equal(again[name], expected[name]) for name in expected)


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


def test_offsets_and_grids_beyond_32_bits_are_errors(monkeypatch):
    setup = setup_of(Case(), leaves_of(Case()))
    monkeypatch.setattr(fused, "LARGEST", 41 * 9)  # numbers of an entry, and fewer than programs of 200 entries
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
    found = fused.backward(setup, results, upstream(case, "output", results["output"], 1))
    assert_gradients(case, found, both[0][1], both[1][1])


def test_half_types_round_weights_and_results_alone():
    dtype = torch.float16  # the interpreter multiplies no bfloat16
    case = Case(mask="causal", sizes=(20, 20, 8, 5))
    leaves = {name: leaf.to(dtype).double().requires_grad_() for name, leaf in leaves_of(case).items()}
    exact = formula(case, leaves)["output"]
    grads = torch.autograd.grad(exact.sum(), list(leaves.values()))
    setup = setup_of(case, leaves)
    setup = setup._replace(**{name: leaf.detach().to(dtype) for name, leaf in leaves.items()})
    results = fused.forward(setup)
    found = fused.backward(setup, results, torch.ones_like(results["output"]))
    for ours, truth in zip((results["output"], *(found[name] for name in leaves)), (exact, *grads), strict=True):
        assert ours.dtype == dtype
        assert (ours.double() - truth).abs().max() <= 4 * torch.finfo(dtype).eps * truth.abs().max()


@pytest.mark.parametrize("normalizer", [fused.SOFTMAX, fused.SUM, fused.ENTMAX])
def test_no_keys_give_zeros(normalizer):
    case = Case(normalizer=normalizer, alpha=1.5, sizes=(3, 0, 4, 2))
    setup = setup_of(case, leaves_of(case))
    results = fused.forward(setup, entropy=True)
    assert (results["output"] == 0).all() and (results["entropy"] == 0).all()
    found = fused.backward(setup, results, torch.ones_like(results["output"]))
    assert (found["query"] == 0).all() and found["key"].shape == (ENTRIES, 0, 4)


def test_a_table_of_one_number_has_the_sum_of_all_gradients():
    case = Case(bias=fused.TABLE, mask="causal", normalizer=fused.SIGMOID, sizes=(20, 20, 8, 5))
    setup = setup_of(case, leaves_of(case))._replace(bias=torch.zeros(ENTRIES, 1))
    results = fused.forward(setup)
    w, grad = fused.weights(setup, results), torch.ones_like(results["output"])
    found = fused.backward(setup, results, grad)["table"].sum(1)[:, 0]
    torch.testing.assert_close(found, (w * (1 - w) * (grad @ setup.value.mT)).sum((1, 2)))


@pytest.mark.slow
def test_no_kernel_spills_registers_on_a_gpu(tmp_path):
    script = Path(__file__).parents[3] / "tools" / "ptxas.py"
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    subprocess.run(python(script), check=True, env=environment)
