from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from near import assert_near
from saccade import simplex
from saccade.kernels import fused
from saccade.kernels.intervals import BLOCK, CHUNK, Intervals, dealt_apart
from tiers import every, rest_slow

KINDS = {
    "softmax": fused.Weights(0.7, 1.0, 0.5),
    "sparsemax": fused.Weights(1.0, 2.0, 0.5),
    "entmax 1.5": fused.Weights(1.0, 1.5, 0.5),
    "entmax 1.2": fused.Weights(1.0, 1.2, 0.5),
    "entmax 3": fused.Weights(1.0, 3.0, 0.5),
}


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).float()


def bounds(name, entries, queries, keys):
    """Intervals of every kind: `(starts, ends)`."""
    i, random = torch.arange(queries), torch.Generator().manual_seed(entries + queries)
    first, last = (torch.randint(0, keys + 1, (entries, queries), generator=random) for _ in range(2))
    ragged = torch.randint(1, keys + 1, (entries, 1), generator=random)
    window = (i - 5).clamp(0, keys)[None], (i + 3).clamp(0, keys)[None]
    return {
        "window": window,
        "causal": (torch.zeros(1, queries, dtype=torch.int64), (i + 1).clamp(max=keys)[None]),
        "all": (torch.zeros(1, queries, dtype=torch.int64), torch.full((1, queries), keys)),
        "ragged": (window[0].expand(entries, -1), torch.minimum(window[1], ragged)),
        "anything": (first, last),
        "nothing": (torch.full((1, queries), keys), torch.zeros(1, queries, dtype=torch.int64)),
        "halves": (torch.where(i < queries // 2, 0, keys // 2)[None], torch.where(i % 3 == 0, 0, keys)[None]),
    }[name]


def inputs(query, key, value, starts, ends, weights, uniform=None):
    entries = max(len(part) for part in (query, key, value, starts))
    where = Intervals.of(starts.contiguous(), ends.contiguous())
    return fused.Inputs(query, key, value, where, weights, uniform, entries)


def laid_out(query, key, starts, ends, weights):
    """The weights, by their definition, and an lse."""
    return by_family(weights.scale / weights.temperature * query @ key.mT, starts, ends, weights)


def by_family(scores, starts, ends, weights):
    places = torch.arange(scores.shape[-1])
    allowed = (places >= starts[..., None]) & (places < ends[..., None])
    allowed = allowed.expand(scores.shape[0] if len(allowed) == 1 else len(allowed), -1, -1)
    scores = scores.expand(len(allowed), -1, -1)
    if weights.alpha == 1:
        return simplex.softmax(scores, allowed), simplex.log_partition(scores, allowed)
    if weights.alpha == 2:
        return simplex.sparsemax(scores, allowed), None
    return simplex.entmax(scores, torch.tensor(weights.alpha, dtype=scores.dtype), allowed), None


def differentiated(found, leaves):
    ramp = torch.linspace(-1, 2, found.numel(), dtype=found.dtype).reshape(found.shape)
    return torch.autograd.grad((found * ramp).sum(), leaves)


def by_definition(starts, ends, weights):
    def plain(query, key, value):
        leaves = [part.detach().clone().requires_grad_() for part in (query, key, value)]
        made, lse = laid_out(*leaves[:2], starts, ends, weights)
        output = made @ leaves[2]
        entropy = torch.special.entr(made.detach()).sum(-1)
        return [output, entropy, *differentiated(output, leaves), *([] if lse is None else [lse])]

    return plain


def by_kernels(query, key, value, starts, ends, weights):
    given = inputs(query, key, value, starts, ends, weights)
    found = fused.attention(given, entropy=True)
    ramp = torch.linspace(-1, 2, found.output.numel()).reshape(found.output.shape)
    chunks = dealt_apart(given.intervals, given.entries)
    grads = fused.gradients(given, chunks, ramp, scores=True, values=True)
    grads = [grad.sum_to_size(part.shape) for grad, part in zip(grads, (query, key, value), strict=True)]
    return [found.output, found.entropy, *grads, *([found.lse] if weights.alpha == 1 else [])]


def assert_as_defined(name, kind, entries, queries, keys, size, out, *, shared=False, seed=0):
    starts, ends = bounds(name, entries, queries, keys)
    query, key = draw(entries, queries, size, seed=seed), draw(1 if shared else entries, keys, size, seed=seed + 1)
    parts = query, key, draw(1 if shared else entries, keys, out, seed=seed + 2)
    plain = by_definition(starts, ends, KINDS[kind])
    # a threshold moves by what a score is rounded by, and of its power of 1 / (alpha - 1) as much more
    assert_near(by_kernels(*parts, starts, ends, KINDS[kind]), plain, *parts, times=6.0, unit=4.0)


BOUNDS = ["window", "causal", "all", "ragged", "anything", "nothing", "halves"]
CASES = sorted(product(BOUNDS, KINDS), key=lambda case: "window" not in case and "softmax" not in case)
EACH = len(BOUNDS) + len(KINDS) - 1
"""So many of the first cases have every kind of bounds and of weights."""


@pytest.mark.parametrize(("name", "kind"), rest_slow(CASES, EACH))
def test_attention_is_the_definition_with_its_gradients(name, kind):
    assert_as_defined(name, kind, 2, 50, 45, 16, 32)


@given(
    st.sampled_from(["window", "causal", "ragged", "anything", "halves"]),
    *[st.integers(1, 3), st.integers(24, 120), st.integers(1, 120), st.integers(1, 3), st.integers(1, 3)],
    *[st.booleans(), st.integers(0, 99)],
)
def test_any_sizes(name, entries, queries, keys, size, out, shared, seed):
    assert_as_defined(name, "softmax", entries, queries, keys, 16 * size, 16 * out, shared=shared, seed=seed)


@pytest.mark.parametrize(
    ("name", "entries", "count", "own"),
    [("window", 2, 5, False), pytest.param("causal", 1, 7, True, marks=pytest.mark.slow)],
)
def test_several_chunks_add_to_the_gradients_of_keys(name, entries, count, own):
    """Each second one at once, each to sums of its own, or all of an entry in turn."""
    chunks = dealt_apart(Intervals.of(*bounds(name, entries, 1000, 1000)), entries)
    assert (chunks.chunks, chunks.separate) == (count, own)
    assert_as_defined(name, "softmax", entries, 1000, 1000, 16, 16)


def test_results_are_the_same_for_any_number_of_threads():
    parts, threads = [draw(2, 500, 16, seed=seed) for seed in range(3)], torch.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            found.append(by_kernels(*parts, *bounds("causal", 2, 500, 500), KINDS["softmax"]))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(one, other) for run in found[1:] for one, other in zip(found[0], run, strict=True))


@pytest.mark.parametrize(
    ("name", "many"), [("window", 1), ("causal", 4), ("anything", 5), ("nothing", 3), ("window", 32)]
)
def test_the_largest_weights_and_where_they_are(name, many):
    starts, ends = bounds(name, 2, 60, 50)
    parts = draw(2, 60, 16), draw(2, 50, 16, seed=1), draw(2, 50, 16, seed=2)
    values, indices = fused.attention(inputs(*parts, starts, ends, KINDS["softmax"]), many).top
    weights, _ = laid_out(*(part.double() for part in parts[:2]), starts, ends, KINDS["softmax"])
    expected, order = weights.expand(2, -1, -1).topk(many)
    there = torch.arange(many) < (ends - starts).clamp(min=0)[..., None].expand(2, -1, 1)
    assert torch.equal(indices.masked_fill(~there, -1), order.masked_fill(~there, -1))
    assert (indices[~there] == -1).all() and (values[~there] == 0).all()
    assert (values - expected.masked_fill(~there, 0.0)).abs().max() < 1e-5


@pytest.mark.parametrize("kind", ["softmax", "sparsemax"])
def test_draws_are_by_cumulative_weight_with_gradients(kind):
    starts, ends = bounds("ragged", 2, 60, 50)
    parts, uniform = [draw(2, 60, 16), draw(2, 50, 16, seed=1), draw(2, 50, 32, seed=2)], torch.rand(2, 60)
    given = inputs(*parts, starts, ends, KINDS[kind], uniform)
    found = fused.attention(given)
    weights, _ = laid_out(*(part.double() for part in parts[:2]), starts, ends, KINDS[kind])
    passed = weights.cumsum(-1)
    near = ((passed - uniform[..., None]).abs() < 1e-5).any(-1)  # where rounding decides
    expected = (passed > uniform[..., None]).int().argmax(-1).masked_fill(weights.sum(-1) == 0, -1)
    assert near.float().mean() < 0.1 and torch.equal(found.drawn[~near], expected[~near])
    drawn, empty = found.drawn.clamp(min=0)[..., None], found.drawn[..., None] < 0
    assert torch.equal(found.output, parts[2].gather(1, drawn.expand(-1, -1, 32)).masked_fill(empty, 0.0))
    grad = draw(2, 60, 32, seed=5)
    of_value = fused.gradients(given, dealt_apart(given.intervals, 2), grad, scores=False, values=True)[2]
    sums = torch.zeros(2, 50, 32, dtype=torch.float64)
    sums.scatter_add_(1, drawn.expand(-1, -1, 32), grad.double().masked_fill(empty, 0.0))
    assert (of_value - sums).abs().max() < 1e-5


@every("place", ["query", "key", "value", "grad"])
@every("number", [torch.nan, torch.inf])
def test_what_is_not_finite_is_told(place, number):
    """Wherever it may have come from."""
    starts, ends = bounds("window", 1, 60, 60)
    parts = {name: draw(1, 60, 16, seed=seed) for seed, name in enumerate(("query", "key", "value", "grad"))}
    parts[place][0, 30, 3] = number
    grad = parts.pop("grad")
    given = inputs(*parts.values(), starts, ends, KINDS["softmax"])
    assert (fused.attention(given) is None) == (place != "grad")
    assert fused.gradients(given, dealt_apart(given.intervals, 1), grad, scores=True, values=True) is None


def test_what_is_hidden_and_not_finite_does_no_harm():
    starts, ends = bounds("window", 1, 100, 200)  # keys from 102 on are hidden from all
    parts = [draw(1, 100, 16), draw(1, 200, 16, seed=1), draw(1, 200, 16, seed=2)]
    clean = by_kernels(*parts, starts, ends, KINDS["softmax"])
    for part in parts[1:]:
        part[0, 150:] = torch.nan
    assert all(map(torch.equal, clean, by_kernels(*parts, starts, ends, KINDS["softmax"])))


def test_numbers_that_float32_does_not_hold_are_not_usable():
    assert fused.Weights(1.0, 1.0, 1.0).usable() and not fused.Weights(1e-45, 1.0, 1.0).usable()
    assert not fused.Weights(1.0, 1.0, 0.0).usable() and not fused.Weights(1.0, 1.0, -1.0).usable()


ADDITIVE = [
    (name, (0.05, 1.0, 60.0)[(row + column) % 3], kind)
    for row, name in enumerate(["window", "causal", "ragged", "anything", "nothing", "halves"])
    for column, kind in enumerate(KINDS)
]
ADDITIVE.sort(key=lambda case: "window" not in case and "softmax" not in case)


@pytest.mark.parametrize(("name", "scale", "kind"), rest_slow(ADDITIVE, EACH - 1), ids=str)
def test_additive_attention_is_the_definition(name, scale, kind):
    """By the polynomial, the identity and the tangent itself, of any number of features."""
    starts, ends = bounds(name, 2, 50, 45)
    parts = scale * draw(2, 50, 7), scale * draw(2, 45, 7, seed=1), draw(2, 45, 32, seed=2), draw(2, 7, seed=3)
    assert_additive(starts, ends, KINDS[kind]._replace(scale=1.0), *parts)


@given(st.integers(24, 90), st.integers(1, 700), st.integers(1, 9), st.booleans(), st.integers(0, 99))
def test_additive_calls_of_any_sizes(queries, keys, size, shared, seed):
    starts, ends = bounds("anything", 2, queries, keys)
    key, value = draw(1 if shared else 2, keys, size, seed=seed), draw(2, keys, 16, seed=seed + 1)
    v = draw(size, seed=seed + 2) if shared else draw(2, size, seed=seed + 2)
    assert_additive(starts, ends, fused.Weights(), draw(2, queries, size, seed=seed + 3), key, value, v)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["window", "causal"])
