"""`remember`, grown, cut and reordered, reads as `attend`; parts of the keys merge into the whole."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from laws import checks
from laws.case import Case
from laws.table import NORMALIZERS, SCORES
from saccade import AuxRequest, masks, merge, remember


def read(memory, case, inputs, **more):
    """What the memory gives, with the case's own normalizer."""
    return memory.read(
        inputs["query"], normalizer=case.arguments(inputs)["normalizer"], aux=case.everything(weights=True), **more
    )


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("score", SCORES)
def test_a_grown_memory_is_attend(score, grad):
    case = Case(score, "sum" if "nonnegative" in SCORES[score].traits else "softmax")
    inputs = checks.differentiable(case.inputs()) if grad else case.inputs()
    score, key, value = case.arguments(inputs)["score"], inputs["key"], inputs["value"]
    with torch.set_grad_enabled(grad):
        memory = remember(key[..., :3, :], value[..., :3, :], score=score, capacity=5)
        for start, stop in ((3, 4), (4, 4), (4, 7)):
            memory = memory.append(key[..., start:stop, :], value[..., start:stop, :])
        got, want = read(memory, case, inputs), case.run(inputs, case.everything(weights=True))
    checks.same(got, want)
    if grad:
        leaves = checks.learning(inputs)
        checks.same(checks.gradients(checks.pulled(*got), leaves), checks.gradients(checks.pulled(*want), leaves), 1e-7)


@pytest.mark.parametrize("backend", ["reference", "chunked"])
@pytest.mark.parametrize("score", [name for name in SCORES if name != "callable"])
def test_selected_and_truncated(score, backend):
    case = Case(score)
    inputs, order = case.inputs(), torch.tensor([1, 0, 0, 1])
    score, key, value = case.arguments(inputs)["score"], inputs["key"], inputs["value"]
    lengths = torch.tensor([[7, 4, 0], [1, 2, 3]])
    memory = remember(key, value, score=score, mask=masks.Lengths(lengths))
    moved = {
        name: tensor[order] if case.spec(name) is None or case.spec(name).axes[:1] == ("*",) else tensor
        for name, tensor in inputs.items()
    }
    got = memory.select(order).truncate(4).read(moved["query"], backend=backend)
    moved = {**moved, "key": moved["key"][..., :4, :], "value": moved["value"][..., :4, :]}
    want = case.run(moved, mask=masks.Lengths(lengths.clamp(max=4)[order]))
    checks.same(got, want)


@given(
    st.sets(st.integers(1, 6)),
    st.sampled_from(sorted(set(SCORES) - {"location"})),
    st.sampled_from(["softmax", "temperature"]),
)
def test_any_partition_merges_into_the_whole(cuts, score, normalizer):
    case = Case(score, normalizer, mask="tensor")
    inputs, bounds = case.inputs(), [0, *sorted(cuts), 7]
    inputs["mask.allowed"][0, 0, 1] = False
    parts = []
    for start, stop in itertools.pairwise(bounds):
        part = {**inputs, **{name: inputs[name][..., start:stop, :] for name in ("key", "value")}}
        part["mask.allowed"] = inputs["mask.allowed"][..., start:stop]
        parts.append(case.run(part, AuxRequest(lse=True)))
    outputs, aux = zip(*parts, strict=True)
    merged = merge(outputs, [found.lse for found in aux])
    checks.same(merged, case.run(inputs))
    assert (merged[0, 0, 1] == 0).all()


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_every_normalizer_reads_a_memory(normalizer):
    case = Case("epanechnikov", normalizer)
    inputs = case.inputs()
    memory = remember(inputs["key"], inputs["value"], score=case.arguments(inputs)["score"])
    checks.same(read(memory, case, inputs), case.run(inputs, case.everything(weights=True)))
