"""The laws as functions that raise AssertionError: tests call them with every backend, and with wrong ones."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.testing import assert_close

from laws.case import Case, differentiable, learning
from saccade import AuxOutput, AuxRequest, masks
from saccade.auxiliary import AUX_FIELDS

SINGLE = 1e-4
"""Tolerance of float32, relative to the largest number."""


def same(actual: Any, expected: Any, rtol: float = 1e-8, atol: float = 1e-9) -> None:
    """Tensors, pairs and what was asked for of an `AuxOutput` agree; infinities too."""
    if isinstance(actual, AuxOutput):
        for name in AUX_FIELDS:
            if getattr(actual, name) is not None:
                same(getattr(actual, name), getattr(expected, name), rtol, atol)
    elif isinstance(actual, tuple | list):
        for one, other in zip(actual, expected, strict=True):
            same(one, other, rtol, atol)
    else:
        if actual.dtype == torch.float32:
            finite = expected.detach()[expected.detach().isfinite()]
            size = float(finite.abs().max()) if finite.numel() else 0.0
            rtol, atol = max(rtol, SINGLE), max(atol, SINGLE * size, SINGLE * 1e-2)
        assert_close(actual, expected.to(actual.dtype), rtol=rtol, atol=atol)


def pulled(output: Tensor, aux: AuxOutput | None = None) -> Tensor:
    """One number that depends on all of the output and the statistics, with weights that tell them apart."""
    total = torch.zeros((), dtype=output.dtype)
    found = [output] if aux is None else [output, *torch.utils._pytree.tree_leaves(aux)]
    for tensor in found:
        if tensor.is_floating_point() and tensor.requires_grad:
            finite = tensor.masked_fill(tensor == -math.inf, 0.0)
            ramp = torch.linspace(1, 2, tensor.numel(), dtype=tensor.dtype).reshape(tensor.shape)
            total = total + (finite * ramp).sum() + finite.square().sum()
    return total


def gradients(total: Tensor, wanted: Sequence[Tensor]) -> list[Tensor]:
    if not total.requires_grad:
        return [torch.zeros_like(tensor) for tensor in wanted]
    found = torch.autograd.grad(total, wanted, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(tensor) if grad is None else grad for tensor, grad in zip(wanted, found, strict=True)]


# ---------------------------------------------------------------- law 1


def law_empty_rows(case: Case) -> None:
    """A row with nothing allowed gives zeros everywhere, whatever it holds, and lets no gradient through."""
    case = replace(case, mask="tensor", bias="none")
    inputs = case.inputs()
    inputs["mask.allowed"][..., 1, :] = False
    inputs["query"][..., 1, :] = torch.tensor([math.nan, math.inf], dtype=case.dtype).repeat(case.sizes.d)[
        : case.sizes.d
    ]
    inputs = differentiable(inputs)
    for weights in (False, True):
        output, aux = case.run(inputs, case.everything(weights=weights))
        emptied(output[..., 1, :], aux)
        names = [name for name, tensor in inputs.items() if tensor.requires_grad]
        for name, grad in zip(names, gradients(pulled(output, aux), learning(inputs)), strict=True):
            assert grad.isfinite().all(), name
            assert name != "query" or (grad[..., 1, :] == 0).all()


def emptied(row: Tensor, aux: AuxOutput) -> None:
    assert (row == 0).all(), row
    for name, value in (("lse", -math.inf), ("index", -1), ("log_prob", 0), ("entropy", 0)):
        found = getattr(aux, name)
        assert found is None or (found[..., 1] == value).all(), name
    assert aux.weights is None or (aux.weights[..., 1, :] == 0).all()
    assert (aux.top[0][..., 1, :] == 0).all() and (aux.top[1][..., 1, :] == -1).all()


def law_no_keys(case: Case) -> None:
    """Without keys every row is empty."""
    case = replace(case, sizes=case.sizes._replace(k=0))
    inputs = differentiable(case.inputs())
    output, aux = case.run(inputs, replace(case.everything(), top=0))
    assert output.shape == (*case.sizes.batch, case.sizes.q, case.sizes.e) and (output == 0).all()
    assert aux.lse is None or (aux.lse == -math.inf).all()
    assert aux.index is None or (aux.index == -1).all()
    assert all((grad == 0).all() for grad in gradients(output.sum(), learning(inputs)))


# ---------------------------------------------------------------- law 2


def law_hidden_keys(case: Case) -> None:
    """What nobody may attend to influences nothing, forward and backward: NaN, infinities, entries of bias and gate."""
    case = replace(case, mask="tensor")
    clean = case.inputs()
    clean["mask.allowed"][..., 2] = False
    dirty = {name: tensor.clone() for name, tensor in clean.items()}
    dirty["key"][..., 2, :], dirty["value"][..., 2, :] = math.nan, math.inf
    for name in ("bias.tensor", "gate.tensor"):
        if name in dirty and dirty[name].shape[-2] == case.sizes.q:
            dirty[name] = (
                dirty[name]
                .expand(*case.sizes.batch, case.sizes.q, case.sizes.k)
                .masked_fill(~dirty["mask.allowed"], math.nan)
            )
            clean[name] = clean[name].expand(*case.sizes.batch, case.sizes.q, case.sizes.k)
    clean, dirty = differentiable(clean), differentiable(dirty)
    truth, statistics = case.run(clean, case.everything(weights=True))
    names = [name for name, tensor in dirty.items() if tensor.requires_grad]
    for weights in (None, False, True):
        request = AuxRequest() if weights is None else case.everything(weights=weights)
        expected = truth, requested(statistics, request)
        output = packed(case.run(dirty, None if weights is None else request))
        same(output, expected)
        grads, expected_grads = (
            gradients(pulled(*result), learning(inputs)) for result, inputs in ((output, dirty), (expected, clean))
        )
        for name, grad, expected_grad in zip(names, grads, expected_grads, strict=True):
            same(grad, expected_grad, 1e-7, 1e-9)
            assert name not in ("key", "value") or (grad[..., 2, :] == 0).all(), name


def requested(aux: AuxOutput, request: AuxRequest) -> AuxOutput:
    """The statistics of a request alone."""
    return AuxOutput(**{name: getattr(aux, name) for name in request.names()})


def packed(result: Any) -> tuple[Tensor, AuxOutput]:
    return result if isinstance(result, tuple) else (result, AuxOutput())


def law_forbidden_weights(case: Case) -> None:
    """Weights are exactly 0 where the mask forbids, and minus infinity in a bias forbids as the mask does."""
    case = replace(case, mask="shared", bias="none")
    inputs = case.inputs()
    allowed = inputs["mask.allowed"]
    output, aux = case.run(inputs, AuxRequest(weights=True))
    assert (aux.weights.masked_fill(allowed, 0.0) == 0).all()
    bias = torch.zeros(allowed.shape, dtype=case.dtype).masked_fill(~allowed, -math.inf)
    same(case.run(inputs, AuxRequest(weights=True), mask=None, bias=bias), (output, aux))


# ---------------------------------------------------------------- law 3


def law_values(case: Case, seed: int = 0) -> None:
    """Output and every statistic are those of the textbook."""
    inputs = case.inputs(seed)
    output, aux = case.truth(inputs)
    same(case.run(inputs), output)
    for weights in (False, True):
        same(case.run(inputs, case.everything(weights=weights)), (output, aux))


def law_batch(case: Case) -> None:
    """Every sequence alone gives what it gives in the batch."""
    inputs = case.inputs()
    whole = case.run(inputs, case.everything())
    first, second = case.sizes.batch
    for one in range(first):
        alone = {name: of_sequence(case, name, tensor, one) for name, tensor in inputs.items()}
        result = replace(case, sizes=case.sizes._replace(batch=(1, second))).run(alone, case.everything())
        same(result[0], whole[0][one : one + 1], 1e-12, 1e-12)
        same(result[1], AuxOutput(**{k: cut(v, one) for k, v in vars(whole[1]).items()}), 1e-12, 1e-12)


def of_sequence(case: Case, name: str, tensor: Tensor, one: int) -> Tensor:
    spec = case.spec(name)
    return tensor[one : one + 1] if spec is None or spec.axes[:1] == ("*",) else tensor


def cut(found: Any, one: int) -> Any:
    if isinstance(found, tuple):
        return tuple(cut(part, one) for part in found)
    return None if found is None else found[one : one + 1]


def law_padding(case: Case) -> None:
    """Keys behind a sequence's length, whatever they hold, change nothing."""
    case = replace(case, mask="lengths")
    inputs = case.inputs()
    inputs["mask.key_lengths"] = torch.full(case.sizes.batch, 4)
    short = {
        name: tensor[..., :4, :] if name in ("key", "value") else tensor
        for name, tensor in inputs.items()
        if "mask." not in name
    }
    expected = replace(case, mask="none", sizes=case.sizes._replace(k=4)).run(short)
    padding = torch.tensor([0.0, 1e30, math.nan], dtype=case.dtype)[: case.sizes.k - 4, None]
    inputs["key"][..., 4:, :], inputs["value"][..., 4:, :] = padding, padding
    same(case.run(inputs), expected)


