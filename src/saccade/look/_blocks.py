"""The blocks of a mask: empty, partial, full, and those that a call computes."""

import math
from collections.abc import Iterable, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade._call import block_map
from saccade._call.call import Arguments
from saccade._call.validation import checked_call
from saccade._definitions.checks import whole
from saccade._definitions.numerics import broadcast_shapes
from saccade._definitions.structure import Grid, aligned
from saccade._dispatch.choose import plan as planned
from saccade.backends import chunked, cpu
from saccade.backends.blockwise import plan
from saccade.backends.blockwise.parts import Block, Part
from saccade.backends.offers import Offer, Pairs
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.look._figure import FAINT, MOST_PANELS, Page, draw_cells, draw_picture, numbers
from saccade.masks import Mask, as_mask

_, BESIDE, PARTIAL, FULL = range(4)
STATES = ("empty: not computed", "empty, but computed", "partial", "full")
_FILLS = ("#ffffff", "#f3dcae", "#7f9bd9", "#27459a")  # told apart by lightness, too
_MOST_BLOCKS = 1024  # on a side: a picture has no more dots
_SIDE, _ROW = 2.3, 4  # inches of an entry's longer side; entries in a row
_BESIDE, _BELOW = 0.6, 0.75  # inches between them
_SLIM = 0.2  # of the longer side, the shorter at the least
_LINED = 64  # blocks of a side up to which lines are drawn between them


