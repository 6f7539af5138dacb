"""Masks for the kernels, and the blocks of queries and keys that they leave."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.kernels.launch import launch, triton_kernels

IDS, BYTES, BAND, FIRST, LISTED, END, INTERVAL = 1, 2, 4, 8, 16, 32, 64  # parts of MASK, as `kernels.tiles` has them

LISTED_AT_ONCE = 64
LARGEST = 2**31 - 1
"""Largest grid, and largest offset within an entry."""


class Shape(NamedTuple):
    """Tile of a program, and how it is compiled."""

    rows: int
    keys: int
    warps: int
    stages: int


class Lists(NamedTuple):
    """Blocks left by a mask, as `list_blocks` writes them.

    Args:
        order: `(Nm, blocks, across)`. counts: `(3, Nm, blocks)`.
    """

    order: Tensor
    counts: Tensor


class Allowed(NamedTuple):
    """A mask for the kernels.

    All of its parts are necessary. A part of None allows everything.

    Args:
        entries: Nm.
        starts, ends: int32 `(U, Nm, Lq)`: each query's intervals of keys.
        q_ids, k_ids: int32 `(Nm, Lq)` and `(Nm, Lk)`: documents.
        pairs: bytes that expand to `(Nm, Lq, Lk)`.
        low, high: i + low <= j < i + high.
        first, end: integers `(Nm,)`: first <= j < end.
    """

    entries: int
    starts: Tensor | None = None
    ends: Tensor | None = None
    q_ids: Tensor | None = None
    k_ids: Tensor | None = None
    pairs: Tensor | None = None
    low: int | None = None
    high: int | None = None
    first: Tensor | None = None
    end: Tensor | None = None

    def flags(self, *, by_key: bool = False) -> int:
        """Parts of the mask for a kernel, LISTED if ranges do not suffice."""
        band = self.low is not None or self.high is not None
        intervals = 0 if self.starts is None else len(self.starts)
        listed = self.q_ids is not None or self.pairs is not None or intervals > 1 or (by_key and intervals > 0)
        some = IDS * (self.q_ids is not None) + BYTES * (self.pairs is not None)
        some += FIRST * (self.first is not None) + END * (self.end is not None)
        return some + BAND * band + LISTED * listed + INTERVAL * intervals

    def expanded(self, shape: tuple[int, ...], batch: tuple[int, ...]) -> "Allowed":
        """The mask with its batch dimensions, `shape`, expanded to those of a batch."""
        dims = (1,) * (len(batch) - len(shape)) + shape

        def copied(part: Tensor, dim: int) -> Tensor:
            before, after = part.shape[:dim], part.shape[dim + 1 :]
            whole = part.reshape(*before, *dims, *after).expand(*before, *batch, *after)
            return whole.reshape(*before, math.prod(batch), *after)

        parts = {name: part for name, part in self._asdict().items() if isinstance(part, Tensor)}
        copies: dict[str, Any] = {name: copied(part, int(name in ("starts", "ends"))) for name, part in parts.items()}
        return self._replace(entries=math.prod(batch), **copies)

    def band(self, q_len: int, k_len: int) -> tuple[int, int]:
        """Low and high, within what makes a difference."""
        low = -q_len if self.low is None else max(-q_len, min(self.low, k_len))
        high = k_len if self.high is None else max(-q_len, min(self.high, k_len))
        return low, high

    def arguments(self, stand_in: Tensor, q_len: int, k_len: int) -> tuple[Any, ...]:
        parts = (self.starts, self.ends, self.q_ids, self.k_ids, self.pairs, self.first, self.end)
        *tensors, first, end = [stand_in if part is None else part for part in parts]
        steps = (0, 0, 0) if self.pairs is None else self.pairs.stride()
        return (*tensors, *steps, self.entries, *self.band(q_len, k_len), first, end)


ALL = Allowed(1)


def lists(mask: Allowed, q_len: int, k_len: int, device: torch.device, *, by_key: bool, sizes: Shape) -> Lists:
    """List the blocks of keys for each block of queries.

    By key: list the blocks of queries for each block of keys.
    """
    kernels = triton_kernels("lists")
    rows, keys, *_ = sizes
    q_blocks, k_blocks, entries, flags = -(-q_len // rows), -(-k_len // keys), mask.entries, mask.flags(by_key=by_key)
    intervals, documents = flags // INTERVAL, mask.q_ids is not None
    order, counts = _empty_lists(entries, *((k_blocks, q_blocks) if by_key else (q_blocks, k_blocks)), device)
    starts, ends, q_ids, k_ids, pairs, *steps, _, low, high, firsts, lasts = mask.arguments(counts, q_len, k_len)
    of_queries = of_keys = codes = counts
    if intervals or documents:
        dtype = torch.promote_types(q_ids.dtype, counts.dtype)  # ids may have 64 bits
        of_queries = counts.new_empty((4 * intervals + 2 * documents, entries, q_blocks), dtype=dtype)
        sides = starts, ends, q_ids, of_queries, q_len, k_len, q_blocks, entries
        launch(kernels.summarize, entries * q_blocks, *sides, INTERVALS=intervals, DOCUMENTS=documents, ROWS=rows)
    if documents:
        of_keys = k_ids.new_empty(2, entries, k_blocks)
        sides = starts, ends, k_ids, of_keys, k_len, q_len, k_blocks, entries
        launch(kernels.summarize, entries * k_blocks, *sides, INTERVALS=0, DOCUMENTS=True, ROWS=keys)
    if mask.pairs is not None:
        codes = torch.empty(entries, q_blocks, k_blocks, dtype=torch.uint8, device=device)
        of_pairs = pairs, *steps, codes, q_len, k_len, q_blocks, k_blocks
        launch(kernels.summarize_pairs, grid(codes.numel()), *of_pairs, ROWS=rows, KEYS=keys)
    arguments = of_queries, of_keys, codes, order, counts, firsts, lasts, low, high, q_len, k_len, q_blocks, k_blocks
    constants = {"MASK": flags, "BY_KEY": by_key, "ROWS": rows, "KEYS": keys, "AT_ONCE": LISTED_AT_ONCE}
    launch(kernels.list_blocks, counts[0].numel(), *arguments, entries, **constants)
    return Lists(order, counts)


def _empty_lists(entries: int, blocks: int, across: int, device: torch.device) -> tuple[Tensor, Tensor]:
    order = torch.empty(entries, blocks, across, dtype=torch.int32, device=device)
    return order, torch.empty(3, entries, blocks, dtype=torch.int32, device=device)


def grid(count: int) -> int:
    """The number of programs of a launch, at most LARGEST."""
    if count > LARGEST:
        raise ValueError(f"expected at most {LARGEST:,} programs, got {count:,}. Split the call.")
    return count
