"""Masks: which keys each query may attend to. Boolean, and True always means *may attend*.

Masks compose with `&`, `|` and `~`, boolean tensors on either side included; nothing is laid out as a tensor before a
backend needs it, and then only for the block of queries at hand.

`align` places query i at key position i + align: "start" (0), "end" (Lk − Lq), an int, or an integer tensor `(...)` of
batch dimensions. Where Lq ≠ Lk it must be said: cached decoding is where windows meet the wrong length.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from saccade.checks import (
    Align,
    batch_only,
    check_align,
    ensure,
    fits,
    integers,
    number,
    per_position,
    warn_if_ambiguous,
    whole,
    whole_dtype,
)
from saccade.errors import ArgumentTypeError
from saccade.numerics import wide
from saccade.structure import Axes, Definition, Extent, Grid, registered

_OPERATORS = {
    "__and__": "and",
    "__rand__": "and",
    "__or__": "or",
    "__ror__": "or",
    "bitwise_and": "and",
    "bitwise_or": "or",
}


class Mask(Definition):
    """Base of all masks: composes with `&`, `|`, `~`, and is laid out block by block. Your own defines `dense`."""

    per_example: ClassVar[bool] = False  # whether its tensors have all batch dimensions or none

    def dense(self, grid: Grid) -> Tensor:
        """The mask for one block of queries, boolean, broadcastable to `(..., rows, Lk)`."""
        raise ArgumentTypeError("mask: expected one of saccade.masks, got the base class Mask")

    def check(self, extent: Extent) -> None:
        """Raises a `SaccadeError` where the mask does not fit the call."""

    @property
    def keys_alone(self) -> bool:
        """Whether the mask is the same for every query, so that a memory can keep it."""
        return False

    def __and__(self, other: "Mask | Tensor") -> "Mask":
        return Both(self, as_mask(other))

    def __or__(self, other: "Mask | Tensor") -> "Mask":
        return Either(self, as_mask(other))

    def __invert__(self) -> "Mask":
        return Not(self)

    __rand__, __ror__ = __and__, __or__

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Lets a tensor stand on the left: `tensor & mask`."""
        operator = _OPERATORS.get(func.__name__)
        if operator is None or len(args) != 2:
            return NotImplemented
        first, second = map(as_mask, args)
        return Both(first, second) if operator == "and" else Either(first, second)


def as_mask(mask: Any, name: str = "mask") -> Mask:
    """A mask, from a mask or a boolean tensor; anything else is an error that names the way out."""
    if isinstance(mask, Mask):
        return mask
    if not isinstance(mask, Tensor):
        raise ArgumentTypeError(f"{name}: expected a boolean tensor or one of saccade.masks, got {type(mask).__name__}")
    if mask.dtype != torch.bool:
        raise ArgumentTypeError(
            f"{name}: expected a boolean tensor (True: may attend), got dtype {mask.dtype}; pass additive scores "
            "as bias=, "
            "weights as gate=, or compare first (mask != 0)"
        )
    if mask.layout != torch.strided:
        raise ArgumentTypeError(f"{name}: expected a dense tensor, got layout {mask.layout}; call .to_dense()")
    return Dense(mask)


@registered
@dataclass(frozen=True)
class Dense(Mask):
    """A boolean tensor that broadcasts to `(..., Lq, Lk)`; what a plain tensor becomes. Two dimensions are `(Lq, Lk)`,
    with a warning where they could be `(B, Lk)` as well, since B = Lq.

    >>> import torch
    >>> Dense(torch.tensor([[True, False]])) & Causal()
    Both(first=Dense(allowed=tensor([[ True, False]])), second=Causal(align=None))
    """

    axes: ClassVar[dict[str, Axes]] = {"allowed": ("q", "k")}
    allowed: Tensor

    def dense(self, grid: Grid) -> Tensor:
        return self.allowed

    def check(self, extent: Extent) -> None:
        fits("mask", self.allowed, extent)
        warn_if_ambiguous("mask", self.allowed, extent)

    @property
    def keys_alone(self) -> bool:
        return self.allowed.ndim < 2 or self.allowed.shape[-2] == 1