def blocks(
    mask: Mask | Tensor,
    q_len: int,
    k_len: int,
    path: str | Path,
    *,
    batch: Sequence[int] | None = None,
    size: int = plan.SIZE,
    title: str | None = None,
    json: bool = False,
) -> list[Path]:
    """Draw the blocks that a mask leaves empty, fills in part, or fills.

    Rows are blocks of queries, columns are blocks of keys, the first at the top left. Each of the first eight entries
    of the batch in which the mask differs has a panel. Below stand the pairs that `explain` counts in a call by blocks
    on a CPU.  A block without an allowed pair may be computed all the same: in a larger block of queries, for
    another entry, or because too few pairs could be left out.

    Args:
        mask: one of `saccade.masks`, a composition of them, or a boolean tensor; tensors may be on any device.
        q_len: queries, ≥ 1.
        k_len: keys, ≥ 1.
        batch: leading dimensions of the call; None: those of the mask's tensors.
        size: queries and keys of a block that is drawn. A CPU computes by blocks of 64, flex by blocks of 128.
        path, title, json: as of every picture (see `saccade.look`).

    Raises:
        ArgumentError: a length, size or batch that is not an int of at least 1, more blocks than can be seen, or a mask
            of a class of your own, whose blocks are unknown.
        ShapeError: a mask that does not fit the lengths and the batch.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from saccade import masks
        >>> with TemporaryDirectory() as folder:
        ...     paths = blocks(masks.Window(128, 0), 2048, 2048, f"{folder}/window")
        >>> [path.name for path in paths]
        ['window.png', 'window.svg']
    """
    for name, value in (("q_len", q_len), ("k_len", k_len), ("size", size)):
        whole(name, value, least=1)
    if (longest := max(q_len, k_len)) > _MOST_BLOCKS * size:
        least, text = -(-longest // _MOST_BLOCKS), f"of which {longest:,} positions are at most {_MOST_BLOCKS:,} blocks"
        raise ArgumentError(f"size: expected {least} or more, {text}, got {size}; more cannot be seen")
    on_cpu = as_mask(mask).map(lambda tensor, axes: tensor.cpu())
    lengths = q_len, k_len
    drawn, entries, differing, pairs = _states(on_cpu, lengths, _batch(on_cpu, batch), size)
    names = [f"entry {', '.join(map(str, entry))}" if differing > 1 else "" for entry in entries]
    counts = [int((drawn == state).count_nonzero()) for state in range(len(STATES))]
    share = f"{pairs.computed / pairs.all:.0%} of all pairs are computed"
    apart = f" in each of {len(names)} entries" if len(names) > 1 else ""
    listed = ", ".join(f"{count:,} {name}" for count, name in zip(counts, STATES, strict=True) if count)

    def draw(page: Page) -> str:
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch

        height, width = (_SIDE * max(length / max(lengths), _SLIM) for length in lengths)
        rows, columns = ([*range(0, length, size), length] for length in lengths)
        lines, colours = max(drawn.shape[1:]) <= _LINED, ListedColormap(_FILLS)
        for number, (states, name) in enumerate(zip(drawn, names, strict=True)):
            line, column = divmod(number, _ROW)
            axes = page.axes(column * (width + _BESIDE), line * (height + _BELOW), width, height)
            draw_cells(axes, states, columns, rows, lines=lines, cmap=colours, vmin=-0.5, vmax=len(_FILLS) - 0.5)
            axes.set(xlim=(0, lengths[1]), ylim=(lengths[0], 0), xlabel="keys →", ylabel="← queries")
            for axis, length in zip((axes.yaxis, axes.xaxis), lengths, strict=True):
                axis.set_ticks([0, length], ["0", f"{length:,}"])
            axes.set_title(name, fontsize=8)
        patches = [
            Patch(facecolor=fill, edgecolor=FAINT, linewidth=0.5, label=state)
            for fill, state, count in zip(_FILLS, STATES, counts, strict=True)
            if count
        ]
        top = -(-len(names) // _ROW) * (height + _BELOW) - _BELOW + 0.45
        page.figure.legend(
            handles=patches, loc="upper left", bbox_to_anchor=(0, 1 - top), ncols=2, fontsize=7.5, handlelength=1,
            handleheight=1, borderaxespad=0, borderpad=0,
        )  # fmt: skip
        counted = f"pairs: {pairs}".replace("allowed, ", "allowed,\n")
        page.write(0, top + 0.1 + 0.2 * -(-len(patches) // 2), counted, 7.5, va="top")
        return f"{len(names)} of {differing} entries are drawn" if differing > len(names) else ""

    story = f"{q_len:,} queries and {k_len:,} keys in blocks of {size}{apart}; of {sum(counts):,} blocks {listed}"
    behind = numbers(names, [], drawn, states=list(STATES), size=size, pairs=pairs._asdict()) if json else None
    heading = f"{title}: {share}" if title else share
    return draw_picture(path, draw, heading, "", [story, f"pairs: {pairs}"], behind)


def _batch(mask: Mask, batch: Any) -> tuple[int, ...]:
    """The batch dimensions of a call, by default those of the mask's tensors."""
    if batch is not None:
        if not isinstance(batch, Sequence) or isinstance(batch, str):
            name = type(batch).__name__
            raise ArgumentTypeError(f"batch: expected a sequence of ints, got {name}; write it as (2, 8)")
        for value in batch:
            whole("batch", value, least=1)
        return tuple(batch)
    shapes = [leaf.tensor.shape[: max(0, leaf.tensor.ndim - len(leaf.axes))] for leaf in mask.leaves()]
    try:
        return tuple(broadcast_shapes(*shapes))
    except RuntimeError:
        listed = ", ".join(map(str, map(tuple, shapes)))
        raise ShapeError(f"mask: expected tensors whose leading dimensions broadcast, got {listed}") from None


def _states(
    mask: Mask, lengths: tuple[int, int], batch: tuple[int, ...], size: int
) -> tuple[Tensor, list[tuple[int, ...]], int, Pairs]:
    """Plan a call of tensors without memory, by blocks on a CPU.

    Returned are the states of blocks `(entries, query blocks, key blocks)`, those entries of the batch, the number of
    entries that differ, and the pairs.
    """
    query, key = (torch.zeros(()).expand(*batch, length, 1) for length in lengths)
    call = checked_call(Arguments(query, key, key, mask=mask)).aligned()
    name, module = ("cpu", cpu) if isinstance(cpu.offer(call), Offer) else ("chunked", chunked)
    pairs = planned(call, name).pairs  # as `explain` counts them
    if pairs is None or call.mask is None:
        raise ArgumentTypeError(
            "mask: expected one of saccade.masks or a boolean tensor, got "
            f"{type(call.mask).__name__}, which is or holds a class of your own. All its pairs are computed. "
            "Give the tensor that its dense() makes."
        )
    parts: list[Part] = [Block(None, 0, 1, 0, lengths[0])]
    if pairs.computed < pairs.all:
        parts = plan.parts(call, module.ENGINE.budget(call))
    mapped = block_map.mapped(call.mask, call.grid(), size)
    some, full = (aligned(part, ("q", "k"), len(call.batch)) for part in mapped)
    differing, states = tuple(some.shape[:-2]), list[Tensor]()
    entries = list(islice(product(*map(range, differing)), MOST_PANELS))
    for entry in entries:
        held = (  # a dimension of 1 stands for all
            part
            for part in parts
            if part.dim is None or differing[part.dim] == 1 or part.first <= entry[part.dim] < part.first + part.heads
        )
        computed = _computed(call.grid(), held, size)
        states.append(torch.where(full[entry], FULL, torch.where(some[entry], PARTIAL, BESIDE * computed)))
    return torch.stack(states), entries, math.prod(differing), pairs


def _computed(grid: Grid, parts: Iterable[Part], size: int) -> Tensor:
    """Return 1 for each block with a computed pair, else 0."""
    step = math.gcd(size, plan.SIZE)
    computed = torch.zeros(-(-grid.q_len // size), -(-grid.k_len // size), dtype=torch.long)
    for part in parts:
        cells = part.grid(grid)
        queries = torch.cat([cells.queries()[..., ::step, :], cells.queries()[..., -1:, :]], -2)
        keys = cells.keys()[..., ::step].clamp(max=grid.k_len - 1)
        computed[queries // size, keys // size] = 1
    return computed
