"""Base class of masks, boolean tensors as masks, and their composition."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from saccade._definitions.checks import dense, fits, warn_if_ambiguous, whole
from saccade._definitions.state import BackendState
from saccade._definitions.structure import Axes, Definition, Extent, Grid, Pair, registered
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError

_AND, _OR = ("__and__", "__rand__", "bitwise_and"), ("__or__", "__ror__", "bitwise_or")


class Mask(Definition):
    """Base of all masks, composed with `&`, `|` and `~`.

    A mask of your own defines `dense`, which is called for one block of queries at a time.
    """

    per_example: ClassVar[bool] = False  # whether its tensors have all batch dimensions or none

    def dense(self, grid: Grid) -> Tensor:
        """The mask for one block of queries, boolean, broadcastable to `(..., rows, Lk)`."""
        raise ArgumentTypeError("mask: expected one of saccade.masks, got the base class Mask")

    def check(self, extent: Extent) -> None:
        """Raise a `SaccadeError` if the mask does not fit the call."""
        for mask in self._combined():
            mask.check(extent)

    @property
    def keys_alone(self) -> bool:
        """Whether the mask is one for all queries, so that a memory can keep it."""
        combined = self._combined()
        return bool(combined) and all(mask.keys_alone for mask in combined)

    def _combined(self) -> "list[Mask]":
        """Masks in a built-in combination. A user's class may use masks in other ways."""
        parts = [getattr(self, name) for name in self.__match_args__] if self.is_registered else []
        return [part for part in parts if isinstance(part, Mask)]

    def __and__(self, other: "Mask | Tensor") -> "Mask":
        return Both.of(self, as_mask(other))

    def __or__(self, other: "Mask | Tensor") -> "Mask":
        return Either.of(self, as_mask(other))

    def __invert__(self) -> "Mask":
        return Not(self)

    __rand__, __ror__ = __and__, __or__

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Lets a tensor stand on the left: `tensor & mask`."""
        if func.__name__ not in _AND + _OR or len(args) != 2 or kwargs:  # as out= of torch.bitwise_and
            return NotImplemented
        first, second = map(as_mask, args)
        return Both.of(first, second) if func.__name__ in _AND else Either.of(first, second)


Bounds = tuple[Tensor | int | None, Tensor | int | None]
"""The first key, and the key behind the last; None is no bound."""


def between(lowest: Tensor, highest: Tensor, bounds: Bounds) -> Tensor:
    """start ≤ lowest and highest < end."""
    start, end = bounds
    if start is None:
        return torch.ones_like(highest, dtype=torch.bool) if end is None else highest < end
    return lowest >= start if end is None else (lowest >= start) & (highest < end)


class Contiguous(Mask):
    """Base of the masks that allow each query one interval of keys, start ≤ j < end.

    All walks over masks read `interval`.
    """

    per_example: ClassVar[bool] = True
    rises: ClassVar[bool] = True  # whether both bounds rise with the query, or stay

    def interval(self, grid: Grid, queries: Tensor | int | None = None) -> Bounds:
        """Bounds of the queries at these indices, by default the grid's `(..., rows, 1)`."""
        raise NotImplementedError

    def dense(self, grid: Grid) -> Tensor:
        keys = grid.keys()
        return between(keys, keys, self.interval(grid))


def as_mask(mask: Any, name: str = "mask") -> Mask:
    """Convert a boolean tensor to a mask, and return a mask unchanged.

    Raises:
        ArgumentTypeError: neither a mask nor a dense boolean tensor.
    """
    if isinstance(mask, Mask):
        return mask.mask if isinstance(mask, Prepared) else mask
    if not isinstance(mask, Tensor):
        raise ArgumentTypeError(f"{name}: expected a boolean tensor or one of saccade.masks, got {type(mask).__name__}")
    if mask.dtype != torch.bool:
        raise ArgumentTypeError(
            f"{name}: expected a boolean tensor (True: may attend), got dtype {mask.dtype}. Pass additive scores "
            "as bias=, weights as gate=, or compare first (mask != 0)."
        )
    dense(name, mask)
    return Dense(mask)


