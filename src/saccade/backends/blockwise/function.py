"""Blocks as one differentiable function, and as opaque operators for compilers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import unwrap_if_dead

from saccade._call.call import Call
from saccade._definitions.numerics import tracing, transforming
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


def applied(function: type[torch.autograd.Function], settings: tuple[Any, ...], tensors: Sequence[Tensor]) -> Any:
    """Call `function.apply` without its inspection of a signature.

    That inspection takes as long as ten operations.
    """
    if tracing() or transforming():
        return function.apply(*settings, *tensors)
    return super(torch.autograd.Function, function).apply(*settings, *map(unwrap_if_dead, tensors))  # type: ignore[misc]


SETTINGS = 5
"""Number of arguments of `Blockwise` before its tensors."""


class Blockwise(torch.autograd.Function):
    """Results of an aligned call as a function of its leaves."""

    @staticmethod
    def forward(
        engine: str, skeleton: "Call | str", holds_leaves: bool, count: int, keeps: bool, *leaves: Tensor
    ) -> tuple[Tensor, ...]:
        """Results, and behind them the residuals.

        Args:
            engine: its name.
            skeleton, leaves: a call, and its tensors.
            holds_leaves: whether the call holds these tensors itself, as it does except under a transform.
            count: number of results.
            keeps: whether the backward reads results and residuals.
        """
        if isinstance(skeleton, str):
            return tuple(forward_op(list(leaves), skeleton, engine))
        return tuple(forward(engine_named(engine), skeleton if holds_leaves else restored(skeleton, leaves)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.engine, ctx.skeleton, _, count, keeps, *leaves = inputs
        ctx.leaves = len(leaves)
        ctx.save_for_backward(*leaves, *(output if keeps else ()))
        ctx.floating = [tensor.is_floating_point() for tensor in output[:count]]
        integers = [tensor for tensor, floating in zip(output, ctx.floating, strict=False) if not floating]
        ctx.mark_non_differentiable(*integers, *output[count:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
        saved = ctx.saved_tensors  # once: a checkpoint unpacks them when they are read
        leaves, kept = saved[: ctx.leaves], saved[ctx.leaves :]
        upstream = [grad for grad, floating in zip(grads, ctx.floating, strict=False) if floating]
        present = [grad for grad in upstream if grad is not None]
        needed = list(ctx.needs_input_grad[SETTINGS:])
        if isinstance(ctx.skeleton, str):
            gradients = backward_op(upstream, list(leaves), list(kept), ctx.skeleton, ctx.engine, needed)
        elif transforming() or all(addressed(grad) for grad in present):
            reached, kept = tuple(grad is not None for grad in upstream), [tensor.detach() for tensor in kept]
            settings = ctx.engine, ctx.skeleton, tuple(needed), reached
            gradients = applied(BlockwiseBackward, settings, [*present, *leaves, *kept])
        else:  # many upstream gradients at once (`is_grads_batched`): no kernel can write into them

            def results(*moved: Tensor) -> tuple[Tensor, ...]:
                computed = floating_by_definition(restored(ctx.skeleton, moved))
                return tuple(c for c, grad in zip(computed, upstream, strict=True) if grad is not None)

            return (*[None] * SETTINGS, *by_definition(results, leaves, needed, present))
        remaining = iter(gradients)
        return (*[None] * SETTINGS, *(next(remaining) if need else None for need in needed))

    @staticmethod
    def vmap(
        info: Any,
        in_dims: tuple[Any, ...],
        engine: str,
        skeleton: Any,
        holds_leaves: bool,
        count: int,
        keeps: bool,
        *leaves: Tensor,
    ) -> tuple[Any, Any]:
        leaves = tuple(batched_first(info, in_dims[SETTINGS:], leaves))
        results = Blockwise.apply(engine, skeleton, False, count, keeps, *leaves)
        return results, (0,) * len(results)


class BlockwiseBackward(torch.autograd.Function):
    """Gradients as a function; their derivative goes through the reference.

    Its tensors are the gradients of the reached results, the leaves, and all that the forward returned.
    """

    @staticmethod
    def forward(
        engine: str, skeleton: Call, needed: tuple[bool, ...], reached: tuple[bool, ...], *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        upstream = iter(tensors)
        grads = [next(upstream) if reaches else None for reaches in reached]
        leaves, kept = tensors[sum(reached) :][: len(needed)], tensors[sum(reached) + len(needed) :]
        return tuple(backward(engine_named(engine), restored(skeleton, leaves), grads, needed, kept))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _, ctx.skeleton, ctx.needed, ctx.reached, *tensors = inputs
        ctx.save_for_backward(*tensors[: sum(ctx.reached) + len(ctx.needed)])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        tensors, count = ctx.saved_tensors, sum(ctx.reached)
        moving = [position for position in range(len(tensors)) if ctx.needs_input_grad[4 + position]]
        learning = [position for position, need in enumerate(ctx.needed) if need]

        def first_derivative(*moved: Tensor) -> tuple[Tensor, ...]:
            current = replaced(tensors, moving, moved)
            upstream, leaves = current[:count], current[count:]

            def results(*learned: Tensor) -> tuple[Tensor, ...]:
                computed = floating_by_definition(restored(ctx.skeleton, replaced(leaves, learning, learned)))
                return tuple(c for c, reaches in zip(computed, ctx.reached, strict=True) if reaches)

            outputs, pull = torch.func.vjp(results, *(leaves[position] for position in learning))[:2]
            pulled: tuple[Tensor, ...] = pull(tuple(g.to(out.dtype) for g, out in zip(upstream, outputs, strict=True)))
            return pulled

        pull = torch.func.vjp(first_derivative, *(tensors[position] for position in moving))[1]
        gradients = dict(zip(moving, pull(grads), strict=True))
        return (*[None] * 4, *(gradients.get(position) for position in range(len(ctx.needs_input_grad) - 4)))

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], engine: str, skeleton: Any, needed: Any, reached: Any, *tensors: Tensor
    ) -> tuple[Any, Any]:
        tensors = tuple(batched_first(info, in_dims[4:], tensors))
        results = BlockwiseBackward.apply(engine, skeleton, needed, reached, *tensors)
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
    return [result.contiguous() for result in forward(engine_named(engine), restored(skeleton, leaves))]


@forward_op.register_fake
def _(leaves: list[Tensor], skeleton: str, engine: str) -> list[Tensor]:
    call = restored(skeleton, leaves, [0.0] * leaves[-1].numel())  # shapes depend on no numbers
    kinds = engine_named(engine).residuals(call)
    return [*empty_results(call), *(call.query.new_empty(shape, dtype=dtype) for shape, dtype in kinds)]


@torch.library.custom_op("saccade::blockwise_backward", mutates_args=())
def backward_op(
    grads: list[Tensor | None],
    leaves: list[Tensor],
    kept: list[Tensor],
    skeleton: str,
    engine: str,
    needed: list[bool],
) -> list[Tensor]:
    # inside an operator the dispatcher has already passed autograd: it has to record again
    keys, excluded = torch._C.DispatchKey, torch._C._dispatch_tls_local_exclude_set()
    for key in (keys.AutogradFunctionality, keys.AutogradOther, keys.AutogradNestedTensor, keys.ADInplaceOrView):
        excluded = excluded.remove(key)
    with torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded):
        gradients = backward(engine_named(engine), restored(skeleton, leaves), grads, needed, kept)
        return [gradient.contiguous() for gradient in gradients]  # compilers rely on the strides of the fakes


@backward_op.register_fake
def _(
    grads: list[Tensor | None],
    leaves: list[Tensor],
    kept: list[Tensor],
    skeleton: str,
    engine: str,
    needed: list[bool],
) -> list[Tensor]:
    return [leaf.new_empty(leaf.shape) for leaf, need in zip(leaves, needed, strict=True) if need]
