"""The results of all blocks as one differentiable function of the call's tensors, and as opaque operators for
compilers.
"""

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
    """The call, from its structure and its leaves. An encoded structure has its numbers in one tensor behind the
    leaves.
    """
    if not isinstance(skeleton, str):
        return skeleton.with_leaves(iter(tensors))
    *leaves, last = tensors
    structure: Call = decode(skeleton, last.tolist() if numbers is None else numbers)
    return structure.with_leaves(iter(leaves))


def outlined(skeleton: str, tensors: Sequence[Tensor]) -> Call:
    """The call with zeros for its numbers: enough to tell shapes, where tensors hold no data."""
    return restored(skeleton, tensors, [0.0] * tensors[-1].numel())


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
        wanted = list(ctx.needs_input_grad[2:])
        if isinstance(ctx.skeleton, str):
            found = backward_op(upstream, list(leaves), ctx.skeleton, ctx.engine, wanted)
        elif transforming() or all(addressed(grad) for grad in upstream):
            apply = BlockwiseBackward.apply
            found = apply(ctx.engine, ctx.skeleton, tuple(wanted), len(upstream), *upstream, *leaves)
        else:
            found = [grad for grad in many_gradients(ctx.skeleton, wanted, upstream, leaves) if grad is not None]
        remaining = iter(found)
        return (None, None, *(next(remaining) if want else None for want in wanted))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], engine: str, skeleton: Any, *leaves: Tensor) -> tuple[Any, Any]:
        results = Blockwise.apply(engine, skeleton, *batched_first(info, in_dims[2:], leaves))
        return results, (0,) * len(results)


class BlockwiseBackward(torch.autograd.Function):
    """The gradients, as a function of upstream gradients and leaves; its own derivative goes through the reference."""

    @staticmethod
    def forward(
        engine: str, skeleton: Call, wanted: tuple[bool, ...], count: int, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        return tuple(backward(engine_named(engine), restored(skeleton, tensors[count:]), tensors[:count], wanted))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _, ctx.skeleton, ctx.wanted, ctx.count, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        tensors = list(ctx.saved_tensors)
        moving = [position for position, tensor in enumerate(tensors) if ctx.needs_input_grad[4 + position]]

        def first_derivative(*moved: Tensor) -> tuple[Tensor, ...]:
            current = list(tensors)
            for position, tensor in zip(moving, moved, strict=True):
                current[position] = tensor
            return reference_gradients(ctx.skeleton, ctx.wanted, current[: ctx.count], current[ctx.count :])

        pull = torch.func.vjp(first_derivative, *(tensors[position] for position in moving))[1]
        found = dict(zip(moving, pull(grads), strict=True))
        return (*[None] * 4, *(found.get(position) for position in range(len(tensors))))

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], engine: str, skeleton: Any, wanted: Any, count: int, *tensors: Tensor
    ) -> tuple[Any, Any]:
        results = BlockwiseBackward.apply(engine, skeleton, wanted, count, *batched_first(info, in_dims[4:], tensors))
        return results, (0,) * len(results)


def batched_first(info: Any, in_dims: tuple[Any, ...], tensors: Sequence[Tensor]) -> list[Tensor]:
    """Aligned tensors with the vmapped dimension in front of their batch dimensions; a shared one is expanded, so
    that its gradient stays one a sample.
    """
    return [
        tensor.movedim(dim, 0) if dim is not None else tensor.expand(info.batch_size, *tensor.shape)
        for tensor, dim in zip(tensors, in_dims, strict=True)
    ]


def many_gradients(
    skeleton: "Call | str", wanted: Sequence[bool], grads: Sequence[Tensor], leaves: Sequence[Tensor]
) -> list[Tensor | None]:
    """The gradients where many upstream ones are mapped over at once (`is_grads_batched`): tensors without memory of
    their own, which nothing can be written into. By the definition.
    """

    def results(*moved: Tensor) -> tuple[Tensor, ...]:
        return floating(restored(skeleton, moved))

    return by_definition(results, leaves, wanted, grads)


def floating(call: Call) -> tuple[Tensor, ...]:
    """All results that may have gradients, by the definition."""
    call = reference.cleaned(call) if reference.untrusted(call) else call
    part = evaluate(DEFINITION, replace(call, cache=None), call.grid())
    return tuple(tensor for tensor in part if tensor.is_floating_point())


def reference_gradients(
    skeleton: Call, wanted: Sequence[bool], grads: Sequence[Tensor], leaves: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """The same gradients through the reference, every operation of which can be differentiated again."""
    positions = [position for position, want in enumerate(wanted) if want]

    def results(*moved: Tensor) -> tuple[Tensor, ...]:
        current = list(leaves)
        for position, tensor in zip(positions, moved, strict=True):
            current[position] = tensor
        return floating(restored(skeleton, current))

    outputs, pull = torch.func.vjp(results, *(leaves[position] for position in positions))[:2]
    found: tuple[Tensor, ...] = pull(tuple(grad.to(out.dtype) for grad, out in zip(grads, outputs, strict=True)))
    return found


@torch.library.custom_op("saccade::blockwise_forward", mutates_args=())
def forward_op(leaves: list[Tensor], skeleton: str, engine: str) -> list[Tensor]:
    """`forward`, as an opaque operator."""
    return forward(engine_named(engine), restored(skeleton, leaves))


@forward_op.register_fake
def _(leaves: list[Tensor], skeleton: str, engine: str) -> list[Tensor]:
    return empty_results(outlined(skeleton, leaves))


def _autograd_inside_operators() -> Any:
    """Lets autograd record again where the dispatcher has already passed it, as it has inside an operator."""
    keys, excluded = torch._C.DispatchKey, torch._C._dispatch_tls_local_exclude_set()
    for key in (keys.AutogradFunctionality, keys.AutogradOther, keys.AutogradNestedTensor, keys.ADInplaceOrView):
        excluded = excluded.remove(key)
    return torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded)


@torch.library.custom_op("saccade::blockwise_backward", mutates_args=())
def backward_op(
    grads: list[Tensor], leaves: list[Tensor], skeleton: str, engine: str, wanted: list[bool]
) -> list[Tensor]:
    """`backward`, as an opaque operator."""
    with _autograd_inside_operators():
        return backward(engine_named(engine), restored(skeleton, leaves), grads, wanted)


@backward_op.register_fake
def _(grads: list[Tensor], leaves: list[Tensor], skeleton: str, engine: str, wanted: list[bool]) -> list[Tensor]:
    return [torch.empty_like(leaf) for leaf, want in zip(leaves, wanted, strict=True) if want]
