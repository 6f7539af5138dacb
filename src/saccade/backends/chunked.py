"""Attention in linear memory without a compiler: blocks of queries, computed forward and again in the backward.

Built-in definitions run as one `torch.autograd.Function` whose tensors are the leaves of the call's tree; under a compiler its
forward and backward are opaque operators, so that another length is not another graph. The second derivative recomputes
through the reference. Any other callable runs as one checkpoint a block.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from saccade.auxiliary import AuxOutput, AuxRequest
from saccade.backends import reference
from saccade.backends.additive import FusedAdditive
from saccade.call import Call, opaque, rows
from saccade.numerics import tracing, transforming, wide
from saccade.scores import Additive, exponentials
from saccade.structure import Axes, decode, encode

BLOCK = 1 << 19
"""Pairs of a query and a key in one block: its scores and what is computed from them stay in the cache."""

RESULTS: dict[str, Axes] = {
    "output": ("q", "e"),
    "weights": ("q", "k"),
    "lse": ("q",),
    "index": ("q",),
    "log_prob": ("q",),
    "entropy": ("q",),
    "top_values": ("q", "t"),
    "top_indices": ("q", "t"),
    "received": ("k",),
}
"""What a block may yield, and the trailing axes of each; what has no "q" is summed over the blocks."""

INTEGERS = ("index", "top_indices")


def unsupported(call: Call) -> str | None:
    """Why this backend cannot serve the call, or None."""
    if tracing() and not opaque(call):
        return "a score or normalizer of the user's own cannot cross into an opaque operator; torch.compile fuses the reference"
    return None


def peak_bytes(call: Call) -> int:
    """What it allocates beside inputs and output: one block's scores and what is computed from them, and float32 copies."""
    size = 8 if call.query.dtype == torch.float64 else 4
    grid = call.grid()
    pairs = math.prod(call.batch) * grid.q_len * grid.k_len
    block = min(pairs, max(BLOCK, grid.k_len))
    return size * (block * 6 + call.key.numel() + call.value.numel() + call.query.numel())


def run(call: Call) -> tuple[Tensor, AuxOutput]:
    """Output and statistics, block by block."""
    if not call.built_in:
        return checkpointed(call)
    call = call.aligned()
    if not call.aux.weights:
        return unpacked(call, apply(call))
    weighing = replace(call, aux=AuxRequest(weights=True, lse=call.aux.lse))
    found = dict(zip(result_names(weighing), apply(weighing), strict=True))
    grid = call.grid()
    allowed = reference.allowed_keys(call, grid) if call.mask is not None or call.bias is not None else None
    allowed = allowed.expand(found["weights"].shape) if allowed is not None else None
    call = reference.cleaned(call) if reference.untrusted(call) else call
    return reference.read(call, found["weights"], allowed, found.get("lse"))


def apply(call: Call) -> Sequence[Tensor]:
    """The results, as differentiable outputs of one Function (or straight, where nothing asks for a gradient)."""
    leaves = [leaf.tensor for leaf in call.leaves()]
    if tracing():
        numbers: list[float] = []
        skeleton = encode(call, numbers)
        results: Sequence[Tensor] = _Chunked.apply(skeleton, *leaves, torch.tensor(numbers, dtype=torch.float64))
    elif transforming() or (torch.is_grad_enabled() and any(leaf.requires_grad for leaf in leaves)):
        results = _Chunked.apply(call, *leaves)
    else:
        results = forward(call)
    return results


def result_names(call: Call) -> list[str]:
    """What the blocks yield for this call, in order."""
    if call.aux.weights:
        return ["weights", "lse"] if call.aux.lse else ["weights"]
    asked = set(call.aux.names()) | ({"top_values", "top_indices"} if call.aux.top else set())
    return ["output", *(name for name in RESULTS if name in asked)]


def unpacked(call: Call, results: Sequence[Tensor]) -> tuple[Tensor, AuxOutput]:
    """Output and `AuxOutput` from the flat results."""
    found = dict(zip(result_names(call), results, strict=True))
    top = (found.pop("top_values"), found.pop("top_indices")) if call.aux.top else None
    return found.pop("output"), AuxOutput(top=top, **found)


# ---------------------------------------------------------------- blocks


