"""The shortcuts against the full path: the same bits, the same gradients, the same errors."""

import copy
import math
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade import AuxRequest, attend, biases, masks, normalizers, reads, remember, scores
from saccade._call.call import Arguments, BackendState
from saccade._dispatch import fast_path, passes
from saccade.backends.cpu.steps import Steps
from saccade.errors import SaccadeError
from tiers import every

X = torch.randn(2, 3, 5, 8, generator=torch.Generator().manual_seed(0))
FLAGS = torch.rand(2, 1, 5, 5, generator=torch.Generator().manual_seed(1)) < 0.5


def in_full(query, key, value, mask=None, score=None, backend="auto", **options):
    """`attend` without its shortcut."""
    score = scores.ScaledDot() if score is None else score
    return passes.full_path(Arguments(query, key, value, score, mask, backend=backend, **options))


PLAIN = {
    "no mask": (X, None),
    "causal": (X, masks.Causal()),
    "dense": (X, FLAGS),
    "of queries": (X, FLAGS[..., :1]),
    "of keys": (X, FLAGS[:1, :, :1]),
    "of one": (X, FLAGS[:1, :, :1, :1]),
    "nothing": (X, torch.zeros(1, 1, 1, 5, dtype=torch.bool)),
    "strided": (X.mT.contiguous().mT, FLAGS.mT),
    "not contiguous": (X[:, :, ::2], None),
    "three dimensions": (X[0], FLAGS[0]),
    "two dimensions": (X[0, 0], masks.Causal()),
    "a mask of fewer dimensions": (X, FLAGS[0, 0]),
}


@every("name", PLAIN)
def test_what_is_plain_is_the_definition(name):
    x, mask = PLAIN[name]
    found, expected = fast_path.plain(x, x, x, mask), attend(x, x, x, mask=mask, backend="reference")
    torch.testing.assert_close(found, expected)
    assert torch.equal(attend(x, x, x, mask=mask), found)
    assert torch.equal(in_full(x, x, x, mask), found)


def test_forbidden_entries_that_are_not_finite_are_cleaned():
    value = X.clone()
    value[:, :, 2] = math.nan
    seen = torch.ones(1, 1, 1, 5, dtype=torch.bool)
    seen[..., 2] = False
    assert fast_path.plain(X, X, value, seen) is None
    torch.testing.assert_close(attend(X, X, value, mask=seen), attend(X, X, X, mask=seen))


NOT_PLAIN = {
    "one dimension": ((X[0, 0, 0],) * 3, None),
    "two shapes": ((X[:, :, :3], X, X), None),
    "two types": ((X, X.double(), X), None),
    "float64": ((X.double(),) * 3, None),
    "nothing at all": ((X[:0],) * 3, None),
    "learns under a mask": ((X.clone().requires_grad_(), X, X), FLAGS),
    "a parameter": ((torch.nn.Parameter(X), X, X), None),
    "no tensors": (("x", "x", "x"), None),
    "aligned": ((X,) * 3, masks.Causal(align=0)),
    "composed": ((X,) * 3, masks.Causal() & FLAGS),
    "more dimensions": ((X[0],) * 3, FLAGS),
    "one dimension of them": ((X,) * 3, FLAGS[0, 0, 0]),
    "of another length": ((X,) * 3, FLAGS[..., :4]),
    "of floats": ((X,) * 3, FLAGS.float()),
}


@every("name", NOT_PLAIN)
def test_what_is_not_plain_is_left_to_the_rest(name):
    inputs, mask = NOT_PLAIN[name]
    assert fast_path.plain(*inputs, mask) is None


def test_nothing_is_plain_under_autocast_and_transforms():
    with torch.autocast("cpu", torch.bfloat16):
        assert fast_path.plain(X, X, X, None) is None
    seen = []
    torch.func.vmap(lambda x: seen.append(fast_path.plain(x, x, x, None)) or x)(X[None])
    assert seen == [None]


@st.composite
def plain_calls(draw):
    """Tensors of one shape and a mask, as `attend` is mostly called; values from tiny to huge, NaN among them."""
    shape = (*draw(st.lists(st.integers(1, 3), max_size=2)), draw(st.integers(1, 7)), draw(st.integers(1, 9)))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    scale = draw(st.sampled_from([1e-20, 1.0, 30.0, 1e20]))
    tensors = [scale * torch.randn(shape, generator=generator) for _ in range(3)]
    if draw(st.booleans()):
        tensors[draw(st.integers(0, 2))].view(-1)[0] = draw(st.sampled_from([math.nan, math.inf]))
    sizes = [*shape[:-1], shape[-2]]
    flat = tuple(size if draw(st.booleans()) else 1 for size in sizes)[draw(st.integers(0, len(shape) - 2)) :]
    if len(flat) == 2 < len(sizes) and flat[0] == sizes[0]:
        flat = (1, *flat)  # which may be (Lq, Lk) or (batch, Lk) otherwise
    masked = {
        "none": None,
        "causal": masks.Causal(),
        "dense": torch.rand(flat, generator=generator) < 0.6,
        "nothing": torch.zeros(flat, dtype=torch.bool),
    }
    return tensors, masked[draw(st.sampled_from(sorted(masked)))]


