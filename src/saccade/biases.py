"""Biases, added to scores, and gates, multiplied into weights.

Biases add with `+`, plain tensors included. A bias object as `gate=` contributes exp(bias). Gates multiply with `*`.
Entries at forbidden positions are ignored, NaN too. −inf in a bias forbids exactly as a mask's False does.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from saccade._definitions.checks import (
    Align,
    broadcasts,
    check_align,
    dense,
    fits,
    on_device,
    per_position,
    positive_number,
    within,
)
from saccade._definitions.functions import OfPositions, PositionFunction, Tables
from saccade._definitions.numerics import bounded, broadcast_shapes
from saccade._definitions.rotary import numbers
from saccade._definitions.rotary import rotate as rotate
from saccade._definitions.structure import Axes, Definition, Extent, Grid, Pair, registered
from saccade.errors import ArgumentTypeError, ShapeError
from saccade.masks import shift

__all__ = ["Alibi", "Bias", "Factor", "GaussianWindow", "Position", "RelativePosition", "rotate"]

_OPERATORS = {"__add__": "add", "__radd__": "add", "add": "add", "__mul__": "mul", "__rmul__": "mul", "mul": "mul"}


class Factor(Definition):
    """Base of all gates, and of biases: as a gate a bias is its exponential."""

    def factor(self, grid: Grid, dtype: torch.dtype, allowed: Tensor | None) -> Tensor:
        """The gate for one block of queries, broadcastable to `(..., rows, Lk)`.

        Forbidden entries are not read.
        """
        raise TypeError(f"{type(self).__name__} defines no gate")

    def check(self, extent: Extent, name: str) -> None:
        """Raise a `SaccadeError` about `name` if the tensors do not fit the call."""

    def __mul__(self, other: "Factor | Tensor") -> "Factor":
        return Product.of(self, as_gate(other))

    __rmul__ = __mul__

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Lets a tensor stand on the left: `tensor + bias`, `tensor * gate`."""
        operator = _OPERATORS.get(func.__name__)
        if operator is None or len(args) != 2 or kwargs:  # as alpha= of torch.add
            return NotImplemented
        return as_bias(args[0]) + args[1] if operator == "add" else as_gate(args[0]) * args[1]


class Bias(Factor):
    """Base of all biases, added with `+` and computed block by block."""

    def values(self, grid: Grid, dtype: torch.dtype) -> Tensor:
        """The bias for one block of queries, broadcastable to `(..., rows, Lk)`."""
        raise TypeError(f"{type(self).__name__} defines no bias")

    def factor(self, grid: Grid, dtype: torch.dtype, allowed: Tensor | None) -> Tensor:
        return unread(self.values(grid, dtype), allowed).exp()

    def __add__(self, other: "Bias | Tensor") -> "Bias":
        return Total.of(self, as_bias(other))

    __radd__ = __add__


def unread(values: Tensor, allowed: Tensor | None) -> Tensor:
    """The values, and 0 at forbidden positions.

    A forbidden NaN would reach the result, or another factor's gradient.
    """
    if allowed is None:
        return values
    shape = broadcast_shapes(values.shape, allowed.shape)
    return values.expand(shape).masked_fill(~allowed, 0.0)


def as_bias(bias: Any) -> Bias:
    """Convert a floating tensor to a bias, and return a bias unchanged."""
    if isinstance(bias, Bias):
        return bias
    if isinstance(bias, Factor):
        raise ArgumentTypeError("bias: expected a bias, got a gate (a product). Pass it as gate=.")
    return Dense(floating(bias, "bias"))


def as_gate(gate: Any) -> Factor:
    """Convert a floating tensor to a gate, and return a gate or bias unchanged."""
    return gate if isinstance(gate, Factor) else Weights(floating(gate, "gate"))


def floating(tensor: Any, name: str) -> Tensor:
    """Return a floating tensor, and raise `ArgumentTypeError` for anything else."""
    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError(
            f"{name}: expected a floating tensor or one of saccade.biases, got {type(tensor).__name__}"
        )
    if not tensor.is_floating_point():
        raise ArgumentTypeError(
            f"{name}: expected a floating tensor, got dtype {tensor.dtype}. Pass a boolean tensor as mask=."
        )
    dense(name, tensor)
    return tensor


@registered
@dataclass(frozen=True)
class Dense(Bias):
    """Plain floating tensor, broadcast to `(..., Lq, Lk)`, added to the scores."""

    axes: ClassVar[dict[str, Axes]] = {"tensor": ("q", "k")}
    tensor: Tensor

    def values(self, grid: Grid, dtype: torch.dtype) -> Tensor:
        return self.tensor.to(dtype)

    def check(self, extent: Extent, name: str) -> None:
        fits(name, self.tensor, extent)


