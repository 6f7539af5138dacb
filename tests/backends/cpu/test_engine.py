import dataclasses
import math
import os
import subprocess

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from backends.cpu.cases import SCALES, allowed, assert_as_defined, draw, flags, run, shapes
from near import assert_near
from saccade import AuxRequest, attend, biases, masks, normalizers, reads, scores
from saccade.backends import cpu
from saccade.backends.cpu.engine import ENGINE
from tiers import every, rest_slow
from tiny import python


@pytest.fixture(params=["kept", "computed again"])
def way(request, monkeypatch):
    """Whether the whole call is one block that autograd records, or several, each computed again."""
    monkeypatch.setattr(cpu.unmasked, "serves", lambda call: False)
    before = ENGINE.pairs
    object.__setattr__(ENGINE, "pairs", before if request.param == "kept" else 29)
    yield request.param
    object.__setattr__(ENGINE, "pairs", before)


@pytest.mark.parametrize("shapes", shapes(11), ids=str)
def test_it_is_the_definition_with_its_gradients(shapes, way):
    assert_as_defined(*(draw(*shape, seed=seed) for seed, shape in enumerate(shapes)))


@pytest.mark.parametrize("name", allowed(11))
def test_masks(name, way):
    inputs = draw(2, 11, 6), draw(2, 7, 6, seed=1), draw(2, 7, 3, seed=2), draw(6, seed=3)
    found = assert_as_defined(*inputs, mask=allowed(11)[name])
    if name == "nothing":
        assert all((tensor == 0).all() for tensor in found)


@pytest.mark.parametrize(
    "shape", [(2, 3, 1, 1, 7), (2, 3, 4, 1, 7), (2, 1, 1, 11, 7), (2, 3, 4, 11, 7), (4, 11, 7)], ids=str
)
def test_groups_share_a_mask_or_have_their_own(shape, way):
    parts = (2, 3, 4, 11, 2), (2, 3, 1, 7, 2), (2, 3, 1, 7, 2), (2,)
    inputs = [draw(*part, seed=seed) for seed, part in enumerate(parts)]
    assert_as_defined(*inputs, mask=flags(*shape, density=0.6, seed=5))


@given(
    st.integers(1, 3),
    st.integers(9, 20),
    st.integers(1, 70),
    st.integers(1, 20),
    st.sampled_from([40, 1 << 19]),
    st.integers(0, 99),
)
def test_any_sizes(batch, queries, keys, features, pairs, seed):
    inputs = draw(batch, queries, features, seed=seed), draw(batch, keys, features, seed=seed + 1)
    mask, before = flags(batch, queries, keys, density=0.7, seed=seed), ENGINE.pairs
    object.__setattr__(ENGINE, "pairs", pairs)
    try:
        assert_as_defined(
            *inputs, draw(batch, keys, 5, seed=seed + 2), draw(features, seed=seed + 3), mask=mask, temperature=0.7
        )
    finally:
        object.__setattr__(ENGINE, "pairs", before)


@pytest.mark.parametrize("scale", SCALES)
def test_every_range_keeps_its_digits(scale):
    inputs = [
        draw(2, 11, 33, scale=scale),
        draw(2, 7, 33, scale=scale, seed=1),
        draw(2, 7, 3, seed=2),
        draw(33, seed=3),
    ]
    assert_as_defined(*inputs)
    inputs[0][:, :2] /= scale  # small queries and large keys, row by row
    assert_as_defined(*inputs)


def test_what_nobody_may_attend_to_influences_nothing(way):
    inputs = [draw(2, 11, 6), draw(2, 7, 6, seed=1), draw(2, 7, 3, seed=2), draw(6, seed=3)]
    mask = torch.ones(7, dtype=torch.bool)
    mask[[2, 6]] = False
    clean = run("cpu", *inputs, mask=mask)
    inputs[1][:, 2], inputs[2][:, 2], inputs[1][:, 6], inputs[2][:, 6] = math.nan, math.inf, math.inf, math.nan
    dirty = run("cpu", *inputs, mask=mask)
    assert all(map(torch.equal, dirty, clean))
    assert (dirty[2][:, [2, 6]] == 0).all() and (dirty[3][:, [2, 6]] == 0).all()


def test_what_is_not_a_number_shows_where_it_is_seen_alone(way):
    inputs = [draw(2, 11, 6), draw(2, 7, 6, seed=1), draw(2, 7, 3, seed=2), draw(6, seed=3)]
    inputs[0][0, 1, 4] = math.nan
    output = run("cpu", *inputs)[0]
    assert output[0, 1].isnan().all() and output[1].isfinite().all()
    assert output[0, [0, *range(2, 11)]].isfinite().all()