@dataclass(frozen=True, eq=False)
class Prepared(Mask):
    """A mask with the blocks that backends found for it, made by `prepare`.

    Composed with another mask, it is the plain mask again.
    """

    mask: Mask
    q_len: int
    k_len: int
    state: BackendState = field(repr=False)

    def dense(self, grid: Grid) -> Tensor:
        return self.mask.dense(grid)

    def check(self, extent: Extent) -> None:
        if (self.q_len, self.k_len) != (extent.q_len, extent.k_len):
            raise ShapeError(
                f"mask: expected Lq = {self.q_len} and Lk = {self.k_len}, for which it was prepared, got Lq = "
                f"{extent.q_len} and Lk = {extent.k_len}. Prepare it again."
            )

    @property
    def keys_alone(self) -> bool:
        return self.mask.keys_alone

    def __and__(self, other: Mask | Tensor) -> Mask:
        return self.mask & other

    def __or__(self, other: Mask | Tensor) -> Mask:
        return self.mask | other

    def __invert__(self) -> Mask:
        return ~self.mask

    __rand__, __ror__ = __and__, __or__


def _there(device: torch.device | str) -> None:
    """Raise unless tensors can be made on the device."""
    if not isinstance(device, torch.device | str):
        raise ArgumentTypeError(f"device: expected a torch.device or its name, got {type(device).__name__}")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
        way_out = "Pass query.device."
        raise ArgumentError(f"device: expected a device of this machine, got {str(device)!r}. {way_out}") from error


def prepare(mask: Mask | Tensor, q_len: int, k_len: int, device: torch.device | str) -> Prepared:
    """A mask that many calls of one size share, for example the layers of a network.

    The first call lists the blocks that the mask leaves, and later ones read the lists. The tensors of the mask are
    copied to the device, so that a later change of them has no effect. Tensors inside a function of `Where` or inside a
    mask of your own are not copied, and must not change.

    Args:
        mask: one of `saccade.masks`, or a boolean tensor.
        q_len, k_len: Lq and Lk of the calls.
        device: of the calls.

    Raises:
        ArgumentTypeError: neither a mask nor a boolean tensor.
        ArgumentError: a length that is not an int of at least 0, or a device that is not there.
        ShapeError: in a call, other lengths.

    >>> import torch
    >>> from saccade import attend, masks
    >>> x, ids = torch.zeros(3, 1), torch.tensor([0, 0, 1])
    >>> mask = masks.prepare(masks.Causal() & masks.Documents(ids, ids), 3, 3, "cpu")
    >>> attend(x, x, torch.eye(3), mask=mask).tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    whole("q_len", q_len, least=0)
    whole("k_len", k_len, least=0)
    _there(device)
    plain = as_mask(mask).map(lambda tensor, axes: tensor.detach().to(device, copy=True))
    return Prepared(plain, q_len, k_len, BackendState())


@registered
@dataclass(frozen=True)
class Dense(Mask):
    """A plain boolean tensor that broadcasts to `(..., Lq, Lk)`.

    Two dimensions are `(Lq, Lk)`. If B = Lq they could be `(B, Lk)` as well, and a warning says so.

    >>> import torch
    >>> Dense(torch.tensor([[True, False]])) & ~Dense(torch.tensor(True))
    Both(first=Dense(allowed=tensor([[ True, False]])), second=Not(other=Dense(allowed=tensor(True))))
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
class Both(Pair, Mask):
    """Allowed by the first and by the second; written `first & second`."""

    first: Mask
    second: Mask

    def dense(self, grid: Grid) -> Tensor:
        return self.first.dense(grid) & self.second.dense(grid)


@registered
@dataclass(frozen=True)
class Either(Pair, Mask):
    """Allowed by the first or by the second; written `first | second`."""

    first: Mask
    second: Mask

    def dense(self, grid: Grid) -> Tensor:
        return self.first.dense(grid) | self.second.dense(grid)


@registered
@dataclass(frozen=True)
class Not(Mask):
    """Allowed where the other is not; written `~mask`."""

    other: Mask

    def dense(self, grid: Grid) -> Tensor:
        return ~self.other.dense(grid)

    def __invert__(self) -> Mask:
        return self.other
