"""The blocks of a mask, as PNG and SVG: which it leaves empty, which it fills, and which of them a call computes."""

import math
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from saccade._call import block_map
from saccade._call.call import Arguments, Call
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
from saccade.look.drawing import numbers, write_picture
from saccade.look.labels import plain
from saccade.look.pictures import DOTS, FAINT, GRID, INK, MANY_CELLS
from saccade.look.typefaces import families
from saccade.masks import Mask, as_mask

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw"]

_, BESIDE, PARTIAL, FULL = range(4)
STATES = ("empty: not computed", "empty, computed all the same", "partial", "full")
COLOURS = ("#ffffff", "#f3dcae", "#7f9bd9", "#27459a")  # told apart by lightness, too

MOST_BLOCKS = 1024  # on a side: a picture has no more dots
MOST_ENTRIES = 12
_SIDE, _ROW = 2.3, 4  # inches of an entry's longer side; entries in a row
_BESIDE, _BELOW = 0.5, 0.7  # inches between them
_SLIM = 0.2  # of the longer side, the shorter at the least
_LINED = 64  # blocks of a side up to which lines are drawn between them


class Drawn(NamedTuple):
    """What is drawn: a state for each block of each entry `(entries, query blocks, key blocks)`, and of what."""

    states: Tensor
    entries: list[tuple[int, ...]]
    pairs: Pairs
    lengths: tuple[int, int]
    size: int

    def count(self, state: int) -> int:
        """How many blocks there are of a state."""
        return int((self.states == state).count_nonzero())