# everything else that is compiled

NORMALIZERS = {
    "softmax": normalizers.Softmax(),
    "temperature": normalizers.Softmax(0.6),
    "temperatures": normalizers.Softmax(torch.tensor([[0.5]] * 11)),
    "sink": normalizers.Softmax(sink=0.3),
    "sparsemax": normalizers.Sparsemax(),
    "entmax": normalizers.Entmax(),
    "entmax 3": normalizers.Entmax(3.0),
    "alphas": normalizers.Entmax(torch.linspace(1.0, 2.5, 11)[:, None]),
    "sigmoid": normalizers.Sigmoid(),
}
UNIFORM = torch.rand(2, 11, generator=torch.Generator().manual_seed(9))
READS = {
    "soft": reads.Soft(),
    "sample": reads.Sample(uniform=UNIFORM),
    "straight": reads.Sample("straight_through", uniform=UNIFORM),
    "argmax": reads.Argmax(),
    "argmax through": reads.Argmax("straight_through"),
    "top": reads.TopK(2),
}
MORE = {
    "nothing": {},
    "mask": {"mask": masks.Lengths(torch.tensor([3, 7])) & flags(11, 7, density=0.8)},
    "bias": {"bias": draw(11, 7).masked_fill(flags(11, 7, density=0.2), -math.inf)},
    "gate": {"mask": flags(2, 1, 7), "gate": draw(11, 7).abs()},
    "position": {"mask": masks.Causal(0), "bias": biases.Alibi(torch.tensor(0.3), align=0)},
}


def request(normalizer, read, more, weights=False):
    """All that this combination defines."""
    to_one = normalizer != "sigmoid" and normalizer != "sink" and more != "gate"
    return AuxRequest(
        lse=normalizer in ("softmax", "temperature", "temperatures", "sink"),
        entropy=to_one,
        top=3,
        received=True,
        index=read in ("sample", "straight", "argmax", "argmax through"),
        log_prob=read in ("sample", "straight"),
        weights=weights,
    )


INPUTS = draw(2, 11, 6, seed=1), draw(2, 7, 6, seed=2), draw(2, 7, 4, seed=3), draw(6, seed=4)


def evaluated(backend, names, *inputs, weights=False, score="additive"):
    """Output, statistics, and the gradients of all of them together."""
    normalizer, read, more = names
    leaves = [part.detach().requires_grad_() for part in inputs]
    chosen, options = NORMALIZERS[normalizer], MORE[more]
    if leaves[0].dtype == torch.float64:  # the truth, from the numbers as they were rounded
        chosen, options = chosen.map(double), {name: double(part) for name, part in options.items()}
    output, aux = attend(
        *leaves[:3],
        score=scores.Additive(leaves[3]) if score == "additive" else scores.ScaledDot(),
        normalizer=chosen,
        read=READS[read],
        backend=backend,
        aux=request(*names, weights=weights),
        **options,
    )
    floats = [output, *(part for part in torch.utils._pytree.tree_leaves(aux) if part.is_floating_point())]
    total = sum(
        (part.masked_fill(part == -math.inf, 0.0).double().sin() * (1 + n)).sum() for n, part in enumerate(floats)
    )
    found = torch.autograd.grad(total, leaves if score == "additive" else leaves[:3])
    return output, tuple(torch.utils._pytree.tree_leaves(aux)), found


def of_type(dtype):
    return [part.to(dtype) for part in INPUTS]


def double(part, axes=None):
    return part.double() if isinstance(part, torch.Tensor) and part.is_floating_point() else part


COMBINATIONS = [
    (normalizer, read, list(MORE)[(row + 2 * column) % 5])
    for row, normalizer in enumerate(NORMALIZERS)
    for column, read in enumerate(READS)
]
FIRST = COMBINATIONS[::5]


@pytest.mark.parametrize(
    "names",
    [names if names in FIRST else pytest.param(names, marks=pytest.mark.slow) for names in COMBINATIONS],
    ids="-".join,
)
def test_every_normalizer_read_and_statistic(names, way):
    assert_near(evaluated("cpu", names, *INPUTS), lambda *given: evaluated("reference", names, *given), *INPUTS)