@given(plain_calls())
def test_both_paths_give_the_same_bits(call):
    tensors, mask = call
    found, expected = attend(*tensors, mask=mask), in_full(*tensors, mask)
    assert torch.equal(found.isnan(), expected.isnan()) and torch.equal(found.nan_to_num(), expected.nan_to_num())


@given(plain_calls(), st.sets(st.integers(0, 2), min_size=1))
def test_both_paths_give_the_same_gradients(call, learn):
    tensors, mask = call
    found = []
    for path in (attend, in_full):
        inputs = [tensor.clone().requires_grad_(number in learn) for number, tensor in enumerate(tensors)]
        wanted = [inputs[number] for number in sorted(learn)]
        found.append(torch.autograd.grad(path(*inputs, mask=mask).square().sum(), wanted))
    for ours, theirs in zip(*found, strict=True):
        assert torch.equal(ours.nan_to_num(), theirs.nan_to_num())


def additive_inputs(*batch, queries=64, keys=70, features=256, outputs=5):
    shapes = (*batch, queries, features), (*batch, keys, features), (*batch, keys, outputs), (features,)
    return [torch.randn(shape, generator=torch.Generator().manual_seed(i)) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("batch", [(), (2,), (2, 1)], ids=str)
@pytest.mark.parametrize("learn", [False, True])
def test_an_additive_call_has_the_bits_of_the_full_path(batch, learn):
    found = []
    for path in (attend, in_full):
        *tensors, v = [part.requires_grad_(learn) for part in additive_inputs(*batch)]
        score = scores.Additive(v)
        output = path(*tensors, score=score)
        found.append([output, *(torch.autograd.grad(output.square().sum(), [*tensors, v]) if learn else [])])
        served = fast_path.additive(*tensors, score)
        assert served is not None and torch.equal(served, output)
    assert all(map(torch.equal, *found))


def test_an_additive_call_may_have_strides():
    *tensors, v = additive_inputs(2)
    twisted = [part.mT.contiguous().mT for part in tensors]
    found = fast_path.additive(*twisted, scores.Additive(v))
    assert found is not None and torch.equal(found, in_full(*twisted, score=scores.Additive(v)))
    torch.testing.assert_close(found, attend(*tensors, score=scores.Additive(v)))


X1, X2, X3, V = additive_inputs(2)
UNUSUAL = {
    "few terms": additive_inputs(2, features=64),
    "a step": additive_inputs(40, queries=8, keys=128),
    "one v a batch entry": (X1, X2, X3, V.expand(2, -1)),
    "float64": [part.double() for part in (X1, X2, X3, V)],
    "half": [part.half() for part in (X1, X2, X3, V)],
    "keys that all share": (X1, X2[:1], X3, V),
    "values that all share": (X1, X2, X3[:1], V),
    "groups": (X1[:, None], X2, X3, V),
    "no values": (X1, X2, X3[..., :0], V),
    "a subclass": (torch.nn.Parameter(X1), X2, X3, V),
    "a v that is no tensor": (X1, X2, X3, "no tensor"),
    "another v": (X1, X2, X3, V[:-1]),
    "other features": (X1[..., :-1], X2, X3, V[:-1]),
    "other keys": (X1, X2[:, :-1], X3, V),
}


@every("name", UNUSUAL)
def test_an_unusual_additive_call_goes_the_full_path(name):
    *tensors, v = UNUSUAL[name]
    assert fast_path.additive(*tensors, scores.Additive(v)) is None


@pytest.mark.parametrize("name", ["values", "a v", "another v", "other features", "other keys"])
def test_an_additive_call_that_is_wrong_is_told_so(name):
    tensors = {"values": (X1, X2, None, V), "a v": (X1, X2, X3, "no tensor"), **UNUSUAL}[name]
    found = []
    for path in (attend, in_full):
        with pytest.raises(SaccadeError) as error:
            path(*tensors[:3], score=scores.Additive(tensors[3]))
        found.append((type(error.value), str(error.value)))
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_compiled_additive_call_is_one_graph():
    from torch._dynamo.testing import CompileCounter

    torch._dynamo.reset()
    counter = CompileCounter()

    def call(query, key, value, v):
        return attend(query, key, value, score=scores.Additive(v))

    compiled = torch.compile(call, fullgraph=True, dynamic=True, backend=counter)
    for length in (9, 300):
        *tensors, v = additive_inputs(2, queries=length, keys=length + 1)
        torch.testing.assert_close(compiled(*tensors, v), in_full(*tensors, score=scores.Additive(v)))
    assert counter.frame_count == 1


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_nested_tensors_of_an_additive_call_are_told_so():
    nested = torch.nested.nested_tensor([torch.ones(3, 4), torch.ones(5, 4)])
    dense = torch.ones(2, 5, 4)
    for place in range(3):
        tensors = [dense, dense, dense]
        tensors[place] = nested
        with pytest.raises(SaccadeError, match="nested"):
            attend(*tensors, score=scores.Additive(torch.ones(4)))


def test_an_additive_call_with_more_goes_the_full_path(monkeypatch):
    options = [
        {"mask": masks.Causal("end")},
        {"bias": torch.zeros(64, 70)},
        {"gate": torch.ones(64, 70)},
        {"normalizer": normalizers.Softmax(2.0)},
        {"read": reads.Argmax()},
        {"dropout_p": 0.5},
        {"aux": AuxRequest(lse=True)},
        {"backend": "cpu"},
    ]
    monkeypatch.setattr(fast_path, "additive", None)
    for more in options:
        attend(X1, X2, X3, score=scores.Additive(V), **more)
    with pytest.raises(TypeError):
        attend(X1, X2, X3, score=scores.Additive(V))


def test_a_long_recorded_additive_call_goes_the_full_path():
    x = torch.zeros(1, 1100, 1)
    query = torch.zeros(1, 1100, 1, requires_grad=True)
    assert fast_path.additive(query, x, x, scores.Additive(torch.ones(1))) is None
    assert fast_path.additive(query.detach(), x, x, scores.Additive(torch.ones(1))) is not None


def test_an_additive_call_under_a_mode_goes_the_full_path():
    score = scores.Additive(V)
    with torch.autocast("cpu"):
        assert fast_path.additive(X1, X2, X3, score) is None
    seen = []
    torch.func.vmap(lambda x: seen.append(fast_path.additive(x, X2, X3, score)) or x)(X1[None])
    assert seen == [None]


WRONG = {
    "no tensor": ((X, None, X), {}),
    "a list": (([1.0], X, X), {}),
    "one dimension": ((X[0, 0, 0],) * 3, {}),
    "integers": ((X.long(),) * 3, {}),
    "two dtypes": ((X, X.double(), X), {}),
    "two widths": ((X, X[..., :3], X), {}),
    "two lengths": ((X, X, X[:, :, :2]), {}),
    "batches that do not broadcast": ((X, X[:1].expand(5, 3, 5, 8), X), {}),
    "a mask of floats": ((X,) * 3, {"mask": FLAGS.float()}),
    "a mask that does not fit": ((X,) * 3, {"mask": FLAGS[..., :4]}),
    "a mask of one dimension too many": ((X[0],) * 3, {"mask": FLAGS}),
    "a mask of another kind": ((X,) * 3, {"mask": "causal"}),
    "sparse": ((X.to_sparse(), X, X), {}),
    "another device": ((X, X.to("meta"), X), {}),
    "an unknown backend": ((X,) * 3, {"backend": "gpu"}),
    "an impossible probability": ((X,) * 3, {"dropout_p": 1.5}),
    "aux of another kind": ((X,) * 3, {"aux": "weights"}),
}


@every("name", WRONG)
def test_both_paths_give_the_same_errors(name):
    tensors, options = WRONG[name]
    found = []
    for path in (attend, in_full):
        with pytest.raises(Exception) as error:  # which one is what is asked
            path(*tensors, **options)
        found.append((type(error.value), str(error.value)))
    assert found[0] == found[1]


def test_a_mask_above_the_limit_is_the_full_paths_to_decide_about(monkeypatch):
    assert fast_path.plain(X, X, X, FLAGS) is not None
    monkeypatch.setattr(fast_path.sdpa, "LAYOUT_LIMIT", 4 * FLAGS.numel() - 1)
    assert fast_path.plain(X, X, X, FLAGS) is None
    assert fast_path.plain(X, X, X, FLAGS[:, :, :1]) is not None
    torch.testing.assert_close(attend(X, X, X, mask=FLAGS), attend(X, X, X, mask=FLAGS, backend="reference"))


@given(
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 9),
    st.integers(1, 11),
    st.booleans(),
    st.sampled_from([1.0, 0.5, 3.0]),
)
def test_a_repeated_read_has_the_bits_of_the_first(batch, queries, keys, features, masked, temperature):
    generator = torch.Generator().manual_seed(batch + 10 * queries + 100 * keys + features)
    key, value = (torch.randn(batch, keys, size, generator=generator) for size in (features, 3))
    query, v = torch.randn(batch, queries, features, generator=generator), torch.randn(features, generator=generator)
    mask = torch.rand(batch, 1, keys, generator=generator) < 0.7 if masked else None
    options = {"normalizer": normalizers.Softmax(temperature)}
    memory = remember(key, value, score=scores.Additive(v), mask=mask)
    arguments = Arguments(query, key, value, memory_mask=memory.mask, state=memory.state, **options)
    assert fast_path.shortcut(arguments) is None
    first = memory.read(query, backend="cpu", **options)
    again = fast_path.shortcut(arguments)
    assert torch.equal(again, first) and torch.equal(memory.read(query, backend="cpu", **options), first)


