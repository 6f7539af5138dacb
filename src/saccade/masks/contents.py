"""Masks by a tensor (centres, intervals, documents), or a function of positions."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from saccade._definitions.checks import FAR, batch_only, number, per_position, whole, whole_dtype
from saccade._definitions.functions import OfPositions, PositionFunction
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
        if self.center.dtype == torch.bool or self.center.is_complex():
            raise ArgumentTypeError(f"center of masks.Around: expected numbers, got dtype {self.center.dtype}")
        if not self.center.is_floating_point():
            whole_dtype("center of masks.Around", self.center)


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
    rises: ClassVar[bool] = False
    start: Tensor | int
    end: Tensor | int

    def __post_init__(self) -> None:
        for name, bound in (("start", self.start), ("end", self.end)):
            if isinstance(bound, bool) or not isinstance(bound, Tensor | int | torch.SymInt):
                expected = "expected integers (..., Lq), a tensor or one int"
                raise ArgumentTypeError(f"{name} of masks.Intervals: {expected}, got {type(bound).__name__}")
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


@registered
@dataclass(frozen=True)
class Where(Mask, OfPositions):
    """Pairs of query i and key j by a predicate `function(i, j)`.

    It is a mask_mod of flex_attention for whole blocks of pairs. The function is evaluated block by block, never for
    all pairs at once, and once more to find the empty blocks. Combined with a mask of known shape
    (`Window(64, 64) & Where(f)`) it is evaluated only on the pairs that this mask leaves.

    Args:
        function: `(i, j)`, int64 tensors `(rows, 1)` and `(1, keys)` of indices from 0 on, to a boolean tensor that
            broadcasts to `(..., rows, keys)`, by torch's operations. It may index tensors by i and j, batch dimensions
            in front: `ids[:, i] == ids[:, j]`. It needs no gradient and must not be random.

    Raises:
        ArgumentTypeError: no function, or a function that does not return booleans.
        ArgumentError: in a call, a function that fails on some positions, or returns a tensor on another device.
        ShapeError: in a call, results that do not broadcast.

    Dong et al. 2024, "Flex Attention" (https://arxiv.org/abs/2412.05496): its mask_mod.

    >>> import torch
    >>> from saccade import attend
    >>> dilated = Where(lambda i, j: (i - j) % 2 == 0)
    >>> attend(torch.zeros(4, 1), torch.zeros(4, 1), torch.eye(4), mask=dilated).tolist()[0]
    [0.5, 0.0, 0.5, 0.0]
    """

    owner: ClassVar[str] = "masks.Where"
    due: ClassVar[str] = "booleans (True: may attend); compare, or give floats to biases.Position"
    itself: ClassVar[str] = "a boolean tensor is a mask by itself"
    function: PositionFunction

    def __post_init__(self) -> None:
        self.check_callable()

    @staticmethod
    def is_due(result: Tensor) -> bool:
        return result.dtype == torch.bool

    def dense(self, grid: Grid) -> Tensor:
        return self.laid_out(grid)

    def check(self, extent: Extent) -> None:
        self.check_function(extent)
