"""Law 5 as functions that raise AssertionError: derivatives, torch.func, and randomness that the backward shares."""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.testing import assert_close

from laws.case import Case, Inputs, differentiable, learning
from laws.checks import gradients, packed, pulled, requested, same
from laws.table import SMALL
from saccade import AuxRequest, reads, scores


def law_derivatives(case: Case) -> None:
    """First and second derivatives are those of finite differences, statistics included."""
    differentiates(case, case.everything())


def law_derivatives_of_output(case: Case) -> None:
    """First and second derivatives of the output alone."""
    differentiates(case, None)


def differentiates(case: Case, request: AuxRequest | None) -> None:
    case = replace(case, sizes=SMALL)
    inputs = case.inputs(3)
    moving = [name for name, tensor in inputs.items() if tensor.is_floating_point() and name != "read.uniform"]

    def function(*tensors: Tensor) -> tuple[Tensor, ...]:
        output, aux = packed(case.run({**inputs, **dict(zip(moving, tensors, strict=True))}, request))
        found = [output, *torch.utils._pytree.tree_leaves(aux)]
        return tuple(t.masked_fill(t == -math.inf, 0.0) for t in found if t.is_floating_point() and t.requires_grad)

    leaves = [inputs[name].clone().requires_grad_() for name in moving]
    assert torch.autograd.gradcheck(function, leaves, fast_mode=True, raise_exception=False), "first derivative"
    assert torch.autograd.gradgradcheck(function, leaves, fast_mode=True, raise_exception=False), "second derivative"


def law_gradients(case: Case) -> None:
    """Output, statistics and gradients of every tensor, with and without the weights, are the textbook's."""
    inputs = differentiable(case.inputs())
    truth, statistics = case.truth(inputs)
    for weights in (False, True):
        request = case.everything(weights=weights)
        expected, results = (truth, requested(statistics, request)), case.run(inputs, request)
        same(results, expected)
        same(gradients(pulled(*results), learning(inputs)), gradients(pulled(*expected), learning(inputs)), 1e-7, 1e-8)


def law_requires(case: Case) -> None:
    """A result requires a gradient where one of the tensors it is made of does, and on every backend the same ones."""
    for name in case.inputs():
        if name == "read.uniform":
            continue
        inputs = case.inputs()
        inputs[name] = inputs[name].requires_grad_()
        for weights in (False, True):
            found, expected = (
                [part.requires_grad for part in torch.utils._pytree.tree_leaves(one.run(inputs, everything))]
                for one in (case, case.on("reference"))
                for everything in [case.everything(weights=weights)]
            )
            assert found == expected, name


def law_dropout(case: Case) -> None:
    """Dropped weights are 0, the rest scaled by 1 / (1 − p), backward too; statistics are those before."""
    p, case = 0.4, replace(case, sizes=case.sizes._replace(q=31, k=37, e=37))
    inputs = differentiable(acting_weights(case))
    plain, before = case.run(inputs, AuxRequest(weights=True, received=True))
    for request in (None, AuxRequest(received=True), AuxRequest(weights=True, received=True)):
        output, aux = packed(seeded(case, inputs, p, request))
        dropped = output == 0
        assert abs(dropped.double().mean() - p) < 0.02
        assert_close(output, torch.where(dropped, 0.0, plain / (1 - p)))
        same(aux, before)
        (grad,) = torch.autograd.grad(output.sum(), inputs["value"])
        assert_close(grad[..., 0], output.detach().sum(-2))
    assert torch.equal(case.run(inputs, dropout_p=1.0), torch.zeros_like(plain))


def law_same_noise(case: Case) -> None:
    """The same noise drops the same weights as in the reference, with and without statistics."""
    case = replace(case, sizes=case.sizes._replace(q=31, k=37, e=37))
    inputs = acting_weights(case)
    expected = seeded(case.on("reference"), inputs, 0.4)
    for request in (None, AuxRequest(received=True), AuxRequest(weights=True)):
        output, _ = packed(seeded(case, inputs, 0.4, request))
        assert torch.equal(output == 0, expected == 0)


def acting_weights(case: Case) -> Inputs:
    """Inputs with values such that the output is the weights that act."""
    eye = torch.eye(case.sizes.k, dtype=case.dtype)
    return {**case.inputs(), "value": eye.expand(*case.sizes.batch, -1, -1).clone()}


def seeded(case: Case, inputs: Inputs, p: float, request: AuxRequest | None = None) -> Any:
    torch.manual_seed(5)
    return case.run(inputs, request, dropout_p=p)


def law_draws(case: Case) -> None:
    """One uniform a row decides on every backend; the draw's gradient is its estimator's."""
    case = replace(case, read="sample")
    inputs = differentiable(case.inputs())
    _, aux = case.run(inputs, AuxRequest(index=True, log_prob=True))
    _, truth = case.truth(inputs)
    assert torch.equal(aux.index, truth.index)
    same(aux.log_prob, truth.log_prob)
    sources = [inputs["query"], inputs["key"]]
    same(gradients(aux.log_prob.sum(), sources), gradients(truth.log_prob.sum(), sources), 1e-7)
    assert all((grad == 0).all() for grad in gradients(case.run(inputs).sum(), sources))
    straight = replace(case, read="straight_through").arguments({**inputs, "read.uniform": inputs["read.uniform"]})[
        "read"
    ]
    soft = gradients(case.run(inputs, read=reads.Soft()).sum(), sources)
    for read in (straight, reads.Argmax("straight_through")):
        same(gradients(case.run(inputs, read=read).sum(), sources), soft, 1e-7)