def test_tiles_of_additive_scores_are_computed_in_any_way(name):
    """Some by the polynomial, some by the identity with a bound and without, some by the tangent, of 1,100 keys."""
    starts, ends = bounds(name, 1, 1100, 1100)
    sizes = torch.logspace(-2, 1.9, 1100)[:, None]
    parts = sizes * draw(1, 1100, 6), sizes * draw(1, 1100, 6, seed=1), draw(1, 1100, 16, seed=2), draw(6, seed=3)
    assert_additive(starts, ends, fused.Weights(), *parts)


def assert_additive(starts, ends, weights, *parts):
    def plain(*parts):
        leaves = [part.detach().clone().requires_grad_() for part in parts]
        query, key, value, v = leaves
        terms = torch.tanh(query[:, :, None] + key[:, None]) * (v if v.ndim == 1 else v[:, None, None])
        made, lse = by_family(terms.sum(-1) / weights.temperature, starts, ends, weights)
        output = made @ value
        entropy = torch.special.entr(made.detach()).sum(-1)
        return [output, entropy, *differentiated(output, leaves), *([] if lse is None else [lse])]

    query, key, value, v = parts
    given = inputs(query, key, value, starts, ends, weights)
    found = fused.attention(given, entropy=True, v=v)
    ramp = torch.linspace(-1, 2, found.output.numel()).reshape(found.output.shape)
    chunks = dealt_apart(given.intervals, given.entries)
    grads = fused.gradients(given, chunks, ramp, scores=True, values=True, v=v)
    grads = [grad.sum_to_size(part.shape) for grad, part in zip(grads, (query, key, value, v), strict=True)]
    ours = [found.output, found.entropy, *grads, *([found.lse] if weights.alpha == 1 else [])]
    assert_near(ours, plain, *parts, times=6.0, unit=4.0)


