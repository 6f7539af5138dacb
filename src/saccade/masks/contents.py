"""Masks by a tensor of queries: their centres, intervals of keys, or documents."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from saccade._definitions.checks import FAR, batch_only, number, per_position, whole, whole_dtype
from saccade._definitions.numerics import wide
from saccade._definitions.structure import Axes, Extent, Grid, registered
from saccade.errors import ArgumentTypeError
from saccade.masks.base import Bounds, Contiguous, Mask


@registered
@dataclass(frozen=True)
class Around(Mask):
    """Keys near a centre, |j − center_i| ≤ radius.

    Local attention of Luong, Pham, Manning 2015, section 3.2.

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
        if not self.center.is_floating_point() and self.center.dtype != torch.bool and not self.center.is_complex():
            whole_dtype("center of masks.Around", self.center)
        if self.center.dtype == torch.bool or self.center.is_complex():
            raise ArgumentTypeError(f"center of masks.Around: expected numbers, got dtype {self.center.dtype}")


@registered
@dataclass(frozen=True)
class Intervals(Contiguous):
    """Keys of one interval a query, start_i ≤ j < end_i.

    For example, neighbourhoods (Hassani et al. 2023, in one dimension), sliding tiles, or all keys before a point.

    Args:
        start: integers `(..., Lq)`, or one int. It has no leading dimensions, or exactly the query's (size 1 if they
            are shared). Below 0 is 0.
        end: as `start`. Beyond Lk is Lk. If it is not above start, nothing is allowed.

    Raises:
        ArgumentTypeError: a bound that is neither one int nor a tensor of integers.
        ShapeError: in a call, a tensor that does not fit its queries.

    >>> import torch
    >>> from saccade._definitions.structure import Grid
    >>> mask = Intervals(torch.tensor([0, 1, 2]), torch.tensor([2, 3, 2]))
    >>> mask.dense(Grid(3, 3, 0, 3, torch.device("cpu"))).int().tolist()
    [[1, 1, 0], [0, 1, 1], [0, 0, 0]]
    """

    axes: ClassVar[dict[str, Axes]] = {"start": ("q",), "end": ("q",)}
    start: Tensor | int
    end: Tensor | int

    def __post_init__(self) -> None:
        for name, bound in (("start", self.start), ("end", self.end)):
            if isinstance(bound, bool) or not isinstance(bound, Tensor | int | torch.SymInt):
                got = type(bound).__name__
                raise ArgumentTypeError(
                    f"{name} of masks.Intervals: expected integers (..., Lq), a tensor or one int, got {got}"
                )
            if isinstance(bound, int):
                whole(f"{name} of masks.Intervals", bound, least=-FAR)

    def interval(self, grid: Grid, queries: Tensor | int | None = None) -> Bounds:
        start, end = (b[..., None].long() if isinstance(b, Tensor) else b for b in (self.start, self.end))
        return start, end

    @property
    def keys_alone(self) -> bool:
        return not self.leaves()

    def check(self, extent: Extent) -> None:
        for name, bound in (("start of masks.Intervals", self.start), ("end of masks.Intervals", self.end)):
            if isinstance(bound, Tensor):
                whole_dtype(name, bound)
                batch_only(name, tuple(bound.shape[:-1]), extent)
                per_position(name, bound, extent.q_len, "Lq", extent)


@registered
@dataclass(frozen=True)
class Documents(Mask):
    """Keys of the query's own document, query_ids_i = key_ids_j.

    For example, several documents packed into one row.

    Args:
        query_ids: integer `(..., Lq)`; leading dimensions none, or exactly the query's.
        key_ids: integer `(..., Lk)`, leading dimensions as of `query_ids`.

    >>> import torch
    >>> from saccade import masks
    >>> ids = torch.tensor([0, 0, 1])
    >>> (masks.Causal() & Documents(ids, ids)).second.query_ids.tolist()
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
