"""What happens step by step, as bands below each other on one axis of steps: what is read and said, and a memory.

After figure 6 of Graves, Wayne, Danihelka 2014 (https://arxiv.org/abs/1410.5401).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look.drawing import numbers, rounded, write_picture
from saccade.look.labels import plain
from saccade.look.pictures import COLOURS, DOTS, FAINT, INK
from saccade.look.typefaces import families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Panel", "traces"]

_STEP, _WIDEST, _NARROWEST = 0.14, 14.0, 4.5  # inches: a step's width, and the widest and narrowest picture
_ROW, _TALLEST, _LOWEST = 0.09, 2.6, 0.3  # of a row, and the tallest and lowest band
_GAP = 0.3  # inches between bands
_LONGEST = 40  # characters of a step's label
_SEEN = 0.02  # a place of a memory that never has more is left out, at the edges of a band
_NAMED = 120  # steps that have a label each
_TICKS = 5  # rows of a band that have their number
_TOLD = 40  # steps of a band that are told in words
_Rows = tuple[list[int], Tensor]


@dataclass(frozen=True)
class Panel:
    """One band.

    Args:
        name: of what it shows.
        values: `(rows, steps)`, NaN where there is nothing; where `square`, `(rows, columns)` of the same places.
        square: whether its columns are places of the memory, not steps.
        ring: whether its rows are cells of a memory, of which the first follows on the last; bands of one memory show
            the same cells.
        whole: whether all rows are shown, and 1 is darkest: bits, and what is believed of them.
    """

    name: str
    values: Tensor
    square: bool = False
    ring: bool = False
    whole: bool = False

    @classmethod
    def along(cls, name: str, values: Tensor, where: Tensor) -> "Panel":
        """Return the band of all values `(some steps, rows)` that stand at the steps that `where` names, `(steps,)`.

        >>> Panel.along("said", torch.ones(1, 2), torch.tensor([False, True])).values
        tensor([[nan, 1.],
                [nan, 1.]])
        """
        found = torch.full((values.shape[1], len(where)), torch.nan)
        found[:, where] = values.float().T
        return cls(name, found, whole=True)


def traces(
    panels: Sequence[Panel],
    path: str | Path,
    *,
    steps: Sequence[str] = (),
    title: str = "",
    json: bool = False,
) -> list[Path]:
    """Draw bands of numbers over the same steps, the first on top, and those of places by places below them.

    Rows at the edges of a band that are nowhere above a fiftieth of the largest number are left out, and cells of a
    ring begin behind the longest stretch of such, so that of a large memory the part that is used is seen.

    Args:
        panels: the bands, one at least.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        steps: what stands below each step; none for their numbers.
        title: a line above the picture.
        json: whether the numbers are written beside it.

    Returns:
        The paths of the PNG and the SVG, and of the JSON if it is wanted.

    Raises:
        ArgumentError: if there is nothing to draw.
        ShapeError: if bands are of different steps, or labels of others.
        OSError: if the files cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> bands = [Panel("read", torch.eye(3)), Panel("write", torch.eye(3).flip(0))]
        >>> with TemporaryDirectory() as folder:
        ...     print([path.name for path in traces(bands, Path(folder) / "copy")])
        ['copy.png', 'copy.svg']
    """
    count = _checked(panels, steps)
    heading, cut = plain(title), _cut(panels)
    behind = _numbers(heading, panels, cut, steps)
    return write_picture(
        path,
        lambda: _figure(panels, cut, count, [plain(step) for step in steps], heading),
        title=heading or "A memory, step by step",
        story="; ".join(map(_told, panels)),
        behind=behind if json else None,
    )


def _checked(panels: Sequence[Panel], steps: Sequence[str]) -> int:
    """How many steps there are."""
    counts = {panel.values.shape[1] for panel in panels if not panel.square}
    if not counts or not all(bool(panel.values.isfinite().any()) for panel in panels):
        raise ArgumentError(f"panels: expected a band of steps or more, each with numbers, got {len(panels)}")
    if len(counts) > 1 or (steps and len(steps) not in counts):
        got = f"bands of {', '.join(map(str, sorted(counts)))} and {len(steps)} labels"
        raise ShapeError(f"panels, steps: expected as many steps in each, got {got}")
    return counts.pop()


def _cut(panels: Sequence[Panel]) -> list[_Rows]:
    """The rows of each band that are shown, and their numbers."""
    rings = dict[int, Tensor]()
    for panel in panels:
        if panel.ring:
            used = _used(panel)
            rings[len(used)] = rings[len(used)] | used if len(used) in rings else used
    found = list[_Rows]()
    for panel in panels:
        values = panel.values.detach().to("cpu", torch.float64)
        used = torch.ones(len(values), dtype=torch.bool) if panel.whole else _used(panel)
        rows = _behind_the_gap(rings[len(values)]) if panel.ring else _within(used)
        found.append((rows, values[rows][:, rows] if panel.square else values[rows]))
    return found


def _used(panel: Panel) -> Tensor:
    large = panel.values.detach().cpu().double().nan_to_num().abs().amax(1)
    return large > _SEEN * large.max()


def _within(used: Tensor) -> list[int]:
    """From the first row that is used to the last; all where none is."""
    found = used.nonzero()[:, 0].tolist() or [0, len(used) - 1]
    return list(range(found[0], found[-1] + 1))


def _behind_the_gap(used: Tensor) -> list[int]:
    """The rows of a ring from the end of the longest stretch that is not used to its beginning."""
    found, count = used.nonzero()[:, 0].tolist(), len(used)
    if not found:
        return list(range(count))
    following = [*found[1:], found[0] + count]
    gap, start = max((after - before, after) for before, after in zip(found, following, strict=True))
    return [(start + number) % count for number in range(count - gap + 1)]


def _numbers(title: str, panels: Sequence[Panel], cut: Sequence[_Rows], steps: Sequence[str]) -> dict[str, Any]:
    """The rows of all bands below each other, nothing being 0; those of places by places beside them, by name."""
    names, values, others = list[str](), list[Tensor](), dict[str, Any]()
    for panel, (rows, shown) in zip(panels, cut, strict=True):
        if panel.square:
            others[panel.name] = {"places": rows, "values": rounded(shown.tolist())}
            continue
        names += [f"{panel.name} {number}" for number in rows]
        values.append(shown.nan_to_num())
    darkest = {panel.name: _edges(panel, shown)[1] for panel, (_, shown) in zip(panels, cut, strict=True)}
    return numbers(title, names, steps, torch.cat(values), darkest=darkest, **others)


def _edges(panel: Panel, shown: Tensor) -> tuple[float, float]:
    """The numbers that are drawn lightest and darkest; of numbers on both sides of 0, darkest on either."""
    known = shown[~shown.isnan()]
    least, most = float(known.min()), float(known.max())
    if least < 0:
        edge = max(-least, most)
        return -edge, edge
    return 0.0, 1.0 if panel.whole else most or 1.0


def _told(panel: Panel) -> str:
    """Where a band is darkest at each of its first steps, in words; "-" where nothing is drawn."""
    shown = panel.values[:, :_TOLD].nan_to_num().abs()
    darkest = zip(shown.argmax(0).tolist(), shown.amax(0).tolist(), strict=True)
    places = [str(row) if size else "-" for row, size in darkest]
    more = ["…"] if panel.values.shape[1] > _TOLD else []
    return f"{panel.name}: darkest at {' '.join(places + more)}"


def _figure(panels: Sequence[Panel], cut: Sequence[_Rows], count: int, steps: Sequence[str], title: str) -> "Figure":
    """The whole picture, laid out in inches."""
    from matplotlib.figure import Figure

    width = min(_WIDEST, max(_NARROWEST, count * _STEP))
    heights = [_height(panel, rows, width / count) for panel, (rows, _) in zip(panels, cut, strict=True)]
    size = min(8.0, max(3.5, 72 * width / count * 0.7))
    steps = [_shortened(step) for step in steps] if count <= _NAMED else []
    labelled = _GAP + max((len(step) for step in steps), default=0) * size * 0.6 / 72
    height = sum(heights) + _GAP * (len(panels) - 1) + labelled
    figure = Figure(figsize=(width, height), dpi=DOTS)
    style: dict[str, Any] = {
        "family": families("".join([title, *steps, *(panel.name for panel in panels)])),
        "color": INK,
    }
    top, last = height, max(number for number, panel in enumerate(panels) if not panel.square)
    for number, (panel, (rows, shown), tall) in enumerate(zip(panels, cut, heights, strict=True)):
        wide = width if not panel.square else min(width, tall)
        axes = figure.add_axes((0, (top - tall) / height, wide / width, tall / height))
        _band(axes, rows, shown, style, _edges(panel, shown))
        axes.set_title(panel.name, fontsize=9, loc="left", pad=3, **style)
        if panel.square:
            axes.set_xlabel("was written right before the row's place", fontsize=7, **style)
        else:
            _name_steps(axes, steps, size, style, shown=number == last)
        top -= tall + (labelled if number == last else _GAP)
    figure.text(0, 1 + 0.32 / height, title, fontsize=11, ha="left", va="bottom", parse_math=False, **style)
    return figure


def _height(panel: Panel, rows: Sequence[int], step: float) -> float:
    most = _TALLEST if not panel.square else 2 * _TALLEST
    return min(most, max(_LOWEST, len(rows) * max(_ROW, min(step, 0.12))))


def _band(axes: "Axes", rows: Sequence[int], shown: Tensor, style: dict[str, Any], edges: tuple[float, float]) -> None:
    """One band: from white to dark, or from red to blue where some numbers are below 0."""
    from matplotlib.colors import LinearSegmentedColormap

    least, most = edges
    own = LinearSegmentedColormap.from_list("saccade", COLOURS)
    colours: dict[str, Any] = {"cmap": "RdBu" if least < 0 else own, "vmin": least, "vmax": most}
    extent = (0, shown.shape[1], len(rows), 0)
    axes.imshow(shown.numpy(), aspect="auto", interpolation="nearest", extent=extent, **colours)
    axes.spines[:].set(color=FAINT, linewidth=0.5)
    axes.tick_params(length=2, width=0.5, labelsize=6, color=FAINT, labelcolor=style["color"])
    every = max(1, -(-len(rows) // _TICKS))
    axes.set_yticks([place + 0.5 for place in range(0, len(rows), every)], [f"{row}" for row in rows[::every]])


def _shortened(step: str) -> str:
    return step if len(step) <= _LONGEST else step[: _LONGEST - 1] + "…"


def _name_steps(axes: "Axes", steps: Sequence[str], size: float, style: dict[str, Any], *, shown: bool) -> None:
    """What stands below the last band: a label a step, or numbers."""
    from matplotlib.ticker import MaxNLocator

    if not shown:
        axes.set_xticks([])
    elif not any(steps):
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    else:
        text = {"rotation": 90, "fontsize": size, "parse_math": False, **style}
        axes.set_xticks([place + 0.5 for place in range(len(steps))], steps, **text)