def loop(memory, query, *, repeat):
    """Five steps, each query from the read before; without `repeat` a memory forgets how its last step was done."""
    total = torch.zeros(())
    for _ in range(5):
        if not repeat:
            memory.state.of(Steps)._last = None
        query = query + memory.read(query)
        total = total + query.square().sum()
    return total


def test_repeated_reads_have_the_gradients_of_the_full_path():
    found = []
    for repeat in (False, True):
        generator = torch.Generator().manual_seed(3)
        shapes = (3, 1, 6), (3, 7, 6), (3, 7, 6), (6,)
        leaves = [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]
        query, key, value, v = leaves
        memory = remember(2 * key, 2 * value, score=scores.Additive(v), mask=masks.Lengths(torch.tensor([7, 3, 1])))
        found.append(torch.autograd.grad(loop(memory, query, repeat=repeat), leaves))
    assert all(map(torch.equal, *found))


@pytest.mark.parametrize(
    "options",
    [
        {"mask": torch.ones(2, 1, 5, dtype=torch.bool)},
        {"bias": biases.Alibi(torch.ones(2), align=0)},
        {"gate": torch.ones(2, 1, 5)},
        {"dropout_p": 0.5},
        {"read": reads.Argmax()},
        {"aux": AuxRequest(lse=True)},
        {"backend": "chunked"},
        {"normalizer": normalizers.Sparsemax()},
    ],
    ids=lambda options: next(iter(options)),
)
def test_a_read_that_asks_for_more_takes_the_full_path(options, monkeypatch):
    key, query = torch.randn(2, 5, 4), torch.randn(2, 1, 4)
    memory = remember(key, key, score=scores.Additive(torch.randn(4)))
    memory.read(query)
    taken = []
    follow = lambda arguments, real=passes.full_path: taken.append(arguments) or real(arguments)
    monkeypatch.setattr(passes, "full_path", follow)
    memory.read(query, **options)
    assert len(taken) == 1