@registered
@dataclass(frozen=True)
class Total(Pair, Bias):
    """The sum of two biases; written `first + second`."""

    first: Bias
    second: Bias

    def values(self, grid: Grid, dtype: torch.dtype) -> Tensor:
        first, second = self.first.values(grid, dtype), self.second.values(grid, dtype)
        forbidden = (first.detach() == -torch.inf) | (second.detach() == -torch.inf)  # also against +inf or NaN
        return (first + second).masked_fill(forbidden, -torch.inf)


@registered
@dataclass(frozen=True)
class Weights(Factor):
    """Plain floating tensor, broadcast to `(..., Lq, Lk)`, multiplied into weights."""

    axes: ClassVar[dict[str, Axes]] = {"tensor": ("q", "k")}
    tensor: Tensor

    def factor(self, grid: Grid, dtype: torch.dtype, allowed: Tensor | None) -> Tensor:
        return unread(self.tensor.to(dtype), allowed)

    def check(self, extent: Extent, name: str) -> None:
        fits(name, self.tensor, extent)


@registered
@dataclass(frozen=True)
class Product(Pair, Factor):
    """The product of two gates; written `first * second`."""

    first: Factor
    second: Factor

    def factor(self, grid: Grid, dtype: torch.dtype, allowed: Tensor | None) -> Tensor:
        return self.first.factor(grid, dtype, allowed) * self.second.factor(grid, dtype, allowed)


def distances(align: Align, grid: Grid) -> Tensor:
    """Key position minus query position, integer, `(..., rows, Lk)`."""
    return grid.keys() - (grid.queries() + shift(align, grid))


@registered
@dataclass(frozen=True)
class Alibi(Bias):
    """bias[..., i, j] = −slope · |i + align − j|.

    Press, Smith, Lewis 2022, section 3.

    Args:
        slopes: `(...)`, usually one a head `(H,)`, broadcast against the batch dimensions.
        align: as in `saccade.masks`. It may be left out if Lq = Lk.

    >>> import torch
    >>> from saccade import attend
    >>> x = torch.zeros(1, 3, 2)
    >>> attend(x, x, torch.eye(3)[None], bias=Alibi(torch.tensor([1.0])))[0, 0].argmax().item()
    0
    """

    axes: ClassVar[dict[str, Axes]] = {"slopes": (), "align": ()}
    slopes: Tensor
    align: Align = None

    def values(self, grid: Grid, dtype: torch.dtype) -> Tensor:
        return -self.slopes.to(dtype)[..., None, None] * distances(self.align, grid).abs()

    def check(self, extent: Extent, name: str) -> None:
        check_align("biases.Alibi", self.align, extent)
        slopes = floating(self.slopes, "slopes of biases.Alibi")
        broadcasts("slopes of biases.Alibi", tuple(slopes.shape), extent.batch)
        on_device("slopes of biases.Alibi", slopes, extent)


@registered
@dataclass(frozen=True)
class RelativePosition(Bias):
    """bias[..., i, j] = table[..., clip(j − i − align, −R, R) + R].

    It is one number a distance (Raffel et al. 2020, T5), clipped as in Shaw et al. 2018, section 3.2. There a distance
    has vectors, added to keys and values: docs/masks-and-biases.md writes them as a score. T5 puts distances into
    growing buckets, a function for `Position`.

    Args:
        table: `(..., 2R + 1)`, leading dimensions broadcast against the batch dimensions.
        align: as in `saccade.masks`. It may be left out if Lq = Lk.

    >>> import torch
    >>> from saccade._definitions.structure import Grid
    >>> bias = RelativePosition(torch.tensor([0.1, 0.2, 0.3]))
    >>> bias.values(Grid(2, 2, 0, 2, torch.device("cpu")), torch.float32)
    tensor([[0.2000, 0.3000],
            [0.1000, 0.2000]])
    """

    axes: ClassVar[dict[str, Axes]] = {"table": ("r",), "align": ()}
    table: Tensor
    align: Align = None

    def values(self, grid: Grid, dtype: torch.dtype) -> Tensor:
        reach = self.table.shape[-1] // 2
        index = distances(self.align, grid).clamp(-reach, reach) + reach
        if index.ndim == 2:
            return self.table.to(dtype)[..., index]
        batch = broadcast_shapes(self.table.shape[:-1], index.shape[:-2])
        flat = index.expand(*batch, *index.shape[-2:]).flatten(-2)
        values = self.table.to(dtype).expand(*batch, -1).gather(-1, flat)
        return values.reshape(*batch, *index.shape[-2:])

    def check(self, extent: Extent, name: str) -> None:
        check_align("biases.RelativePosition", self.align, extent)
        table = floating(self.table, "table of biases.RelativePosition")
        if table.ndim < 1 or table.shape[-1] % 2 == 0:
            raise ShapeError(
                "table of biases.RelativePosition: expected (..., 2R + 1), an odd last dimension, got "
                f"{tuple(table.shape)}"
            )
        broadcasts("table of biases.RelativePosition", tuple(table.shape[:-1]), extent.batch)
        on_device("table of biases.RelativePosition", table, extent)


