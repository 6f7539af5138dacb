import itertools

import pytest
import torch

from near import assert_near
from saccade import AuxRequest, attend, explain, masks, normalizers, reads, scores
from saccade.backends import cpu
from saccade.backends.cpu import steps
from saccade.kernels import fused

MASKS = {
    "none": None,
    "window": masks.Window(7, 2, align="end"),
    "causal": masks.Causal(align="end"),
    "ragged": masks.Causal(align="end") & masks.Lengths(torch.tensor([[40], [13]])),
    "documents": masks.Documents(torch.arange(50) // 11, torch.arange(45) // 11) & masks.Causal(align="end"),
    "intervals": masks.Intervals(torch.arange(50) % 9, torch.arange(50) // 2),
}
SCORES = {"scaled": scores.ScaledDot(), "dot": scores.Dot(), "cosine": scores.Cosine(beta=3.0)}
NORMALIZERS = {
    "softmax": normalizers.Softmax(0.8),
    "sparsemax": normalizers.Sparsemax(),
    "entmax": normalizers.Entmax(),
}
ASKED = {
    "nothing": AuxRequest(),
    "statistics": AuxRequest(lse=True, entropy=True, top=3),
    "entropy": AuxRequest(entropy=True),
    "received": AuxRequest(received=True),
}


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Small calls go where large ones do."""
    monkeypatch.setattr(steps, "serves_step", lambda call: False)
    monkeypatch.setattr(cpu, "AT_ONCE", 0)


@pytest.fixture
def calls(monkeypatch):
    """Which kernels were run."""
    made = []
    for name in ("attention", "gradients"):
        own = getattr(fused, name)

        def kept(*arguments, _name=name, _own=own, **options):
            found = _own(*arguments, **options)
            made.append((_name, found is not None))
            return found

        monkeypatch.setattr(fused, name, kept)
    return made


SERVED = [("attention", True), ("gradients", True)]


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).float()


def parts(batch=(2, 3), queries=50, keys=45, size=16, out=32):
    return draw(*batch, queries, size), draw(*batch, keys, size, seed=1), draw(*batch, keys, out, seed=2)


def run(backend, *inputs, of=None, **options):
    """Output, statistics, and the gradients of the output, or of what `of` makes of both."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    output = attend(*leaves, backend=backend, **options)
    output, aux = output if isinstance(output, tuple) else (output, None)
    target = output if of is None else of(output, aux)
    ramp = torch.linspace(-1, 2, target.numel(), dtype=target.dtype).reshape(target.shape)
    grads = torch.autograd.grad((target * ramp).sum(), leaves, allow_unused=True)
    found = [
        output,
        *(torch.zeros_like(leaf) if grad is None else grad for grad, leaf in zip(grads, leaves, strict=True)),
    ]
    if aux is not None:
        found += [part for part in (aux.lse, aux.entropy, aux.index, aux.received) if part is not None]
        found += [aux.top[0]] if aux.top else []
    return found


def assert_as_defined(*inputs, **options):
    found = run("cpu", *inputs, **options)
    assert_near(found, lambda *inputs: run("reference", *inputs, **options), *inputs, times=6.0, unit=4.0)


WAYS = [(name, asked) for name in NORMALIZERS for asked in ASKED if name == "softmax" or asked != "statistics"]
"""Normalizers and what they are asked for: an lse is softmax's alone."""


MATCHED = [
    (mask, list(SCORES)[(row + column) % 3], *way) for row, mask in enumerate(MASKS) for column, way in enumerate(WAYS)
]


@pytest.mark.parametrize(("mask", "score", "normalizer", "asked"), MATCHED)
def test_attention_is_the_definition_with_its_gradients(mask, score, normalizer, asked, calls):
    options = {"score": SCORES[score], "normalizer": NORMALIZERS[normalizer], "aux": ASKED[asked]}
    assert_as_defined(*parts(), mask=MASKS[mask], **options)
    assert calls == SERVED


ADDITIVE = [
    (list(MASKS)[1 + place % 5], *way, shape)
    for place, (way, shape) in enumerate(itertools.product(WAYS, [(16,), (3, 16), (2, 1, 16)]))
]


@pytest.mark.parametrize(("mask", "normalizer", "asked", "shape"), ADDITIVE, ids=str)
def test_additive_attention_is_the_definition(mask, normalizer, asked, shape, calls):
    options = {"mask": MASKS[mask], "normalizer": NORMALIZERS[normalizer], "aux": ASKED[asked]}
    assert_additive_as_defined(*parts(), draw(*shape, seed=3), **options)
    assert calls == SERVED


def assert_additive_as_defined(*inputs, **options):
    """Of query, key, value and v."""

    def own(backend, *inputs):
        leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs]
        output = attend(*leaves[:3], score=scores.Additive(leaves[3]), backend=backend, **options)
        output, aux = output if isinstance(output, tuple) else (output, None)
        ramp = torch.linspace(-1, 2, output.numel(), dtype=output.dtype).reshape(output.shape)
        grads = torch.autograd.grad((output * ramp).sum(), leaves)
        known = [] if aux is None else [part for part in (aux.lse, aux.entropy, aux.received) if part is not None]
        return [output, *grads, *known, *([aux.top[0]] if aux is not None and aux.top else [])]

    assert_near(own("cpu", *inputs), lambda *inputs: own("reference", *inputs), *inputs, times=6.0, unit=4.0)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (3,), (0, 3), (1, 2)], ids=str)
