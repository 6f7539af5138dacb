"""Graphs of values, weights and an output, with what the error tells each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saccade.look._charts import STYLES
from saccade.look._figure import DOTS, FAINT, INK, write_picture
from saccade.look._fonts import families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_graphs"]

_PANEL, _HIGH = 3.3, 3.6  # inches
_THICKEST, _RADIUS = 6.0, 0.045
_OUTPUT = (0.8, 0.5)
_FORWARD, _BACKWARD = STYLES[0][0], STYLES[1][0]


def draw_graphs(graphs: Mapping[str, Mapping[str, Any]], path: Path, title: str) -> list[Path]:
    """Draw a panel a normalizer: five values, an output, and on each edge the weight and what flows back along it.

    Args:
        graphs: by the normalizer's name "weights", "gradients" and "told", what the output is told.
        path: where to write, without a suffix.
        title: a line above the picture.

    Returns:
        The paths of the PNG and the SVG.

    Raises:
        OSError: if they cannot be written.
    """
    story = "; ".join(_told(name, graph) for name, graph in graphs.items())
    return write_picture(path, lambda: _figure(graphs, title), title=title, story=story)


def _told(name: str, graph: Mapping[str, Any]) -> str:
    pairs = zip(graph["weights"], graph["gradients"], strict=True)
    each = ", ".join(f"weight {weight:.2f} and gradient {gradient:.2f}" for weight, gradient in pairs)
    return f"{name}, output's gradient {graph['told']:.2f}: {each}"


def _figure(graphs: Mapping[str, Mapping[str, Any]], title: str) -> "Figure":
    from matplotlib.figure import Figure

    style: dict[str, Any] = {"family": families(f"{title}∂L/∂y = {''.join(graphs)}"), "parse_math": False}
    width = _PANEL * len(graphs)
    figure = Figure(figsize=(width, _HIGH + 0.6), dpi=DOTS)
    for place, (name, graph) in enumerate(graphs.items()):
        axes = figure.add_axes((place / len(graphs), 0, 1 / len(graphs), _HIGH / (_HIGH + 0.6)))
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.set_axis_off()
        axes.text(0.5, 0.98, name, ha="center", va="top", fontsize=10.5, color=INK, **style)
        _panel(axes, graph["weights"], graph["gradients"], graph["told"], style)
    figure.text(0.02, 0.94, title, fontsize=12, color=INK, **style)
    return figure


def _panel(
    axes: "Axes", weights: Sequence[float], gradients: Sequence[float], told: float, style: Mapping[str, Any]
) -> None:
    heights = [0.84 - 0.76 * place / (len(weights) - 1) for place in range(len(weights))]
    for place, (height, weight, gradient) in enumerate(zip(heights, weights, gradients, strict=True)):
        read = weight > 0
        line = (
            {"color": _FORWARD, "linewidth": 0.6 + _THICKEST * weight} if read else {"color": FAINT, "linestyle": ":"}
        )
        axes.plot((0.32, _OUTPUT[0]), (height, _OUTPUT[1]), zorder=1, **line)
        _node(axes, (0.32, height), f"v{place + 1}", style, FAINT if not read else INK)
        middle = (0.32 + 0.33 * (_OUTPUT[0] - 0.32), height + 0.33 * (_OUTPUT[1] - height))
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        axes.text(*middle, f"{weight:.2f}", ha="center", va="center", fontsize=8, color=_FORWARD, bbox=box, **style)
        axes.text(0.25, height, f"{gradient:.2f}", ha="right", va="center", fontsize=9, color=_BACKWARD, **style)
    _node(axes, _OUTPUT, "y", style, INK)
    axes.text(_OUTPUT[0], _OUTPUT[1] + 0.1, f"∂L/∂y = {told:.2f}", ha="center", fontsize=9, color=_BACKWARD, **style)
    axes.text(0.25, 0.92, "∂L/∂v", ha="right", fontsize=9, color=_BACKWARD, **style)


def _node(axes: "Axes", place: tuple[float, float], name: str, style: Mapping[str, Any], colour: str) -> None:
    axes.plot(*place, marker="o", markersize=19, markerfacecolor="white", markeredgecolor=colour, zorder=2)
    axes.text(*place, name, ha="center", va="center", fontsize=9, color=colour, zorder=3, **style)
