"""Ratios as a picture: a panel for each family of sizes, and one for single sizes."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.bench.row import Result
from saccade.errors import ArgumentError
from saccade.look._charts import STYLES, name_axes
from saccade.look._figure import FAINT, plain_ticks, write_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES = (*STYLES, ("#4d4d66", "P"))  # of up to six peers
_TARGET = "#d18b00"
_COLUMNS, _WIDE, _HIGH, _LINE = 3, 4.4, 3.0, 0.24  # panels a row; inches of a panel, and of one line of the last


def draw(results: Sequence[Result], path: str | Path, *, title: str, note: str = "") -> list[Path]:
    """Draw ratios over sizes, with targets dashed and a line at 1, as PNG and SVG."""
    drawn = [result for result in results if result.ratio is not None]
    if not drawn:
        raise ArgumentError("results: expected one or more with a ratio, got none")
    story = "; ".join(f"{r.row.family} {r.row.shape} beside {r.row.peer}: {r.ratio:.3g}" for r in drawn)
    return write_picture(path, lambda: _figure(drawn, title, note), title=title, story=story)


def _figure(results: Sequence[Result], title: str, note: str) -> "Figure":
    from matplotlib.figure import Figure

    families: dict[str, list[Result]] = {}
    for result in results:
        families.setdefault(result.row.family, []).append(result)
    lines = {name: rows for name, rows in families.items() if len({result.row.size for result in rows}) > 1}
    single = [result for name, rows in families.items() if name not in lines for result in rows]
    across = math.ceil(len(lines) / _COLUMNS)
    heights = [_HIGH * across] * bool(lines) + [0.7 + _LINE * len(single)] * bool(single)
    figure = Figure(figsize=(_COLUMNS * _WIDE, sum(heights) + 0.7), dpi=130, layout="constrained")
    parts = list(figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0])
    for index, (name, rows) in enumerate(lines.items()):
        _over_sizes(parts[0].add_subplot(across, _COLUMNS, index + 1), name, rows)
    if single:
        _at_one_size(parts[-1].add_subplot(), single)
    figure.suptitle(f"{title}\n{note}".strip(), fontsize=11, x=0.01, ha="left")
    return figure


def _over_sizes(axes: "Axes", family: str, results: Sequence[Result]) -> None:
    for index, peer in enumerate(dict.fromkeys(result.row.peer for result in results)):
        colour, marker = _STYLES[index % len(_STYLES)]
        points = sorted((r.row.size, r.ratio or 0.0) for r in results if r.row.peer == peer)
        axes.plot(*zip(*points, strict=True), color=colour, marker=marker, markersize=4.5, linewidth=1.4, label=peer)
        targets = {target.ratio for r in results if r.row.peer == peer for target in r.row.targets}
        for height in sorted(ratio for ratio in targets if ratio is not None):
            axes.axhline(height, color=colour, linewidth=1, linestyle="--", label=f"target {height:.3g}")
    axes.axhline(1, color=FAINT, linewidth=0.8)
    axes.set(xscale="log", yscale="log")
    axes.minorticks_off()
    sizes = sorted({result.row.size for result in results})
    axes.set_xticks(sizes, [str(size) for size in sizes])
    plain_ticks(axes.yaxis)
    name_axes(axes, "length", f"peer's {'bytes' if results[0].row.memory else 'time'} / ours", grid="both")
    axes.set_title(family, fontsize=9.5, loc="left")
    axes.legend(fontsize=7, loc="best")  # by default it would warn of the time it takes


def _at_one_size(axes: "Axes", results: Sequence[Result]) -> None:
    """A point a row, its target a bar across it."""
    heights = list(range(len(results)))[::-1]
    axes.scatter([result.ratio or 0.0 for result in results], heights, color=_STYLES[0][0], s=22, zorder=3)
    for height, result in zip(heights, results, strict=True):
        for target in result.row.targets:
            if target.ratio is not None:
                axes.plot([target.ratio] * 2, [height - 0.35, height + 0.35], color=_TARGET, linewidth=1.6)
    axes.axvline(1, color=FAINT, linewidth=0.8)
    axes.set_yticks(heights, [f"{r.row.family} {r.row.shape} / {r.row.peer}" for r in results])
    axes.set_xscale("log")
    plain_ticks(axes.xaxis)
    name_axes(axes, "peer's time / ours (a bar: the target)", "", grid="both")
    axes.set_title("at one size", fontsize=9.5, loc="left")
