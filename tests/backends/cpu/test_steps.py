import copy
import dataclasses
import gc
import math
import weakref

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from backends.cpu.cases import SCALES, allowed, assert_as_defined, draw, flags, run, shapes
from near import assert_near
from saccade import AuxRequest, attend, errors, explain, masks, normalizers, plainly, reads, remember, scores
from saccade.backends import cpu
from saccade.backends.cpu import steps


@pytest.fixture(autouse=True)
def any_number_is_few(monkeypatch):
    monkeypatch.setattr(steps, "FEW", 1 << 30)


@pytest.fixture
def steps_alone(monkeypatch):
    """What is no step fails."""
    monkeypatch.setattr(cpu.unmasked, "serves", None)


@pytest.mark.usefixtures("steps_alone")
@pytest.mark.parametrize("shapes", [*shapes(5), *shapes(23)], ids=str)
def test_it_is_the_definition_with_its_gradients(shapes):
    assert_as_defined(*(draw(*shape, seed=seed) for seed, shape in enumerate(shapes)))


@pytest.mark.parametrize(("queries", "keys", "mask"), [(5, 0, (2, 1, 0)), (0, 5, (2, 0, 5)), (0, 5, (2, 1, 5))])
def test_masks_of_nothing(queries, keys, mask):
    inputs = draw(2, queries, 4), draw(2, keys, 4, seed=1), draw(2, keys, 3, seed=2), draw(4, seed=3)
    assert_as_defined(*inputs, mask=torch.ones(mask, dtype=torch.bool))


@pytest.mark.usefixtures("steps_alone")
@pytest.mark.parametrize("queries", [1, 5, 23])
@pytest.mark.parametrize("name", allowed(1))
def test_masks(name, queries):
    inputs = draw(2, queries, 6), draw(2, 7, 6, seed=1), draw(2, 7, 3, seed=2), draw(6, seed=3)
    found = assert_as_defined(*inputs, mask=allowed(queries)[name])
    if name == "nothing":
        assert all((tensor == 0).all() for tensor in found)


