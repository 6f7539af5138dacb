"""Masks by a tensor, for example of documents, or by a function of positions."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from saccade._definitions.checks import FAR, batch_only, ensure, number, on_device, per_position, whole, whole_dtype
from saccade._definitions.functions import OfPositions, PositionFunction
from saccade._definitions.numerics import wide
from saccade._definitions.structure import Axes, Extent, Grid, registered
from saccade.errors import ArgumentTypeError, ShapeError
from saccade.masks.base import Contiguous, Mask


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

    def interval(self, grid: Grid, queries: Tensor | int | None = None) -> tuple[Tensor | int, Tensor | int]:
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

    @staticmethod
    def packed(cu_seqlens: Tensor, key_cu_seqlens: Tensor | None = None) -> "Packed":
        """The mask of packed documents by their offsets, as `Packed` takes them.

        >>> import torch
        >>> Documents.packed(torch.tensor([0, 2, 3]))
        Packed(cu_seqlens=tensor([0, 2, 3]), key_cu_seqlens=None)
        """
        return Packed(cu_seqlens, key_cu_seqlens)

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
class Packed(Contiguous):
    """Keys of the query's own sequence, of sequences packed behind each other.

    Sequence s has the queries cu_seqlens_s ≤ i < cu_seqlens_{s+1}, as in FlashAttention and torch's varlen attention.
    Other masks beside it count positions from the start of the row.

    Args:
        cu_seqlens: integers `(..., N + 1)` from 0 to Lq that do not fall. Equal neighbours are an empty sequence.
            Leading dimensions none, or exactly the query's.
        key_cu_seqlens: the same of the keys, from 0 to Lk. None: as of the queries.

    Raises:
        ArgumentTypeError: offsets that are not a tensor of integers.
        ShapeError: fewer than two offsets, different numbers of them, or leading dimensions that do not fit.
        ArgumentError: offsets that fall, or do not go from 0 to the length.

    >>> import torch
    >>> from saccade import attend
    >>> x, two_and_one = torch.zeros(3, 1), Packed(torch.tensor([0, 2, 3]))
    >>> attend(x, x, torch.eye(3), mask=two_and_one).tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """

    axes: ClassVar[dict[str, Axes]] = {"cu_seqlens": ("n",), "key_cu_seqlens": ("n",)}
    cu_seqlens: Tensor
    key_cu_seqlens: Tensor | None = None

    @property
    def key_offsets(self) -> Tensor:
        """The offsets of the keys."""
        return self.cu_seqlens if self.key_cu_seqlens is None else self.key_cu_seqlens

    def interval(self, grid: Grid, queries: Tensor | int | None = None) -> tuple[Tensor, Tensor]:
        queries = grid.queries() if queries is None else queries
        queries = torch.full((1, 1), queries, device=grid.device) if isinstance(queries, int) else queries
        offsets = keys = self.cu_seqlens.long()
        if self.key_cu_seqlens is not None:
            offsets, keys = torch.broadcast_tensors(offsets, self.key_cu_seqlens.long())
        rows = queries[..., 0] - offsets[..., :1]  # the first offset is 0
        offsets, keys = (side.expand(*rows.shape[:-1], -1) for side in (offsets, keys))
        # the first offset beyond a query ends its sequence
        end = torch.searchsorted(offsets.contiguous(), rows, right=True).clamp(1, offsets.shape[-1] - 1)
        return keys.gather(-1, end - 1)[..., None], keys.gather(-1, end)[..., None]

    def check(self, extent: Extent) -> None:
        sides = [("cu_seqlens of masks.Packed", self.cu_seqlens, extent.q_len, "Lq")]
        if self.key_cu_seqlens is not None or (extent.values and extent.q_len != extent.k_len):
            sides.append(("key_cu_seqlens of masks.Packed", self.key_offsets, extent.k_len, "Lk"))
        for name, offsets, length, symbol in sides:
            if not isinstance(offsets, Tensor):
                raise ArgumentTypeError(f"{name}: expected integers (..., N + 1), got {type(offsets).__name__}")
            whole_dtype(name, offsets)
            if offsets.ndim < 1 or offsets.shape[-1] < 2 or offsets.shape[-1] != self.cu_seqlens.shape[-1]:
                count = "N + 1 ≥ 2" if offsets is self.cu_seqlens else f"N + 1 = {self.cu_seqlens.shape[-1]}"
                raise ShapeError(f"{name}: expected integers (..., N + 1), {count}, got shape {tuple(offsets.shape)}")
            batch_only(name, tuple(offsets.shape[:-1]), extent)
            on_device(name, offsets, extent)
            if extent.values:  # the message would make a constant of a symbolic length
                ends = (offsets[..., 0] == 0) & (offsets[..., -1] == length) & (offsets.diff() >= 0).all(-1)
                ensure(ends, f"{name}: expected offsets from 0 to {symbol} = {length} that do not fall, got others")


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
