"""Masks and biases at one query and one key, as functions `(b, h, i, j)` that flex_attention compiles into its kernel.

They close over tensors alone, numbers included: a number would be compiled in, and another length, of which
`align="end"` is made, would compile anew.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from saccade import biases, masks
from saccade._call.call import Call, closing_over
from saccade._call.dot_products import name_of
from saccade._definitions.checks import Align
from saccade._definitions.functions import OfPositions, Tables
from saccade._definitions.numerics import wide
from saccade._definitions.structure import Definition
from saccade.backends.flex.folding import Fold, Read
from saccade.biases import Bias
from saccade.masks import Mask

Score = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]

KNOWN = (
    masks.Dense, masks.Both, masks.Either, masks.Not, masks.Causal, masks.Window, masks.Around, masks.Lengths,
    masks.Documents, masks.Prefix, masks.Intervals, masks.Where, biases.Dense, biases.Total, biases.Alibi,
    biases.RelativePosition, biases.GaussianWindow, biases.Position, Tables,
)  # fmt: skip


def unknown(call: Call) -> str | None:
    """Which mask or bias cannot act on single scores, and why, or None."""
    for part in (call.mask, call.bias):
        for definition in definitions(part) if part is not None else ():
            if type(definition) not in KNOWN:
                return f"it has no formula of one query and one key for {name_of(definition)}"
            if isinstance(definition, OfPositions) and min(call.grid()[:2]) and definition.batch(call.query.device):
                return f"it asks about one query and one key, and {definition.owner} answers for batch dimensions, too"
    if call.bias is not None and torch.is_grad_enabled() and learns(call, call.bias):
        return "a bias that needs gradients would get them by atomic additions, in no fixed order, and only once"
    return None


def learns(call: Call, bias: Bias) -> bool:
    """Whether tensors of a bias ask for a gradient, those that a function closes over among them."""
    return any(tensor.requires_grad for tensor, _ in bias.leaves()) or closing_over(replace(call, mask=None, gate=None))


def definitions(tree: Definition) -> Iterator[Definition]:
    """The definitions that a mask or bias is composed of, itself first."""
    yield tree
    for name in tree.__match_args__:
        part = getattr(tree, name)
        if isinstance(part, Definition):
            yield from definitions(part)


def position(align: Align, fold: Fold) -> Read:
    """How far queries are shifted: i + shift is a query's key position."""
    shift = align if isinstance(align, Tensor) else masks.shift(align, fold.grid)
    return fold.read(shift if isinstance(shift, Tensor) else fold.whole(shift))


def distance(align: Align, fold: Fold) -> Read:
    """Key position minus query position."""
    shift = position(align, fold)
    return lambda b, h, i, j: j - (i + shift(b, h, i, j))


def permitted(mask: Mask, fold: Fold) -> Read:
    """Whether one query may attend to one key."""
    if isinstance(mask, masks.Both):
        first, second = permitted(mask.first, fold), permitted(mask.second, fold)
        return lambda b, h, i, j: first(b, h, i, j) & second(b, h, i, j)
    if isinstance(mask, masks.Either):
        first, second = permitted(mask.first, fold), permitted(mask.second, fold)
        return lambda b, h, i, j: first(b, h, i, j) | second(b, h, i, j)
    if isinstance(mask, masks.Not):
        other = permitted(mask.other, fold)
        return lambda b, h, i, j: ~other(b, h, i, j)
    if isinstance(mask, masks.Dense):
        entries = fold.read(matrix(mask.allowed), "q", "k")
        return lambda b, h, i, j: entries(b, h, i, j) & (j >= 0)  # an entry for all would be an input handed back
    if isinstance(mask, masks.Where):
        return lambda b, h, i, j: mask.function(i, j)
    contents = masks.Around | masks.Documents | masks.Intervals
    return by_content(mask, fold) if isinstance(mask, contents) else by_position(mask, fold)


def by_position(mask: Mask, fold: Fold) -> Read:
    """Masks that compare positions with numbers."""
    if isinstance(mask, masks.Lengths | masks.Prefix):
        length = ends(mask, fold)
        return lambda b, h, i, j: j < length(b, h, i, j)
    assert isinstance(mask, masks.Causal | masks.Window)
    away = distance(mask.align, fold)
    if isinstance(mask, masks.Causal):
        return lambda b, h, i, j: away(b, h, i, j) <= 0
    left = None if mask.left is None else fold.whole(-mask.left)
    right = None if mask.right is None else fold.whole(mask.right)
    return window(away, left, right)


def ends(mask: masks.Lengths | masks.Prefix, fold: Fold) -> Read:
    """Before which key a mask of lengths ends."""
    length = mask.key_lengths if isinstance(mask, masks.Lengths) else mask.length
    return fold.read(length if isinstance(length, Tensor) else fold.whole(length))


