"""A memory step by step, as bands below each other on one axis of steps.

After figure 6 of Graves, Wayne, Danihelka 2014 (https://arxiv.org/abs/1410.5401).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look._figure import BOTH, COLOURS, MOST_PANELS, Page, draw_picture, not_drawn, numbers, ramp
from saccade.look._labels import plain, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEP, _WIDEST, _NARROWEST = 0.14, 14.0, 4.5  # inches: a step's width, and the widest and narrowest picture
_ROW, _TALLEST, _LOWEST = 0.09, 2.6, 0.3  # of a row, and the tallest and lowest band
_GAP = 0.3  # inches between bands
_VISIBLE = 0.02  # of the largest number: rows at the edges of a band that are nowhere above it are left out
_NAMED = 120  # steps that have a label each
_TICKS = 5  # rows of a band that have their number
_DESCRIBED = 40  # steps of a band that the SVG describes


@dataclass(frozen=True)
class Band:
    """One band.

    Args:
        name: of its numbers.
        values: `(rows, steps)`, NaN for no number; if `square`, `(rows, columns)` of the same cells.
        square: whether its columns are cells of the memory, not steps.
        ring: whether its rows are cells of a memory, and the first follows the last. Bands of one memory show the same
            cells.
        whole: whether all rows are shown, and 1 is darkest, as for bits and their probabilities.
    """

    name: str
    values: Tensor
    square: bool = False
    ring: bool = False
    whole: bool = False

    @classmethod
    def along(cls, name: str, values: Tensor, where: Tensor) -> "Band":
        """Return the band of values `(some steps, rows)` at the steps of a mask.

        `where` is the mask, `(steps,)`.

        >>> Band.along("said", torch.ones(1, 2), torch.tensor([False, True])).values
        tensor([[nan, 1.],
                [nan, 1.]])
        """
        band = torch.full((values.shape[1], len(where)), torch.nan)
        band[:, where] = values.float().T
        return cls(name, band, whole=True)

    def used(self) -> Tensor:
        """Return the rows with a number that can be seen, boolean `(rows,)`."""
        large = self.values.detach().cpu().double().nan_to_num().abs().amax(1)
        return large > _VISIBLE * large.max()

    def ends(self, values: Tensor) -> tuple[float, float]:
        """Return the numbers of the lightest and the darkest colour, ± if any is below 0."""
        low, high = (float(end) for end in torch.aminmax(values[~values.isnan()]))
        if low < 0:
            return -max(-low, high), max(-low, high)
        return 0.0, 1.0 if self.whole else high or 1.0


Panel = tuple[Band, list[int], Tensor]
"""A band, its visible rows, and their numbers."""


def traces(
    bands: Sequence[Band], path: str | Path, *, steps: Sequence[str] = (), title: str = "", json: bool = False
) -> list[Path]:
    """Draw bands of numbers over the same steps, then those of cells by cells.

    Rows at the edges of a band that are nowhere above a fiftieth of its largest number are left out, and cells of a
    ring begin behind the longest stretch of such rows. At most eight bands are drawn; a line below names the others.

    Args:
        bands: one or more.
        steps: labels of the steps, or none for their numbers.
        path, title, json: as of every picture (see `saccade.look`).

    Raises:
        ArgumentError: no band of steps, a band without numbers, or infinite numbers.
        ShapeError: a band that is no matrix, bands of different steps, or labels that are not one a step.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> bands = [Band("read", torch.eye(3)), Band("write", torch.eye(3).flip(0))]
        >>> with TemporaryDirectory() as folder:
        ...     print([path.name for path in traces(bands, Path(folder) / "copy")])
        ['copy.png', 'copy.svg']
    """
    for band in bands:
        shape = tuple(band.values.shape)
        if len(shape) != 2 or (band.square and shape[0] != shape[1]):
            raise ShapeError(f"values: expected ({'cells, cells' if band.square else 'rows, steps'}), got {shape}")
    counts = {band.values.shape[1] for band in bands if not band.square}
    if not counts or not all(bool(band.values.isfinite().any()) for band in bands):
        raise ArgumentError(f"bands: expected a band of steps or more, each with numbers, got {len(bands)}")
    if any(bool(band.values.isinf().any()) for band in bands):
        raise ArgumentError("values: expected finite numbers, or NaN for none, got infinite ones")
    if len(counts) > 1 or (steps and len(steps) not in counts):
        got = f"bands of {', '.join(map(str, sorted(counts)))} and {len(steps)} labels"
        raise ShapeError(f"bands, steps: expected as many steps in each, got {got}")
    panels = list[Panel]()
    for band, rows in zip(bands, _rows(bands), strict=True):
        values = band.values.detach().to("cpu", torch.float64)[rows]
        panels.append((band, rows, values[:, rows] if band.square else values))
    names, behind = [shortened(plain(step)) for step in steps], _numbers(panels, steps) if json else None
    story, kind, more = map(_described, bands), "A memory, step by step", {"panels": panels}
    return draw_picture(
        path, lambda page: _draw(page, panels, counts.pop(), names), title, kind, story, behind, more=more
    )


def _rows(bands: Sequence[Band]) -> list[list[int]]:
    """The visible rows of each band."""
    rings = dict[int, Tensor]()
    for band in bands:
        if band.ring:
            rings[len(band.values)] = band.used() | rings.get(len(band.values), torch.tensor(False))
    rows = list[list[int]]()
    for band in bands:
        count, visible = len(band.values), band.used().nonzero()[:, 0].tolist()
        if band.ring:
            rows.append(_behind_the_gap(rings[count]))
        else:
            whole = band.whole or not visible
            rows.append(list(range(count) if whole else range(visible[0], visible[-1] + 1)))
    return rows


def _behind_the_gap(used: Tensor) -> list[int]:
    """Rows of a ring, from the end of its longest unused stretch to its beginning."""
    cells, count = used.nonzero()[:, 0].tolist(), len(used)
    if not cells:
        return list(range(count))
    following = [*cells[1:], cells[0] + count]
    gap, start = max((after - before, after) for before, after in zip(cells, following, strict=True))
    return [(start + number) % count for number in range(count - gap + 1)]


def _numbers(panels: Sequence[Panel], steps: Sequence[str]) -> dict[str, Any]:
    """Rows of all bands in one table, and bands of cells by cells, by name."""
    names = [f"{band.name} {row}" for band, rows, _ in panels if not band.square for row in rows]
    squares = {band.name: {"places": rows, "values": part} for band, rows, part in panels if band.square}
    darkest = {band.name: band.ends(part)[1] for band, _, part in panels}
    every = torch.cat([part.nan_to_num() for band, _, part in panels if not band.square])
    return numbers(names, steps, every, darkest=darkest, **squares)


def _described(band: Band) -> str:
    """The darkest row at each of the first steps of a band, in words."""
    sizes = band.values[:, :_DESCRIBED].nan_to_num().abs()
    darkest = zip(sizes.argmax(0).tolist(), sizes.amax(0).tolist(), strict=True)
    cells = [str(row) if size else "-" for row, size in darkest]
    more = ["…"] if band.values.shape[1] > _DESCRIBED else []
    return f"{band.name}: darkest at {' '.join(cells + more)}"


def _draw(page: Page, panels: Sequence[Panel], count: int, steps: Sequence[str]) -> str:
    width = min(_WIDEST, max(_NARROWEST, count * _STEP))
    drawn, top = panels[:MOST_PANELS], 0.0
    last = max((number for number, (band, *_) in enumerate(drawn) if not band.square), default=0)
    for number, (band, rows, part) in enumerate(drawn):
        tallest = 2 * _TALLEST if band.square else _TALLEST
        tall = min(tallest, max(_LOWEST, len(rows) * max(_ROW, min(width / count, 0.12))))
        wide = min(width, tall) if band.square else width
        axes, ends = page.axes(0, top, wide, tall), band.ends(part)
        colours, extent = ramp(BOTH if ends[0] < 0 else COLOURS), (0, part.shape[1], len(rows), 0)
        axes.imshow(part.numpy(), extent=extent, cmap=colours, vmin=ends[0], vmax=ends[1])
        every = max(1, -(-len(rows) // _TICKS))
        axes.set_yticks([row + 0.5 for row in range(0, len(rows), every)], [f"{row}" for row in rows[::every]])
        axes.set_title(band.name, fontsize=9, loc="left", pad=3)
        page.colour_bar("", colours, ends, (wide + 0.12, top), min(tall, 0.9))
        top += tall + _GAP
        if band.square:
            axes.set(xlabel="cell written right before the row's cell", ylabel="cell ↓")
            top += 0.35
        elif number == last:
            top += _name_steps(axes, steps, 72 * width / count)
        else:
            axes.set_xticks([])
    return not_drawn([band.name for band, *_ in panels], "bands")


def _name_steps(axes: "Axes", steps: Sequence[str], room: float) -> float:
    """Label the steps below the last band, and return the labels' height."""
    axes.set_xlabel("step →")
    if len(steps) > _NAMED or not any(steps):
        axes.locator_params("x", nbins=8, integer=True)
        return 0.35
    size = min(8.0, max(3.5, room * 0.7))
    axes.set_xticks([step + 0.5 for step in range(len(steps))], steps, rotation=90, fontsize=size)
    return 0.2 + max(map(len, steps)) * size * 0.6 / 72
