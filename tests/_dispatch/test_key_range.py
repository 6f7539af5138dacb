from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import forward_ad

from calls import call_of
from near import assert_near
from saccade import AuxRequest, attend, biases, explain, masks, reads, remember, scores
from saccade._definitions.structure import Grid
from saccade._dispatch import choose
from saccade._dispatch.key_range import bounds, restrict_keys

CPU = torch.device("cpu")
LENGTH, DIM = 700, 4


def drawn_mask(draw, rows, k_len, batch):
    """A structured mask, some of whose parts bound the keys."""
    place = st.integers(-5, k_len + 5)
    one = lambda: torch.tensor([draw(place) for _ in range(batch)])
    kind = draw(
        st.sampled_from(
            ["window", "window at", "causal", "around", "around whole", "lengths", "prefix", "intervals", "dense"]
        )
    )
    if kind == "window":
        return masks.Window(draw(st.none() | st.integers(0, 9)), draw(st.none() | st.integers(0, 9)), align="end")
    if kind == "window at":
        return masks.Window(draw(st.integers(0, 9)), draw(st.integers(0, 9)), align=one())
    if kind == "causal":
        return masks.Causal(draw(place))
    if kind == "around":
        center = torch.tensor(
            [[draw(st.floats(-9, k_len + 9) | st.just(float("nan"))) for _ in range(rows)] for _ in range(batch)]
        )
        return masks.Around(center, draw(st.floats(0, 12)))
    if kind == "around whole":
        return masks.Around(one()[:, None].expand(batch, rows), draw(st.integers(0, 12)))
    if kind == "lengths":
        return masks.Lengths(one().clamp(0, k_len))
    if kind == "prefix":
        return masks.Prefix(one().clamp(min=0))
    if kind == "intervals":
        start = torch.tensor([[draw(place) for _ in range(rows)] for _ in range(batch)])
        return masks.Intervals(start, draw(st.sampled_from([start + 5, k_len])))
    return masks.as_mask(torch.rand(batch, rows, k_len) > 0.5)


@st.composite
def cases(draw):
    rows, k_len, batch = draw(st.integers(1, 5)), draw(st.sampled_from([1, 7, 300, LENGTH])), draw(st.integers(1, 3))
    mask = drawn_mask(draw, rows, k_len, batch)
    for _ in range(draw(st.integers(0, 2))):
        other = drawn_mask(draw, rows, k_len, batch)
        mask = draw(st.sampled_from([mask & other, mask | other, ~mask & other]))
    return mask, rows, k_len, batch


@given(cases())
def test_no_key_outside_the_bounds_is_allowed(case):
    mask, rows, k_len, _ = case
    grid = Grid(rows, k_len, 0, rows, CPU)
    first, end = bounds(mask, grid)
    allowed = torch.broadcast_to(mask.dense(grid), torch.broadcast_shapes(mask.dense(grid).shape, (rows, k_len)))
    at = torch.arange(k_len)
    first, end = (torch.as_tensor(bound)[..., None, None] for bound in (first, end))
    assert not (allowed & ((at < first) | (at >= end))).any()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16])
@pytest.mark.parametrize("mask", [
    lambda n: masks.Lengths(n) & masks.Causal(50),
    lambda n: masks.Prefix(n) & masks.Window(30, 30, align=50),
    lambda n: masks.Window(200, 100, align=n),
    lambda n: masks.Intervals(n[:, None] - 5, n[:, None]) | masks.Causal(3),
    lambda n: masks.Around(n[:, None], 20),
], ids=["lengths", "prefix", "window", "intervals", "around"])  # fmt: skip
def test_integers_of_short_types_are_positions_like_others(mask, dtype):
    places = torch.tensor([20, 100])
    inputs = [torch.randn(2, length, DIM, dtype=torch.float64) for length in (1, LENGTH, LENGTH)]
    call = call_of(*inputs, score=scores.Dot(), mask=mask(places.to(dtype)))
    assert restrict_keys(call) is not None
    torch.testing.assert_close(
        attend(*inputs, mask=mask(places.to(dtype))), attend(*inputs, mask=mask(places), backend="reference")
    )