def test_some_additive_gradients_are_those_of_all(wanted, calls):
    def grads(wanted):
        leaves = [tensor.requires_grad_(at in wanted) for at, tensor in enumerate((*parts(), draw(16, seed=3)))]
        output = attend(*leaves[:3], score=scores.Additive(leaves[3]), mask=MASKS["window"], backend="cpu")
        return torch.autograd.grad(output.square().sum(), [leaves[at] for at in wanted])

    every = grads((0, 1, 2, 3))
    assert all(torch.equal(one, every[at]) for one, at in zip(grads(wanted), wanted, strict=True))
    assert calls == SERVED * 2


@pytest.mark.parametrize("mask", ["window", "documents"])
def test_draws_by_additive_scores_are_the_definitions(mask, calls):
    read = reads.Sample(uniform=torch.linspace(0.02, 0.97, 50))
    v = draw(16, seed=3)

    def own(backend, *inputs):
        score = scores.Additive(v.to(inputs[0].dtype))
        return run(backend, *inputs, score=score, mask=MASKS[mask], read=read, aux=AuxRequest(index=True))

    assert_near(own("cpu", *parts()), lambda *inputs: own("reference", *inputs), *parts(), times=6.0, unit=4.0)
    assert calls == SERVED


@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("mask", MASKS)
def test_draws_are_those_of_the_definition(mask, normalizer, calls):
    read = reads.Sample(uniform=torch.linspace(0.02, 0.97, 50))
    options = {"mask": MASKS[mask], "normalizer": NORMALIZERS[normalizer], "read": read}
    assert_as_defined(*parts(), aux=AuxRequest(index=True), **options)
    assert calls == SERVED


def test_draws_of_overflowing_products_are_the_definitions():
    inputs = torch.full((60, 16), 5e18), torch.full((60, 16), 5e18), draw(60, 16, seed=2)
    read = reads.Sample(uniform=torch.linspace(0.02, 0.97, 60))
    options = {"mask": masks.Window(9, 2), "read": read, "aux": AuxRequest(index=True)}
    found, exact = (run(backend, *inputs, **options) for backend in ("cpu", "reference"))
    assert torch.equal(found[4], exact[4]) and (found[4] >= 0).all()
    assert torch.equal(found[0], exact[0]) and torch.allclose(found[3], exact[3])


