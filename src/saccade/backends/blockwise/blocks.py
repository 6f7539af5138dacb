"""The blocks themselves: what a block is, what it yields, and the loops over them, forward and backward."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._definitions.functions import functions
from saccade._definitions.numerics import transforming, wide
from saccade._definitions.structure import Axes, Definition, Grid, Leaf
from saccade.backends import reference
from saccade.backends.blockwise.engine import Engine
from saccade.backends.blockwise.parts import Block, Part, Tiles
from saccade.backends.blockwise.plan import parts
from saccade.backends.blockwise.products import Sliding, Unread
from saccade.masks import Dense, Mask
from saccade.reads import Soft

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


def evaluate(engine: Engine, call: Call, grid: Grid) -> list[Tensor]:
    """The results of one block, from a call whose tensors are already narrowed to it."""
    weights, allowed, known = engine.weigh(call, grid)
    if call.aux.weights:
        return [weights, known["lse"]] if call.aux.lse else [weights]
    output, aux = engine.read(call, grid, weights, allowed, known)
    values, indices = aux.top or (None, None)
    found = {**vars(aux), "output": output, "top_values": values, "top_indices": indices}
    return [found[name] for name in result_names(call)]


class Divided(NamedTuple):
    """A call in parts.

    Args:
        parts: in their order.
        shared: what they are narrowed from: keys nobody may see cleaned where need be, half types widened, and what the
            engine prepares, unless each part is prepared by itself.
        prepare: what is done to a part before it is computed.
    """

    parts: list[Part]
    shared: Call
    prepare: Callable[[Call], Call]


def divided(engine: Engine, call: Call) -> Divided:
    """An aligned call in parts. Where keys are copied, the engine prepares the copies: to copy what it made of all keys
    takes longer.
    """
    planned = parts(call, engine.budget(call))
    shared = widened(call, planned)
    tiles = [part for part in planned if isinstance(part, Tiles)]
    if tiles:
        shared = shared.map(tiles[0].fill)
        shared = replace(shared, read=Sliding()) if type(shared.read) is Soft else shared
    if all(part.step is not None for part in tiles):
        return Divided(planned, engine.prepare(shared), lambda piece: piece)
    return Divided(planned, shared, engine.prepare)


def prepared(engine: Engine, call: Call) -> Call:
    """A call that is one block, as `divided` has it."""
    return engine.prepare(widened(call))


def widened(call: Call, planned: Sequence[Part] = ()) -> Call:
    """The call without what nobody may see, where that need be, and in whole types."""
    if reference.untrusted(call):
        found = reference.by_intervals(call)
        if found is None and any(isinstance(part, Tiles) or part.width is not None for part in planned):
            found = participants(call, planned)
        call = reference.cleaned(call, found or reference.looked_up(call))
    return call.map(lambda tensor, axes: wide(tensor))


def participants(call: Call, planned: Sequence[Part]) -> tuple[Tensor, Tensor]:
    """Which keys and queries take part, as `reference.participants` has it, by a look at the parts alone."""
    grid = call.grid()
    keys = call.query.new_zeros((*call.batch, grid.k_len), dtype=torch.int32)
    queries = call.query.new_zeros((*call.batch, grid.q_len), dtype=torch.bool)
    for part in planned:
        narrowed, own = call.map(part.narrow), part.grid(grid)
        allowed = reference.allowed_keys(narrowed, own)
        allowed = allowed if (present := own.present()) is None else allowed & present
        allowed = allowed.expand(*narrowed.batch, own.rows, own.width)
        part.add(keys, ("k",), allowed.any(-2).int())
        part.put(queries, ("q",), allowed.any(-1))
    return keys > 0, queries


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
    """Where the blocks write: every result at its full size; zeros where they add, or where some keys are in none of
    them, which every query is.
    """
    found = []
    for name, (shape, dtype) in zip(result_names(call), result_kinds(call), strict=True):
        whole_rows = "q" in RESULTS[name] and "k" not in RESULTS[name]
        make = call.query.new_empty if whole_rows else call.query.new_zeros
        found.append(make(shape, dtype=dtype))
    return found


class Kept:
    """The mask of the last part, laid out: the next one may be other heads of the same queries and keys.

    Args:
        mask: of the whole call.
    """

    def __init__(self, mask: Mask | None) -> None:
        self.alike = mask is not None and not any(functions(mask)) and not any(map(batched, mask.leaves()))
        self.place: Part | None = None
        self.mask: Mask | None = None

    def masked(self, call: Call, part: Part, grid: Grid) -> Call:
        """A call that is narrowed to a part, its mask as a tensor where several parts may share it."""
        if not self.alike or call.mask is None or isinstance(part, Tiles):
            return call
        place = part._replace(first=0, heads=0)
        if place != self.place:
            self.place, self.mask = place, Dense(call.mask.dense(grid))
        return replace(call, mask=self.mask)


def batched(leaf: Leaf) -> bool:
    """Whether a tensor has entries of its own for the batch."""
    return math.prod(leaf.tensor.shape[: leaf.tensor.ndim - len(leaf.axes)]) != 1


def forward(engine: Engine, call: Call) -> list[Tensor]:
    """All results of an aligned call, block after block where the engine has no other way."""
    if engine.whole is not None and (results := engine.whole.forward(call)) is not None:
        return results
    grid, (planned, shared, prepare) = call.grid(), divided(engine, call)
    if len(planned) == 1 and isinstance(planned[0], Block) and planned[0].width is None:
        found = evaluate(engine, shared, grid)
        kinds = result_kinds(call)
        return [whole(part.to(dtype), shape) for part, (shape, dtype) in zip(found, kinds, strict=True)]
    results, names, kept = empty_results(call), result_names(call), Kept(call.mask)
    for part in planned:
        own = part.grid(grid)
        found = evaluate(engine, kept.masked(prepare(shared.map(part.narrow)), part, own), own)
        for name, result, new in zip(names, results, found, strict=True):
            part.put(result, RESULTS[name], new)
    return results


def whole(part: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A result at its full size in memory of its own: autograd lets nobody write into views that a Function returns."""
    if part.shape == shape and part.is_contiguous() and not part._is_view():
        return part
    return part.expand(shape).clone(memory_format=torch.contiguous_format)