def window(away: Read, left: Tensor | None, right: Tensor | None) -> Read:
    """left ≤ distance ≤ right, a side that is None being open."""

    def inside(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        found = away(b, h, i, j)
        allowed = found == found
        if left is not None:
            allowed = allowed & (found >= left)
        return allowed if right is None else allowed & (found <= right)

    return inside


def by_content(mask: masks.Around | masks.Documents | masks.Intervals, fold: Fold) -> Read:
    """Masks that compare what a tensor holds for the query."""
    if isinstance(mask, masks.Documents):
        query_ids, key_ids = fold.read(mask.query_ids, "q"), fold.read(mask.key_ids, "k")
        return lambda b, h, i, j: query_ids(b, h, i, j) == key_ids(b, h, i, j)
    if isinstance(mask, masks.Intervals):
        start, end = bound(mask.start, fold), bound(mask.end, fold)
        return lambda b, h, i, j: (j >= start(b, h, i, j)) & (j < end(b, h, i, j))
    center, radius = fold.read(wide(mask.center), "q"), reach(mask)
    return lambda b, h, i, j: (j - center(b, h, i, j)).abs() <= radius


def bound(value: Tensor | int, fold: Fold) -> Read:
    """One end of a query's interval."""
    return fold.read(value, "q") if isinstance(value, Tensor) else fold.read(fold.whole(value))


def reach(mask: masks.Around) -> Tensor:
    """The radius in the dtype of the distances that it is compared with."""
    center = wide(mask.center)
    dtype = center.dtype if center.is_floating_point() else torch.float32
    return torch.full((), mask.radius, dtype=dtype, device=center.device)


def matrix(tensor: Tensor) -> Tensor:
    """A tensor that broadcasts to `(..., Lq, Lk)`, with both of these dimensions."""
    return tensor[(None,) * max(2 - tensor.ndim, 0)]


def added(bias: Bias, fold: Fold) -> Read:
    """The bias between one query and one key, in the dtype of scores."""
    if isinstance(bias, biases.Total):
        return total(added(bias.first, fold), added(bias.second, fold))
    if isinstance(bias, biases.Dense):
        entries = fold.read(matrix(bias.tensor), "q", "k")
        return lambda b, h, i, j: entries(b, h, i, j).to(fold.dtype)
    if isinstance(bias, biases.Alibi):
        slope, away = fold.read(fold.real(bias.slopes)), distance(bias.align, fold)
        return lambda b, h, i, j: -slope(b, h, i, j) * away(b, h, i, j).abs()
    if isinstance(bias, biases.RelativePosition):
        return from_table(bias, fold)
    if isinstance(bias, biases.Position):
        tables = bias.given(fold.dtype)
        return lambda b, h, i, j: bias.function(i, j, *tables).to(fold.dtype)
    assert isinstance(bias, biases.GaussianWindow)
    center, width = fold.read(fold.real(bias.center), "q"), fold.real(bias.width)
    deviation = fold.read(width, "q") if width.ndim else fold.read(width)
    return lambda b, h, i, j: ((j - center(b, h, i, j)) / deviation(b, h, i, j)).square() * -0.5


def total(first: Read, second: Read) -> Read:
    """The sum of two biases; −inf in one forbids, whatever the other holds."""

    def both(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        one, other = first(b, h, i, j), second(b, h, i, j)
        return torch.where((one == -torch.inf) | (other == -torch.inf), -torch.inf, one + other)

    return both


def from_table(bias: biases.RelativePosition, fold: Fold) -> Read:
    """table[clip(distance, −R, R) + R]."""
    away, most = distance(bias.align, fold), fold.whole(bias.table.shape[-1] // 2)
    entries = fold.read(fold.real(bias.table), "k")

    def looked_up(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        clipped = torch.minimum(torch.maximum(away(b, h, i, j), -most), most) + most
        return entries(b, h, i, clipped)

    return looked_up


class Modifier(NamedTuple):
    """What becomes of the product of one query and one key: (cap(scale · product) + bias) · sharpness.

    sharpness is 1 / T, None for 1. `poison` is NaN for a query or a key whose numbers were not finite and have been
    replaced by zeros, else 0: what attends to them gets NaN, as it would have, and nothing else does.
    """

    scale: Tensor
    cap: Tensor | None
    bias: Read | None
    sharpness: Tensor | None
    poison: Read | None

    def score(self) -> Score:
        """The function that flex_attention compiles into its kernel."""
        scale, cap, bias, sharpness, poison = self

        def score(product: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            found = product * scale
            if cap is not None:
                found = cap * torch.tanh(found / cap)
            if poison is not None:
                found = found + poison(b, h, i, j)
            offset = None if bias is None else bias(b, h, i, j)
            found = found if offset is None else found + offset
            found = found if sharpness is None else found * sharpness
            return found if offset is None else torch.where(offset == -torch.inf, -torch.inf, found)

        return score
