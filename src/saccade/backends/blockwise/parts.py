"""Parts of a call that are computed at once: what of each tensor belongs to them, and where their results go."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from saccade._definitions.structure import Axes, Grid

__all__ = ["Block", "Part", "Tiles"]


class Block(NamedTuple):
    """Entries first .. first + heads - 1 of batch dimension `dim` (None: all of the batch), queries start .. start +
    rows - 1, against `width` keys from the first one on (None: all).
    """

    dim: int | None
    first: int
    heads: int
    start: int
    rows: int
    first_key: int = 0
    width: int | None = None

    def narrow(self, tensor: Tensor, axes: Axes) -> Tensor:
        """The part of an aligned tensor that belongs to this block, as a view."""
        tensor = _entries(tensor, self.dim, self.first, self.heads)
        tensor = _along(tensor, axes, "q", self.start, self.rows)
        return tensor if self.width is None else _along(tensor, axes, "k", self.first_key, self.width)

    def grid(self, call: Grid) -> Grid:
        """Where its queries and keys stand."""
        entries = None if self.dim is None else (self.dim, self.first, self.heads)
        grid = call._replace(start=self.start, rows=self.rows, entries=entries)
        if self.width is None:
            return grid
        return grid._replace(places=torch.arange(self.first_key, self.first_key + self.width, device=call.device)[None])

    def pairs(self, k_len: int) -> int:
        """How many pairs are computed in each entry."""
        return self.rows * (k_len if self.width is None else self.width)

    def put(self, result: Tensor, axes: Axes, piece: Tensor) -> None:
        """Writes a result of the block where it belongs; what has no "q" is summed."""
        target = self.narrow(result, axes)
        if "q" in axes:
            target.copy_(piece)
        else:
            target.add_(piece)

    def add(self, total: Tensor, axes: Axes, piece: Tensor) -> None:
        """Adds what belongs to the block's part of a tensor."""
        self.narrow(total, axes).add_(piece)