@given(cases(), st.sampled_from(["dot", "additive", "cosine"]), st.booleans())
def test_a_call_of_reached_keys_is_the_whole_call(case, kind, hard):
    mask, rows, k_len, batch = case
    torch.manual_seed(0)
    tensors = [torch.randn(batch, length, DIM, dtype=torch.float64) for length in (rows, k_len, k_len)]
    score = {"dot": scores.Dot(), "additive": scores.Additive(torch.randn(DIM).double()), "cosine": scores.Cosine()}[
        kind
    ]
    read = reads.Sample(uniform=torch.rand(batch, rows).double()) if hard else reads.Soft()
    aux = AuxRequest(lse=True, index=hard, log_prob=hard, entropy=True, top=3, received=True)
    bias = biases.RelativePosition(torch.randn(9).double(), align=2)
    asked = replace(aux, entropy=False)  # which a gate leaves undefined
    call = call_of(*tensors, score=score, mask=mask, bias=bias, gate=torch.rand(k_len).double(), read=read, aux=asked)
    near = restrict_keys(call)
    if near is None:
        return
    assert 2 * len(near) <= k_len
    output, found = choose.run(near.call, "auto")
    expected, whole = choose.run(call, "reference")
    torch.testing.assert_close(output, expected)
    for name in asked.names():
        torch.testing.assert_close(getattr(near.widened(found), name), getattr(whole, name), msg=name)


MASKS = {
    "all after": masks.Window(9, None, align=600),
    "around": masks.Around(torch.tensor([[30.0], [600.25]]), 20),
    "around shared": masks.Around(torch.tensor([150]), 20),
    "around and lengths": masks.Around(torch.tensor([[30.0], [600.25]]), 20) & masks.Lengths(torch.tensor([40, 590])),
    "window": masks.Window(31, 0, align="end"),
    "window of each": masks.Window(31, 2, align=torch.tensor([80, 500])) & masks.Causal("end"),
    "nowhere": masks.Around(torch.tensor([[float("nan")], [50.0]]), 20),
}
SCORES = {
    "dot": lambda v, w: scores.ScaledDot(),
    "general": lambda v, w: scores.General(w),
    "additive": lambda v, w: scores.Additive(v),
    "cosine": lambda v, w: scores.Cosine(3.0),
    "gaussian": lambda v, w: scores.Gaussian(1.5),
}


def tensors(dtype=torch.float64, grad=False):
    torch.manual_seed(1)
    shapes = (2, 1, DIM), (2, LENGTH, DIM), (2, LENGTH, 3), (DIM,), (DIM, DIM)
    return [torch.randn(shape, dtype=dtype, requires_grad=grad) for shape in shapes]


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_a_memory_is_read_as_if_all_of_it_were(score, mask):
    found, expected = tensors(grad=True), tensors(grad=True)
    ours, gradient = [], torch.randn(2, 1, 3, dtype=torch.float64)
    aux = AuxRequest(lse=True, entropy=True, top=4, received=True)
    for (query, key, value, v, w), backend in ((found, "auto"), (expected, "reference")):
        output, known = remember(key, value, score=score(v, w)).read(query, mask=mask, aux=aux, backend=backend)
        (output * gradient).sum().backward()
        ours.append((output, known))
    torch.testing.assert_close(ours[0][0], ours[1][0])
    for name in aux.names():
        torch.testing.assert_close(getattr(ours[0][1], name), getattr(ours[1][1], name), msg=name)
    for one, other in zip(found, expected, strict=True):
        assert (one.grad is None) == (other.grad is None)
        if one.grad is not None:
            torch.testing.assert_close(one.grad, other.grad)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_weights_are_those_of_all_keys(mask):
    query, key, value, *_ = tensors()
    weights = [
        attend(query, key, value, mask=mask, aux=AuxRequest(weights=True), backend=name)[1].weights
        for name in ("auto", "reference")
    ]
    assert weights[0].shape == (2, 1, LENGTH)
    torch.testing.assert_close(*weights)


