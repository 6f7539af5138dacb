"""Blocks of a call: their results, and the loops over them, forward and backward."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from saccade._call.call import Call
from saccade._definitions.numerics import transforming, wide
from saccade._definitions.structure import Axes, Definition, Grid
from saccade.backends import reference
from saccade.backends.blockwise.engine import Engine, Kind
from saccade.backends.blockwise.parts import Block, Part, Tiles
from saccade.backends.blockwise.plan import parts
from saccade.backends.blockwise.products import Sliding, Unread
from saccade.reads import Soft

# Results of a block and trailing axes. One without "q" is summed over the blocks.
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
INTEGERS = ("index", "top_indices")


def result_names(call: Call) -> list[str]:
    """Results of the blocks of this call, in order."""
    if call.aux.weights:
        return ["weights", "lse"] if call.aux.lse else ["weights"]
    names = ["output"]
    for name in call.aux.names():
        names += ("top_values", "top_indices") if name == "top" else (name,)
    return names


def floating_results(call: Call) -> list[str]:
    return [name for name in result_names(call) if name not in INTEGERS]


def result_kinds(call: Call) -> list[Kind]:
    batch, grid = call.batch, call.grid()
    sizes = {"q": grid.q_len, "k": grid.k_len, "e": call.value.shape[-1], "t": min(call.aux.top, grid.k_len)}
    kinds = []
    for name in result_names(call):
        dtype = torch.int64 if name in INTEGERS else (call.value.dtype if name == "output" else wide(call.query).dtype)
        kinds.append(((*batch, *(sizes[axis] for axis in RESULTS[name])), dtype))
    return kinds


def empty_results(call: Call) -> list[Tensor]:
    """Every result at full size: zeros. Blocks add to them."""
    return [call.query.new_zeros(shape, dtype=dtype) for shape, dtype in result_kinds(call)]


def evaluate(engine: Engine, call: Call, grid: Grid) -> list[Tensor]:
    """Results of one block, from a call with the block's tensors."""
    weights, allowed, statistics = engine.weigh(call, grid)
    if call.aux.weights:
        return [weights, statistics["lse"]] if call.aux.lse else [weights]
    output, aux = engine.read(call, grid, weights, allowed, statistics)
    values, indices = aux.top or (None, None)
    results = {**vars(aux), "output": output, "top_values": values, "top_indices": indices}
    return [results[name] for name in result_names(call)]


def divided(engine: Engine, call: Call) -> tuple[list[Part], Call, Callable[[Call], Call]]:
    """Parts of an aligned call, the call to narrow, and the preparation of a part.

    If keys are copied, the engine prepares the copies: copying prepared keys takes longer.
    """
    planned = parts(call, engine.budget(call))
    shared = widened(call, planned)
    tiles = [part for part in planned if isinstance(part, Tiles)]
    if tiles:
        shared = shared.map(tiles[0].fill)
        shared = replace(shared, read=Sliding()) if type(shared.read) is Soft else shared
    if all(part.step is not None for part in tiles):
        return planned, engine.prepare(shared), lambda piece: piece
    return planned, shared, engine.prepare


def widened(call: Call, planned: Sequence[Part] = ()) -> Call:
    """The call in float32 or float64, cleaned if forbidden tensors may hold NaN."""
    if reference.untrusted(call):
        taking_part = reference.by_intervals(call)
        if taking_part is None and any(isinstance(part, Tiles) or part.width is not None for part in planned):
            taking_part = participants(call, planned)
        call = reference.cleaned(call, taking_part or reference.looked_up(call))
    return call.map(lambda tensor, axes: wide(tensor))


def participants(call: Call, planned: Sequence[Part]) -> tuple[Tensor, Tensor]:
    """`reference.participants`, from the pairs of the parts alone."""
    grid = call.grid()
    keys = call.query.new_zeros((*call.batch, grid.k_len), dtype=torch.int32)
    queries = call.query.new_zeros((*call.batch, grid.q_len), dtype=torch.int32)
    for part in planned:
        narrowed, block = call.map(part.narrow), part.grid(grid)
        allowed = reference.allowed_keys(narrowed, block)
        allowed = allowed if (present := block.present()) is None else allowed & present
        allowed = allowed.expand(*narrowed.batch, block.rows, block.width)
        part.add(keys, ("k",), allowed.any(-2).int())
        part.add(queries, ("q",), allowed.any(-1).int())
    return keys > 0, queries > 0