def test_wrong_queries_are_the_full_paths_to_refuse():
    key = torch.randn(2, 5, 4)
    memory = remember(key, key, score=scores.Additive(torch.randn(4)))
    memory.read(torch.randn(2, 1, 4))
    for wrong in (None, "query", torch.zeros(2, 1, 3), torch.zeros(2, 1, 4).double(), torch.zeros(2, 1, 4).to("meta")):
        assert fast_path.shortcut(Arguments(wrong, key, key, memory_mask=memory.mask, state=memory.state)) is None


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda state: pickle.loads(pickle.dumps(state))])
def test_a_copy_of_a_state_begins_empty(copied):
    state = BackendState()
    state.of(list).append(3)
    assert state.of(list) == [3] and copied(state).of(list) == [] and state.of(list) == [3]


def test_what_is_made_of_a_memory_has_a_state_of_its_own():
    key = torch.randn(2, 5, 4)
    memory = remember(key, key, score=scores.Additive(torch.randn(4)))
    others = [memory.append(key, key), memory.truncate(3), memory.select(torch.tensor([1, 0])), memory.shift(key)]
    assert len({id(each.state) for each in (memory, *others)}) == 5


def test_a_state_is_not_among_a_calls_tensors(monkeypatch):
    calls = []
    monkeypatch.setattr(passes, "RUN", lambda call, backend: calls.append(call) or (call.query, None))
    memory = remember(X, X)
    memory.read(X)
    (call,) = calls
    assert call.state is memory.state and call.map(lambda tensor, axes: tensor).state is memory.state
    assert len(call.leaves()) == 3