def draw(
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
    """Draw which blocks of queries and keys a mask leaves empty, fills in part, or fills, and how much is computed.

    One row a block of queries, one column a block of keys, the first at the top left, and a panel for each entry of the
    batch in which the mask differs. Below stands what `explain` says of the pairs in a call by blocks on a CPU: how
    many there are, are allowed and are computed. Blocks without an allowed pair that are computed all the same are
    shown as such: in a larger block of queries, for another entry, or since there are too few pairs to leave any out.

    Args:
        mask: one of `saccade.masks`, a composition of them, or a boolean tensor; tensors may be on any device.
        q_len: queries, ≥ 1.
        k_len: keys, ≥ 1.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        batch: leading dimensions of the call; None: those of the mask's tensors.
        size: queries and keys of a block that is drawn. A CPU computes by blocks of 64, flex by blocks of 128.
        title: a line above the picture.
        json: whether the numbers are written beside it.

    Returns:
        The paths of the PNG and the SVG, and of the JSON if it is wanted.

    Raises:
        ArgumentError: if a length, the size or one of the batch is no int of at least 1, blocks are more than can be
            seen, entries are more than 12, or the mask is of a class of your own, of whose blocks nothing is known.
        ShapeError: if the mask does not fit the lengths and the batch.
        OSError: if the files cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from saccade import masks
        >>> with TemporaryDirectory() as folder:
        ...     paths = draw(masks.Window(128, 0), 2048, 2048, f"{folder}/window")
        >>> [path.name for path in paths]
        ['window.png', 'window.svg']
    """
    known = _checked(mask, q_len, k_len, size)
    sizes = _batch(known) if batch is None else _sizes(batch)
    found, heading = _drawn(known, (q_len, k_len), sizes, size), plain(title or "")
    return write_picture(
        path,
        lambda: _figure(found, heading),
        title=heading or "The blocks of a mask",
        story=_story(found),
        behind=_behind(found, heading) if json else None,
    )


def _checked(mask: Any, q_len: int, k_len: int, size: int) -> Mask:
    for name, value in (("q_len", q_len), ("k_len", k_len), ("size", size)):
        whole(name, value, least=1)
    if max(q_len, k_len) > MOST_BLOCKS * size:
        least = -(-max(q_len, k_len) // MOST_BLOCKS)
        raise ArgumentError(
            f"size: expected {least} or more, of which {max(q_len, k_len):,} positions are at most {MOST_BLOCKS:,} "
            f"blocks, got {size}; more cannot be seen"
        )
    return as_mask(mask).map(lambda tensor, axes: tensor.cpu())


def _sizes(batch: Any) -> tuple[int, ...]:
    if not isinstance(batch, Sequence) or isinstance(batch, str):
        raise ArgumentTypeError(f"batch: expected a sequence of ints, got {type(batch).__name__}; write it as (2, 8)")
    for value in batch:
        whole("batch", value, least=1)
    return tuple(batch)


def _drawn(mask: Mask, lengths: tuple[int, int], batch: tuple[int, ...], size: int) -> Drawn:
    """The states of all blocks, and the pairs."""
    call = _call(mask, lengths, batch)
    pairs, parts = _planned(call)
    assert call.mask is not None
    found = block_map.mapped(call.mask, call.grid(), size)
    some, full = (aligned(blocks, ("q", "k"), len(call.batch)) for blocks in found)
    differing = tuple(some.shape[:-2])
    entries = list(product(*map(range, differing)))
    if len(entries) > MOST_ENTRIES:
        raise ArgumentError(
            f"mask: expected one that differs in at most {MOST_ENTRIES} entries of the batch, got {len(entries)}; draw "
            "some of them"
        )
    states = []
    for entry in entries:
        computed = _computed(call.grid(), (part for part in parts if _holds(part, entry, differing)), size)
        states.append(torch.where(full[entry], FULL, torch.where(some[entry], PARTIAL, BESIDE * computed)))
    return Drawn(torch.stack(states), entries, pairs, lengths, size)


def _batch(mask: Mask) -> tuple[int, ...]:
    """The batch dimensions that a mask's tensors have together."""
    shapes = [leaf.tensor.shape[: max(0, leaf.tensor.ndim - len(leaf.axes))] for leaf in mask.leaves()]
    try:
        return tuple(broadcast_shapes(*shapes))
    except RuntimeError:
        raise ShapeError(
            f"mask: expected tensors whose leading dimensions broadcast, got {', '.join(map(str, map(tuple, shapes)))}"
        ) from None


def _call(mask: Mask, lengths: tuple[int, int], batch: tuple[int, ...]) -> Call:
    """An aligned call under the mask, of tensors that take no memory."""
    query, key = (torch.zeros(()).expand(*batch, length, 1) for length in lengths)
    return checked_call(Arguments(query, key, key, mask=mask)).aligned()


def _planned(call: Call) -> tuple[Pairs, list[Part]]:
    """What `explain` tells of the pairs of a call by blocks on a CPU, and the parts that are computed."""
    name, module = ("cpu", cpu) if isinstance(cpu.offer(call), Offer) else ("chunked", chunked)
    pairs = planned(call, name).pairs
    if pairs is None:
        raise ArgumentTypeError(
            "mask: expected one of saccade.masks or a boolean tensor, whose blocks are known, got "
            f"{type(call.mask).__name__}, which is or holds a class of your own: every pair of it is computed; give "
            "the tensor that its dense() makes"
        )
    if pairs.computed == pairs.all:
        return pairs, [Block(None, 0, 1, 0, call.query.shape[-2])]
    return pairs, plan.parts(call, module.ENGINE.budget(call))


def _holds(part: Part, entry: tuple[int, ...], differing: tuple[int, ...]) -> bool:
    """Whether an entry of the batch is in a part; along a dimension of 1 it stands for all."""
    if part.dim is None or differing[part.dim] == 1:
        return True
    return part.first <= entry[part.dim] < part.first + part.heads


def _computed(grid: Grid, parts: Iterable[Part], size: int) -> Tensor:
    """1 where some pair of a block is computed, else 0."""
    step = math.gcd(size, plan.SIZE)
    found = torch.zeros(-(-grid.q_len // size), -(-grid.k_len // size), dtype=torch.long)
    for part in parts:
        places = part.grid(grid)
        queries = torch.cat([places.queries()[..., ::step, :], places.queries()[..., -1:, :]], -2)
        keys = places.keys()[..., ::step].clamp(max=grid.k_len - 1)
        found[queries // size, keys // size] = 1
    return found


def _story(found: Drawn) -> str:
    """What the picture shows, in words."""
    (q_len, k_len), total = found.lengths, found.states.numel()
    counts = ", ".join(f"{found.count(state):,} {name}" for state, name in enumerate(STATES) if found.count(state))
    apart = f" in each of {len(found.entries)} entries" if len(found.entries) > 1 else ""
    return (
        f"{q_len:,} queries and {k_len:,} keys in blocks of {found.size}{apart}; of {total:,} blocks {counts}; "
        f"pairs: {found.pairs}"
    )


def _behind(found: Drawn, title: str) -> dict[str, Any]:
    """The numbers behind the picture: of each entry the states of its blocks, by their place in `states`."""
    return numbers(
        title, _names(found), [], found.states, states=list(STATES), size=found.size, pairs=found.pairs._asdict()
    )


def _names(found: Drawn) -> list[str]:
    """What stands above each panel: which entry it is, where there are several."""
    return [f"entry {', '.join(map(str, entry))}" if len(found.entries) > 1 else "" for entry in found.entries]


def _figure(found: Drawn, title: str) -> "Figure":
    from matplotlib.figure import Figure

    names, note = _names(found), f"pairs: {found.pairs}"
    style = {"family": families("".join([title, note, *names, *STATES])), "color": INK}
    longest, columns = max(found.lengths), min(_ROW, len(names))
    height, width = (_SIDE * max(length / longest, _SLIM) for length in found.lengths)
    rows = -(-len(names) // columns)
    size = columns * (width + _BESIDE) - _BESIDE, rows * (height + _BELOW) - _BELOW
    figure = Figure(figsize=size, dpi=DOTS)
    figure.subplots_adjust(0, 0, 1, 1, _BESIDE / width, _BELOW / height)
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, states, name in zip(panels, found.states, names, strict=False):
        _panel(axes, states, found, style)
        axes.set_title(name, fontsize=8, **style)
    for axes in panels[len(names) :]:
        axes.remove()
    _write_around(figure, found, title, note, style)
    return figure


def _panel(axes: "Axes", states: Tensor, found: Drawn, style: dict[str, Any]) -> None:
    """The blocks of one entry, by the positions of their queries and keys."""
    from matplotlib.colors import ListedColormap

    ends = [[*range(0, length, found.size), length] for length in found.lengths]
    few = max(states.shape) <= _LINED
    lines: dict[str, Any] = {"edgecolors": GRID, "linewidth": 0.4} if few else {}
    axes.pcolormesh(
        ends[1], ends[0], states.numpy(), cmap=ListedColormap(COLOURS), vmin=-0.5, vmax=len(COLOURS) - 0.5,
        rasterized=states.numel() > MANY_CELLS, **lines,
    )  # fmt: skip
    axes.set(xlim=(0, found.lengths[1]), ylim=(found.lengths[0], 0))
    axes.set_xlabel("keys", fontsize=8, **style)
    axes.set_ylabel("queries", fontsize=8, **style)
    for axis, length in zip((axes.yaxis, axes.xaxis), found.lengths, strict=True):
        axis.set_ticks([0, length], ["0", f"{length:,}"], family=style["family"])
    axes.tick_params(length=2, width=0.5, labelsize=7, color=FAINT, labelcolor=INK)
    axes.spines[:].set(color=FAINT, linewidth=0.5)


def _write_around(figure: "Figure", found: Drawn, title: str, note: str, style: dict[str, Any]) -> None:
    """The title above, what colours mean and the pairs below."""
    from matplotlib.patches import Patch

    inch = 1 / figure.get_figheight()
    shown = [(STATES[state], COLOURS[state]) for state in range(len(STATES)) if found.count(state)]
    figure.legend(
        handles=[Patch(facecolor=colour, edgecolor=FAINT, linewidth=0.5, label=name) for name, colour in shown],
        loc="upper center", bbox_to_anchor=(0.5, -0.4 * inch), ncols=2, frameon=False,
        prop={"family": style["family"], "size": 7.5}, labelcolor=INK, handlelength=1, handleheight=1,
    )  # fmt: skip
    lines, below = note.replace("allowed, ", "allowed,\n"), 0.5 + 0.2 * -(-len(shown) // 2)
    figure.text(0.5, -below * inch, lines, ha="center", va="top", fontsize=7.5, **style)
    if title:
        above = 0.1 + 0.2 * (len(found.entries) > 1)
        figure.text(0.5, 1 + above * inch, title, ha="center", va="bottom", fontsize=10, **style)