def test_what_is_out_of_reach_is_not_touched():
    query, key, value, v, _ = tensors(torch.float32)
    mask = MASKS["around"]
    for tensor in (key, value):
        tensor[0, 60:] = torch.nan
        tensor[1, :570] = torch.inf
    near = restrict_keys(called(query, key, value, scores.Dot(), mask))
    assert near.call.key.isfinite().all() and len(near) < 50
    for score in (scores.Dot(), scores.Additive(v)):
        assert attend(query, key, value, score=score, mask=mask).isfinite().all()


def test_an_additive_step_copies_no_window():
    query, key, value, v, _ = tensors(torch.float32)
    assert restrict_keys(called(query, key, value, scores.Additive(v), MASKS["around"])) is None
    assert len(restrict_keys(called(query, key, value, scores.Additive(v), MASKS["window"]))) == 32
    far = [tensor.repeat(1, 8, 1) for tensor in (key, value)]
    assert len(restrict_keys(called(query, *far, scores.Additive(v), MASKS["around"]))) < 50


def called(query, key, value, score, mask):
    return call_of(query, key, value, score=score, mask=mask)


@pytest.mark.parametrize("read", [reads.Soft(), reads.Argmax(), reads.TopK(2)], ids=lambda read: type(read).__name__)
@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_results_are_not_written_over_by_the_next_call(score, read):
    query, key, value, v, w = tensors(torch.float32)
    memory, aux = remember(key, value, score=score(v, w)), AuxRequest(weights=True, top=2)
    output, found = memory.read(query, mask=MASKS["around"], read=read, aux=aux)
    before = [part.clone() for part in (output, found.weights, *found.top)]
    other = remember(-key, 7 - value, score=score(v, w))
    other.read(query, mask=MASKS["window of each"], read=read, aux=aux)
    assert all(map(torch.equal, before, (output, found.weights, *found.top)))


@pytest.mark.parametrize("score", [scores.Additive(torch.ones(DIM).double()), scores.ScaledDot(softcap=2.0)])
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # of torch's own, at the first dual tensor
def test_windows_of_each_entry_have_tangents(score):
    mask, found = MASKS["around"], []
    for backend in ("auto", "reference"):
        with forward_ad.dual_level():
            query, key, value = (forward_ad.make_dual(t, torch.ones_like(t)) for t in tensors()[:3])
            output = attend(query, key, value, score=score, mask=mask, backend=backend)
            found.append(forward_ad.unpack_dual(output).tangent)
    torch.testing.assert_close(*found)


def test_as_many_keys_stay_as_are_named():
    query, key, value, *_ = tensors()
    aux = AuxRequest(top=300)
    mask = masks.Window(3, 0, align="end")
    for read in (reads.Soft(), reads.TopK(200)):
        found, expected = (
            attend(query, key, value, mask=mask, read=read, aux=aux, backend=name) for name in ("auto", "reference")
        )
        torch.testing.assert_close(found[0], expected[0])
        torch.testing.assert_close(found[1].top, expected[1].top)
        assert found[1].top[1].shape == (2, 1, 300)


def test_keys_that_entries_share_are_read_by_each_near_its_centre():
    query, key, value, *_ = tensors()
    key, value = key[:1], value[:1]
    found, expected = (attend(query, key, value, mask=MASKS["around"], backend=name) for name in ("auto", "reference"))
    torch.testing.assert_close(found, expected)


def test_half_types_are_as_near_as_the_plain_formula():
    query, key, value, *_ = (tensor.bfloat16() for tensor in tensors())
    arguments = {"mask": MASKS["around"], "score": scores.Dot()}
    found = attend(query, key, value, **arguments)
    assert_near(found, lambda *tensors: attend(*tensors, **arguments, backend="reference"), query, key, value)


def test_what_is_dropped_does_not_depend_on_reach():
    query, key, value, *_ = tensors()
    outputs = []
    for backend in ("chunked", "reference"):
        torch.manual_seed(4)
        outputs.append(attend(query, key, value, mask=MASKS["around"], dropout_p=0.5, backend=backend))
    torch.testing.assert_close(*outputs)


