"""Plan of the blocks of a call: all keys of some queries, or the allowed ones.

Some masks leave whole blocks of keys empty. Then each block of queries has a list of the other blocks of keys. Blocks
of queries with equally long lists are one batched computation (`Tiles`), because starting a block costs as much as a
thousand pairs. Nothing is copied if the blocks of keys are consecutive and belong to one block of queries.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from saccade import masks
from saccade._call import block_map
from saccade._call.call import Call
from saccade._definitions.numerics import recorded
from saccade._definitions.structure import Grid, aligned, foreign
from saccade.backends.blockwise.parts import Block, Part, Tiles
from saccade.backends.offers import Pairs
from saccade.masks import Mask
from saccade.masks._intervals import by_numbers
from saccade.scores import Location

SIZE = 64  # queries and keys in a block of the map
LEAST = 1 << 16  # least pairs of queries and keys for a map
# Least pairs of all entries for a map off the CPU. There a few large blocks are faster than many small ones
# (`results/benchmarks/cuda-masks.json`).
FAR = 1 << 28
SPARSE, FAR_SPARSE = 0.8, 0.3  # largest share of pairs in computed blocks for a map, on the CPU and elsewhere
SLACK = 1.1  # factor of pairs that a larger block of queries may add, for fewer blocks
APART = 1.25  # limit of extra blocks, as a factor, of one list for all entries of a batch
# Least pairs of an entry for its own list. For fewer, a block costs more.
ENTRY = 1 << 18


def parts(call: Call, budget: int) -> list[Part]:
    """The blocks of an aligned call, each of at most `budget` pairs if possible."""
    needs = needed(call)
    if needs is None:
        return list(whole(call.batch, call.query.shape[-2], call.key.shape[-2], budget))
    return [part for need in needs for part in listed(need, call, budget)]


def share(call: Call) -> float:
    needs = needed(call.aligned())
    if needs is None:
        return 1.0
    return sum(need.heads * mean(need.keys) for need in needs) / sum(need.heads for need in needs)


def pairs(call: Call, budget: int, *, all_of_them: bool) -> Pairs:
    """Numbers of pairs, of a call with a built-in mask without tensors off the CPU."""
    call, k_len = call.aligned(), call.key.shape[-2]
    entries, total = math.prod(call.batch), call.pairs
    if not total or all_of_them:
        return Pairs(total, allowed(call) if total else 0, total)
    of_parts = ((1 if part.dim is None else call.batch[part.dim], part) for part in parts(call, budget))
    computed = sum(entries // size * part.heads * part.pairs(k_len) for size, part in of_parts)
    return Pairs(total, allowed(call), computed)


def allowed(call: Call) -> int:
    """Number of pairs that a mask allows, evaluated in partly filled blocks alone."""
    assert call.mask is not None
    count, entries, (q_len, k_len) = 0, math.prod(call.batch), (call.query.shape[-2], call.key.shape[-2])
    for queries, keys, blocks in block_map.stripes(call.mask, on_host(call), SIZE):
        partly = (blocks.some & ~blocks.all)[None].flatten(0, -3).any(0)
        alike = entries // math.prod(blocks.all.shape[:-2])
        count += SIZE * SIZE * alike * int((blocks.all & ~partly).count_nonzero())
        for row in partly.any(-1).nonzero()[:, 0].tolist():
            start, columns = (queries.start + row) * SIZE, partly[row].nonzero()[:, 0] + keys.start
            rows, first = min(SIZE, q_len - start), torch.tensor([0], device=columns.device)
            tiles = Tiles(None, 0, 1, first, rows, columns[None], SIZE, k_len, start)
            grid = tiles.grid(on_host(call))
            mask = call.mask.map(tiles.narrow).dense(grid) & (grid.keys() < k_len)
            count += int(mask.count_nonzero()) * (entries * rows * grid.width // mask.numel())
    return count


class Need(NamedTuple):
    """Blocks that the entries first .. first + heads - 1 of a batch dimension need."""

    dim: int | None  # None: all of the batch
    first: int
    heads: int
    keys: Tensor  # whether a block of queries needs a block of keys, `(query blocks, key blocks)`


def needed(call: Call) -> list[Need] | None:
    """Blocks that the entries of the batch need; None if it does not pay."""
    q_len, k_len, batch = call.query.shape[-2], call.key.shape[-2], call.batch
    far = call.query.device.type != "cpu"
    if call.mask is None or 0 in (q_len, k_len, *batch) or recorded():
        return None
    if q_len * k_len < LEAST or (far and q_len * k_len * math.prod(batch) < FAR):
        return None
    if k_len <= SIZE or foreign(call.mask) or isinstance(call.score, Location) or not call.built_in:
        return None  # `Location` has a row of weights for each key
    some = aligned(possible(call), ("q", "k"), len(batch))
    limit = FAR_SPARSE if far else SPARSE
    if (single := mean(some)) > limit:
        return None
    together = some[None].flatten(0, -3).any(0)
    dim = widest(batch)
    everybody = Need(dim, 0, batch[dim] if dim is not None else 1, together)
    if mean(together) <= APART * single:
        return [everybody]
    dim = max(range(some.ndim - 2), key=lambda d: some.shape[d])
    if q_len * k_len * math.prod(batch) // batch[dim] < ENTRY:
        return [everybody] if mean(together) <= limit else None
    entries = some.movedim(dim, 0)[:, None].flatten(1, -3).any(1)
    return [Need(dim, entry, 1, keys) for entry, keys in enumerate(entries)]


class Possible:
    """Blocks of a mask with an allowed pair, by the number of batch dimensions."""

    def __init__(self) -> None:
        self.blocks: dict[int, Tensor] = {}


def possible(call: Call) -> Tensor:
    """Blocks with an allowed pair, computed once for a call or a prepared mask."""
    assert call.mask is not None
    blocks, rank = (Possible() if call.once is None else call.once.of(Possible)).blocks, len(call.batch)
    if rank not in blocks:  # off the CPU from the mask's outline: reading its tensors would wait for the device
        mask = call.mask if call.query.device.type == "cpu" else outline(call.mask, call.key.shape[-2])
        blocks[rank] = block_map.possible(mask, on_host(call), SIZE)
    return blocks[rank]


def outline(mask: Mask, k_len: int, *, allow: bool = True) -> Mask:
    """A mask without tensors that allows all pairs that this one may allow.

    Pairs that a tensor decides are allowed or (below a `~`) not, by `allow`.

    >>> outline(masks.Causal() & ~masks.Lengths(torch.tensor([3, 5])), 9)
    Both(first=Causal(align=None), second=Not(other=Prefix(length=0)))
    """
    if isinstance(mask, masks.Not):
        return masks.Not(outline(mask.other, k_len, allow=not allow))
    if isinstance(mask, masks.Both | masks.Either):
        return type(mask)(outline(mask.first, k_len, allow=allow), outline(mask.second, k_len, allow=allow))
    return mask if by_numbers(mask) else masks.Prefix(k_len if allow else 0)


def on_host(call: Call) -> Grid:
    """All queries and keys, with positions on the CPU, where blocks are listed."""
    return call.grid()._replace(device=torch.device("cpu"))


def mean(flags: Tensor) -> float:
    return int(flags.count_nonzero()) / max(1, flags.numel())


def widest(batch: tuple[int, ...]) -> int | None:
    return max(range(len(batch)), key=lambda d: batch[d]) if batch else None


def whole(batch: tuple[int, ...], q_len: int, k_len: int, budget: int) -> Iterator[Block]:
    """Blocks of all keys of some queries: whole batch entries first, then rows of one."""
    if not q_len or 0 in batch:
        return
    dim = widest(batch)
    size = batch[dim] if dim is not None else 1
    pairs = max(1, math.prod(batch) // size * k_len)  # of one query in one entry of the widest batch dimension
    heads = min(size, max(1, budget // (pairs * q_len)))
    count = min(q_len, max(1, budget // (pairs * heads)))
    for first in range(0, size, heads):
        for start in range(0, q_len, count):
            yield Block(dim, first, min(heads, size - first), start, min(count, q_len - start))


def rows(needed: Tensor, q_len: int, budget: int) -> tuple[int, Tensor]:
    """Size of the largest blocks of queries with few extra pairs, and their keys."""

    def pairs(size: int, needed: Tensor) -> int:
        """Number of computed pairs of a query and a block of keys."""
        counts = counted(needed)[0]
        return size * int(counts.sum()) - (size * len(counts) - q_len) * int(counts[-1])

    size, needed = SIZE, needed.clone()
    fewest = pairs(size, needed)
    while needed.shape[0] > 1:
        larger = torch.nn.functional.pad(needed, (0, 0, 0, needed.shape[0] % 2)).unflatten(0, (-1, 2)).any(1)
        width = int(counted(larger)[0].max()) * SIZE
        if pairs(2 * size, larger) > SLACK * fewest or min(2 * size, q_len) * width > budget:
            break
        size, needed = 2 * size, larger
    return size, needed


def counted(needed: Tensor) -> tuple[Tensor, Tensor]:
    """Number of flags in each row `(rows,)`, and their columns, row by row."""
    rows, columns = needed.nonzero().unbind(1)
    return torch.bincount(rows, minlength=needed.shape[0]), columns


def listed(need: Need, call: Call, budget: int) -> Iterator[Part]:
    """The blocks of some entries, together if they have equally many keys."""
    (dim, first, heads, _), batch = need, call.batch
    q_len, k_len = call.query.shape[-2], call.key.shape[-2]
    entries = math.prod(batch) // (batch[dim] if dim is not None else 1)  # beside those of the dimension
    size, needed = rows(need.keys, q_len, budget // entries)
    # at least as many blocks as the largest weights need, also for queries that may attend to fewer keys, or to none
    fewest = -(-min(call.aux.top, k_len) // SIZE) + (k_len % SIZE != 0)
    fewest = min(max(fewest, 1), -(-k_len // SIZE))
    needed[counted(needed)[0] < fewest, :fewest] = True
    counts, columns = counted(needed)
    first_column = counts.cumsum(0) - counts
    for count in counts.unique().tolist():
        members = (counts == count).nonzero()[:, 0]
        keys = columns[first_column[members][:, None] + torch.arange(count, device=columns.device)]
        width = min(count * SIZE, k_len)
        for part, step in runs(keys):
            run = Tiles(dim, first, heads, members[part], size, keys[part], SIZE, k_len, step=step)
            together = max(1, min(heads, budget // (entries * size * width * (1 if step is None else len(run.keys)))))
            queries = max(1, budget // (entries * together * width))
            for begin in range(first, first + heads, together):
                of_entries = run._replace(first=begin, heads=min(together, first + heads - begin))
                yield from grouped(of_entries, queries, q_len)


def runs(keys: Tensor) -> Iterator[tuple[slice, int | None]]:
    """Runs of blocks of queries, and steps between the first keys of neighbours.

    The keys of each are one range. If there are no such runs, all blocks and None.
    """
    count = len(keys)
    firsts, slices, begin = keys[:, 0].tolist(), [], 0
    while begin < count:
        step = firsts[begin + 1] - firsts[begin] if begin + 1 < count else 0
        end = begin + 1
        while end < count and firsts[end] - firsts[end - 1] == step >= 0:
            end += 1
        slices.append((slice(begin, end), step))
        begin = end
    ranges = bool((keys[:, -1] - keys[:, 0] == keys.shape[1] - 1).all())
    yield from slices if ranges and 4 * len(slices) <= count + 8 else [(slice(0, count), None)]


def grouped(run: Tiles, queries: int, q_len: int) -> Iterator[Part]:
    """Parts of at most so many queries; a shorter last block of a call is alone."""
    members, size, k_len = run.queries, run.rows, run.k_len
    shorter = (int(members[-1]) + 1) * size > q_len
    count, tiles = len(members) - shorter, max(1, queries // size)
    groups = [slice(begin, min(count, begin + tiles)) for begin in range(0, count, tiles)]
    for group in [*groups, slice(count, None)] if shorter else groups:
        chosen, blocks = members[group], run.keys[group]
        if len(chosen) > 1:
            yield run._replace(queries=chosen, keys=blocks)
            continue
        first, last, begin = int(blocks[0, 0]), int(blocks[0, -1]), int(chosen[0]) * size
        end = min(q_len, begin + size)
        for start in range(begin, end, queries):
            rows = min(queries, end - start)
            if last - first + 1 == blocks.shape[1]:
                yield Block(*run[:3], start, rows, first * SIZE, min(k_len, (last + 1) * SIZE) - first * SIZE)
            else:
                single = torch.tensor([0], device=members.device)
                yield run._replace(queries=single, rows=rows, keys=blocks, start=start, step=None)