class Block(NamedTuple):
    """Entries first .. first + heads - 1 of batch dimension `dim` (None: all of the batch), queries start .. start + count - 1."""

    dim: int | None
    first: int
    heads: int
    start: int
    count: int

    def narrow(self, tensor: Tensor, axes: Axes) -> Tensor:
        """The part of an aligned tensor that belongs to this block, as a view."""
        if self.dim is not None and tensor.shape[self.dim] != 1:
            tensor = tensor.narrow(self.dim, self.first, self.heads)
        if "q" in axes:
            dim = tensor.ndim - len(axes) + axes.index("q")
            tensor = tensor if tensor.shape[dim] == 1 else tensor.narrow(dim, self.start, self.count)
        return tensor


def blocks(batch: tuple[int, ...], q_len: int, k_len: int, budget: int = BLOCK) -> Iterator[Block]:
    """Blocks of at most `budget` pairs where that can be: whole batch entries first, then rows of one."""
    if not q_len or 0 in batch:
        return
    dim = max(range(len(batch)), key=lambda d: batch[d]) if batch else None
    size = batch[dim] if dim is not None else 1
    pairs = max(1, math.prod(batch) // size * k_len)  # of one query in one entry of the widest batch dimension
    heads = min(size, max(1, budget // (pairs * q_len)))
    count = min(q_len, max(1, budget // (pairs * heads)))
    for first in range(0, size, heads):
        for start in range(0, q_len, count):
            yield Block(dim, first, min(heads, size - first), start, min(count, q_len - start))


def evaluate(call: Call, block: Block, q_len: int) -> list[Tensor]:
    """The results of one block, from a call whose tensors are already narrowed to it."""
    grid = call.grid()._replace(q_len=q_len, start=block.start)
    if call.cache is not None and isinstance(call.score, Additive):
        call = replace(call, score=FusedAdditive(call.score.v, call.cache))
    if call.aux.weights:
        weights, _, lse = reference.weigh(call, grid)
        return [weights] if lse is None else [weights, lse]
    output, aux = reference.attention(call, grid)
    values, indices = aux.top or (None, None)
    found = {**vars(aux), "output": output, "top_values": values, "top_indices": indices}
    return [found[name] for name in result_names(call)]


def prepared(call: Call) -> Call:
    """What every block shares, done once: keys nobody may see cleaned where need be, half types widened, e^{2k} of additive keys."""
    if reference.untrusted(call):
        call = reference.cleaned(call)
    call = call.map(lambda tensor, axes: wide(tensor))
    if isinstance(call.score, Additive) and call.cache is None:
        call = replace(call, cache=exponentials(call.key))
    return call


def empty_results(call: Call) -> list[Tensor]:
    """Where the blocks write: every result at its full size, sums at zero."""
    batch, grid = call.batch, call.grid()
    sizes = {"q": grid.q_len, "k": grid.k_len, "e": call.value.shape[-1], "t": min(call.aux.top, grid.k_len)}
    found = []
    for name in result_names(call):
        shape = (*batch, *(sizes[axis] for axis in RESULTS[name]))
        dtype = torch.int64 if name in INTEGERS else (call.value.dtype if name == "output" else wide(call.query).dtype)
        found.append(call.query.new_zeros(shape, dtype=dtype))
    return found


def forward(call: Call) -> list[Tensor]:
    """All results of an aligned call, block after block."""
    results, names = empty_results(call), result_names(call)
    shared, q_len = prepared(call), call.query.shape[-2]
    for block in blocks(call.batch, q_len, call.key.shape[-2]):
        part = evaluate(shared.map(block.narrow), block, q_len)
        for name, whole, piece in zip(names, results, part, strict=True):
            target = block.narrow(whole, RESULTS[name])
            if "q" in RESULTS[name]:
                target.copy_(piece)
            else:
                target.add_(piece)
    return results


def backward(call: Call, grads: Sequence[Tensor], wanted: Sequence[bool]) -> list[Tensor]:
    """Gradients of the wanted leaves from those of the floating results: each block computed again and differentiated."""
    shared, q_len = prepared(call), call.query.shape[-2]
    leaves, names = shared.leaves(), floating_results(call)
    positions = [position for position, want in enumerate(wanted) if want]
    totals = [torch.zeros_like(leaves[position].tensor) for position in positions]
    for block in blocks(call.batch, q_len, call.key.shape[-2]):
        tensors = [block.narrow(tensor, axes).detach() for tensor, axes in leaves]
        for position in positions:
            tensors[position].requires_grad_()
        with torch.enable_grad():
            part = evaluate(shared.with_leaves(iter(tensors)), block, q_len)
        floating = [tensor for tensor in part if tensor.is_floating_point()]
        pairs = [
            (tensor, block.narrow(grad, RESULTS[name]).to(tensor.dtype))
            for name, tensor, grad in zip(names, floating, grads, strict=True)
            if tensor.requires_grad
        ]
        if not pairs:
            continue
        outputs, upstream = zip(*pairs, strict=True)
        found = torch.autograd.grad(outputs, [tensors[p] for p in positions], upstream, allow_unused=True)
        for total, position, gradient in zip(totals, positions, found, strict=True):
            if gradient is not None:
                block.narrow(total, leaves[position].axes).add_(gradient)
    originals = call.leaves()
    return [total.to(originals[p].tensor.dtype) for total, p in zip(totals, positions, strict=True)]


def floating_results(call: Call) -> list[str]:
    """The names of the results that may carry gradients."""
    return [name for name in result_names(call) if name not in INTEGERS]


# ---------------------------------------------------------------- the Function and its derivative


def restored(skeleton: "Call | str", tensors: Sequence[Tensor], numbers: list[float] | None = None) -> Call:
    """The call, from its structure and its leaves. An encoded structure has its numbers in one tensor behind the leaves."""
    if not isinstance(skeleton, str):
        return skeleton.with_leaves(iter(tensors))
    *leaves, last = tensors
    structure: Call = decode(skeleton, last.tolist() if numbers is None else numbers)
    return structure.with_leaves(iter(leaves))


def outlined(skeleton: str, tensors: Sequence[Tensor]) -> Call:
    """The call with zeros for its numbers: enough to tell shapes, where tensors hold no data."""
    return restored(skeleton, tensors, [0.0] * tensors[-1].numel())


class _Chunked(torch.autograd.Function):
    """Results of an aligned call as a function of its leaves."""

    @staticmethod
    def forward(skeleton: "Call | str", *leaves: Tensor) -> tuple[Tensor, ...]:
        if isinstance(skeleton, str):
            return tuple(_forward_op(list(leaves), skeleton))
        return tuple(forward(restored(skeleton, leaves)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.skeleton, *leaves = inputs
        ctx.save_for_backward(*leaves)
        ctx.floating = tuple(tensor.is_floating_point() for tensor in output)
        ctx.mark_non_differentiable(*(tensor for tensor in output if not tensor.is_floating_point()))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        leaves = ctx.saved_tensors
        upstream = [grad for grad, floating in zip(grads, ctx.floating, strict=True) if floating]
        wanted = list(ctx.needs_input_grad[1:])
        if isinstance(ctx.skeleton, str):
            found = iter(_backward_op(upstream, list(leaves), ctx.skeleton, wanted))
        else:
            found = iter(_ChunkedBackward.apply(ctx.skeleton, tuple(wanted), len(upstream), *upstream, *leaves))
        return (None, *(next(found) if want else None for want in wanted))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], skeleton: Any, *leaves: Tensor) -> tuple[Any, Any]:
        results = _Chunked.apply(skeleton, *batched_first(info, in_dims[1:], leaves))
        return results, (0,) * len(results)


class _ChunkedBackward(torch.autograd.Function):
    """The gradients, as a function of upstream gradients and leaves; its own derivative goes through the reference."""

    @staticmethod
    def forward(skeleton: Call, wanted: tuple[bool, ...], count: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(backward(restored(skeleton, tensors[count:]), tensors[:count], wanted))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.skeleton, ctx.wanted, ctx.count, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        tensors = list(ctx.saved_tensors)
        moving = [position for position, tensor in enumerate(tensors) if ctx.needs_input_grad[3 + position]]

        def first_derivative(*moved: Tensor) -> tuple[Tensor, ...]:
            current = list(tensors)
            for position, tensor in zip(moving, moved, strict=True):
                current[position] = tensor
            return reference_gradients(ctx.skeleton, ctx.wanted, current[: ctx.count], current[ctx.count :])

        _, pull = torch.func.vjp(first_derivative, *(tensors[position] for position in moving))
        found = dict(zip(moving, pull(grads), strict=True))
        return (None, None, None, *(found.get(position) for position in range(len(tensors))))

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], skeleton: Any, wanted: Any, count: int, *tensors: Tensor
    ) -> tuple[Any, Any]:
        results = _ChunkedBackward.apply(skeleton, wanted, count, *batched_first(info, in_dims[3:], tensors))
        return results, (0,) * len(results)


def batched_first(info: Any, in_dims: tuple[Any, ...], tensors: Sequence[Tensor]) -> list[Tensor]:
    """Aligned tensors with the vmapped dimension in front of their batch dimensions; a shared one is expanded, so that its
    gradient stays one a sample."""
    return [
        tensor.movedim(dim, 0) if dim is not None else tensor.expand(info.batch_size, *tensor.shape)
        for tensor, dim in zip(tensors, in_dims, strict=True)
    ]


def reference_gradients(
    skeleton: Call, wanted: Sequence[bool], grads: Sequence[Tensor], leaves: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """The same gradients through the reference, every operation of which can be differentiated again."""
    positions = [position for position, want in enumerate(wanted) if want]

    def results(*moved: Tensor) -> tuple[Tensor, ...]:
        current = list(leaves)
        for position, tensor in zip(positions, moved, strict=True):
            current[position] = tensor
        call = restored(skeleton, current)
        call = reference.cleaned(call) if reference.untrusted(call) else call
        part = evaluate(replace(call, cache=None), Block(None, 0, 0, 0, call.query.shape[-2]), call.query.shape[-2])
        return tuple(tensor for tensor in part if tensor.is_floating_point())

    outputs, pull = torch.func.vjp(results, *(leaves[position] for position in positions))
    found: tuple[Tensor, ...] = pull(tuple(grad.to(out.dtype) for grad, out in zip(grads, outputs, strict=True)))
    return found


# ---------------------------------------------------------------- opaque operators, for compilers


@torch.library.custom_op("saccade::chunked_forward", mutates_args=())
def _forward_op(leaves: list[Tensor], skeleton: str) -> list[Tensor]:
    return forward(restored(skeleton, leaves))


@_forward_op.register_fake
def _(leaves: list[Tensor], skeleton: str) -> list[Tensor]:
    return empty_results(outlined(skeleton, leaves))


def _autograd_inside_operators() -> Any:
    """Lets autograd record again where the dispatcher has already passed it, as it has inside an operator."""
    keys, excluded = torch._C.DispatchKey, torch._C._dispatch_tls_local_exclude_set()
    for key in (keys.AutogradFunctionality, keys.AutogradOther, keys.AutogradNestedTensor, keys.ADInplaceOrView):
        excluded = excluded.remove(key)
    return torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded)


@torch.library.custom_op("saccade::chunked_backward", mutates_args=())
def _backward_op(grads: list[Tensor], leaves: list[Tensor], skeleton: str, wanted: list[bool]) -> list[Tensor]:
    with _autograd_inside_operators():
        return backward(restored(skeleton, leaves), grads, wanted)


@_backward_op.register_fake
def _(grads: list[Tensor], leaves: list[Tensor], skeleton: str, wanted: list[bool]) -> list[Tensor]:
    return [torch.empty_like(leaf) for leaf, want in zip(leaves, wanted, strict=True) if want]


# ---------------------------------------------------------------- callables of the user's own


def checkpointed(call: Call) -> tuple[Tensor, AuxOutput]:
    """One non-reentrant checkpoint a block of rows: what the callable closes over gets its gradient from autograd itself."""
    if transforming():
        return reference.run(call)
    call = reference.cleaned(call) if reference.untrusted(call) else call
    grid, pairs = call.grid(), max(1, math.prod(call.batch) * call.key.shape[-2])
    count = max(1, BLOCK // pairs)
    if count >= grid.q_len:
        return reference.attention(call, grid)
    parts = []
    for start in range(0, grid.q_len, count):
        size = min(count, grid.q_len - start)
        block = rows(call, start, size), grid._replace(start=start, rows=size)
        parts.append(checkpoint(reference.attention, *block, use_reentrant=False))
    outputs, aux = zip(*parts, strict=True)
    return torch.cat(outputs, -2), joined(aux)


def joined(parts: Sequence[AuxOutput]) -> AuxOutput:
    """The statistics of consecutive blocks of rows as those of the whole."""
    found: dict[str, Any] = {}
    for name, first in vars(parts[0]).items():
        if first is None:
            continue
        pieces = [getattr(part, name) for part in parts]
        if name == "received":
            found[name] = torch.stack(pieces).sum(0)
        elif name == "top":
            found[name] = tuple(torch.cat(side, -2) for side in zip(*pieces, strict=True))
        else:
            found[name] = torch.cat(pieces, -2 if name == "weights" else -1)
    return AuxOutput(**found)