def test_groups_share_a_mask_or_have_their_own():
    shapes = (2, 3, 4, 5, 2), (2, 3, 1, 7, 2), (2, 3, 1, 7, 2), (2,)
    inputs = [draw(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    for shape in ((2, 3, 1, 1, 7), (2, 3, 4, 1, 7), (2, 1, 1, 5, 7), (2, 3, 4, 5, 7), (4, 5, 7)):
        assert_as_defined(*inputs, mask=flags(*shape, density=0.6, seed=5))


@given(
    st.integers(1, 4), st.integers(1, 6), st.integers(1, 40), st.integers(1, 70), st.integers(1, 20), st.integers(0, 99)
)
def test_any_sizes(batch, queries, keys, features, out, seed):
    inputs = draw(batch, queries, features, seed=seed), draw(batch, keys, features, seed=seed + 1)
    mask = flags(batch, queries, keys, density=0.7, seed=seed)
    assert_as_defined(
        *inputs, draw(batch, keys, out, seed=seed + 2), draw(features, seed=seed + 3), mask=mask, temperature=0.7
    )


@pytest.mark.usefixtures("steps_alone")
@pytest.mark.parametrize("scale", SCALES)
def test_every_range_keeps_its_digits(scale):
    inputs = [draw(2, 5, 33, scale=scale), draw(2, 7, 33, scale=scale, seed=1), draw(2, 7, 3, seed=2), draw(33, seed=3)]
    assert_as_defined(*inputs)
    inputs[0][:, :2] /= scale  # small queries and large keys, row by row
    assert_as_defined(*inputs)


@pytest.mark.parametrize(("query", "key"), [(43.5, -51.0), (42.9, -42.9), (-44.0, 44.0), (30.0, -30.0), (60.0, -59.0)])
def test_large_numbers_that_cancel(query, key):
    inputs = [draw(1, 2, 9), draw(1, 6, 9, seed=1), draw(1, 6, 3, seed=2), draw(9, seed=3)]
    assert_as_defined(inputs[0] + query, inputs[1] + key, *inputs[2:])


def test_what_nobody_may_attend_to_influences_nothing():
    inputs = [draw(2, 5, 6), draw(2, 7, 6, seed=1), draw(2, 7, 3, seed=2), draw(6, seed=3)]
    mask = torch.ones(7, dtype=torch.bool)
    mask[[2, 6]] = False
    clean = run("cpu", *inputs, mask=mask)
    inputs[1][:, 2], inputs[2][:, 2], inputs[1][:, 6], inputs[2][:, 6] = math.nan, math.inf, math.inf, math.nan
    dirty = run("cpu", *inputs, mask=mask)
    assert all(map(torch.equal, dirty, clean))
    assert (dirty[2][:, [2, 6]] == 0).all() and (dirty[3][:, [2, 6]] == 0).all()


def test_what_is_not_a_number_shows_where_it_is_seen_alone():
    inputs = [draw(2, 5, 6), draw(2, 7, 6, seed=1), draw(2, 7, 3, seed=2), draw(6, seed=3)]
    inputs[0][0, 1, 4] = math.nan
    output = run("cpu", *inputs)[0]
    assert output[0, 1].isnan().all() and output[0, [0, 2, 3, 4]].isfinite().all() and output[1].isfinite().all()


def test_strides_are_honoured():
    query, key, value, v = draw(2, 5, 6), draw(2, 7, 6, seed=1), draw(2, 7, 3, seed=2), draw(6, seed=3)
    expected = run("cpu", query, key, value, v)
    twisted = [t.mT.contiguous().mT for t in (query, key, value)] + [torch.stack([v, v], 1)[:, 0]]
    assert all(map(torch.equal, run("cpu", *twisted), expected))


def test_second_derivatives_are_the_definitions():
    found = []
    for backend in ("cpu", "reference"):
        leaves = [draw(2, 3, 4), draw(2, 5, 4, seed=1), draw(2, 5, 2, seed=2), draw(4, seed=3)]
        leaves = [tensor.requires_grad_() for tensor in leaves]
        mask = masks.Lengths(torch.tensor([3, 5]))
        output = attend(*leaves[:3], score=scores.Additive(leaves[3]), mask=mask, backend=backend)
        first = torch.autograd.grad(output.square().sum(), leaves, create_graph=True)
        found.append(torch.autograd.grad(sum(grad.square().sum() for grad in first), leaves))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


def test_second_derivatives_past_forbidden_keys_of_nan():
    leaves = [draw(2, 3, 4), draw(2, 5, 4, seed=1), draw(2, 5, 2, seed=2), draw(4, seed=3)]
    leaves[1][:, 4], leaves[2][:, 4] = math.nan, math.inf
    leaves = [tensor.requires_grad_() for tensor in leaves]
    mask = torch.tensor([True] * 4 + [False])
    output = attend(*leaves[:3], score=scores.Additive(leaves[3]), mask=mask, backend="cpu")
    first = torch.autograd.grad(output.square().sum(), leaves, create_graph=True)
    second = torch.autograd.grad(sum(grad.square().sum() for grad in first), leaves)
    assert all(tensor.isfinite().all() for tensor in (*first, *second))


def test_many_gradients_at_once():
    leaves = [tensor.requires_grad_() for tensor in (draw(1, 2, 4), draw(1, 5, 4, seed=1), draw(4, seed=3))]
    query, key, v = leaves
    output, ways = attend(query, key, key, score=scores.Additive(v), backend="cpu"), torch.eye(8)
    many = torch.autograd.grad(output, leaves, ways.view(8, 1, 2, 4), is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(output, leaves, way.view(1, 2, 4), retain_graph=True) for way in ways]
    for place, part in enumerate(many):
        torch.testing.assert_close(part, torch.stack([grads[place] for grads in each]), rtol=1e-4, atol=1e-5)


def test_weights_too_small_for_float32_are_nothing():
    key, value = torch.tensor([[[10.0], [-10.0]]]), torch.tensor([[[1.0], [1e38]]])
    output = attend(torch.zeros(1, 1, 1), key, value, score=scores.Additive(torch.tensor([200.0])), backend="cpu")
    assert output.item() == 1.0


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # of torch's own, at the first dual tensor
def test_tensors_that_are_not_plain_go_elsewhere():
    from torch._subclasses.fake_tensor import FakeTensorMode

    score = scores.Additive(torch.ones(4))
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fake = mode.from_tensor(draw(2, 5, 4))
        assert attend(fake, fake, fake, score=score).shape == (2, 5, 4)
    x = draw(2, 5, 4)
    negated = torch._neg_view(x)
    torch.testing.assert_close(attend(negated, x, x, score=score), attend(-x, x, x, score=score))
    dual = torch.autograd.forward_ad
    with dual.dual_level():
        moved = dual.make_dual(x, torch.ones_like(x))
        assert explain(moved, x, x, score=score).backend != "cpu"


def decoded(backend, *inputs, again=False, second=False):
    """The gradients of a loop of reads of one memory, each query from the read before."""
    query, key, value, v = leaves = [tensor.detach().requires_grad_() for tensor in inputs]
    lengths = masks.Lengths(torch.tensor([1, 3, 7, 0, 5]))
    memory, total = remember(2 * key, value + key, score=scores.Additive(v), mask=lengths), torch.zeros(())
    for _ in range(4):
        output = memory.read(query, backend=backend)
        query, total = query + 0.3 * output, total + output.square().sum()
    if second:
        first = torch.autograd.grad(total, leaves, create_graph=True)
        return torch.autograd.grad(sum(grad.square().sum() for grad in first), leaves)
    if again:
        torch.autograd.grad(total, leaves, retain_graph=True)
        torch.autograd.grad(total, leaves[:1], retain_graph=True)
    return torch.autograd.grad(total, leaves)


@pytest.mark.parametrize("options", [{}, {"again": True}, {"second": True}], ids=str)
def test_a_loop_over_a_memory_sums_its_gradients(options):
    inputs = draw(5, 2, 12), draw(5, 7, 12, seed=1), draw(5, 7, 12, seed=2), draw(12, seed=3)
    found = decoded("cpu", *inputs, **options)
    assert_near(found, lambda *given: decoded("reference", *given, **options), *inputs)


@pytest.fixture
def repeated(monkeypatch):
    """How many reads were done as the one before."""
    done = []
    again = steps.Steps.again

    def counted(self, *given):
        found = again(self, *given)
        done.append(found is not None)
        return found

    monkeypatch.setattr(steps.Steps, "again", counted)
    return done


ARRANGED = {
    "batch": ((5, 1, 6), (5, 7, 6), None),
    "mask": ((5, 2, 6), (5, 7, 6), (5, 1, 7)),
    "one mask for all": ((5, 1, 6), (5, 7, 6), (1, 7)),
    "no batch": ((1, 6), (7, 6), None),
    "beams": ((2, 3, 1, 6), (2, 1, 7, 6), (2, 1, 1, 7)),
    "heads": ((2, 3, 1, 6), (2, 3, 7, 6), None),
}


@pytest.mark.parametrize("name", ARRANGED)
def test_a_step_like_the_last_is_done_as_it_was(name, repeated):
    queries, keys, mask = ARRANGED[name]
    key, value, v = draw(*keys, seed=1), draw(*keys, seed=2), draw(6, seed=3)
    mask = None if mask is None else flags(*mask, density=0.7)
    memory = remember(key, value, score=scores.Additive(v), mask=mask)
    for seed in (4, 5, 6):
        query = draw(*queries, seed=seed)
        torch.testing.assert_close(memory.read(query), memory.read(query, backend="reference"))
    assert repeated == [False, True, True]  # "reference" is not asked whether it would


def test_what_changes_between_steps_is_seen(repeated):
    query, key, v = draw(2, 1, 4), draw(2, 5, 4, seed=1), draw(4, seed=2)
    memory = remember(key, key, score=scores.Additive(v))

    def same(query, **options):
        expected = memory.read(query, backend="reference", **options)
        torch.testing.assert_close(memory.read(query, **options), expected)
        return repeated[-1]

    assert not same(query)
    assert same(query) and same(draw(2, 4, 1, seed=8).mT)
    with torch.no_grad():
        v.mul_(-3.0)
    assert same(query)
    assert not same(query, normalizer=normalizers.Softmax(0.5))
    assert same(query, normalizer=normalizers.Softmax(0.5)) and not same(query)
    assert not same(query, normalizer=normalizers.Softmax(sink=0.0))
    assert not same(query, normalizer=normalizers.Softmax(torch.tensor(1.0)))
    assert not same(query, normalizer=normalizers.Sparsemax())
    assert not same(query[:1]) and not same(query)
    count = len(repeated)
    (
        same(query, mask=torch.tensor([True] * 3 + [False] * 2)),
        same(query, read=reads.Argmax()),
        same(query, bias=draw(2, 1, 5, seed=5)),
    )
    assert len(repeated) == count
    v.requires_grad_()
    memory.read(query)
    torch.testing.assert_close(
        torch.autograd.grad(memory.read(query).square().sum(), v),
        torch.autograd.grad(memory.read(query, backend="reference").square().sum(), v),
    )
    assert repeated[-1]


def test_a_step_like_the_last_is_checked_where_it_differs(repeated):
    memory = remember(draw(2, 5, 4), draw(2, 5, 4, seed=1), score=scores.Additive(draw(4, seed=2)))
    query = draw(2, 1, 4, seed=3)
    memory.read(query)
    with torch.autocast("cpu", torch.bfloat16):
        assert memory.read(query).dtype == torch.bfloat16
    for wrong in (query.double(), query[..., :3], None, "query"):
        with pytest.raises(errors.SaccadeError):
            memory.read(wrong)
    mapped = torch.func.vmap(memory.read)(query[None])
    torch.testing.assert_close(mapped[0], memory.read(query))
    with plainly():
        torch.testing.assert_close(memory.read(query), mapped[0])
    assert repeated.count(True) == 1


@pytest.mark.parametrize("swap", ["key", "value", "v", "query"])
def test_who_replaces_a_tensors_data_is_not_read_as_before(swap):
    """As `module.double()` does to parameters."""
    key, value, v = (
        torch.nn.Parameter(draw(*shape, seed=seed)) for seed, shape in enumerate([(3, 7, 8), (3, 7, 5), (8,)])
    )
    query = draw(3, 1, 8, seed=9)
    with torch.no_grad():
        memory = remember(key, value, score=scores.Additive(v))
        memory.read(query)
        parts = {"key": key, "value": value, "v": v, "query": query}
        parts[swap].data = parts[swap].data.double()
        with pytest.raises(errors.SaccadeError):
            memory.read(query)
        parts[swap].data = parts[swap].data[..., :2].float()
        if swap != "value":
            with pytest.raises(errors.SaccadeError):
                memory.read(query)
        else:
            torch.testing.assert_close(memory.read(query), memory.read(query, backend="reference"))


def test_a_memory_that_grew_or_was_cut_has_sums_of_its_own():
    def total(backend):
        key, v = draw(2, 7, 4).requires_grad_(), draw(4, seed=1)
        memory = remember(key, key, score=scores.Additive(v))
        reads = [memory, memory.append(key[:, :2], key[:, :2]), memory.truncate(3), memory.select(torch.tensor([1, 1]))]
        found = sum(part.read(key[:, :2] * 2, backend=backend).square().sum() for part in (*reads, memory))
        return torch.autograd.grad(found, key)

    torch.testing.assert_close(total("cpu"), total("reference"), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("order", [(0, 1, 0), (1, 0, 1), (0, 1, 1, 0)])
def test_reads_of_other_batches_may_come_in_any_order(order):
    queries = draw(2, 4, seed=2), draw(3, 2, 4, seed=3)
    seen = None, flags(3, 2, 5, density=0.7)

    def total(backend):
        leaves = [tensor.requires_grad_() for tensor in (draw(5, 4), draw(5, 3, seed=1), draw(4, seed=4))]
        memory = remember(leaves[0], leaves[1], score=scores.Additive(leaves[2]))
        reads = (memory.read(queries[i], mask=seen[i], backend=backend).square().sum() for i in order)
        return torch.autograd.grad(sum(reads), leaves)

    torch.testing.assert_close(total("cpu"), total("reference"), rtol=1e-4, atol=1e-5)


def test_one_memory_may_be_read_in_two_arrangements():
    def total(backend):
        leaves = [tensor.requires_grad_() for tensor in (draw(2, 1, 2, 5, 4), draw(2, 1, 2, 5, 3, seed=1))]
        memory = remember(*leaves, score=scores.Additive(draw(4, seed=4)))
        queries = draw(2, 3, 2, 1, 4, seed=2), draw(3, 2, 1, 2, 1, 4, seed=3)
        return torch.autograd.grad(sum(memory.read(q, backend=backend).square().sum() for q in queries), leaves)

    torch.testing.assert_close(total("cpu"), total("reference"), rtol=1e-4, atol=1e-5)


def test_a_copy_of_a_memory_has_sums_of_its_own():
    key, v = draw(2, 5, 4).requires_grad_(), draw(4, seed=1)
    memory = remember(key, key, score=scores.Additive(v))
    memory.read(key[:, :1], backend="cpu")
    other = draw(2, 5, 4, seed=2).requires_grad_()
    replaced = dataclasses.replace(memory, key=other, value=other, cache=None)
    assert torch.autograd.grad(replaced.read(key[:, :1].detach(), backend="cpu").sum(), other)[0].abs().sum() > 0
    copied = copy.deepcopy(memory)
    assert torch.autograd.grad(copied.read(key[:, :1].detach(), backend="cpu").sum(), copied.key)[0].abs().sum() > 0


def test_what_was_read_is_freed_without_the_collector():
    key = draw(2, 5, 4).requires_grad_()
    prepared = key * 2
    memory = remember(prepared, prepared, score=scores.Additive(draw(4, seed=1)))
    memory.read(key[:, :1], backend="cpu")
    freed = weakref.ref(memory)
    gc.disable()
    try:
        del memory
        assert freed() is None
    finally:
        gc.enable()


def test_queries_of_another_batch_may_read_the_same_memory():
    def total(backend):
        key, v = draw(1, 7, 4).requires_grad_(), draw(4, seed=1)
        memory = remember(key, key, score=scores.Additive(v))
        queries = draw(1, 2, 4, seed=2), draw(3, 2, 4, seed=3), draw(1, 5, 4, seed=4)
        return torch.autograd.grad(sum(memory.read(q, backend=backend).square().sum() for q in queries), key)

    torch.testing.assert_close(total("cpu"), total("reference"), rtol=1e-4, atol=1e-5)


OTHER = [
    {"score": scores.Dot()},
    {"normalizer": normalizers.Sparsemax()},
    {"normalizer": normalizers.Softmax(sink=0.0)},
    {"normalizer": normalizers.Softmax(torch.ones(1))},
    {"bias": torch.ones(5, 5)},
    {"gate": torch.ones(5, 5)},
    {"read": reads.TopK(2)},
    {"dropout_p": 0.5},
    {"aux": AuxRequest(lse=True)},
]


@pytest.mark.parametrize("options", [{}, *OTHER], ids=str)
def test_what_a_step_cannot_do_blocks_do(options, monkeypatch):
    x, ran = draw(2, 5, 6), []
    monkeypatch.setattr(steps, "run", lambda call, run=steps.run: ran.append(call) or run(call))
    attend(x, x, x, backend="cpu", **{"score": scores.Additive(torch.ones(6)), **options})
    assert len(ran) == (not options)


@pytest.mark.parametrize(
    ("queries", "pairs", "many", "terms", "step"),
    [
        (1, 0, 0, 0, True),
        (8, 0, 0, 0, True),
        (9, 62, 63, 756, False),
        (9, 63, 0, 756, True),
        (9, 0, 63, 757, True),
        (9, 63, 62, 757, False),
    ],
)
def test_few_queries_pairs_or_terms_are_a_step(queries, pairs, many, terms, step, monkeypatch):
    monkeypatch.undo()
    for name, value in (("PAIRS", pairs), ("MANY", many), ("TERMS", terms)):
        monkeypatch.setattr(steps, name, value)
    ran = []
    monkeypatch.setattr(steps, "run", lambda call, run=steps.run: ran.append(call) or run(call))
    query, key = draw(2, queries, 6), draw(2, 7, 6)
    assert_close = torch.testing.assert_close
    found = [
        attend(query, key, key, score=scores.Additive(torch.ones(6)), backend=name) for name in ("cpu", "reference")
    ]
    assert_close(*found)
    assert bool(ran) == step
    attend(query.double(), key.double(), key.double(), score=scores.Additive(torch.ones(6).double()), backend="cpu")
    assert len(ran) == step  # float64 goes by blocks


def test_a_memory_is_read_by_steps_where_a_call_goes_by_blocks(monkeypatch):
    monkeypatch.undo()
    query, key, score, ran = draw(16, 32, 64), draw(16, 32, 64, seed=1), scores.Additive(torch.ones(64) / 8), []
    monkeypatch.setattr(steps, "run", lambda call, run=steps.run: ran.append(call) or run(call))
    whole = attend(query, key, key, score=score, backend="cpu")
    assert not ran
    torch.testing.assert_close(remember(key, key, score=score).read(query, backend="cpu"), whole)
    assert len(ran) == 1


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_key_that_is_not_finite_shows_where_it_is_seen(value):
    inputs = [draw(2, 5, 6), draw(2, 7, 6, seed=1), draw(2, 7, 3, seed=2), draw(6, seed=3)]
    inputs[1][1, 3, 2] = value
    seen = torch.ones(2, 5, 7, dtype=torch.bool)
    seen[1, [0, 4], 3] = False
    found, expected = (run(name, *inputs, mask=seen)[0] for name in ("cpu", "reference"))
    torch.testing.assert_close(found, expected, equal_nan=True)
    assert found[0].isfinite().all() and found[1, [0, 4]].isfinite().all()
