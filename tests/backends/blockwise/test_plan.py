import math
import warnings

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from calls import call_of, drawn
from saccade import AuxRequest, attend, masks, reads
from saccade._definitions.structure import Grid
from saccade._dispatch import choose
from saccade.backends import blockwise, chunked, triton
from saccade.backends.blockwise import plan
from saccade.backends.blockwise.blocks import backward, forward, participants
from saccade.backends.blockwise.engine import DEFINITION
from saccade.backends.blockwise.parts import Block, Tiles
from saccade.backends.blockwise.plan import outline
from saccade.backends.reference import by_intervals, looked_up

ONE = st.one_of(
    st.builds(masks.Causal, st.sampled_from(["start", "end", -2])),
    st.builds(masks.Window, st.integers(0, 3), st.sampled_from([None, 0, 2]), st.just("end")),
    st.integers(0, 9).map(masks.Prefix),
    st.integers(0, 9).map(lambda length: masks.Prefix(torch.tensor([[length], [3]]))),
    st.integers(0, 7).map(lambda length: masks.Lengths(torch.tensor([[length], [2]]))),
    st.integers(-3, 3).map(lambda align: masks.Causal(torch.tensor([align, 0, 1]))),
    st.just(masks.Documents(torch.arange(6) // 2, torch.arange(8) // 3)),
    st.just(masks.Around(torch.arange(6.0), 1.0)),
    st.just(masks.Dense(torch.arange(48).view(6, 8) % 3 == 0)),
)
ANY = st.recursive(
    ONE,
    lambda one: st.one_of(
        st.builds(masks.Both, one, one), st.builds(masks.Either, one, one), st.builds(masks.Not, one)
    ),
    max_leaves=4,
)


@given(ANY)
def test_an_outline_forbids_nothing_that_is_allowed(mask):
    grid = Grid(6, 8, 0, 6, torch.device("cpu"))
    most, least = (outline(mask, 8, allow=side) for side in (True, False))
    assert not most.leaves() and not least.leaves()
    assert (most.dense(grid) | ~mask.dense(grid)).all() and (mask.dense(grid) | ~least.dense(grid)).all()


@given(ANY)
def test_a_mask_without_tensors_is_its_own_outline(mask):
    if not mask.leaves():
        assert outline(mask, 8) == mask


class Mine(masks.Causal):
    """A definition whose formula is the user's."""


def test_of_a_mask_of_ones_own_nothing_is_known():
    assert outline(Mine("start"), 8) == masks.Prefix(8) and outline(~Mine("start"), 8) == ~masks.Prefix(0)


MASKED = {
    "window": masks.Window(70, 0, align="end"),
    "documents and a window": masks.Window(70, 9, "end") & masks.Documents(torch.arange(600) // 50, torch.arange(700)),
    "two pieces": masks.Prefix(100) | masks.Window(64, 64, align=0),
    "lengths and a prefix": masks.Lengths(torch.tensor([[700], [9]])) & masks.Prefix(130),
}


def asked(mask, device="cpu", **options):
    """A call whose tensors are on a device, checked on the CPU: what is checked is not asked for here."""
    tensors = (drawn(2, 3, length, 4, seed=length) for length in (600, 700, 700))
    return call_of(*tensors, mask=mask, **options).aligned().map(lambda tensor, axes: tensor.to(device))


@pytest.fixture
def lists_everywhere(monkeypatch):
    monkeypatch.setattr(plan, "FAR", 0)
    monkeypatch.setattr(plan, "FAR_SPARSE", plan.SPARSE)


@pytest.mark.parametrize("name", MASKED)
def test_off_the_cpu_blocks_are_listed_from_numbers_alone(name, lists_everywhere):
    mask = MASKED[name]
    found, expected = (plan.parts(call, 1 << 18) for call in (asked(mask, "meta"), asked(outline(mask, 700), "cpu")))
    assert str(found) == str(expected)
    assert any(isinstance(part, Tiles) or part.width is not None for part in found)
    assert plan.share(asked(mask, "meta")) < 0.5


def test_off_the_cpu_small_calls_are_not_listed(monkeypatch):
    assert plan.share(asked(MASKED["window"], "meta")) == 1
    monkeypatch.setattr(plan, "FAR", 0)
    monkeypatch.setattr(plan, "FAR_SPARSE", plan.SPARSE)
    assert plan.share(asked(masks.Lengths(torch.tensor([[9], [3]])), "meta")) == 1


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("budget", [1 << 14, 1 << 20])
def test_participants_are_found_in_the_parts_alone(name, budget):
    call = asked(MASKED[name])
    for found, expected in zip(participants(call, plan.parts(call, budget)), looked_up(call), strict=True):
        assert torch.equal(found, expected.expand_as(found))


@pytest.mark.parametrize("name", MASKED)
def test_participants_are_those_of_the_intervals(name):
    call = asked(MASKED[name])
    if (known := by_intervals(call)) is not None:
        for found, expected in zip(known, looked_up(call), strict=True):
            assert torch.equal(*torch.broadcast_tensors(found, expected))
    assert (known is None) == (name == "two pieces")


class Elsewhere(TorchDispatchMode):
    """Lets no operation take tensors of a device together with ones of the CPU: that is an error on a GPU."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        devices = {t.device.type for t in tree_leaves((args, kwargs or {})) if isinstance(t, torch.Tensor) and t.ndim}
        copied = function.overloadpacket in (torch.ops.aten._to_copy, torch.ops.aten.copy_)
        assert copied or len(devices) < 2, function
        return function(*args, **(kwargs or {}))


def run_elsewhere(engine, call):
    """The shapes of results and gradients."""
    wanted = [leaf.tensor.is_floating_point() for leaf in call.leaves()]
    with Elsewhere():
        results = forward(engine, call)
        grads = [torch.ones_like(result) for result in results if result.is_floating_point()]
        found = backward(engine, call, grads, wanted)
    assert all(tensor.device.type == "meta" for tensor in (*results, *found))
    return [tensor.shape for tensor in (*results, *found)]


@pytest.mark.parametrize("name", MASKED)
def test_nothing_is_waited_for_forward_or_backward(name, lists_everywhere, monkeypatch):
    monkeypatch.setattr(plan, "recorded", lambda: False)
    uniform, request = torch.rand(2, 3, 600), AuxRequest(entropy=True, received=True, index=True, top=2)
    call = asked(MASKED[name], "meta", read=reads.Sample("straight_through", uniform=uniform), aux=request)
    assert len(plan.parts(call, DEFINITION.pairs)) > 1
    run_elsewhere(DEFINITION, call)


@pytest.mark.parametrize("backend", [chunked, triton], ids=["chunked", "triton"])
def test_explain_counts_pairs_of_masks_off_the_cpu(backend, monkeypatch):
    mask = masks.Window(70, 0, align="end")
    call, same = asked(mask, "meta"), asked(mask)
    monkeypatch.setattr(plan, "FAR", 0)
    monkeypatch.setattr(plan, "FAR_SPARSE", plan.SPARSE)
    monkeypatch.setattr(plan, "LEAST", 0)
    offer = blockwise.offer(backend.ENGINE, call)
    pairs = choose.counted(call, offer)
    assert pairs == choose.counted(same, offer) and pairs.allowed < pairs.computed < 0.3 * pairs.all
    assert choose.counted(asked(mask & masks.Lengths(torch.tensor([[9], [3]])), "meta"), offer) is None


@given(st.lists(st.integers(0, 5), max_size=3).map(tuple), st.integers(0, 9), st.integers(0, 9), st.integers(1, 60))
def test_blocks_cover_every_query_once(batch, q_len, k_len, budget):
    seen = torch.zeros(*batch, q_len)
    for block in plan.whole(batch, q_len, k_len, budget):
        part = block.narrow(seen, ("q",))
        part.add_(1)
        single = block.rows == 1 and block.heads == 1
        assert part.numel() * k_len <= budget or single
    assert (seen == 1).all()


def test_one_query_against_many_keys_is_one_block():
    assert list(plan.whole((64,), 1, 32, 64 * 32)) == [Block(0, 0, 64, 0, 1)]
    assert len(list(plan.whole((), 10, 10, 30))) == math.ceil(10 / 3)


def test_what_is_traced_holds_for_other_values():
    x = torch.randn(2, 300, 4)

    def masked(query, lengths):
        return attend(query, query, query, mask=masks.Lengths(lengths), backend="chunked")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sizes become constants
        traced = torch.jit.trace(masked, (x, torch.tensor([100, 50])), check_trace=False)
    lengths = torch.tensor([300, 200])
    torch.testing.assert_close(traced(x, lengths), masked(x, lengths))
