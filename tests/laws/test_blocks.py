"""Laws 3 and 5 where calls go by blocks of keys that a mask leaves some of, so small that these calls have several."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from calls import call_of, drawn
from laws import checks, smooth
from laws.case import Case, pairs_a_block
from laws.combinations import each, interacting
from laws.table import BIASES, GATES, MASKS, NORMALIZERS, READS, SCORES
from saccade import AuxRequest, attend, masks, normalizers, scores
from saccade.backends import cpu
from saccade.backends.blockwise import plan
from saccade.backends.blockwise.parts import Block, Tiles

BACKENDS = ("chunked", "cpu")
MASKED = [name for name in MASKS if name != "none"]
VALUES = each(SCORES, NORMALIZERS, MASKED, BIASES, GATES, READS, BACKENDS, seed=31)
GRADIENTS = interacting(SCORES, NORMALIZERS, MASKED, BIASES, GATES, ["soft", "top_k"], BACKENDS, seed=32)


@pytest.fixture
def listed_blocks(monkeypatch):
    for name, value in (("SIZE", 2), ("LEAST", 0), ("SPARSE", 1.1), ("SLACK", 1.0), ("ENTRY", 0)):
        monkeypatch.setattr(plan, name, value)
    monkeypatch.setattr(cpu, "one_block", lambda call: False)
    monkeypatch.setattr(cpu.steps, "serves_step", lambda call: False)


@pytest.mark.parametrize("combination", VALUES, ids="-".join)
def test_values(listed_blocks, combination):
    checks.law_values(Case(*combination))


@pytest.mark.parametrize("combination", GRADIENTS, ids="-".join)
def test_gradients_are_the_textbooks(listed_blocks, combination):
    smooth.law_gradients(Case(*combination))


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_same_noise_drops_the_same_weights(listed_blocks, backend):
    query, key, value = (drawn(2, 3, length, 4, seed=length, dtype=torch.float64) for length in (7, 9, 9))
    options = {"mask": masks.Window(2, 1, align="start"), "dropout_p": 0.4, "aux": AuxRequest(received=True)}
    for request in (None, AuxRequest(received=True), AuxRequest(weights=True)):
        found = []
        for name in ("reference", backend):
            torch.manual_seed(5)
            found.append(attend(query, key, value, backend=name, **{**options, "aux": request}))
        checks.same(found[1], found[0])


STRUCTURED = st.recursive(
    st.one_of(
        st.sampled_from([-40, 0, 70]).map(masks.Causal),
        st.builds(masks.Window, st.integers(0, 90), st.integers(0, 40), st.sampled_from(["start", "end"])),
        st.integers(0, 200).map(masks.Prefix),
        st.builds(masks.Intervals, st.integers(-9, 300).map(lambda first: torch.tensor([first])), st.integers(0, 500)),
        st.integers(2, 90).map(lambda size: masks.Where(lambda i, j: (i // size - j // size) % 4 == 0)),
        st.integers(0, 300).map(lambda length: masks.Lengths(torch.tensor([[length], [length // 2]]))),
    ),
    lambda one: st.one_of(
        st.builds(masks.Both, one, one), st.builds(masks.Either, one, one), st.builds(masks.Not, one)
    ),
    max_leaves=3,
)


@pytest.mark.slow
@given(st.integers(260, 420), st.integers(300, 420), STRUCTURED, st.sampled_from(BACKENDS), st.booleans())
def test_long_calls_under_masks_of_any_structure(q_len, k_len, mask, backend, additive):
    tensors = [drawn(2, 1, length, 4, seed=length, dtype=torch.float64) for length in (q_len, k_len, k_len + 1)]
    query, key, value = tensors[0], tensors[1], tensors[2][..., 1:, :]
    score = scores.Additive(drawn(4, dtype=torch.float64)) if additive else scores.ScaledDot()
    results = []
    for name in ("reference", backend):
        leaves = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
        request = AuxRequest(entropy=True, received=True, lse=True, top=2)
        with pairs_a_block(1 << 15):
            output, aux = attend(*leaves, score=score, mask=mask, backend=name, aux=request)
            results.append((output, aux, checks.gradients(checks.pulled(output, aux), leaves)))
    checks.same(results[1], results[0], rtol=1e-7, atol=1e-8)


@given(st.integers(1, 30), st.integers(1, 30), STRUCTURED, st.integers(1, 400), st.integers(1, 5), st.integers(0, 3))
def test_parts_hold_each_allowed_pair_once(q_len, k_len, mask, budget, size, top):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("SIZE", size), ("LEAST", 0), ("SPARSE", 1.1), ("ENTRY", 0)):
            patch.setattr(plan, name, value)
        length = torch.tensor([[k_len], [k_len // 2]])
        query, key = drawn(2, 3, q_len, 4), drawn(2, 3, k_len, 4)
        call = call_of(query, key, key, mask=masks.Lengths(length) & smaller(mask, k_len), aux=AuxRequest(top=top))
        call, seen = call.aligned(), torch.zeros(2, 3, q_len, k_len, dtype=torch.int64)
        queries = torch.zeros(2, 3, q_len)
        for part in plan.parts(call, budget):
            narrowed, grid = call.map(part.narrow), part.grid(call.grid())
            assert grid.width >= min(top, k_len)
            allowed = narrowed.mask.dense(grid)
            allowed = allowed if grid.present() is None else allowed & grid.present()
            shape = (*narrowed.batch, grid.rows, grid.width)
            part.add(seen, ("q", "k"), allowed.expand(shape).long())
            part.add(queries, ("q",), torch.ones(shape[:-1]))
        assert torch.equal(seen, call.mask.dense(call.grid()).expand(seen.shape).long())
        assert bool((queries == 1).all())


def smaller(mask, k_len):
    """The mask with no length beyond the keys."""

    def clamp(part):
        if isinstance(part, masks.Lengths):
            return masks.Lengths(part.key_lengths.clamp(max=k_len))
        if isinstance(part, masks.Both | masks.Either):
            return type(part)(clamp(part.first), clamp(part.second))
        return masks.Not(clamp(part.other)) if isinstance(part, masks.Not) else part

    return clamp(mask)


def test_a_window_and_a_prefix_cost_what_they_allow():
    x = torch.zeros(2, 3, 1000, 4)
    mask = masks.Window(64, 0) | masks.Prefix(10) & masks.Causal()
    call = call_of(x, x, x, mask=mask, score=scores.Dot(), normalizer=normalizers.Sparsemax()).aligned()
    found = plan.pairs(call, 1 << 20, all_of_them=False)
    exact = int(mask.dense(call.grid()).sum()) * 6
    assert found.all == 6_000_000 and found.allowed == exact and found.computed < 2.7 * exact
    assert any(isinstance(part, Tiles) for part in plan.parts(call, 1 << 20))
    assert plan.pairs(call, 1 << 20, all_of_them=True).computed == found.all


def test_entries_of_other_lengths_have_blocks_of_their_own():
    x = torch.zeros(4, 2, 512, 4)
    lengths = torch.tensor([512, 64, 64, 64])[:, None]
    found = plan.pairs(call_of(x, x, x, mask=masks.Lengths(lengths)), 1 << 20, all_of_them=False)
    assert found.computed == found.allowed == 2 * 512 * (512 + 3 * 64)


@pytest.mark.slow
@pytest.mark.usefixtures("larger_blocks")
@pytest.mark.parametrize("backend", BACKENDS)
def test_entries_of_the_only_batch_dimension_differ(backend):
    query, key = (drawn(3, length, 4, seed=length, dtype=torch.float64) for length in (520, 700))
    mask = masks.Lengths(torch.tensor([64, 0, 650])) & masks.Window(200, None, align="end")
    found = []
    for name in ("reference", backend):
        leaves = [tensor.clone().requires_grad_() for tensor in (query, key)]
        output = attend(*leaves, leaves[1], mask=mask, backend=name)
        found.append((output, *torch.autograd.grad(output.square().sum(), leaves)))
    checks.same(found[1], found[0], rtol=1e-7, atol=1e-8)


@pytest.mark.usefixtures("larger_blocks")
@pytest.mark.parametrize("backend", BACKENDS)
def test_sums_over_queries_reach_a_short_last_block(backend):
    found = []
    for name in ("reference", backend):
        x = drawn(2, 310, 4, dtype=torch.float64).requires_grad_()
        _, aux = attend(x, x, x, mask=masks.Window(20, 0), aux=AuxRequest(received=True), backend=name)
        found.append(torch.autograd.grad(aux.received.square().sum(), x))
    checks.same(found[1], found[0], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("mask", [masks.Lengths(torch.tensor(640)), masks.Window(70, 9) | masks.Prefix(300)])
@pytest.mark.parametrize("batch", [(), (1,), (7, 7)])
def test_no_block_has_more_pairs_than_it_may(mask, batch):
    x = torch.zeros(*batch, 1300, 2)
    call = call_of(x, x, x, mask=mask).aligned()
    for part in plan.parts(call, budget := 1 << 14):
        found = call.map(part.narrow)
        assert torch.Size(found.batch).numel() * part.grid(call.grid()).rows * part.grid(call.grid()).width <= budget


def test_a_short_last_block_of_queries_joins_another():
    x = torch.zeros(400, 4)
    call = call_of(x, x, x, mask=masks.Lengths(torch.tensor(100))).aligned()
    assert plan.parts(call, 1 << 20) == [Block(None, 0, 1, 0, 400, 0, 128)]
