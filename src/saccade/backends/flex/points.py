"""Masks and biases at one query and one key, as functions `(b, h, i, j)`.

They close over tensors instead of numbers, since the kernel would be compiled for each number, such as a length.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from saccade import biases, masks
from saccade._call.call import Call, closing_over
from saccade._call.dot_products import name_of
from saccade._definitions.checks import Align
from saccade._definitions.functions import OfPositions, Tables
from saccade._definitions.numerics import wide
from saccade.backends.flex.folding import Fold, Read
from saccade.biases import Bias
from saccade.masks import Mask

Score = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]

SERVED = (
    masks.Dense, masks.Both, masks.Either, masks.Not, masks.Causal, masks.Window, masks.Around, masks.Lengths,
    masks.Documents, masks.Packed, masks.Prefix, masks.Intervals, masks.Where, biases.Dense, biases.Total,
    biases.Alibi, biases.RelativePosition, biases.GaussianWindow, biases.Position, Tables,
)  # fmt: skip


def unknown(call: Call) -> str | None:
    """Reason against a mask or bias of single scores, or None."""
    for part in (call.mask, call.bias):
        for definition in part.walk() if part is not None else ():
            if type(definition) not in SERVED:
                return f"it has no formula of one query and one key for {name_of(definition)}"
            if isinstance(definition, OfPositions) and min(call.grid()[:2]) and definition.batch(call.query.device):
                return f"it asks about one query and one key, and {definition.owner} answers for batch dimensions, too"
    if call.bias is not None and torch.is_grad_enabled():
        learns = any(tensor.requires_grad for tensor, _ in call.bias.leaves())
        if learns or closing_over(replace(call, mask=None, gate=None)):
            return "a bias that needs gradients would get them by atomic additions, in no fixed order, and only once"
    return None


def integer(value: Tensor | int, fold: Fold, *axes: str) -> Read:
    return fold.read(value, *axes) if isinstance(value, Tensor) else fold.read(fold.whole(value))


def distance(align: Align, fold: Fold) -> Read:
    first = masks.shift(align, fold.grid)
    shift = integer(first[..., 0, 0] if isinstance(first, Tensor) else first, fold)
    return lambda b, h, i, j: j - (i + shift(b, h, i, j))


def permitted(mask: Mask, fold: Fold) -> Read:
    """Whether one query may attend to one key."""
    if isinstance(mask, masks.Both | masks.Either):
        first, second = permitted(mask.first, fold), permitted(mask.second, fold)
        if isinstance(mask, masks.Both):
            return lambda b, h, i, j: first(b, h, i, j) & second(b, h, i, j)
        return lambda b, h, i, j: first(b, h, i, j) | second(b, h, i, j)
    if isinstance(mask, masks.Not):
        other = permitted(mask.other, fold)
        return lambda b, h, i, j: ~other(b, h, i, j)
    if isinstance(mask, masks.Dense):
        entries = fold.read(matrix(mask.allowed), "q", "k")
        return lambda b, h, i, j: entries(b, h, i, j) & (j >= 0)  # kernels may not return one of their inputs
    if isinstance(mask, masks.Where):
        return lambda b, h, i, j: mask.function(i, j)
    if isinstance(mask, masks.Documents):
        query_ids, key_ids = fold.read(mask.query_ids, "q"), fold.read(mask.key_ids, "k")
        return lambda b, h, i, j: query_ids(b, h, i, j) == key_ids(b, h, i, j)
    if isinstance(mask, masks.Intervals | masks.Packed):
        bounds = (bound[..., 0] if isinstance(bound, Tensor) else bound for bound in mask.interval(fold.grid))
        start, end = (integer(bound, fold, "q") for bound in bounds)
        return lambda b, h, i, j: (j >= start(b, h, i, j)) & (j < end(b, h, i, j))
    if isinstance(mask, masks.Around):
        positions = wide(mask.center)
        dtype = positions.dtype if positions.is_floating_point() else torch.float32  # of the distances
        radius = torch.full((), mask.radius, dtype=dtype, device=positions.device)
        center = fold.read(positions, "q")
        return lambda b, h, i, j: (j - center(b, h, i, j)).abs() <= radius
    if isinstance(mask, masks.Lengths | masks.Prefix):
        length = integer(mask.key_lengths if isinstance(mask, masks.Lengths) else mask.length, fold)
        return lambda b, h, i, j: j < length(b, h, i, j)
    assert isinstance(mask, masks.Causal | masks.Window)
    sides = (None, 0) if isinstance(mask, masks.Causal) else (mask.left, mask.right)
    left, right = (None if side is None else fold.whole(side) for side in sides)
    return window(left, right, distance(mask.align, fold))


def window(left: Tensor | None, right: Tensor | None, away: Read) -> Read:
    """−left ≤ distance ≤ right; None is no bound."""

    def inside(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:  # torch counts the arguments
        position = away(b, h, i, j)
        allowed = position == position if left is None else position >= -left
        return allowed if right is None else allowed & (position <= right)

    return inside


def matrix(tensor: Tensor) -> Tensor:
    """A tensor that broadcasts to `(..., Lq, Lk)`, with both of these dimensions."""
    return tensor[(None,) * max(2 - tensor.ndim, 0)]


def added(bias: Bias, fold: Fold) -> Read:
    """The bias between one query and one key, in the dtype of scores."""
    if isinstance(bias, biases.Total):
        first, second = added(bias.first, fold), added(bias.second, fold)

        def total(*point: Tensor) -> Tensor:
            x, y = first(*point), second(*point)
            return torch.where((x == -torch.inf) | (y == -torch.inf), -torch.inf, x + y)

        return total
    if isinstance(bias, biases.Dense):
        entries = fold.read(matrix(bias.tensor), "q", "k")
        return lambda b, h, i, j: entries(b, h, i, j).to(fold.dtype)
    if isinstance(bias, biases.Alibi):
        slope, away = fold.read(fold.real(bias.slopes)), distance(bias.align, fold)
        return lambda b, h, i, j: -slope(b, h, i, j) * away(b, h, i, j).abs()
    if isinstance(bias, biases.RelativePosition):
        away, limit = distance(bias.align, fold), fold.whole(bias.table.shape[-1] // 2)
        entries = fold.read(fold.real(bias.table), "k")

        def looked_up(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return entries(b, h, i, torch.minimum(torch.maximum(away(b, h, i, j), -limit), limit) + limit)

        return looked_up
    if isinstance(bias, biases.Position):
        tables = bias.arguments(fold.dtype)
        return lambda b, h, i, j: bias.function(i, j, *tables).to(fold.dtype)
    assert isinstance(bias, biases.GaussianWindow)
    center, width = fold.read(fold.real(bias.center), "q"), fold.real(bias.width)
    deviation = fold.read(width, "q") if width.ndim else fold.read(width)
    return lambda b, h, i, j: ((j - center(b, h, i, j)) / deviation(b, h, i, j)).square() * -0.5