@pytest.mark.parametrize("names", [names for names in COMBINATIONS if names[2] == "mask"], ids="-".join)
@pytest.mark.parametrize("score", rest_slow(["additive", "dot"]))
def test_weights_that_are_returned_are_those_that_are_read(names, way, score):
    def plain(*given):
        return evaluated("reference", names, *given, weights=True, score=score)

    assert_near(evaluated("cpu", names, *INPUTS, weights=True, score=score), plain, *INPUTS)


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_half_types_are_computed_in_single(normalizer, way):
    names, dtype = (normalizer, "soft", "mask"), torch.float16 if normalizer == "softmax" else torch.bfloat16
    inputs = of_type(dtype)
    single = [part.float() for part in inputs]
    for weights in (False, True):
        output, aux, grads = evaluated("cpu", names, *inputs, weights=weights)
        assert {part.dtype for part in (output, *grads)} == {dtype}
        assert {part.dtype for part in aux} <= {torch.float32, torch.int64}
        assert_near(aux, lambda *given, w=weights: evaluated("reference", names, *given, weights=w)[1], *single)
        found = evaluated("reference", names, *inputs, weights=weights)
        torch.testing.assert_close((output, grads), (found[0], found[2]), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(
    "names", [("softmax", "soft", "bias"), ("alphas", "sample", "mask"), ("sparsemax", "top", "gate")], ids="-".join
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_the_recorded_block_and_the_recomputed_agree(names, dtype):
    before, found, kept = ENGINE.pairs, [], []
    try:
        for pairs in (before, 1 << 10, 40, 7):
            object.__setattr__(ENGINE, "pairs", pairs)
            found.append(evaluated("cpu", names, *of_type(dtype)))
            leaf = draw(2, 11, 6).requires_grad_()
            kept.append(cpu.one_block(recorded(leaf)))
    finally:
        object.__setattr__(ENGINE, "pairs", before)
    assert kept == [True, True, False, False]
    for one in found:
        assert_near(one, lambda *given: evaluated("reference", names, *given), *of_type(dtype))


def recorded(query):
    """The call that `attend` makes of this query."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "run", lambda call, run=cpu.run: seen.append(call) or run(call))
        attend(query, draw(2, 7, 6), draw(2, 7, 3), score=scores.Additive(draw(6)), backend="cpu")
    return seen[0]


def test_a_small_call_is_one_block_with_or_without_backward(monkeypatch):
    query = draw(2, 11, 6).requires_grad_()
    call = recorded(query)
    assert cpu.one_block(call) and cpu.one_block(dataclasses.replace(call, query=query.detach()))
    monkeypatch.setattr(cpu, "AT_ONCE", 2 * 11 * 7 - 1)
    assert not cpu.one_block(call)


@pytest.mark.parametrize("normalizer", ["softmax", "entmax", "sparsemax", "alphas"])
def test_second_derivatives_are_the_definitions(normalizer, way):
    found = []
    for backend in ("cpu", "reference"):
        leaves = [draw(2, 11, 4), draw(2, 5, 4, seed=1), draw(2, 5, 2, seed=2), draw(4, seed=3)]
        leaves = [tensor.double().requires_grad_() for tensor in leaves]
        output, aux = attend(
            *leaves[:3],
            score=scores.Additive(leaves[3]),
            mask=masks.Lengths(torch.tensor([3, 5])),
            normalizer=NORMALIZERS[normalizer].map(double),
            aux=AuxRequest(entropy=True),
            backend=backend,
        )
        first = torch.autograd.grad(output.square().sum() + aux.entropy.square().sum(), leaves, create_graph=True)
        found.append(torch.autograd.grad(sum(grad.square().sum() for grad in first), leaves))
    torch.testing.assert_close(*found, rtol=1e-8, atol=1e-9)


def test_second_derivatives_past_forbidden_keys_of_nan(way):
    leaves = [draw(2, 11, 4), draw(2, 5, 4, seed=1), draw(2, 5, 2, seed=2), draw(4, seed=3)]
    leaves[1][:, 4], leaves[2][:, 4] = math.nan, math.inf
    leaves = [tensor.requires_grad_() for tensor in leaves]
    output = attend(
        *leaves[:3], score=scores.Additive(leaves[3]), mask=torch.tensor([True] * 4 + [False]), backend="cpu"
    )
    first = torch.autograd.grad(output.square().sum(), leaves, create_graph=True)
    second = torch.autograd.grad(sum(grad.square().sum() for grad in first), leaves)
    assert all(tensor.isfinite().all() for tensor in (*first, *second))


@pytest.mark.parametrize("normalizer", ["softmax", "entmax", "sparsemax"])
def test_many_gradients_at_once(normalizer, way):
    leaves = [tensor.requires_grad_() for tensor in (draw(1, 9, 3), draw(1, 5, 3, seed=1), draw(3, seed=3))]
    query, key, v = leaves
    output, ways = (
        attend(query, key, key, score=scores.Additive(v), normalizer=NORMALIZERS[normalizer], backend="cpu"),
        torch.eye(27),
    )
    many = torch.autograd.grad(output, leaves, ways.view(27, 1, 9, 3), is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(output, leaves, row.view(1, 9, 3), retain_graph=True) for row in ways]
    for place, part in enumerate(many):
        torch.testing.assert_close(part, torch.stack([grads[place] for grads in each]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("normalizer", ["softmax", "sparsemax", "alphas"])
def test_the_same_call_twice_has_the_same_bits(normalizer, way):
    names = normalizer, "sample", "mask"
    first, second = (torch.utils._pytree.tree_leaves(evaluated("cpu", names, *INPUTS)) for _ in range(2))
    assert all(map(torch.equal, first, second))


def test_transforms_are_the_definitions():
    inputs = draw(3, 11, 4), draw(3, 7, 4, seed=1), draw(3, 7, 2, seed=2), draw(4, seed=3)

    def total(query, key, value, v, backend="cpu"):
        return (
            attend(query, key, value, score=scores.Additive(v), normalizer=normalizers.Entmax(), backend=backend)
            .sin()
            .sum()
        )

    for transform in (torch.func.grad, lambda f, **o: torch.func.vmap(torch.func.grad(f, **o), (0, 0, 0, None))):
        found = [
            transform(lambda *x, name=name: total(*x, backend=name), argnums=(0, 1, 2, 3))(*inputs)
            for name in ("cpu", "reference")
        ]
        torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


MEMORY = """
import resource, torch
from saccade import AuxRequest, attend, masks, normalizers, reads, scores
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def go(n, way):
    q, k, v = (torch.randn(n, 16, requires_grad=True) for _ in range(3))
    w = torch.randn(16, requires_grad=True)
    options = {"score": scores.Additive(w)} if way == "score" else {
        "normalizer": normalizers.Entmax(torch.full((n, 1), 1.3))
    }
    request = AuxRequest(received=True, entropy=True, top=2)
    out, aux = attend(q, k, v, mask=masks.Causal(), backend="cpu", aux=request, **options)
    (out.square().sum() + aux.received.square().sum() + aux.entropy.sum()).backward()
for way in ("score", "normalizer"):
    go(128, way)  # more than a step: compiles what the larger one runs
before = peak()
for way in ("score", "normalizer"):
    go(6144, way)
    grown = peak() - before
    assert grown < 140, f"{way}: {grown:.0f} MiB"  # the weights alone would take 144 MiB, several times over
"""


@pytest.mark.slow
def test_memory_is_linear_forward_and_backward():
    # every large tensor its own mapping: what is alive is measured, not what the allocator's heap keeps for later
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000"}
    subprocess.run(python("-W", "ignore", "-c", MEMORY), check=True, env=environment)


EVERYTHING = AuxRequest(weights=True, lse=True, entropy=True, top=2, received=True)


@every("score", [scores.ScaledDot(), scores.Cosine(), scores.Additive(draw(6, seed=9))])
@every(
    "options",
    [{"aux": EVERYTHING}, {"aux": dataclasses.replace(EVERYTHING, weights=False)}, {"normalizer": normalizers.Sum()}],
)
def test_what_was_returned_is_not_written_over(score, options):
    def results(seed, learns):
        value = draw(2, 40, 3, seed=seed).requires_grad_(learns)
        found = attend(
            draw(2, 30, 6, seed=seed), draw(2, 40, 6, seed=seed), value, score=score, backend="cpu", **options
        )
        return [*torch.utils._pytree.tree_leaves(found)], value

    for learns in (False, True):
        first, value = results(1, learns)
        before = [part.detach().clone() for part in first]
        pull = [torch.autograd.grad(first[0].sum(), value, retain_graph=True)[0]] if learns else []
        results(2, learns=False)
        assert all(map(torch.equal, first, before))
        again = [torch.autograd.grad(first[0].sum(), value)[0]] if learns else []
        assert all(map(torch.equal, pull, again))
