"""Which blocks a call is computed in: all keys of some queries, or those that a mask leaves them.

A mask that leaves whole blocks of keys empty is a list of the others for each block of queries. Blocks of queries with
as many of them are one batched computation (`Tiles`), since what begins and ends with a block costs as much as a
thousand pairs; where the blocks of keys follow each other and are one query block's alone, nothing is copied.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from saccade._call import block_map
from saccade._call.call import Call
from saccade._definitions.numerics import recorded
from saccade._definitions.structure import Grid, aligned, foreign
from saccade.backends.blockwise.outline import outline
from saccade.backends.blockwise.parts import Block, Part, Tiles
from saccade.scores import Location

__all__ = ["SIZE", "Pairs", "pairs", "parts", "recorded", "share"]

SIZE = 64
"""Queries and keys a block of the map."""

LEAST = 1 << 16
"""Pairs of queries and keys below which no map is made."""

FAR = 1 << 28
"""Pairs of all entries below which none is made off the CPU, where a few large blocks are faster than many small ones
(`results/benchmarks/cuda-masks.json`).
"""

CPU = torch.device("cpu")

SPARSE, FAR_SPARSE = 0.8, 0.3
"""Share of the pairs in blocks that are looked into, at most, for the map to be used: it costs copies of keys; and off
the CPU.
"""

SLACK = 1.1
"""How many times as many pairs a larger block of queries may look into: fewer blocks cost less beside."""

APART = 1.25
"""How many times as many blocks the entries of a batch may need together as each by itself, before each has its own."""

ENTRY = 1 << 18
"""Pairs of an entry below which it has not: what begins and ends with a block would cost more."""


def parts(call: Call, budget: int) -> list[Part]:
    """The blocks of an aligned call, each of at most `budget` pairs where that can be."""
    q_len, k_len = call.query.shape[-2], call.key.shape[-2]
    needs = needed(call)
    if needs is None:
        return list(whole(call.batch, q_len, k_len, budget))
    return [part for need in needs for part in listed(need, call, budget)]


def share(call: Call) -> float:
    """Which share of the pairs is in blocks that are looked into."""
    needs = needed(call.aligned())
    if needs is None:
        return 1.0
    return sum(need.heads * need.share for need in needs) / sum(need.heads for need in needs)


class Pairs(NamedTuple):
    """Pairs of a query and a key.

    Args:
        all: in the call.
        allowed: that its mask allows.
        computed: whose scores are computed.
    """

    all: int
    allowed: int
    computed: int

    def __str__(self) -> str:
        ratio = f": {self.computed / self.allowed:.1f} times as many" if self.allowed else ""
        return f"{self.all:,}, {self.allowed:,} allowed, {self.computed:,} computed{ratio}"


def pairs(call: Call, budget: int, *, all_of_them: bool) -> Pairs:
    """How many pairs a call has, its mask allows, and blocks of at most `budget` compute.

    Args:
        call: one with a mask of built-in ones, off the CPU without tensors.
        budget: pairs a block.
        all_of_them: whether all are computed, whatever the mask.
    """
    call, k_len = call.aligned(), call.key.shape[-2]
    total = math.prod(call.batch) * call.query.shape[-2] * k_len
    if not total:
        return Pairs(0, 0, 0)
    if all_of_them:
        return Pairs(total, allowed(call), total)
    entries = math.prod(call.batch)
    of_parts = ((1 if part.dim is None else call.batch[part.dim], part) for part in parts(call, budget))
    computed = sum(entries // size * part.heads * part.pairs(k_len) for size, part in of_parts)
    return Pairs(total, allowed(call), computed)


def allowed(call: Call) -> int:
    """How many pairs the mask of an aligned call allows: blocks that it fills are counted, others looked at."""
    assert call.mask is not None
    found, entries = 0, math.prod(call.batch)
    for queries, keys, blocks in block_map.stripes(call.mask, on_host(call), SIZE):
        partly = (blocks.some & ~blocks.all)[None].flatten(0, -3).any(0)
        alike = entries // math.prod(blocks.all.shape[:-2])
        found += SIZE * SIZE * alike * int((blocks.all & ~partly).count_nonzero())
        for row in partly.any(-1).nonzero()[:, 0].tolist():
            found += looked_at(call, queries.start + row, partly[row].nonzero()[:, 0] + keys.start)
    return found


def looked_at(call: Call, row: int, columns: Tensor) -> int:
    """How many pairs of a block of queries and some blocks of keys are allowed."""
    assert call.mask is not None
    start, k_len = row * SIZE, call.key.shape[-2]
    rows = min(SIZE, call.query.shape[-2] - start)
    tiles = Tiles(None, 0, 1, torch.tensor([0], device=columns.device), rows, columns[None], SIZE, k_len, start)
    grid = tiles.grid(on_host(call))
    mask: Tensor = call.mask.map(tiles.narrow).dense(grid) & (grid.keys() < k_len)
    return int(mask.count_nonzero()) * (math.prod(call.batch) * rows * grid.width // mask.numel())


class Need(NamedTuple):
    """What some entries of the batch need.

    Args:
        dim, first, heads: entries first .. first + heads - 1 of batch dimension `dim` (None: all of the batch).
        keys: whether a block of queries needs a block of keys, `(query blocks, key blocks)`.
    """

    dim: int | None
    first: int
    heads: int
    keys: Tensor

    @property
    def share(self) -> float:
        """Which share of the blocks is needed."""
        return mean(self.keys)


def needed(call: Call) -> list[Need] | None:
    """What the entries of the batch need, all at once, or one by one along the dimension in which they differ; None
    where no blocks are worth leaving out.
    """
    q_len, k_len, batch = call.query.shape[-2], call.key.shape[-2], call.batch
    far = call.query.device.type != "cpu"
    if call.mask is None or 0 in (q_len, k_len, *batch) or recorded():
        return None
    if q_len * k_len < LEAST or (far and q_len * k_len * math.prod(batch) < FAR):
        return None
    if k_len <= SIZE or foreign(call.mask) or isinstance(call.score, Location) or not call.built_in:
        return None  # a score by place has a row of weights a key
    some = aligned(possible(call), ("q", "k"), len(batch))
    most = FAR_SPARSE if far else SPARSE
    if (single := mean(some)) > most:
        return None
    together = some[None].flatten(0, -3).any(0)
    dim = max(range(len(batch)), key=lambda d: batch[d]) if batch else None
    all_of_them = Need(dim, 0, batch[dim] if dim is not None else 1, together)
    if all_of_them.share <= APART * single:
        return [all_of_them]
    dim = max(range(some.ndim - 2), key=lambda d: some.shape[d])
    if q_len * k_len * math.prod(batch) // batch[dim] < ENTRY:
        return [all_of_them] if all_of_them.share <= most else None
    entries = some.movedim(dim, 0)[:, None].flatten(1, -3).any(1)
    return [Need(dim, entry, 1, keys) for entry, keys in enumerate(entries)]


class Possible:
    """The blocks that a call's mask leaves any pair, once they are known."""

    blocks: Tensor | None = None


