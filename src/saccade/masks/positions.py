"""Masks that compare positions of queries and keys, or of keys and a length."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from saccade._definitions.checks import FAR, Align, check_align, ensure, few_within, integers, whole
from saccade._definitions.structure import Axes, Extent, Grid, registered
from saccade.errors import ArgumentTypeError
from saccade.masks.base import Bounds, Contiguous


def shift(align: Align, grid: Grid) -> int | Tensor:
    """The key position of query 0. For a tensor `(...)` it is `(..., 1, 1)`."""
    if isinstance(align, Tensor):
        return align[..., None, None].long().clamp(-FAR, FAR)  # sums with positions stay within 64 bits
    if align == "end":
        return grid.end - grid.q_len
    return 0 if align is None or isinstance(align, str) else align


class Positioned(Contiguous):
    """Base of the masks that compare positions."""

    align: Align
    left: int | None
    right: int | None

    def interval(self, grid: Grid, queries: Tensor | int | None = None) -> Bounds:
        start, queries = shift(self.align, grid), grid.queries() if queries is None else queries
        if isinstance(start, Tensor):
            start, queries = 0, queries + start
        first = None if self.left is None else queries + (start - self.left)
        return first, None if self.right is None else queries + (start + self.right + 1)

    def dense(self, grid: Grid) -> Tensor:
        return super().dense(grid.first_block())

    def relative(self, grid: Grid) -> Tensor:
        """Key position minus query position, `(..., rows, Lk)`."""
        return grid.keys() - (grid.queries() + shift(self.align, grid))

    def check(self, extent: Extent) -> None:
        check_align(f"masks.{type(self).__name__}", self.align, extent)


@registered
@dataclass(frozen=True)
class Causal(Positioned):
    """Keys at or before the query's own position, j ≤ i + align.

    Vaswani et al. 2017, section 3.2.3.

    Args:
        align: "start", "end", an int or an integer tensor `(...)`. It may be left out if Lq = Lk.

    >>> import torch
    >>> from saccade import attend
    >>> x = torch.eye(2)
    >>> attend(x, x, x, mask=Causal())[0].tolist()
    [1.0, 0.0]
    """

    axes: ClassVar[dict[str, Axes]] = {"align": ()}
    align: Align = None
    left: ClassVar[None] = None  # type: ignore[misc]
    right: ClassVar[int] = 0  # type: ignore[misc]


@registered
@dataclass(frozen=True)
class Window(Positioned):
    """Keys from `left` before the query's position to `right` after it.

    None is unbounded (Beltagy et al. 2020, section 3.1).

    Args:
        left: how many keys before, from 0 to 2⁶¹, or None.
        right: how many keys after, from 0 to 2⁶¹, or None.
        align: as for `Causal`.

    Raises:
        ArgumentError: a negative side, or one beyond 2⁶¹.

    >>> Window(left=2, right=0)
    Window(left=2, right=0, align=None)
    """

    axes: ClassVar[dict[str, Axes]] = {"align": ()}
    left: int | None
    right: int | None
    align: Align = None

    def __post_init__(self) -> None:
        whole("left", self.left, least=0, high=FAR, none=True)
        whole("right", self.right, least=0, high=FAR, none=True)


@registered
@dataclass(frozen=True)
class Lengths(Contiguous):
    """Keys before each sequence's length, j < key_lengths, without the padding.

    Args:
        key_lengths: integer tensor whose dimensions are none, or exactly the query's batch dimensions (size 1 if
            they are shared). For example, `(B,)` against `(B, L, D)`, `lengths[:, None]` against `(B, H, L, D)`.

    >>> import torch
    >>> from saccade._definitions.structure import Grid
    >>> Lengths(torch.tensor(2)).dense(Grid(1, 3, 0, 1, torch.device("cpu"))).tolist()
    [[True, True, False]]
    """

    axes: ClassVar[dict[str, Axes]] = {"key_lengths": ()}
    key_lengths: Tensor

    def __post_init__(self) -> None:
        if not isinstance(self.key_lengths, Tensor):
            raise ArgumentTypeError(
                f"key_lengths of masks.Lengths: expected an integer tensor, got {type(self.key_lengths).__name__}"
            )

    def interval(self, grid: Grid, queries: Tensor | int | None = None) -> Bounds:
        return None, self.key_lengths[..., None, None].long()

    @property
    def keys_alone(self) -> bool:
        return True

    def check(self, extent: Extent) -> None:
        name = "key_lengths of masks.Lengths"
        integers(name, self.key_lengths, extent)
        if not extent.values or few_within(self.key_lengths, 0, extent.k_len):
            return  # without values the message below would make a constant of a symbolic Lk
        inside = self.key_lengths.long().clamp(0, extent.k_len) == self.key_lengths  # Lk may overflow a short type
        ensure(inside, f"{name}: expected lengths from 0 to Lk = {extent.k_len}, got some outside")


@registered
@dataclass(frozen=True)
class Prefix(Contiguous):
    """The first `length` keys, j < length, for every query.

    With `| Causal()` it is the prefix language model of Raffel et al. 2020.

    Args:
        length: an int ≥ 0 or an integer tensor `(...)` of batch dimensions.

    >>> Prefix(3) | Causal()
    Either(first=Prefix(length=3), second=Causal(align=None))
    """

    axes: ClassVar[dict[str, Axes]] = {"length": ()}
    length: int | Tensor

    def __post_init__(self) -> None:
        whole("length of masks.Prefix", self.length, least=0, tensor=True)

    def interval(self, grid: Grid, queries: Tensor | int | None = None) -> Bounds:
        return None, self.length[..., None, None].long() if isinstance(self.length, Tensor) else self.length

    @property
    def keys_alone(self) -> bool:
        return True

    def check(self, extent: Extent) -> None:
        if isinstance(self.length, Tensor):
            integers("length of masks.Prefix", self.length, extent)
            ensure(self.length >= 0, "length of masks.Prefix: expected values of at least 0", values=extent.values)
