"""Functions of positions: what `masks.Where` and `biases.Position` share.

A function gets the index of queries i and of keys j as tensors that broadcast, and answers for all their pairs at once.
It may index tensors of the user's own by them: `ids[:, i] == ids[:, j]` has a batch dimension in front, which is
broadcast with the call's. Blocks of several tiles ask for each tile under `torch.func.vmap`, so that i is always
`(rows, 1)` and j `(1, keys)`, and no dimension of a tile is ever taken for one of the batch.
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

__all__ = ["OfPositions", "PositionFunction", "Tables", "closing", "functions"]

PositionFunction = Callable[..., Tensor]
"""`(i, j) -> Tensor`, with tables `(i, j, *tables)`."""


def takes(function: Callable[..., object], count: int) -> bool:
    """Whether a function takes so many arguments, as far as it tells.

    >>> takes(lambda i, j: i, 2), takes(lambda i: i, 2)
    (True, False)
    """
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a builtin that does not tell
        return True
    return True


class OfPositions(Definition):
    """Base of definitions that are a function of positions."""

    owner: ClassVar[str]
    """What it is called in errors."""
    due: ClassVar[str]
    """What its function returns, and what to do instead, for errors."""
    itself: ClassVar[str]
    """What a tensor in the function's place is, for errors."""
    function: PositionFunction

    @staticmethod
    def is_due(result: Tensor) -> bool:
        """Whether a result is of the kind that is due."""
        raise NotImplementedError

    def check_callable(self) -> None:
        """Raises unless there is a function."""
        function: object = self.function
        if not callable(function):
            got, way_out = type(function).__name__, f"; {self.itself}" if isinstance(function, Tensor) else ""
            raise ArgumentTypeError(f"function of {self.owner}: expected a function (i, j), got {got}{way_out}")

    def given(self, dtype: torch.dtype | None = None) -> tuple[Tensor, ...]:
        """What the function takes beside the positions, floating tensors in the dtype of scores or their own."""
        return ()

    def at(self, i: Tensor, j: Tensor, *tables: Tensor) -> Tensor:
        """The function's answers `(..., rows or 1, keys or 1)` for queries `(rows, 1)` and keys `(1, keys)`."""
        try:
            found = self.function(i, j, *tables)
        except TypeError as error:
            if takes(self.function, 2 + len(tables)):
                raise
            arguments = "(i, j)" if not tables else f"(i, j) and {len(tables)} tables"
            raise ArgumentTypeError(f"function of {self.owner}: expected one of {arguments}, got: {error}") from error
        if not isinstance(found, Tensor) or not self.is_due(found):
            got = f"dtype {found.dtype}" if isinstance(found, Tensor) else type(found).__name__
            raise ArgumentTypeError(f"function of {self.owner}: expected it to return {self.due}, got {got}")
        return found[(None,) * max(2 - found.ndim, 0)]

    def laid_out(self, grid: Grid, dtype: torch.dtype | None = None) -> Tensor:
        """The answers for a block: of what batch entries the block has, with a dimension of tiles where it has one."""
        i, j = grid.queries(), grid.keys()
        j = j.clamp(max=grid.k_len - 1) if grid.filled else j  # nobody asks what is behind the last key
        j = j if grid.behind is None else j.clamp(min=0)  # nor of slots without a key
        if i.ndim == j.ndim == 2:
            return grid.of_entries(self.at(i, j, *self.given(dtype)))
        return grid.of_entries(self.tiled(i, j, dtype))

    def tiled(self, i: Tensor, j: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """The answers for tiles `(tiles, rows, 1)` and `(tiles, 1, keys)`: their dimension is the third from behind."""
        tables = self.given(dtype)
        found: Tensor = torch.func.vmap(lambda i, j: self.at(i, j, *tables))(i, j)
        return found.movedim(0, -3)  # out_dims=-3 reads beyond an answer that is the same for all tiles

    def batch(self, device: torch.device) -> tuple[int, ...]:
        """The batch dimensions of the answers, told by those for the first query and key."""
        first = torch.zeros(1, 1, dtype=torch.int64, device=device)
        return tuple(self.at(first, first, *self.given()).shape[:-2])

    def learns(self, device: torch.device) -> bool:
        """Whether the function closes over tensors that ask for a gradient, told by its first answer."""
        first = torch.zeros(1, 1, dtype=torch.int64, device=device)
        return self.at(first, first, *(table.detach() for table in self.given())).requires_grad

    def check_function(self, extent: Extent) -> None:
        """Raises a `SaccadeError` unless the function answers for queries and keys of the call, the last among them."""
        if not extent.values or not (extent.q_len and extent.k_len):
            return
        i, j = (torch.tensor(sorted(some), device=extent.device) for some in _probed(extent))
        name = f"function of {self.owner}"
        try:
            found = self.tiled(i[None, :, None], j[None, None])[..., 0, :, :]
        except (ArgumentError, ArgumentTypeError):
            raise
        except (IndexError, RuntimeError) as error:  # torch's own say what, not where
            raise ArgumentError(
                f"{name}: expected it to answer for any queries i < Lq = {extent.q_len} and keys j < Lk = "
                f"{extent.k_len} by torch's operations alone, as torch.func.vmap knows them, got "
                f"{type(error).__name__}: {str(error).splitlines()[0]}"
            ) from error
        if found.device != extent.device:
            raise ArgumentError(
                f"{name}: expected answers on {extent.device}, where query is, got {found.device}; move the tensors "
                "that it indexes with .to(query.device)"
            )
        rows, keys = found.shape[-2:]
        if not ((rows == 1 or rows == len(i)) and (keys == 1 or keys == len(j))):
            raise ShapeError(
                f"{name}: expected a shape that broadcasts to (..., rows, keys) = (..., {len(i)}, {len(j)}) for i "
                f"({len(i)}, 1) and j (1, {len(j)}), got {tuple(found.shape)}; batch dimensions go in front: "
                "table[:, i, j]"
            )
        broadcasts(name, tuple(found.shape[:-2]), extent.batch)


def _probed(extent: Extent) -> tuple[set[int], set[int]]:
    """Up to two queries and three keys, the first and the last among them."""
    q_len, k_len = extent.q_len, extent.k_len
    return {0, q_len - 1}, {0, k_len // 2, k_len - 1}


@registered
@dataclass(frozen=True)
class Tables(Definition):
    """Tensors that a function is given, whatever their dimensions are: `dims` of each are its own, any before them of
    size 1, to stand where batch dimensions are.
    """

    tensors: tuple[Tensor, ...]
    dims: tuple[int, ...]

    @classmethod
    def of(cls, owner: str, tensors: tuple[Any, ...]) -> "Tables":
        """The tensors as they were given.

        Raises:
            ArgumentTypeError: one of them is none.
        """
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise ArgumentTypeError(f"tables of {owner}: expected tensors, got {type(tensor).__name__}")
        return cls(tensors, tuple(tensor.ndim for tensor in tensors))

    def leaves(self) -> list[Leaf]:
        names = (tuple(f"t{dim}" for dim in range(count)) for count in self.dims)
        return [Leaf(tensor, axes) for tensor, axes in zip(self.tensors, names, strict=True)]

    def leaf_names(self, prefix: str = "") -> list[str]:
        return [f"{prefix}{place}" for place in range(len(self.tensors))]

    def with_leaves(self, tensors: Iterator[Tensor]) -> Self:
        return type(self)(tuple(next(tensors) for _ in self.tensors), self.dims)

    def given(self, dtype: torch.dtype | None) -> tuple[Tensor, ...]:
        """The tensors as the function takes them, floating ones in this dtype or their own."""
        own = (t.reshape(t.shape[t.ndim - dims :]) for t, dims in zip(self.tensors, self.dims, strict=True))
        return tuple(tensor.to(dtype) if dtype and tensor.is_floating_point() else tensor for tensor in own)


def functions(tree: Definition | None) -> Iterator[OfPositions]:
    """The functions of positions that a definition is composed of.

    >>> from saccade import masks
    >>> mask = masks.Causal() & ~masks.Where(lambda i, j: i == j)
    >>> [type(found).__name__ for found in functions(mask)]
    ['Where']
    """
    if isinstance(tree, OfPositions):
        yield tree
    elif tree is not None:
        for name in tree.__match_args__:
            part = getattr(tree, name)
            if isinstance(part, Definition):
                yield from functions(part)


def closing(*trees: Definition | None, device: torch.device) -> bool:
    """Whether gradients or transforms may be of tensors that functions of positions close over: what closes over them
    has to be called where autograd sees it.
    """
    found = [function for tree in trees for function in functions(tree)]
    if not found:
        return False
    return transforming() or (torch.is_grad_enabled() and any(function.learns(device) for function in found))