def possible(call: Call) -> Tensor:
    """Whether the mask leaves each block any pair: of a function, which costs a look at every pair, found out once; off
    the CPU by its outline, since what a tensor decides would have to be waited for.
    """
    assert call.mask is not None
    kept = Possible() if call.once is None else call.once.of(Possible)
    if kept.blocks is None:
        mask = call.mask if call.query.device.type == "cpu" else outline(call.mask, call.key.shape[-2])
        kept.blocks = block_map.possible(mask, on_host(call), SIZE)
    return kept.blocks


def on_host(call: Call) -> Grid:
    """All queries and keys, positions on the CPU, where blocks are listed: every mask that is asked there has its
    tensors there, or none.
    """
    return call.grid()._replace(device=CPU)


def mean(flags: Tensor) -> float:
    """The share of flags that are set."""
    return int(flags.count_nonzero()) / max(1, flags.numel())


def whole(batch: tuple[int, ...], q_len: int, k_len: int, budget: int) -> Iterator[Block]:
    """All keys of some queries: whole batch entries first, then rows of one."""
    if not q_len or 0 in batch:
        return
    dim = max(range(len(batch)), key=lambda d: batch[d]) if batch else None
    size = batch[dim] if dim is not None else 1
    pairs = max(1, math.prod(batch) // size * k_len)  # of one query in one entry of the widest batch dimension
    heads = min(size, max(1, budget // (pairs * q_len)))
    count = min(q_len, max(1, budget // (pairs * heads)))
    for first in range(0, size, heads):
        for start in range(0, q_len, count):
            yield Block(dim, first, min(heads, size - first), start, min(count, q_len - start))


class Rows(NamedTuple):
    """How many queries a block has, and which blocks of keys each of them needs `(blocks, key blocks)`."""

    rows: int
    needed: Tensor

    def looks(self, q_len: int) -> int:
        """How many pairs of a query and a block of keys are looked into."""
        counts = counted(self.needed)[0]
        missing = self.rows * len(counts) - q_len  # from the last block of queries
        return self.rows * int(counts.sum()) - missing * int(counts[-1])


def rows(needed: Tensor, q_len: int, budget: int) -> Rows:
    """The largest blocks of queries that look into little more than the smallest, of `budget` pairs at most."""
    found = Rows(SIZE, needed.clone())
    least = found.looks(q_len)
    while found.needed.shape[0] > 1:
        count = found.needed.shape[0]
        padded = torch.nn.functional.pad(found.needed, (0, 0, 0, count % 2))
        larger = Rows(2 * found.rows, padded.unflatten(0, (-1, 2)).any(1))
        widest = int(counted(larger.needed)[0].max()) * SIZE
        if larger.looks(q_len) > SLACK * least or min(larger.rows, q_len) * widest > budget:
            break
        found = larger
    return found


def listed(need: Need, call: Call, budget: int) -> Iterator[Part]:
    """The blocks of some entries, those with as many blocks of keys together."""
    (dim, first, heads, _), batch = need, call.batch
    lengths = q_len, k_len = call.query.shape[-2], call.key.shape[-2]
    entries = math.prod(batch) // (batch[dim] if dim is not None else 1)  # beside those of the dimension
    size, needed = rows(need.keys, q_len, budget // entries)
    least = fewest(call)
    needed[counted(needed)[0] < least, :least] = True
    counts, columns = counted(needed)
    first_column = counts.cumsum(0) - counts
    for count in counts.unique().tolist():
        members = (counts == count).nonzero()[:, 0]
        keys = columns[first_column[members][:, None] + torch.arange(count, device=columns.device)]
        width = min(count * SIZE, k_len)
        for run, step in runs(keys):
            together = max(1, min(heads, budget // (entries * size * width * (1 if step is None else len(keys[run])))))
            most = max(1, budget // (entries * together * width))
            lonely = q_len % size != 0 and int(members[run][-1]) == needed.shape[0] - 1
            for begin in range(first, first + heads, together):
                some = dim, begin, min(together, first + heads - begin)
                yield from grouped(some, members[run], keys[run], step, lonely, size, most, lengths)


def runs(keys: Tensor) -> Iterator[tuple[slice, int | None]]:
    """Blocks of queries one after another whose keys are ranges that begin each as many blocks after those of the one
    before, and how many; all of them, and None, where there are no such runs.

    >>> list(runs(torch.tensor([[0, 1], [1, 2], [2, 3], [8, 9]])))
    [(slice(0, 3, None), 1), (slice(3, 4, None), 0)]
    """
    count = len(keys)
    firsts, found, begin = keys[:, 0].tolist(), [], 0
    while begin < count:
        step = firsts[begin + 1] - firsts[begin] if begin + 1 < count else 0
        end = begin + 1
        while end < count and firsts[end] - firsts[end - 1] == step >= 0:
            end += 1
        found.append((slice(begin, end), step))
        begin = end
    ranges = bool((keys[:, -1] - keys[:, 0] == keys.shape[1] - 1).all())
    yield from found if ranges and 4 * len(found) <= count + 8 else [(slice(0, count), None)]


def counted(needed: Tensor) -> tuple[Tensor, Tensor]:
    """How many flags of each row are set `(rows,)`, and the columns of all, row by row."""
    rows, columns = needed.nonzero().unbind(1)
    return torch.bincount(rows, minlength=needed.shape[0]), columns


def fewest(call: Call) -> int:
    """How many blocks of keys there are for queries that may attend to fewer, or to none: as many as the largest
    weights that are asked for need.
    """
    k_len = call.key.shape[-2]
    blocks = -(-min(call.aux.top, k_len) // SIZE) + (k_len % SIZE != 0)
    return min(max(blocks, 1), -(-k_len // SIZE))


def grouped(
    some: tuple[int | None, int, int],
    members: Tensor,
    keys: Tensor,
    step: int | None,
    lonely: bool,
    size: int,
    most: int,
    lengths: tuple[int, int],
) -> Iterator[Part]:
    """Blocks of queries with as many blocks of keys: several at once, of `most` queries together, and the last of a
    call by itself if it is shorter.
    """
    count, tiles = len(members) - lonely, max(1, most // size)
    for begin in range(0, count, tiles):
        chosen, places = members[begin : min(count, begin + tiles)], keys[begin : min(count, begin + tiles)]
        if len(chosen) == 1:
            yield from alone(some, int(chosen[0]), places[0], size, most, lengths)
        else:
            yield Tiles(*some, chosen, size, places, SIZE, lengths[1], step=step)
    if lonely:
        yield from alone(some, int(members[-1]), keys[-1], size, most, lengths)


def alone(
    some: tuple[int | None, int, int], member: int, keys: Tensor, size: int, most: int, lengths: tuple[int, int]
) -> Iterator[Part]:
    """One block of queries, or several of `most` of them."""
    q_len, k_len = lengths
    first, last, end = int(keys[0]), int(keys[-1]), min(q_len, (member + 1) * size)
    for start in range(member * size, end, most):
        count = min(most, end - start)
        if last - first + 1 == len(keys):
            yield Block(*some, start, count, first * SIZE, min(k_len, (last + 1) * SIZE) - first * SIZE)
        else:
            yield Tiles(*some, torch.tensor([0], device=keys.device), count, keys[None], SIZE, k_len, start)
