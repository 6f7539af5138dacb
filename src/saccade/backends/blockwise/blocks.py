"""The blocks themselves: what a block is, what it yields, and the loops over them, forward and backward."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.backends import reference
from saccade.backends.blockwise.engine import Engine
from saccade.call import Call
from saccade.numerics import transforming, wide
from saccade.structure import Axes, Definition

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


def result_names(call: Call) -> list[str]:
    """What the blocks yield for this call, in order."""
    if call.aux.weights:
        return ["weights", "lse"] if call.aux.lse else ["weights"]
    asked = set(call.aux.names()) | ({"top_values", "top_indices"} if call.aux.top else set())
    return ["output", *(name for name in RESULTS if name in asked)]


class Block(NamedTuple):
    """Entries first .. first + heads - 1 of batch dimension `dim` (None: all of the batch), queries start .. start +
    count - 1.
    """

    dim: int | None
    first: int
    heads: int
    start: int
    rows: int

    def narrow(self, tensor: Tensor, axes: Axes) -> Tensor:
        """The part of an aligned tensor that belongs to this block, as a view."""
        if self.dim is not None and tensor.shape[self.dim] != 1:
            tensor = tensor.narrow(self.dim, self.first, self.heads)
        if "q" in axes:
            dim = tensor.ndim - len(axes) + axes.index("q")
            tensor = tensor if tensor.shape[dim] == 1 else tensor.narrow(dim, self.start, self.rows)
        return tensor


def blocks(batch: tuple[int, ...], q_len: int, k_len: int, budget: int) -> Iterator[Block]:
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


def evaluate(engine: Engine, call: Call, block: Block, q_len: int) -> list[Tensor]:
    """The results of one block, from a call whose tensors are already narrowed to it."""
    weights, allowed, known = engine.weigh(call, call.grid()._replace(q_len=q_len, start=block.start))
    if call.aux.weights:
        return [weights, known["lse"]] if call.aux.lse else [weights]
    output, aux = engine.read(call, weights, allowed, known)
    values, indices = aux.top or (None, None)
    found = {**vars(aux), "output": output, "top_values": values, "top_indices": indices}
    return [found[name] for name in result_names(call)]


def prepared(engine: Engine, call: Call) -> Call:
    """What every block shares, done once: keys nobody may see cleaned where need be, half types widened, and what the
    engine prepares.
    """
    if reference.untrusted(call):
        call = reference.cleaned(call)
    return engine.prepare(call.map(lambda tensor, axes: wide(tensor)))


def result_kinds(call: Call) -> list[tuple[tuple[int, ...], torch.dtype]]:
    """Shape and type of every result."""
    batch, grid = call.batch, call.grid()
    sizes = {"q": grid.q_len, "k": grid.k_len, "e": call.value.shape[-1], "t": min(call.aux.top, grid.k_len)}
    found = []
    for name in result_names(call):
        dtype = torch.int64 if name in INTEGERS else (call.value.dtype if name == "output" else wide(call.query).dtype)
        found.append(((*batch, *(sizes[axis] for axis in RESULTS[name])), dtype))
    return found


def empty_results(call: Call) -> list[Tensor]:
    """Where the blocks write: every result at its full size, sums at zero."""
    return [call.query.new_zeros(shape, dtype=dtype) for shape, dtype in result_kinds(call)]


def forward(engine: Engine, call: Call) -> list[Tensor]:
    """All results of an aligned call, block after block."""
    shared, q_len = prepared(engine, call), call.query.shape[-2]
    parts = list(blocks(call.batch, q_len, call.key.shape[-2], engine.pairs))
    if len(parts) == 1:
        found = evaluate(engine, shared, parts[0], q_len)
        kinds = result_kinds(call)
        return [whole(part.to(dtype), shape) for part, (shape, dtype) in zip(found, kinds, strict=True)]
    results, names = empty_results(call), result_names(call)
    for block in parts:
        part = evaluate(engine, shared.map(block.narrow), block, q_len)
        for name, result, piece in zip(names, results, part, strict=True):
            target = block.narrow(result, RESULTS[name])
            if "q" in RESULTS[name]:
                target.copy_(piece)
            else:
                target.add_(piece)
    return results


def whole(part: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A result at its full size in memory of its own: autograd lets nobody write into views that a Function returns."""
    if part.shape == shape and part.is_contiguous() and not part._is_view():
        return part
    return part.expand(shape).clone(memory_format=torch.contiguous_format)


def backward(engine: Engine, call: Call, grads: Sequence[Tensor], wanted: Sequence[bool]) -> list[Tensor]:
    """Gradients of the wanted leaves from those of the floating results: each block computed again and
    differentiated.
    """
    shared, q_len = prepared(engine, call), call.query.shape[-2]
    leaves, names = shared.leaves(), floating_results(call)
    positions = [position for position, want in enumerate(wanted) if want]
    totals = [torch.zeros_like(leaves[position].tensor) for position in positions]
    for block in blocks(call.batch, q_len, call.key.shape[-2], engine.pairs):
        tensors = [block.narrow(tensor, axes).detach() for tensor, axes in leaves]
        for position in positions:
            tensors[position].requires_grad_()
        with torch.enable_grad():
            part = evaluate(engine, shared.with_leaves(iter(tensors)), block, q_len)
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


def reached_results(call: Call) -> tuple[bool, ...]:
    """Which results a gradient can reach, as autograd has it for the reference: the weights and their statistics from
    all that they are made of, the output from the values too, and from the weights where the read passes gradients.
    """
    if transforming():  # whether a tensor is to be differentiated, transforms know alone
        return tuple(name not in INTEGERS for name in result_names(call))
    normalizer = call.normalizer
    scored = learns(call.query, call.key, call.score, call.bias, getattr(normalizer, "temperature", None))
    weighed = scored or learns(normalizer, call.gate)
    moves = {"lse": scored, "output": call.value.requires_grad or (weighed and call.read.differentiable)}
    return tuple(name not in INTEGERS and moves.get(name, weighed) for name in result_names(call))


def learns(*parts: object) -> bool:
    """Whether any of the tensors, or of those in a definition, asks for a gradient."""
    return any(
        part.requires_grad
        if isinstance(part, Tensor)
        else isinstance(part, Definition) and any(leaf.tensor.requires_grad for leaf in part.leaves())
        for part in parts
    )