def test_explain_counts_what_is_computed():
    query, key, value, *_ = tensors()
    pairs = explain(query, key, value, mask=masks.Window(31, 0, align="end"), backend="chunked").pairs
    assert pairs == (2 * LENGTH, 2 * 32, 2 * 32)
    assert (
        explain(query, key, value, mask=masks.Window(31, 0, align="end"), backend="reference").pairs.computed
        == 2 * LENGTH
    )


@pytest.mark.parametrize("kind", ["many queries", "few keys", "own mask", "callable", "location", "wide", "traced"])
def test_everything_else_is_computed_whole(kind):
    query, key, value, *_ = tensors()
    mask, score = MASKS["around"], scores.Dot()
    if kind == "many queries":
        query, mask = query.expand(2, 65, DIM), masks.Window(3, 0, align="end")
    if kind == "few keys":
        key, value = key[:, :200], value[:, :200]
    if kind == "own mask":
        mask = mask & Even()
    if kind == "callable":
        score = lambda query, key: query @ key.mT
    if kind == "location":
        score = scores.Location(torch.randn(LENGTH, DIM, dtype=torch.float64))
    if kind == "wide":
        mask = masks.Around(torch.tensor([300.0]), 200)
    call = called(query, key, value, score, mask)
    if kind == "traced":
        seen = []
        torch.func.vmap(lambda query: seen.append(restrict_keys(replace(call, query=query))) or query)(query[None])
        assert seen == [None]
    else:
        assert restrict_keys(call) is None


class Even(masks.Mask):
    def dense(self, grid):
        return grid.keys() % 2 == 0


NARROW = {
    "lengths": lambda dtype: masks.Lengths(torch.tensor(100, dtype=dtype)) & masks.Window(30, 0, align=90),
    "prefix": lambda dtype: masks.Prefix(torch.tensor(100, dtype=dtype)) & masks.Window(30, 0, align=90),
    "align": lambda dtype: masks.Window(90, 120, align=torch.tensor(20, dtype=dtype)),
    "intervals": lambda dtype: masks.Intervals(torch.tensor([3], dtype=dtype), torch.tensor([127], dtype=dtype)),
    "no intervals": lambda dtype: masks.Intervals(3, torch.tensor([0], dtype=dtype)) | masks.Prefix(5),
}


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8])
@pytest.mark.parametrize("name", NARROW)
def test_narrow_integers_do_not_wrap(name, dtype):
    key = torch.randn(1, LENGTH, DIM)
    query, memory = torch.randn(1, 1, DIM), remember(key, key)
    output, aux = memory.read(query, mask=NARROW[name](dtype), aux=AuxRequest(weights=True))
    want, wanted = memory.read(query, mask=NARROW[name](torch.int64), backend="reference", aux=AuxRequest(weights=True))
    assert torch.allclose(output, want, atol=1e-6) and torch.allclose(aux.weights, wanted.weights, atol=1e-6)


@pytest.mark.parametrize("radius", [300.0, 1e16, 1e19, 1e30, float("inf")])
def test_around_reaches_as_far_as_its_radius(radius):
    query, key, value = torch.zeros(1, 3, 4), torch.zeros(1, 300, 4), torch.arange(300.0).view(1, 300, 1)
    center = torch.tensor([5.0, -1e20 if radius > 1e20 else 6.0, float("nan")])
    mask = masks.Around(center, radius)
    expected = attend(query, key, value, mask=mask, backend="reference")
    torch.testing.assert_close(attend(query, key, value, mask=mask), expected)
    assert expected.flatten().tolist() == [149.5, 149.5, 0.0]


def test_another_default_device_changes_nothing():
    query, key, value = torch.randn(2, 3, 4), torch.randn(2, 300, 4), torch.randn(2, 300, 1)
    near = {
        "prefix": masks.Prefix(torch.tensor([3, 200])),
        "around": masks.Around(torch.tensor([[5.0], [9.0]]), 3),
        "both": masks.Window(3, 3, 100) & masks.Lengths(torch.tensor([200, 102])),
    }
    for mask in near.values():
        expected = attend(query, key, value, mask=mask)
        with torch.device("meta"):
            found = attend(query, key, value, mask=mask)
        assert torch.equal(found, expected)
