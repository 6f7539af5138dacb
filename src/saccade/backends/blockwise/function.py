"""Blocks as one differentiable function, and as opaque operators for compilers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._definitions.numerics import transforming
from saccade._definitions.structure import decode
from saccade.backends import reference
from saccade.backends.blockwise.blocks import backward, empty_results, evaluate, forward
from saccade.backends.blockwise.engine import DEFINITION, engine_named
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import addressed


def restored(skeleton: "Call | str", tensors: Sequence[Tensor], numbers: list[float] | None = None) -> Call:
    """The call, from its structure and its leaves, with encoded numbers behind them."""
    if not isinstance(skeleton, str):
        return skeleton.with_leaves(iter(tensors))
    *leaves, last = tensors
    structure: Call = decode(skeleton, last.tolist() if numbers is None else numbers)
    return structure.with_leaves(iter(leaves))


class Blockwise(torch.autograd.Function):
    """Results of an aligned call as a function of its leaves."""

    @staticmethod
    def forward(engine: str, skeleton: "Call | str", *leaves: Tensor) -> tuple[Tensor, ...]:
        if isinstance(skeleton, str):
            return tuple(forward_op(list(leaves), skeleton, engine))
        return tuple(forward(engine_named(engine), restored(skeleton, leaves)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.engine, ctx.skeleton, *leaves = inputs
        ctx.save_for_backward(*leaves)
        ctx.floating = tuple(tensor.is_floating_point() for tensor in output)
        ctx.mark_non_differentiable(*(tensor for tensor in output if not tensor.is_floating_point()))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        leaves = ctx.saved_tensors
        upstream = [grad for grad, floating in zip(grads, ctx.floating, strict=True) if floating]
        needed = list(ctx.needs_input_grad[2:])
        if isinstance(ctx.skeleton, str):
            gradients = backward_op(upstream, list(leaves), ctx.skeleton, ctx.engine, needed)
        elif transforming() or all(addressed(grad) for grad in upstream):
            apply = BlockwiseBackward.apply
            gradients = apply(ctx.engine, ctx.skeleton, tuple(needed), len(upstream), *upstream, *leaves)
        else:  # many upstream gradients at once (`is_grads_batched`): no kernel can write into them

            def results(*moved: Tensor) -> tuple[Tensor, ...]:
                return floating_by_definition(restored(ctx.skeleton, moved))

            return (None, None, *by_definition(results, leaves, needed, upstream))
        remaining = iter(gradients)
        return (None, None, *(next(remaining) if need else None for need in needed))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], engine: str, skeleton: Any, *leaves: Tensor) -> tuple[Any, Any]:
        results = Blockwise.apply(engine, skeleton, *batched_first(info, in_dims[2:], leaves))
        return results, (0,) * len(results)


class BlockwiseBackward(torch.autograd.Function):
    """Gradients as a function; their derivative goes through the reference."""

    @staticmethod
    def forward(
        engine: str, skeleton: Call, needed: tuple[bool, ...], count: int, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        return tuple(backward(engine_named(engine), restored(skeleton, tensors[count:]), tensors[:count], needed))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _, ctx.skeleton, ctx.needed, ctx.count, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        tensors, count = ctx.saved_tensors, ctx.count
        moving = [position for position in range(len(tensors)) if ctx.needs_input_grad[4 + position]]
        learning = [position for position, need in enumerate(ctx.needed) if need]

        def first_derivative(*moved: Tensor) -> tuple[Tensor, ...]:
            current = replaced(tensors, moving, moved)
            upstream, leaves = current[:count], current[count:]

            def results(*learned: Tensor) -> tuple[Tensor, ...]:
                return floating_by_definition(restored(ctx.skeleton, replaced(leaves, learning, learned)))

            outputs, pull = torch.func.vjp(results, *(leaves[position] for position in learning))[:2]
            pulled: tuple[Tensor, ...] = pull(tuple(g.to(out.dtype) for g, out in zip(upstream, outputs, strict=True)))
            return pulled

        pull = torch.func.vjp(first_derivative, *(tensors[position] for position in moving))[1]
        gradients = dict(zip(moving, pull(grads), strict=True))
        return (*[None] * 4, *(gradients.get(position) for position in range(len(tensors))))

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], engine: str, skeleton: Any, needed: Any, count: int, *tensors: Tensor
    ) -> tuple[Any, Any]:
        results = BlockwiseBackward.apply(engine, skeleton, needed, count, *batched_first(info, in_dims[4:], tensors))
        return results, (0,) * len(results)


def batched_first(info: Any, in_dims: tuple[Any, ...], tensors: Sequence[Tensor]) -> list[Tensor]:
    """Aligned tensors with the vmapped dimension in front, shared ones expanded."""
    return [
        tensor.movedim(dim, 0) if dim is not None else tensor.expand(info.batch_size, *tensor.shape)
        for tensor, dim in zip(tensors, in_dims, strict=True)
    ]


def replaced(tensors: Sequence[Tensor], positions: Sequence[int], new: Sequence[Tensor]) -> list[Tensor]:
    at = dict(zip(positions, new, strict=True))
    return [at.get(position, tensor) for position, tensor in enumerate(tensors)]


def floating_by_definition(call: Call) -> tuple[Tensor, ...]:
    """All results that may have gradients, by the reference."""
    call = reference.cleaned(call) if reference.untrusted(call) else call
    results = evaluate(DEFINITION, replace(call, cache=None), call.grid())
    return tuple(tensor for tensor in results if tensor.is_floating_point())


@torch.library.custom_op("saccade::blockwise_forward", mutates_args=())
def forward_op(leaves: list[Tensor], skeleton: str, engine: str) -> list[Tensor]:
    return forward(engine_named(engine), restored(skeleton, leaves))


@forward_op.register_fake
def _(leaves: list[Tensor], skeleton: str, engine: str) -> list[Tensor]:
    return empty_results(restored(skeleton, leaves, [0.0] * leaves[-1].numel()))  # shapes depend on no numbers


@torch.library.custom_op("saccade::blockwise_backward", mutates_args=())
def backward_op(
    grads: list[Tensor], leaves: list[Tensor], skeleton: str, engine: str, needed: list[bool]
) -> list[Tensor]:
    # inside an operator the dispatcher has already passed autograd: it has to record again
    keys, excluded = torch._C.DispatchKey, torch._C._dispatch_tls_local_exclude_set()
    for key in (keys.AutogradFunctionality, keys.AutogradOther, keys.AutogradNestedTensor, keys.ADInplaceOrView):
        excluded = excluded.remove(key)
    with torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded):
        return backward(engine_named(engine), restored(skeleton, leaves), grads, needed)


@backward_op.register_fake
def _(grads: list[Tensor], leaves: list[Tensor], skeleton: str, engine: str, needed: list[bool]) -> list[Tensor]:
    return [torch.empty_like(leaf) for leaf, need in zip(leaves, needed, strict=True) if need]
