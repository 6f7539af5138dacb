"""Functions of positions: the shared part of `masks.Where` and `biases.Position`.

It may index tensors by i and j: `ids[:, i] == ids[:, j]` has a batch dimension in front, which broadcasts with the
call's. Blocks of several tiles evaluate it under `torch.func.vmap`. So i is always `(rows, 1)` and j `(1, keys)`, and
no dimension of a tile can be mistaken for a batch dimension.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from saccade._definitions.checks import broadcasts
from saccade._definitions.numerics import transforming
from saccade._definitions.structure import Definition, Extent, Grid, Leaf, registered
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError

PositionFunction = Callable[..., Tensor]
"""`(i, j) -> Tensor`, with tables `(i, j, *tables)`."""


def takes(function: Callable[..., object], count: int) -> bool:
    """Whether a function takes so many arguments, by its signature."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a builtin without a signature
        pass
    return True


class OfPositions(Definition):
    """Base of definitions with a function of positions."""

    owner: ClassVar[str]  # its name in errors
    due: ClassVar[str]  # the function's result, and a way out, for errors
    itself: ClassVar[str]  # the meaning of a tensor in the function's place, for errors
    function: PositionFunction

    @staticmethod
    def is_due(result: Tensor) -> bool:
        """Whether a result has the right kind."""
        raise NotImplementedError

    def check_callable(self) -> None:
        """Raise unless there is a function."""
        function: object = self.function
        if not callable(function):
            got, way_out = type(function).__name__, f"; {self.itself}" if isinstance(function, Tensor) else ""
            raise ArgumentTypeError(f"function of {self.owner}: expected a function (i, j), got {got}{way_out}")

    def arguments(self, dtype: torch.dtype | None = None) -> tuple[Tensor, ...]:
        """Arguments beside the positions, floating ones in the dtype of scores."""
        return ()

    def at(self, i: Tensor, j: Tensor, *tables: Tensor) -> Tensor:
        """Values `(..., rows or 1, keys or 1)` for `(rows, 1)` and `(1, keys)`."""
        try:
            values = self.function(i, j, *tables)
        except TypeError as error:
            if takes(self.function, 2 + len(tables)):
                raise
            arguments = "(i, j)" if not tables else f"(i, j) and {len(tables)} tables"
            raise ArgumentTypeError(f"function of {self.owner}: expected one of {arguments}, got: {error}") from error
        if not isinstance(values, Tensor) or not self.is_due(values):
            got = f"dtype {values.dtype}" if isinstance(values, Tensor) else type(values).__name__
            raise ArgumentTypeError(f"function of {self.owner}: expected it to return {self.due}, got {got}")
        return values[(None,) * max(2 - values.ndim, 0)]

    def laid_out(self, grid: Grid, dtype: torch.dtype | None = None) -> Tensor:
        """Values for the batch entries of a block, with its dimension of tiles."""
        i, j = grid.queries(), grid.keys()
        j = j.clamp(max=grid.k_len - 1) if grid.filled else j  # a function may not index behind the last key
        j = j if grid.behind is None else j.clamp(min=0)  # nor by slots without a key
        if i.ndim == j.ndim == 2:
            return grid.of_entries(self.at(i, j, *self.arguments(dtype)))
        return grid.of_entries(self.tiled(i, j, dtype))

    def tiled(self, i: Tensor, j: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """Values `(..., tiles, rows, keys)` for `(tiles, rows, 1)` and `(tiles, 1, keys)`."""
        tables = self.arguments(dtype)
        values: Tensor = torch.func.vmap(lambda i, j: self.at(i, j, *tables))(i, j)
        return values.movedim(0, -3)  # out_dims=-3 fails for a result that is the same for all tiles

    def first(self, device: torch.device) -> Tensor:
        """The first pair's value. It requires a gradient if the closure does."""
        first = torch.zeros(1, 1, dtype=torch.int64, device=device)
        return self.at(first, first, *(table.detach() for table in self.arguments()))

    def batch(self, device: torch.device) -> tuple[int, ...]:
        """Batch dimensions of the values."""
        return tuple(self.first(device).shape[:-2])

    def check_function(self, extent: Extent) -> None:
        """Raise unless the function has values at some positions of the call."""
        q_len, k_len = extent.q_len, extent.k_len
        if not extent.values or not (q_len and k_len):
            return
        probes = {0, q_len - 1}, {0, k_len // 2, k_len - 1}
        i, j = (torch.tensor(sorted(positions), device=extent.device) for positions in probes)
        name = f"function of {self.owner}"
        try:
            values = self.tiled(i[None, :, None], j[None, None])[..., 0, :, :]
        except (ArgumentError, ArgumentTypeError):
            raise
        except (IndexError, RuntimeError) as error:  # torch's errors do not say where
            raise ArgumentError(
                f"{name}: expected it to answer for any queries i < Lq = {q_len} and keys j < Lk = "
                f"{k_len} by torch's operations alone, as torch.func.vmap knows them, got "
                f"{type(error).__name__}: {str(error).splitlines()[0]}"
            ) from error
        if values.device != extent.device:
            raise ArgumentError(
                f"{name}: expected answers on {extent.device}, where query is, got {values.device}; move the tensors "
                "that it indexes with .to(query.device)"
            )
        rows, keys = values.shape[-2:]
        if not ((rows == 1 or rows == len(i)) and (keys == 1 or keys == len(j))):
            raise ShapeError(
                f"{name}: expected a shape that broadcasts to (..., rows, keys) = (..., {len(i)}, {len(j)}) for i "
                f"({len(i)}, 1) and j (1, {len(j)}), got {tuple(values.shape)}. Batch dimensions go in front: "
                "table[:, i, j]"
            )
        broadcasts(name, tuple(values.shape[:-2]), extent.batch)


@registered
@dataclass(frozen=True)
class Tables(Definition):
    """Tensors of `dims` dimensions that a function takes, with 1s before them."""

    tensors: tuple[Tensor, ...]
    dims: tuple[int, ...]

    @classmethod
    def of(cls, owner: str, tensors: tuple[Any, ...]) -> "Tables":
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise ArgumentTypeError(f"tables of {owner}: expected tensors, got {type(tensor).__name__}")
        return cls(tensors, tuple(tensor.ndim for tensor in tensors))

    def leaves(self) -> list[Leaf]:
        names = (tuple(f"t{dim}" for dim in range(count)) for count in self.dims)
        return [Leaf(tensor, axes) for tensor, axes in zip(self.tensors, names, strict=True)]

    def leaf_names(self, prefix: str = "") -> list[str]:
        return [f"{prefix}{index}" for index in range(len(self.tensors))]

    def with_leaves(self, tensors: Iterator[Tensor]) -> Self:
        return type(self)(tuple(next(tensors) for _ in self.tensors), self.dims)

    def arguments(self, dtype: torch.dtype | None) -> tuple[Tensor, ...]:
        """The tensors as the function takes them, floating ones in this dtype."""
        tables = (t.reshape(t.shape[t.ndim - dims :]) for t, dims in zip(self.tensors, self.dims, strict=True))
        return tuple(table.to(dtype) if dtype and table.is_floating_point() else table for table in tables)


def functions(tree: Definition | None) -> list[OfPositions]:
    """Functions of positions in a definition."""
    return [] if tree is None else [part for part in tree.walk() if isinstance(part, OfPositions)]


def closing(*trees: Definition | None, device: torch.device) -> bool:
    """Whether autograd has to record functions: gradients may reach their closures."""
    closures = [function for tree in trees for function in functions(tree)]
    if closures and transforming():
        return True
    return bool(closures) and torch.is_grad_enabled() and any(part.first(device).requires_grad for part in closures)