@registered
@dataclass(frozen=True)
class Both(Mask):
    """Allowed by the first and by the second; written `first & second`."""

    first: Mask
    second: Mask

    def dense(self, grid: Grid) -> Tensor:
        return self.first.dense(grid) & self.second.dense(grid)

    def check(self, extent: Extent) -> None:
        self.first.check(extent)
        self.second.check(extent)

    @property
    def keys_alone(self) -> bool:
        return self.first.keys_alone and self.second.keys_alone


@registered
@dataclass(frozen=True)
class Either(Mask):
    """Allowed by the first or by the second; written `first | second`."""

    first: Mask
    second: Mask

    def dense(self, grid: Grid) -> Tensor:
        return self.first.dense(grid) | self.second.dense(grid)

    def check(self, extent: Extent) -> None:
        self.first.check(extent)
        self.second.check(extent)

    @property
    def keys_alone(self) -> bool:
        return self.first.keys_alone and self.second.keys_alone


@registered
@dataclass(frozen=True)
class Not(Mask):
    """Allowed where the other is not; written `~mask`."""

    other: Mask

    def dense(self, grid: Grid) -> Tensor:
        return ~self.other.dense(grid)

    def check(self, extent: Extent) -> None:
        self.other.check(extent)

    @property
    def keys_alone(self) -> bool:
        return self.other.keys_alone


def shift(align: Align, grid: Grid) -> int | Tensor:
    """What is added to a query's index to give its key position; a tensor as `(..., 1, 1)`."""
    if isinstance(align, Tensor):
        return align[..., None, None]
    if align == "end":
        return grid.k_len - grid.q_len
    return 0 if align is None or isinstance(align, str) else align


class Positioned(Mask):
    """Base of the masks that compare positions."""

    per_example = True
    align: Align

    def relative(self, grid: Grid) -> Tensor:
        """Key position minus query position, `(..., rows, Lk)`."""
        return grid.keys() - (grid.queries() + shift(self.align, grid))

    def check(self, extent: Extent) -> None:
        check_align(f"masks.{type(self).__name__}", self.align, extent)


@registered
@dataclass(frozen=True)
class Causal(Positioned):
    """Keys at or before the query's own position: j ≤ i + align (Vaswani et al. 2017, section 3.2.3).

    Args:
        align: "start", "end", an int or an integer tensor `(...)`; may be left out where Lq = Lk.

    >>> import torch
    >>> from saccade import attend
    >>> x = torch.eye(2)
    >>> attend(x, x, x, mask=Causal())[0].tolist()
    [1.0, 0.0]
    """

    axes: ClassVar[dict[str, Axes]] = {"align": ()}
    align: Align = None

    def dense(self, grid: Grid) -> Tensor:
        return self.relative(grid) <= 0


@registered
@dataclass(frozen=True)
class Window(Positioned):
    """Keys from `left` before the query's position to `right` after it; None is unbounded (Beltagy et al. 2020,
    section 3.1).

    Args:
        left: how many keys before, ≥ 0, or None.
        right: how many keys after, ≥ 0, or None.
        align: as for `Causal`.

    Raises:
        ArgumentError: a negative side.

    >>> Window(left=2, right=0)
    Window(left=2, right=0, align=None)
    """

    axes: ClassVar[dict[str, Axes]] = {"align": ()}
    left: int | None
    right: int | None
    align: Align = None

    def __post_init__(self) -> None:
        whole("left", self.left, least=0, none=True)
        whole("right", self.right, least=0, none=True)

    def dense(self, grid: Grid) -> Tensor:
        relative = self.relative(grid)
        after = relative >= -self.left if self.left is not None else torch.ones_like(relative, dtype=torch.bool)
        return after if self.right is None else after & (relative <= self.right)


@registered
@dataclass(frozen=True)
class Around(Mask):
    """Keys near a centre, |j − center_i| ≤ radius (Luong, Pham, Manning 2015, section 3.2: local attention).

    Args:
        center: `(..., Lq)`, positions in keys, int or float.
        radius: ≥ 0, in keys.

    Raises:
        ArgumentError: a negative radius.

    >>> import torch
    >>> Around(torch.tensor([0.0]), radius=1.0).radius
    1.0
    """

    axes: ClassVar[dict[str, Axes]] = {"center": ("q",)}
    center: Tensor
    radius: float

    def __post_init__(self) -> None:
        number("radius", self.radius, least=0)

    def dense(self, grid: Grid) -> Tensor:
        # wide: half types cannot tell position 256 from 257
        return (grid.keys() - wide(self.center)[..., None]).abs() <= self.radius

    def check(self, extent: Extent) -> None:
        per_position("center of masks.Around", self.center, extent.q_len, "Lq", extent)
        if self.center.dtype == torch.bool or self.center.is_complex():
            raise ArgumentTypeError(f"center of masks.Around: expected numbers, got dtype {self.center.dtype}")