def backward(engine: Engine, call: Call, grads: Sequence[Tensor], wanted: Sequence[bool]) -> list[Tensor]:
    """Gradients of the wanted leaves from those of the floating results: each block computed again and
    differentiated, where the engine has no other way.
    """
    if engine.whole is not None and (gradients := engine.whole.backward(call, grads, wanted)) is not None:
        return gradients
    grid, (planned, shared, prepare) = call.grid(), divided(engine, call)
    shared = replace(shared, read=Unread()) if type(shared.read) in (Soft, Sliding) else shared
    leaves, names = shared.leaves(), floating_results(call)
    positions = [position for position, want in enumerate(wanted) if want]
    grads = [grad.contiguous() for grad in grads]  # that of a sum has no memory of its own, and products copy it again
    totals, kept = [torch.zeros_like(leaves[position].tensor) for position in positions], Kept(call.mask)
    for part in planned:
        tensors = [part.narrow(tensor, axes).detach() for tensor, axes in leaves]
        for position in positions:
            tensors[position].requires_grad_()
        own = part.grid(grid)
        with torch.enable_grad():
            results = evaluate(engine, kept.masked(prepare(shared.with_leaves(iter(tensors))), part, own), own)
        floating = [tensor for tensor in results if tensor.is_floating_point()]
        pairs = [
            (tensor, part.narrow(grad, RESULTS[name]).to(tensor.dtype))
            for name, tensor, grad in zip(names, floating, grads, strict=True)
            if tensor.requires_grad
        ]
        if not pairs:
            continue
        outputs, upstream = zip(*pairs, strict=True)
        found = torch.autograd.grad(outputs, [tensors[p] for p in positions], upstream, allow_unused=True)
        for total, position, gradient in zip(totals, positions, found, strict=True):
            if gradient is not None:
                part.add(total, leaves[position].axes, gradient)
    originals = [call.leaves()[position].tensor for position in positions]
    return [cut(total, of.shape).to(of.dtype) for total, of in zip(totals, originals, strict=True)]


def cut(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor without what fills up its last block."""
    for dim, size in enumerate(shape):
        tensor = tensor if tensor.shape[dim] == size else tensor.narrow(dim, 0, size)
    return tensor.contiguous()


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