@registered
@dataclass(frozen=True)
class GaussianWindow(Bias):
    """bias[..., i, j] = −(j − center_i)² / 2 width².

    As `gate=` it is the Gaussian of Luong et al. 2015, equation 10.

    Args:
        center: `(..., Lq)`, positions in keys; it learns.
        width: standard deviation in keys, from 1e-12 to 1e12, a float or a tensor `(..., Lq)`. Values of a tensor are
            checked as those of a temperature.

    Raises:
        ArgumentError: a width outside its range.

    >>> import torch
    >>> GaussianWindow(torch.tensor([1.0]), width=2.0).width
    2.0
    """

    axes: ClassVar[dict[str, Axes]] = {"center": ("q",), "width": ("q",)}
    center: Tensor
    width: float | Tensor

    def __post_init__(self) -> None:
        positive_number("width", self.width, tensor=True)

    def values(self, grid: Grid, dtype: torch.dtype) -> Tensor:
        center = self.center.to(dtype)[..., None]
        width = self.width[..., None] if isinstance(self.width, Tensor) and self.width.ndim else self.width
        # A centre that is not finite gives NaN or -inf, without a gradient: 0 times its distance would be NaN.
        finite = center.isfinite()
        others = -center.detach().square().masked_fill(finite, 0.0)
        distance = (grid.keys() - center.masked_fill(~finite, 0.0)) / bounded(width, center)
        return torch.addcmul(others, distance, distance, value=-0.5)

    def check(self, extent: Extent, name: str) -> None:
        per_position("center of biases.GaussianWindow", self.center, extent.q_len, "Lq", extent)
        numbers("center of biases.GaussianWindow", self.center, "(..., Lq)")
        if isinstance(self.width, Tensor):
            floating(self.width, "width of biases.GaussianWindow")
            if self.width.ndim:
                per_position("width of biases.GaussianWindow", self.width, extent.q_len, "Lq", extent)
            within("width of biases.GaussianWindow", self.width, extent)


@registered
@dataclass(frozen=True, init=False)
class Position(Bias, OfPositions):
    """bias[..., i, j] = function(i, j, *tables), any function of positions.

    Args:
        function: as of `saccade.masks.Where`, to floats that broadcast to `(..., rows, keys)`; −inf forbids.
        tables: tensors for the function behind i and j, floating ones in the dtype of scores. Their gradients are
            computed block by block. Tensors that the function closes over get gradients too, but from blocks of all
            keys, and never on `flex`.

    Raises:
        ArgumentTypeError: no function, tables that are no tensors, or a function that does not return floats.
        ArgumentError: in a call, a function that fails on some positions, or returns a tensor on another device.
        ShapeError: in a call, results that do not broadcast.

    Dong et al. 2024, "Flex Attention" (https://arxiv.org/abs/2412.05496): its score_mod, as a sum.

    >>> import torch
    >>> from saccade import attend
    >>> table, x = torch.zeros(2, 5).requires_grad_(), torch.eye(3).expand(2, 3, 3)
    >>> near = Position(lambda i, j, table: table[:, (j - i).clamp(-2, 2) + 2], table)  # a row of the table a head
    >>> attend(x, x, x, bias=near).square().sum().backward()
    >>> table.grad.shape
    torch.Size([2, 5])
    """

    owner: ClassVar[str] = "biases.Position"
    due: ClassVar[str] = "floats; convert with .to(torch.float32), or give booleans to masks.Where"
    itself: ClassVar[str] = "a floating tensor is a bias by itself"
    function: PositionFunction
    tables: Tables

    def __init__(self, function: PositionFunction, *tables: Tensor) -> None:
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "tables", Tables.of(self.owner, tables))
        self.check_callable()

    @staticmethod
    def is_due(result: Tensor) -> bool:
        return result.is_floating_point()

    def arguments(self, dtype: torch.dtype | None = None) -> tuple[Tensor, ...]:
        return self.tables.arguments(dtype)

    def values(self, grid: Grid, dtype: torch.dtype) -> Tensor:
        return self.laid_out(grid, dtype).to(dtype)

    def check(self, extent: Extent, name: str) -> None:
        for table, _ in self.leaves():
            on_device("tables of biases.Position", table, extent)
        self.check_function(extent)