def law_repeats(case: Case) -> None:
    """The same call twice gives the same bits, gradients included."""
    inputs = differentiable(case.inputs())
    found = []
    for _ in range(2):
        output, aux = case.run(inputs, case.everything())
        found.append([output, *torch.utils._pytree.tree_leaves(aux), *gradients(pulled(output, aux), learning(inputs))])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def law_accuracy(case: Case, times: float) -> None:
    """Against float64 the error is at most `times` that of the plain formula in the same dtype."""
    inputs = case.inputs(7)
    truth, _ = case.truth(inputs)
    plain = case.textbook(inputs)[0].double()
    ours = case.run(inputs)
    assert ours.dtype == case.dtype
    allowance = (
        4 * torch.finfo(case.dtype).eps * inputs["score.v"].double().abs().sum() if "score.v" in inputs else 1e-7
    )
    error, eager = (ours.double() - truth).norm(), (plain - truth).norm()
    assert error <= times * eager + allowance * truth.norm(), f"error {error:.2e}, the plain formula's {eager:.2e}"


def law_accumulation(case: Case) -> None:
    """A mean of thousands of equal values is that value: sums are kept in float32 at least."""
    case = replace(case, sizes=case.sizes._replace(q=3, k=4099))
    inputs = case.inputs()
    ones = {**inputs, "query": torch.zeros_like(inputs["query"]), "value": torch.ones_like(inputs["value"])}
    assert_close(
        case.run(ones),
        torch.ones(*case.sizes.batch, 3, case.sizes.e, dtype=case.dtype),
        rtol=0,
        atol=torch.finfo(case.dtype).eps,
    )