def forward(engine: Engine, call: Call) -> list[Tensor]:
    """Results and residuals of an aligned call, whole if possible, else by blocks."""
    if engine.whole is not None and (results := engine.whole.forward(call)) is not None:
        return results
    grid, (planned, shared, prepare) = call.grid(), divided(engine, call)
    if len(planned) == 1 and isinstance(planned[0], Block) and planned[0].width is None:
        results, kinds = evaluate(engine, shared, grid), result_kinds(call)
        return [whole(result.to(dtype), shape) for result, (shape, dtype) in zip(results, kinds, strict=True)]
    results, names = empty_results(call), result_names(call)
    for part in planned:
        pieces = evaluate(engine, prepare(shared.map(part.narrow)), part.grid(grid))
        for name, result, piece in zip(names, results, pieces, strict=True):
            part.add(result, RESULTS[name], piece)
    return results


def whole(part: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A result in its own memory: a Function's views cannot be written into."""
    if part.shape == shape and part.is_contiguous() and not part._is_view():
        return part
    return part.expand(shape).clone(memory_format=torch.contiguous_format)


def backward(
    engine: Engine, call: Call, grads: Sequence[Tensor | None], needed: Sequence[bool], kept: Sequence[Tensor] = ()
) -> list[Tensor]:
    """Gradients of the leaves that need one: each block is computed again.

    Args:
        engine, call: as of `forward`.
        grads: of the floating results. None: no gradient reaches it.
        needed: whether a leaf needs a gradient.
        kept: all that `forward` returned, if it has residuals.
    """
    if engine.whole is not None and (gradients := engine.whole.backward(call, grads, needed, kept)) is not None:
        return gradients
    grid, (planned, shared, prepare) = call.grid(), divided(engine, call)
    # without the output's product: one of six
    shared = replace(shared, read=Unread()) if type(shared.read) in (Soft, Sliding) else shared
    leaves, names = shared.leaves(), floating_results(call)
    positions = [position for position, need in enumerate(needed) if need]
    # a sum's gradient is expanded, and products would copy it again
    grads = [None if grad is None else grad.contiguous() for grad in grads]
    totals = [torch.zeros_like(leaves[position].tensor) for position in positions]
    for part in planned:
        tensors = [part.narrow(tensor, axes).detach() for tensor, axes in leaves]
        for position in positions:
            tensors[position].requires_grad_()
        with torch.enable_grad():
            results = evaluate(engine, prepare(shared.with_leaves(iter(tensors))), part.grid(grid))
        floating = [tensor for tensor in results if tensor.is_floating_point()]
        pairs = [
            (tensor, part.narrow(grad, RESULTS[name]).to(tensor.dtype))
            for name, tensor, grad in zip(names, floating, grads, strict=True)
            if grad is not None and tensor.requires_grad
        ]
        if not pairs:
            continue
        outputs, upstream = zip(*pairs, strict=True)
        of_part = torch.autograd.grad(outputs, [tensors[p] for p in positions], upstream, allow_unused=True)
        for total, position, gradient in zip(totals, positions, of_part, strict=True):
            if gradient is not None:
                part.add(total, leaves[position].axes, gradient)
    originals = [call.leaves()[position].tensor for position in positions]
    # without the keys that fill up the last block
    cut = (total[tuple(map(slice, leaf.shape))] for total, leaf in zip(totals, originals, strict=True))
    return [part.contiguous().to(leaf.dtype) for part, leaf in zip(cut, originals, strict=True)]


def reached_results(call: Call, names: Sequence[str]) -> list[bool]:
    """Whether a gradient can reach each result, as autograd decides for the reference.

    It reaches the weights and their statistics from all tensors that make them. It reaches the output from the values
    too, and from the weights if the read passes gradients.
    """
    if transforming():  # only the transform knows which tensors it differentiates
        return [name not in INTEGERS for name in names]
    normalizer = call.normalizer
    scored = call.query.requires_grad or call.key.requires_grad
    scored = scored or learns(call.score, call.bias, getattr(normalizer, "temperature", None))
    weighed = scored or learns(normalizer, call.gate)
    output = call.value.requires_grad or (weighed and call.read.differentiable)
    moves = {"output": output, "lse": scored, "index": False, "top_indices": False}
    return [moves.get(name, weighed) for name in names]


def learns(*parts: object) -> bool:
    return any(
        part.requires_grad
        if isinstance(part, Tensor)
        else isinstance(part, Definition) and any(leaf.tensor.requires_grad for leaf in part.leaves())
        for part in parts
    )