@pytest.mark.parametrize(
    ("query", "key", "value"),
    [((2, 4), (2, 1), (2, 1)), ((2, 4), (1, 4), (2, 1)), ((1, 1), (2, 3), (2, 3)), ((4,), (), ()), ((), (), ())],
    ids=str,
)
def test_shared_queries_keys_and_values_sum_their_gradients(query, key, value, calls):
    inputs = draw(*query, 50, 16), draw(*key, 45, 16, seed=1), draw(*value, 45, 16, seed=2)
    assert_as_defined(*inputs, mask=masks.Window(9, 9, align="end"))
    assert calls == SERVED


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_computed_in_single(dtype, calls):
    inputs = [part.to(dtype) for part in parts()]
    found = run("cpu", *inputs, mask=masks.Window(9, 0, align="end"), aux=AuxRequest(entropy=True))
    truth = run(
        "reference",
        *(part.double() for part in inputs),
        mask=masks.Window(9, 0, align="end"),
        aux=AuxRequest(entropy=True),
    )
    digits = torch.finfo(dtype).eps
    assert calls == SERVED and [part.dtype for part in found] == [dtype] * 4 + [torch.float32]
    assert all(
        ((one.double() - exact).abs() <= 2 * digits * exact.abs().max()).all()
        for one, exact in zip(found, truth, strict=True)
    )