class Tiles(NamedTuple):
    """Several blocks of as many queries, each against blocks of keys of its own; a batch dimension more, the last.

    The lists of blocks are on the CPU, and copied to where a tensor is when it is narrowed, which waits for no device.

    Args:
        dim, first, heads: of the batch, as in `Block`.
        queries: which blocks of `rows` queries, counted from `start` on, `(tiles,)`.
        rows: queries of each.
        keys: which blocks of `size` keys, `(tiles, blocks)`.
        size: keys of a block.
        k_len: keys of the call; the last block may end behind them.
        start: the first query that is counted.
        step: how many blocks further on the keys of each tile begin than those of the one before, where the blocks of
            each follow each other: such keys are views, which overlap, and nothing is copied; None: copies.
    """

    dim: int | None
    first: int
    heads: int
    queries: Tensor
    rows: int
    keys: Tensor
    size: int
    k_len: int
    start: int = 0
    step: int | None = None

    def narrow(self, tensor: Tensor, axes: Axes) -> Tensor:
        """The part of an aligned tensor that belongs to these blocks: copied where keys are not views."""
        tensor = _entries(tensor, self.dim, self.first, self.heads)
        rank = tensor.ndim - len(axes)
        q_dim, k_dim = _dim(tensor, axes, "q"), _dim(tensor, axes, "k")
        if q_dim is not None and k_dim is not None:
            rows, keys = self._rows(tensor), self._places(tensor.device).clamp(max=self.k_len - 1)
            both: Tensor = tensor[..., rows[:, :, None], keys]
            return both
        if q_dim is not None:
            return self._queries(tensor, q_dim).movedim(q_dim, rank)
        if k_dim is None:
            return tensor.unsqueeze(rank)
        if self.step is not None:
            return self._sliding(tensor, k_dim).movedim(k_dim, rank)
        blocks = _blocks(tensor, k_dim, self.size).index_select(k_dim, self._blocks(tensor))
        return _parted(blocks, k_dim, self.keys.shape).flatten(k_dim + 1, k_dim + 2).movedim(k_dim, rank)

    def fill(self, tensor: Tensor, axes: Axes) -> Tensor:
        """A tensor with its last key again and again up to whole blocks, once for all parts; what has a place for each
        query and key is as large as all the pairs, and `narrow` takes what it needs.
        """
        dim, missing = _dim(tensor, axes, "k"), -self.k_len % self.size
        if dim is None or not missing or _dim(tensor, axes, "q") is not None:
            return tensor
        last = tensor.narrow(dim, self.k_len - 1, 1)
        return torch.cat([tensor, last.expand(*tensor.shape[:dim], missing, *tensor.shape[dim + 1 :])], dim)

    def grid(self, call: Grid) -> Grid:
        """Where their queries and keys stand."""
        start = sent(self.queries * self.rows + self.start, call.device)[:, None, None]
        filled = self.k_len % self.size != 0
        entries = None if self.dim is None else (self.dim, self.first, self.heads)
        places = self._places(call.device)
        alike = self.step is not None and self.step * self.size == self.rows and self._consecutive()
        return call._replace(start=start, rows=self.rows, places=places, filled=filled, entries=entries, alike=alike)

    def pairs(self, k_len: int) -> int:
        """How many pairs are computed in each entry, what fills the last block among them."""
        return self.keys.numel() * self.rows * self.size

    def put(self, result: Tensor, axes: Axes, piece: Tensor) -> None:
        """Writes results where they belong; what has no "q" is summed."""
        if axes[:1] == ("q",) and "k" not in axes:
            target, rank = _entries(result, self.dim, self.first, self.heads), result.ndim - len(axes)
            if self._consecutive():
                self._queries(target, rank).copy_(piece)
            else:
                target.index_copy_(rank, self._rows(result).flatten(), piece.flatten(rank, rank + 1).to(target.dtype))
            return
        self.add(result, axes, piece)

    def add(self, total: Tensor, axes: Axes, piece: Tensor) -> None:
        """Adds what belongs to these blocks' part of a tensor."""
        target, rank = _entries(total, self.dim, self.first, self.heads), total.ndim - len(axes)
        q_dim, k_dim = _dim(total, axes, "q"), _dim(total, axes, "k")
        if q_dim is not None and k_dim is not None:
            rows, keys = self._rows(total)[:, :, None], self._places(total.device)
            piece = piece.masked_fill(keys >= self.k_len, 0.0)
            place = [None] * rank + [rows, keys.clamp(max=self.k_len - 1)]  # what fills the last block is its last key
            torch.ops.aten.index_put_(target, place, piece, accumulate=True)
        elif q_dim is not None:
            target.index_add_(q_dim, self._rows(total).flatten(), piece.movedim(rank, q_dim).flatten(q_dim, q_dim + 1))
        elif k_dim is None:
            target.add_(piece.squeeze(rank))
        else:
            self._add_keys(target, k_dim, piece.movedim(rank, k_dim))

    def _sliding(self, tensor: Tensor, dim: int) -> Tensor:
        """The keys of each tile, `(..., tiles, width, ...)` from `dim` on, as a view."""
        assert self.step is not None
        tensor = _blocks(tensor, dim, self.size).flatten(dim, dim + 1)  # gradients of what is summed are not filled up
        sizes, strides = list(tensor.shape), list(tensor.stride())
        key = strides[dim]
        sizes[dim : dim + 1] = self.keys.shape[0], self.keys.shape[1] * self.size
        strides[dim : dim + 1] = self.step * self.size * key, key
        return tensor.as_strided(sizes, strides, tensor.storage_offset() + int(self.keys[0, 0]) * self.size * key)

    def _add_keys(self, target: Tensor, dim: int, piece: Tensor) -> None:
        """Adds what belongs to blocks of keys, `(..., tiles, width, ...)` from `dim` on."""
        piece = _parted(piece, dim + 1, (-1, self.size)).flatten(dim, dim + 1)
        if target.shape[dim] % self.size == 0:
            summed(_blocks(target, dim, self.size), dim, self._blocks(target), piece)
            return
        total = _blocks(torch.zeros_like(target), dim, self.size)
        summed(total, dim, self._blocks(target), piece)
        target.add_(total.flatten(dim, dim + 1).narrow(dim, 0, target.shape[dim]))

    def _consecutive(self) -> bool:
        return len(self.queries) == 1 or int(self.queries[-1] - self.queries[0]) == len(self.queries) - 1

    def _queries(self, tensor: Tensor, dim: int) -> Tensor:
        """The blocks of queries, `(..., tiles, rows, ...)` from `dim` on."""
        if self._consecutive():
            first = self.start + int(self.queries[0]) * self.rows
            return _parted(tensor.narrow(dim, first, len(self.queries) * self.rows), dim, (-1, self.rows))
        return _parted(tensor.index_select(dim, self._rows(tensor).flatten()), dim, (-1, self.rows))

    def _rows(self, tensor: Tensor) -> Tensor:
        """Positions of the queries, `(tiles, rows)`."""
        first = sent(self.start + self.queries * self.rows, tensor.device)
        return first[:, None] + torch.arange(self.rows, device=tensor.device)

    def _blocks(self, tensor: Tensor) -> Tensor:
        """Which blocks of keys, `(tiles * blocks,)`, where the tensor is."""
        return sent(self.keys, tensor.device).flatten()

    def _places(self, device: torch.device) -> Tensor:
        """Positions of the keys, `(tiles, 1, width)`."""
        within = torch.arange(self.size, device=device)
        return (sent(self.keys, device)[:, :, None] * self.size + within).flatten(1)[:, None]


Part: TypeAlias = Block | Tiles


ORDERED = ("cpu",)
"""Devices on which `index_add_` adds in one order; elsewhere it adds atomically, and `index_put_` sorts before."""


def sent(places: Tensor, device: torch.device) -> Tensor:
    """A list of places on a device: itself on the CPU, else a copy that waits for nothing."""
    return places.to(device, non_blocking=True)


def summed(target: Tensor, dim: int, index: Tensor, piece: Tensor) -> None:
    """Adds to the target's entries at the index, in one order."""
    if target.device.type in ORDERED:
        target.index_add_(dim, index, piece)
    else:
        torch.ops.aten.index_put_(target, [None] * dim + [index], piece, accumulate=True)


def _entries(tensor: Tensor, dim: int | None, first: int, count: int) -> Tensor:
    return tensor if dim is None or tensor.shape[dim] == 1 else tensor.narrow(dim, first, count)


def _dim(tensor: Tensor, axes: Axes, name: str) -> int | None:
    """Where a tensor has the queries or keys, None where it has none or one for all."""
    if name not in axes:
        return None
    dim = tensor.ndim - len(axes) + axes.index(name)
    return None if tensor.shape[dim] == 1 else dim


def _along(tensor: Tensor, axes: Axes, name: str, first: int, count: int) -> Tensor:
    dim = _dim(tensor, axes, name)
    return tensor if dim is None else tensor.narrow(dim, first, count)


def _blocks(tensor: Tensor, dim: int, size: int) -> Tensor:
    """A dimension in two, blocks and places, the last block filled up with zeros."""
    missing = -tensor.shape[dim] % size
    if missing:
        tensor = torch.nn.functional.pad(tensor, (0, 0) * (tensor.ndim - 1 - dim) + (0, missing))
    return _parted(tensor, dim, (-1, size))


def _parted(tensor: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    found: Tensor = tensor.unflatten(dim, tuple(sizes))
    return found
