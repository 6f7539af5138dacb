"""Parts of a call, computed together: their tensors and their results."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from saccade._definitions.structure import Axes, Grid


class Block(NamedTuple):
    """Some queries, keys and entries of one batch dimension."""

    dim: int | None  # None: all of the batch
    first: int
    heads: int
    start: int
    rows: int
    first_key: int = 0
    width: int | None = None  # None: all keys

    def narrow(self, tensor: Tensor, axes: Axes) -> Tensor:
        tensor = _entries(tensor, self.dim, self.first, self.heads)
        tensor = _along(tensor, axes, "q", self.start, self.rows)
        return tensor if self.width is None else _along(tensor, axes, "k", self.first_key, self.width)

    def grid(self, call: Grid) -> Grid:
        entries = None if self.dim is None else (self.dim, self.first, self.heads)
        grid = call._replace(start=self.start, rows=self.rows, entries=entries)
        if self.width is None:
            return grid
        keys = torch.arange(self.first_key, self.first_key + self.width, device=call.device)
        return grid._replace(k_index=keys[None])

    def pairs(self, k_len: int) -> int:
        return self.rows * (k_len if self.width is None else self.width)

    def add(self, total: Tensor, axes: Axes, piece: Tensor) -> None:
        self.narrow(total, axes).add_(piece)


class Tiles(NamedTuple):
    """Several blocks of equally many queries and keys, as a last batch dimension.

    The lists of blocks are on the CPU. Narrowing a tensor copies them to its device without waiting for it.

    If the keys of each tile are consecutive, they are overlapping views: those of the next tile begin `step` blocks
    further on. If `step` is None, they are copies.
    """

    dim: int | None  # entries of the batch, as in `Block`
    first: int
    heads: int
    queries: Tensor  # indices of blocks of `rows` queries, counted from `start` on, `(tiles,)`
    rows: int
    keys: Tensor  # indices of blocks of `size` keys, `(tiles, blocks)`
    size: int
    k_len: int  # keys of the call; the last block may end behind them
    start: int = 0
    step: int | None = None

    def narrow(self, tensor: Tensor, axes: Axes) -> Tensor:
        """The part of an aligned tensor, copied if its keys are no views."""
        tensor = _entries(tensor, self.dim, self.first, self.heads)
        rank = tensor.ndim - len(axes)
        q_dim, k_dim = _dim(tensor, axes, "q"), _dim(tensor, axes, "k")
        if q_dim is not None and k_dim is not None:
            rows, keys = self._rows(tensor), self._key_positions(tensor.device).clamp(max=self.k_len - 1)
            pairs: Tensor = tensor[..., rows[:, :, None], keys]
            return pairs
        if q_dim is not None:
            return self._queries(tensor, q_dim).movedim(q_dim, rank)
        if k_dim is None:
            return tensor.unsqueeze(rank)
        if self.step is not None:
            return self._sliding(tensor, k_dim).movedim(k_dim, rank)
        blocks = _blocks(tensor, k_dim, self.size).index_select(k_dim, sent(self.keys, tensor.device).flatten())
        return _split(blocks, k_dim, self.keys.shape).flatten(k_dim + 1, k_dim + 2).movedim(k_dim, rank)

    def fill(self, tensor: Tensor, axes: Axes) -> Tensor:
        """Repeat the last key up to whole blocks, unless there is one for each pair."""
        dim, missing = _dim(tensor, axes, "k"), -self.k_len % self.size
        if dim is None or not missing or _dim(tensor, axes, "q") is not None:
            return tensor
        last = tensor.narrow(dim, self.k_len - 1, 1)
        return torch.cat([tensor, last.expand(*tensor.shape[:dim], missing, *tensor.shape[dim + 1 :])], dim)

    def grid(self, call: Grid) -> Grid:
        start = sent(self.queries * self.rows + self.start, call.device)[:, None, None]
        return call._replace(
            start=start,
            rows=self.rows,
            k_index=self._key_positions(call.device),
            filled=self.k_len % self.size != 0,
            entries=None if self.dim is None else (self.dim, self.first, self.heads),
            alike=self.step is not None and self.step * self.size == self.rows and self._consecutive(),
        )

    def pairs(self, k_len: int) -> int:
        """Computed pairs in each entry, with those that fill up the last block."""
        return self.keys.numel() * self.rows * self.size

    def add(self, total: Tensor, axes: Axes, piece: Tensor) -> None:
        target, rank = _entries(total, self.dim, self.first, self.heads), total.ndim - len(axes)
        q_dim, k_dim = _dim(total, axes, "q"), _dim(total, axes, "k")
        if q_dim is not None and k_dim is not None:
            rows, keys = self._rows(total)[:, :, None], self._key_positions(total.device)
            piece = piece.masked_fill(keys >= self.k_len, 0.0)  # the last key fills up the last block
            index = [None] * rank + [rows, keys.clamp(max=self.k_len - 1)]
            torch.ops.aten.index_put_(target, index, piece, accumulate=True)
        elif q_dim is not None:
            piece = piece.movedim(rank, q_dim)
            if self._consecutive():
                self._queries(target, q_dim).add_(piece)
            else:
                piece = piece.flatten(q_dim, q_dim + 1).to(target.dtype)
                target.index_add_(q_dim, self._rows(total).flatten(), piece)
        elif k_dim is None:
            target.add_(piece.squeeze(rank))
        else:
            self._add_keys(target, k_dim, piece.movedim(rank, k_dim))

    def _sliding(self, tensor: Tensor, dim: int) -> Tensor:
        """The keys of each tile, `(..., tiles, width, ...)` from `dim` on, as a view."""
        assert self.step is not None
        tensor = _blocks(tensor, dim, self.size).flatten(dim, dim + 1)  # gradients of sums are not filled up
        sizes, strides = list(tensor.shape), list(tensor.stride())
        key = strides[dim]
        sizes[dim : dim + 1] = self.keys.shape[0], self.keys.shape[1] * self.size
        strides[dim : dim + 1] = self.step * self.size * key, key
        return tensor.as_strided(sizes, strides, tensor.storage_offset() + int(self.keys[0, 0]) * self.size * key)

    def _add_keys(self, target: Tensor, dim: int, piece: Tensor) -> None:
        """Add to blocks of keys, `(..., tiles, width, ...)` from `dim` on, in one order."""
        piece = _split(piece, dim + 1, (-1, self.size)).flatten(dim, dim + 1)
        blocks, whole = sent(self.keys, target.device).flatten(), target.shape[dim] % self.size == 0
        total = _blocks(target if whole else torch.zeros_like(target), dim, self.size)
        if target.device.type in ORDERED:
            total.index_add_(dim, blocks, piece)
        else:
            torch.ops.aten.index_put_(total, [None] * dim + [blocks], piece, accumulate=True)
        if not whole:
            target.add_(total.flatten(dim, dim + 1).narrow(dim, 0, target.shape[dim]))

    def _consecutive(self) -> bool:
        return len(self.queries) == 1 or int(self.queries[-1] - self.queries[0]) == len(self.queries) - 1

    def _queries(self, tensor: Tensor, dim: int) -> Tensor:
        """The blocks of queries, `(..., tiles, rows, ...)` from `dim` on."""
        if self._consecutive():
            tensor = tensor.narrow(dim, self.start + int(self.queries[0]) * self.rows, len(self.queries) * self.rows)
        else:
            tensor = tensor.index_select(dim, self._rows(tensor).flatten())
        return _split(tensor, dim, (-1, self.rows))

    def _rows(self, tensor: Tensor) -> Tensor:
        first = sent(self.start + self.queries * self.rows, tensor.device)
        return first[:, None] + torch.arange(self.rows, device=tensor.device)

    def _key_positions(self, device: torch.device) -> Tensor:
        within = torch.arange(self.size, device=device)
        return (sent(self.keys, device)[:, :, None] * self.size + within).flatten(1)[:, None]


Part: TypeAlias = Block | Tiles


# Devices with a fixed order in `index_add_`. Others have one in `index_put_`.
ORDERED = ("cpu",)


def sent(indices: Tensor, device: torch.device) -> Tensor:
    """Indices on a device, copied without waiting for it."""
    return indices.to(device, non_blocking=True)


def _entries(tensor: Tensor, dim: int | None, first: int, count: int) -> Tensor:
    return tensor if dim is None or tensor.shape[dim] == 1 else tensor.narrow(dim, first, count)


def _dim(tensor: Tensor, axes: Axes, name: str) -> int | None:
    """Dimension of the queries or keys of a tensor, or None if it has none or size 1."""
    if name not in axes:
        return None
    dim = tensor.ndim - len(axes) + axes.index(name)
    return None if tensor.shape[dim] == 1 else dim


def _along(tensor: Tensor, axes: Axes, name: str, first: int, count: int) -> Tensor:
    dim = _dim(tensor, axes, name)
    return tensor if dim is None else tensor.narrow(dim, first, count)


def _blocks(tensor: Tensor, dim: int, size: int) -> Tensor:
    """A dimension split into blocks, the last one filled up with zeros."""
    missing = -tensor.shape[dim] % size
    if missing:
        tensor = torch.nn.functional.pad(tensor, (0, 0) * (tensor.ndim - 1 - dim) + (0, missing))
    return _split(tensor, dim, (-1, size))


def _split(tensor: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    split: Tensor = tensor.unflatten(dim, tuple(sizes))
    return split