@pytest.mark.parametrize(
    "options",
    [
        {"bias": torch.zeros(50, 45)},
        {"gate": torch.ones(50, 45)},
        {"score": scores.ScaledDot(softcap=2.0)},
        {"score": scores.ScaledDot(scale=torch.tensor(0.3))},
        {"score": scores.ScaledDot(scale=-0.3)},
        {"score": scores.Cosine(beta=torch.tensor([[2.0]]))},
        {"normalizer": normalizers.Softmax(torch.tensor([[2.0]]))},
        {"normalizer": normalizers.Softmax(sink=0.5)},
        {"mask": ~masks.Window(9, 2, align="end")},
        {"mask": masks.Prefix(3) | masks.Causal(align="end")},
        {"read": reads.Argmax()},
        {"aux": AuxRequest(weights=True)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_the_kernels_do_not_know_goes_by_blocks(options, calls):
    assert_as_defined(*parts(), **options)
    assert calls == []


@pytest.mark.parametrize("sizes", [{"size": 15}, {"out": 9}, {"queries": 23}])
def test_sizes_that_they_do_not_take_go_by_blocks(sizes, calls):
    assert_as_defined(*parts(**sizes), mask=masks.Window(9, 2, align="end"))
    assert calls == []


def test_neighbours_that_look_far_apart_go_by_blocks(calls):
    starts = torch.arange(400) % 2 * 3000
    options = {"mask": masks.Intervals(starts, starts + 40), "aux": AuxRequest(entropy=True)}
    assert_as_defined(*parts((), queries=400, keys=3040), **options)
    assert calls == []


def test_outputs_and_gradients_may_be_written_to(calls):
    """They are no views, which autograd would not allow where it records."""
    leaves = [part.requires_grad_() for part in parts()]
    output, aux = attend(*leaves, mask=masks.Window(9, 2, align="end"), aux=AuxRequest(lse=True, top=2), backend="cpu")
    for result in (output, aux.lse, aux.top[0]):
        result.mul_(2.0)
    for grad in torch.autograd.grad(output.sum(), leaves, create_graph=True):
        grad.mul_(2.0)
    assert calls == SERVED


@pytest.mark.parametrize("name", ["lse", "entropy"])
def test_gradients_of_statistics_go_by_blocks(name, calls):
    options = {"mask": masks.Window(9, 2, align="end"), "aux": AuxRequest(**{name: True})}
    assert_as_defined(*parts(), of=lambda output, aux: output.sum(-1) + getattr(aux, name), **options)
    assert calls == SERVED[:1]


@pytest.mark.parametrize("mask", MASKS)
def test_statistics_without_values_are_the_definitions(mask, calls):
    """300 queries are several chunks, and the last of them is short."""
    options = {"mask": MASKS[mask], "aux": AuxRequest(lse=True, entropy=True, top=8, received=True)}
    if MASKS[mask] is None or mask in ("window", "causal"):
        inputs = parts(queries=300, keys=290, out=0)
    else:
        inputs = parts(out=0)

    def statistics(backend, *inputs):
        output, aux = attend(*inputs, backend=backend, **options)
        assert output.shape == (*inputs[0].shape[:-1], 0)
        return [aux.lse, aux.entropy, aux.received, aux.top[0]]

    assert_near(statistics("cpu", *inputs), lambda *inputs: statistics("reference", *inputs), *inputs, times=6.0)
    assert calls == SERVED[:1]


def test_largest_weights_without_values_take_the_lower_of_equal_keys(calls):
    query, key, value = parts((2,), out=0)
    options = {"mask": masks.Causal(align="start"), "aux": AuxRequest(top=8)}
    inputs = query, key[:, :1].expand_as(key), value
    (_, found), (_, exact) = (attend(*inputs, backend=backend, **options) for backend in ("cpu", "reference"))
    assert torch.equal(found.top[1], exact.top[1]) and (found.top[1][:, 0] == torch.tensor([0] + [-1] * 7)).all()
    assert calls == SERVED[:1]


@pytest.mark.parametrize("name", ["entropy", "received"])
def test_gradients_of_statistics_without_values_go_by_blocks(name, calls):
    options = {"mask": masks.Causal(align="end"), "aux": AuxRequest(**{name: True})}
    assert_as_defined(*parts(out=0), of=lambda output, aux: getattr(aux, name), **options)
    assert calls == SERVED[:1]


@pytest.mark.parametrize("number", [torch.nan, torch.inf])
def test_statistics_without_values_of_hidden_and_visible_numbers(number, calls):
    """A number that a query may see makes its own statistics NaN; one that none may see changes nothing."""
    options = {"mask": masks.Lengths(torch.tensor([[41]])), "aux": AuxRequest(entropy=True, received=True, top=2)}
    clean = parts(out=0)
    hidden = [part.clone() for part in clean]
    hidden[1][..., 41:, :] = number
    found, exact = (attend(*inputs, backend="cpu", **options)[1] for inputs in (hidden, clean))
    assert torch.equal(found.entropy, exact.entropy) and torch.equal(found.received, exact.received)
    assert calls == SERVED[:1] * 2
    hidden[0][..., 7, :] = number
    found, exact = (attend(*hidden, backend=backend, **options)[1] for backend in ("cpu", "reference"))
    assert torch.equal(found.entropy.isnan(), exact.entropy.isnan()) and found.entropy[..., 7].isnan().all()
    assert torch.equal(found.received.isnan(), exact.received.isnan())
    assert calls[-1] == ("attention", False)


def test_second_derivatives_are_the_definitions():
    def curvature(backend, *inputs):
        leaves = [part.detach().clone().requires_grad_() for part in inputs]
        output = attend(*leaves, mask=masks.Window(9, 2, align="end"), score=scores.Cosine(beta=2.0), backend=backend)
        grads = torch.autograd.grad(output.square().sum(), leaves, create_graph=True)
        return list(torch.autograd.grad(sum(grad.square().sum() for grad in grads), leaves))

    inputs = parts((), 30, 30, 16, 16)
    assert_near(curvature("cpu", *inputs), lambda *inputs: curvature("reference", *inputs), *inputs, times=6.0)


@pytest.mark.parametrize("number", [torch.nan, torch.inf])
@pytest.mark.parametrize("score", SCORES)
def test_what_nobody_may_see_has_no_part_in_results(score, number, calls):
    """Keys and values behind the longest sequence, and queries that may see nothing."""
    mask = masks.Intervals(torch.where(torch.arange(50) < 4, 45, 3), torch.tensor(41).expand(50))
    options = {"mask": mask, "score": SCORES[score], "aux": AuxRequest(entropy=True)}
    clean = parts()
    hidden = [part.clone() for part in clean]
    hidden[0][..., :4, :] = hidden[1][..., 41:, :] = hidden[2][..., 41:, :] = number
    truth, found = run("reference", *clean, **options), run("cpu", *hidden, **options)
    assert all((one - exact).abs().max() < 1e-4 for one, exact in zip(found, truth, strict=True))
    assert not any(grad[part.isnan() | part.isinf()].any() for grad, part in zip(found[1:4], hidden, strict=True))
    assert all(name in dict(calls) for name, _ in SERVED)


def test_under_a_compiler_and_transforms_results_are_the_same():
    inputs, mask = parts((2,)), masks.Window(9, 2, align="end")

    def own(query, key, value):
        return attend(query, key, value, mask=mask, normalizer=normalizers.Sparsemax(), backend="cpu")

    compiled = torch.compile(own, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(*inputs), own(*inputs), atol=1e-5)
    assert torch.allclose(torch.func.vmap(own)(*inputs), own(*inputs), atol=1e-5)


def test_a_callable_that_attends_keeps_the_cosines_vectors():
    inputs, others = parts((), 60, 60), [draw(60, 16, seed=seed) for seed in (3, 4, 5)]

    def normalizer(scores, mask):
        attend(*others, score=SCORES["cosine"], mask=masks.Causal(), backend="cpu")
        return scores.softmax(-1)

    options = {"score": SCORES["cosine"], "normalizer": normalizer}
    before = cpu.ENGINE.pairs
    object.__setattr__(cpu.ENGINE, "pairs", 1000)  # several blocks
    try:
        found = attend(*inputs, backend="cpu", **options)
    finally:
        object.__setattr__(cpu.ENGINE, "pairs", before)
    assert torch.allclose(found, attend(*inputs, backend="reference", **options), atol=1e-5)


def test_explain_counts_the_pairs_that_are_computed():
    query, key, value = parts((2,), 96, 96)
    found = explain(query, key, value, mask=masks.Window(8, 0), backend="cpu")
    windows = [(max(first - 8, 0), first + 24) for first in range(0, 96, 24)]
    assert found.pairs.all == 2 * 96 * 96 and found.pairs.allowed == 2 * (96 * 9 - 36)
    assert found.pairs.computed == 2 * 24 * sum(end - first for first, end in windows)


@pytest.mark.parametrize(
    ("options", "by_kernels"),
    [
        ({}, True),
        ({"score": scores.Additive(draw(16, seed=3))}, True),
        ({"read": reads.Sample()}, True),
        ({"read": reads.Sample("straight_through")}, False),
        ({"dropout_p": 0.1}, False),
        ({"score": scores.Additive(draw(16, seed=3)), "dropout_p": 0.1}, False),
        ({"normalizer": normalizers.Sparsemax(), "aux": AuxRequest(top=2)}, False),
    ],
    ids=["plain", "additive", "draw", "straight-through", "dropout", "additive, dropout", "largest of sparsemax"],
)
def test_explain_counts_what_the_call_computes(calls, options, by_kernels):
    """Also of what is random, which is drawn when the call is made."""
    inputs, mask = parts((2,), 96, 96), masks.Window(8, 0)
    counted = explain(*inputs, mask=mask, backend="cpu").pairs.computed
    found = explain(*inputs, mask=mask, backend="cpu", **options).pairs
    attend(*inputs, mask=mask, backend="cpu", **options)
    assert calls == ([("attention", True)] if by_kernels else [])
    assert (found is not None and found.computed == counted) == by_kernels


def test_explain_counts_blocks_where_a_chunk_has_too_many_keys(monkeypatch):
    inputs, mask = parts((2,), 96, 96), masks.Window(8, 0)
    by_kernels = explain(*inputs, mask=mask, backend="cpu").pairs
    monkeypatch.setattr("saccade.backends.cpu.fused.WIDEST", 1)
    by_blocks = explain(*inputs, mask=mask, backend="cpu").pairs
    assert by_blocks.allowed == by_kernels.allowed and by_blocks.computed != by_kernels.computed


def test_memory_for_the_sums_of_chunks_has_a_limit(monkeypatch, calls):
    monkeypatch.setattr("saccade.backends.cpu.fused.MUCH", 1)
    assert_as_defined(*parts((), 300, 300), mask=masks.Causal(), aux=AuxRequest(entropy=True))
    assert calls == SERVED[:1]
    monkeypatch.setattr("saccade.backends.cpu.fused.WIDEST", 1)
    assert_as_defined(*parts((), 300, 300), mask=masks.Causal(), aux=AuxRequest(entropy=True))
    assert calls == SERVED[:1]