@registered
@dataclass(frozen=True)
class Lengths(Mask):
    """Keys before each sequence's length, j < key_lengths: the padding behind it is invisible.

    Args:
        key_lengths: integer tensor whose dimensions are none, or exactly the query's batch dimensions (size 1 where
            they are shared): `(B,)` against `(B, L, D)`, `lengths[:, None]` against `(B, H, L, D)`. Nothing is
            guessed.

    >>> import torch
    >>> from saccade.structure import Grid
    >>> Lengths(torch.tensor(2)).dense(Grid(1, 3, 0, 1, torch.device("cpu"))).tolist()
    [[True, True, False]]
    """

    axes: ClassVar[dict[str, Axes]] = {"key_lengths": ()}
    per_example: ClassVar[bool] = True
    key_lengths: Tensor

    def __post_init__(self) -> None:
        if not isinstance(self.key_lengths, Tensor):
            raise ArgumentTypeError(
                f"key_lengths of masks.Lengths: expected an integer tensor, got {type(self.key_lengths).__name__}"
            )

    def dense(self, grid: Grid) -> Tensor:
        return grid.keys() < self.key_lengths[..., None, None]

    @property
    def keys_alone(self) -> bool:
        return True

    def check(self, extent: Extent) -> None:
        name = "key_lengths of masks.Lengths"
        integers(name, self.key_lengths, extent)
        if not extent.values:  # not even the message below: it would make a constant of a symbolic Lk
            return
        inside = (self.key_lengths >= 0) & (self.key_lengths <= extent.k_len)
        ensure(inside, f"{name}: expected lengths from 0 to Lk = {extent.k_len}, got some outside", values=True)


@registered
@dataclass(frozen=True)
class Documents(Mask):
    """Keys of the query's own document, query_ids_i = key_ids_j: several packed into one row.

    Args:
        query_ids: integer `(..., Lq)`; leading dimensions none, or exactly the query's.
        key_ids: integer `(..., Lk)`, likewise.

    >>> import torch
    >>> ids = torch.tensor([0, 0, 1])
    >>> (Causal() & Documents(ids, ids)).second.query_ids.tolist()
    [0, 0, 1]
    """

    axes: ClassVar[dict[str, Axes]] = {"query_ids": ("q",), "key_ids": ("k",)}
    per_example: ClassVar[bool] = True
    query_ids: Tensor
    key_ids: Tensor

    def dense(self, grid: Grid) -> Tensor:
        return self.query_ids[..., :, None] == self.key_ids[..., None, :]

    def check(self, extent: Extent) -> None:
        for name, ids, length, symbol in (
            ("query_ids of masks.Documents", self.query_ids, extent.q_len, "Lq"),
            ("key_ids of masks.Documents", self.key_ids, extent.k_len, "Lk"),
        ):
            per_position(name, ids, length, symbol, extent)
            whole_dtype(name, ids)
            batch_only(name, tuple(ids.shape[:-1]), extent)


@registered
@dataclass(frozen=True)
class Prefix(Mask):
    """The first `length` keys, j < length, for every query (the prefix language model of Raffel et al. 2020, with `|
    Causal()`).

    Args:
        length: an int ≥ 0 or an integer tensor `(...)` of batch dimensions.

    >>> Prefix(3) | Causal()
    Either(first=Prefix(length=3), second=Causal(align=None))
    """

    axes: ClassVar[dict[str, Axes]] = {"length": ()}
    per_example: ClassVar[bool] = True
    length: int | Tensor

    def __post_init__(self) -> None:
        whole("length of masks.Prefix", self.length, least=0, tensor=True)

    def dense(self, grid: Grid) -> Tensor:
        return grid.keys() < (self.length[..., None, None] if isinstance(self.length, Tensor) else self.length)

    @property
    def keys_alone(self) -> bool:
        return True

    def check(self, extent: Extent) -> None:
        if isinstance(self.length, Tensor):
            integers("length of masks.Prefix", self.length, extent)
            ensure(self.length >= 0, "length of masks.Prefix: expected values of at least 0", values=extent.values)