@pytest.mark.parametrize("place", ["query", "key", "value", "grad"])
def test_additive_gradients_tell_what_is_not_finite(place):
    starts, ends = bounds("window", 1, 60, 60)
    parts = {name: draw(1, 60, 16, seed=seed) for seed, name in enumerate(("query", "key", "value", "grad"))}
    parts[place][0, 30, 3] = torch.nan
    grad = parts.pop("grad")
    given, v = inputs(*parts.values(), starts, ends, fused.Weights()), draw(16, seed=4)
    assert fused.gradients(given, dealt_apart(given.intervals, 1), grad, scores=True, values=True, v=v) is None


@pytest.mark.parametrize("additive", [False, True])
def test_a_chunk_adds_to_its_own_keys_alone(additive, monkeypatch):
    """Others may be those of a chunk that is computed at the same time, and a zero that is added is a write."""
    i, kernel = torch.arange(9600)[None], "_backward_additive" if additive else "_backward"
    starts, ends = i // 120, i // 120 + 1
    given = inputs(draw(1, 9600, 16), draw(1, 80, 16, seed=1), draw(1, 80, 16, seed=2), starts, ends, fused.Weights())
    chunks, own, written = dealt_apart(given.intervals, 1), getattr(fused, kernel), []

    def marked(items, table):
        backward = table.backward if additive else table
        sums = backward.key_grad, backward.value_grad
        for part in sums:
            part.fill_(-0.0)
        own(items, table)
        written.append([~torch.signbit(part).all(-1).flatten() for part in sums])

    monkeypatch.setattr(fused, kernel, marked)
    v = draw(16, seed=3) if additive else None
    fused.gradients(given, chunks, draw(1, 9600, 16, seed=4), scores=True, values=True, v=v)
    assert not chunks.separate and len(written) == 2
    for launch, parts in enumerate(written):
        theirs = torch.zeros(80, dtype=torch.bool)
        theirs[starts[i // chunks.chunk % 2 == launch]] = True
        assert not theirs.all() and all(torch.equal(part, theirs) for part in parts)


def test_blocks_are_whole_tiles():
    """Otherwise queries behind the last would be read."""
    compiled = pytest.importorskip("saccade.kernels.compiled.fused", reason="needs Numba")
    assert CHUNK % BLOCK == 0 == fused.FEW % BLOCK and BLOCK % compiled.ROWS == 0