def law_ties(case: Case) -> None:
    """Among equals the lower index is taken, by every read and statistic that chooses."""
    inputs = case.inputs()
    inputs["query"] = torch.zeros_like(inputs["query"])
    allowed = torch.ones(case.sizes.q, case.sizes.k, dtype=torch.bool)
    allowed[:, 0] = False
    equal = {"score": scores.Dot(), "mask": allowed}
    _, aux = case.run(inputs, AuxRequest(index=True, top=3), read=reads.Argmax(), **equal)
    assert (aux.index == 1).all() and (aux.top[1] == torch.tensor([1, 2, 3])).all()
    output = case.run(inputs, read=reads.TopK(2), **equal)
    assert_close(output, inputs["value"][..., 1:3, :].mean(-2, keepdim=True).expand(output.shape))


def law_functional(case: Case) -> None:
    """torch.func: vmap over every tensor alone and over all, grad, vmap of grad, jacrev."""
    case = replace(case, sizes=case.sizes._replace(batch=(2,)))
    batch = [case.inputs(seed) for seed in range(2)]
    names = list(batch[0])
    moving = [name for name in names if batch[0][name].is_floating_point() and name != "read.uniform"]

    def total(*tensors: Tensor) -> Tensor:
        return case.run(dict(zip(names, tensors, strict=True))).square().sum()

    def output(*tensors: Tensor) -> Tensor:
        return case.run(dict(zip(names, tensors, strict=True)))

    stacked = [torch.stack([inputs[name] for inputs in batch]) for name in names]
    first = output(*batch[0].values())
    for only in (*names, None):
        dims = tuple(0 if only in (name, None) else None for name in names)
        tensors = [whole if dim == 0 else whole[0] for whole, dim in zip(stacked, dims, strict=True)]
        second = output(*(whole[1] if dim == 0 else whole[0] for whole, dim in zip(stacked, dims, strict=True)))
        assert_close(
            torch.func.vmap(output, dims)(*tensors),
            torch.stack([first, second]),
            msg=lambda text, only=only: f"vmap over {only}: {text}",
        )
    argnums = tuple(names.index(name) for name in moving)
    want = [
        gradients(total(*(leaves := list(differentiable(inputs).values()))), [leaves[i] for i in argnums])
        for inputs in batch
    ]
    same(torch.func.grad(total, argnums)(*batch[0].values()), want[0])
    same(
        torch.func.vmap(torch.func.grad(total, argnums))(*stacked),
        [torch.stack(pair) for pair in zip(*want, strict=True)],
    )
    jacobian = torch.func.jacrev(lambda value: case.run({**batch[0], "value": value}).sum(-1))(batch[0]["value"])
    assert_close(jacobian.sum(tuple(range(jacobian.ndim - batch[0]["value"].ndim))), gradients_of_value(case, batch[0]))


def law_forward(case: Case) -> None:
    """Forward mode over all tensors is reverse mode, of results by `jvp` and dual numbers, and of their gradient."""
    case = replace(case, sizes=SMALL)
    inputs = case.inputs(1)
    moving = {name: part for name, part in inputs.items() if part.is_floating_point() and name != "read.uniform"}
    primals, generator = tuple(moving.values()), torch.Generator().manual_seed(2)

    def normal(parts: Any) -> tuple[Tensor, ...]:
        return tuple(torch.randn(part.shape, generator=generator, dtype=part.dtype) for part in parts)

    def results(*tensors: Tensor) -> tuple[Tensor, ...]:
        found = packed(case.run({**inputs, **dict(zip(moving, tensors, strict=True))}, case.everything()))
        parts = [part for part in torch.utils._pytree.tree_leaves(found) if part.is_floating_point()]
        return tuple(part.masked_fill(part == -math.inf, 0.0) for part in parts)

    outputs, pull = torch.func.vjp(results, *primals)
    tangents, cotangents = normal(primals), normal(outputs)
    expected = dotted(pull(cotangents), tangents)
    assert_close(dotted(torch.func.jvp(results, primals, tangents)[1], cotangents), expected)
    with forward_ad.dual_level():
        duals = results(*map(forward_ad.make_dual, primals, tangents))
        found = [forward_ad.unpack_dual(part).tangent for part in duals]
    pairs = [pair for pair in zip(found, cotangents, strict=True) if pair[0] is not None]
    assert_close(dotted(*zip(*pairs, strict=True)), expected)
    gradient = torch.func.grad(lambda *tensors: dotted(results(*tensors), cotangents), tuple(range(len(primals))))
    same(torch.func.jvp(gradient, primals, tangents)[1], torch.func.vjp(gradient, *primals)[1](tangents))


def dotted(first: Any, second: Any) -> Tensor:
    """The scalar product of two lists of tensors."""
    return torch.stack([(one * other).sum() for one, other in zip(first, second, strict=True)]).sum()


def gradients_of_value(case: Case, inputs: Inputs) -> Tensor:
    leaves = differentiable(inputs)
    return gradients(case.run(leaves).sum(), [leaves["value"]])[0]