# ---------------------------------------------------------------- law 4


def law_permuted_keys(case: Case) -> None:
    """Keys and values in another order give the same output, statistics by key in that order."""
    inputs = case.inputs()
    order = torch.randperm(case.sizes.k, generator=torch.Generator().manual_seed(1))
    moved = {name: permuted(case, name, tensor, "k", order) for name, tensor in inputs.items()}
    output, aux = case.run(inputs, case.everything(weights=True))
    other, found = case.run(moved, case.everything(weights=True))
    same(other, output, 1e-11, 1e-11)
    same((found.weights, found.received), (aux.weights[..., order], aux.received[..., order]), 1e-11, 1e-11)


def law_permuted_queries(case: Case) -> None:
    """Queries in another order give the outputs in that order."""
    inputs = case.inputs()
    order = torch.randperm(case.sizes.q, generator=torch.Generator().manual_seed(1))
    moved = {name: permuted(case, name, tensor, "q", order) for name, tensor in inputs.items()}
    output, aux = case.run(inputs, case.everything())
    other, found = case.run(moved, case.everything())
    same(other, output[..., order, :], 1e-11, 1e-11)
    same(found.received, aux.received, 1e-11, 1e-11)


def permuted(case: Case, name: str, tensor: Tensor, axis: str, order: Tensor) -> Tensor:
    axes = {"query": ("q", "d"), "key": ("k", "d"), "value": ("k", "e")}.get(name) or case.spec(name).axes
    return tensor.index_select(axes.index(axis) - len(axes), order) if axis in axes else tensor


def law_causal(case: Case, align: Any) -> None:
    """∂ output_i / ∂ key_j and value_j are exactly 0 for every j behind the query's position, the others are not."""
    inputs, n = differentiable(case.inputs()), case.sizes
    output = case.run(inputs, mask=masks.Causal(align))
    shift = n.k - n.q if align == "end" else 0 if align == "start" else align
    for i in range(n.q):
        visible = max(0, i + shift + 1)
        key_grad, value_grad = gradients(output[..., i, :].sum(), [inputs["key"], inputs["value"]])
        assert (key_grad[..., visible:, :] == 0).all() and (value_grad[..., visible:, :] == 0).all()
        assert (value_grad[..., :visible, :] != 0).all()
