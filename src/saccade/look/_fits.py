"""The curve of a regression model among its points, with the weights of one call."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade.look._charts import HIGH, STYLES, WIDE
from saccade.look._figure import (
    COLOURS,
    FAINT,
    Page,
    checked,
    draw_picture,
    full_scale,
    name_axes,
    numbers,
    rounded,
)
from saccade.look._labels import plain

_LOW, _GAP = 1.3, 0.15  # inches: the part below the curve, and between both
_CURVE, _CHOSEN, _POINT = STYLES[0][0], STYLES[1][0], COLOURS[3]
_ROWS = ["answer", "lower", "upper"]


@dataclass(frozen=True)
class Prediction:
    """A predicted mean at x, and the ends of its interval."""

    x: float
    mean: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Fit:
    """The predictions of a model over a range.

    Args:
        x: places, rising, `(places,)`.
        mean, lower, upper: predictions and the ends of their intervals, `(places,)`.
        points: known ones, x and y, `(points, 2)`.
    """

    x: Tensor
    mean: Tensor
    lower: Tensor
    upper: Tensor
    points: Tensor


def fit(
    curve: Fit,
    prediction: Prediction,
    path: str | Path,
    *,
    labels: tuple[str, str],
    title: str,
    weights: Tensor | None = None,
    slope: Tensor | None = None,
    json: bool = False,
) -> list[Path]:
    """Draw a curve with its interval, and below it weights of a prediction or a slope.

    Args:
        curve: of the model.
        prediction: the one that is marked.
        path: without a suffix; a taken name gets -2, -3, ... appended.
        labels: names of x and y.
        title: a line above the picture.
        weights: of each known point in the prediction, `(points,)`, at least 0, drawn as bars.
        slope: of the curve at its places, `(places,)`, drawn if there are no weights.
        json: write the numbers beside it.

    Raises:
        ShapeError: other shapes.
        ArgumentError: no places, or numbers that are not finite.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> x = torch.linspace(0, 1, 5)
        >>> line, chosen = Fit(x, x, x - 1, x + 1, torch.tensor([[0.5, 0.4]])), Prediction(0.5, 0.5, -0.5, 1.5)
        >>> with TemporaryDirectory() as folder:
        ...     paths = fit(line, chosen, f"{folder}/a", labels=("x", "y"), title="a line", weights=torch.ones(1))
        >>> [path.name for path in paths]
        ['a.png', 'a.svg']
    """
    x, count = checked("x", curve.x, ("places",)), len(curve.points)
    lines = torch.stack([checked(name, getattr(curve, name), x.shape) for name in ("mean", "lower", "upper")])
    points = checked("points", curve.points, (count, 2)) if count else curve.points
    weights = None if weights is None else checked("weights", weights, (count,), least=0)
    slope = None if slope is None else checked("slope", slope, x.shape)
    heading, names = plain(title), (plain(labels[0]), plain(labels[1]))
    below = ("weight", weights) if weights is not None else ("slope", slope)
    darkest = 1.0 if weights is None else full_scale(float(weights.max()), 1 / count)
    parts = {"x": x, "points": points, "weights": weights, "slope": slope}
    more = {name: None if part is None else rounded(part, significant=True) for name, part in parts.items()}
    behind = numbers(heading, _ROWS, [], lines, darkest=darkest, **more)
    story = f"{prediction.x:.4g} is answered by {prediction.mean:.4g}"
    story += f", from {prediction.lower:.4g} to {prediction.upper:.4g}"
    if weights is not None:
        best = int(weights.argmax())
        largest = f"{float(weights[best]):.3g}, has the point at {float(points[best, 0]):.4g}"
        story += f"; the largest weight, {largest}"
    return draw_picture(
        path,
        lambda page: _draw(page, x, lines, points, prediction, names, below),
        names,
        title=heading,
        kind="A fitted curve",
        story=story,
        behind={**behind, "values": rounded(lines, significant=True)} if json else None,
    )


def _draw(
    page: Page,
    x: Tensor,
    lines: Tensor,
    points: Tensor,
    chosen: Prediction,
    labels: tuple[str, str],
    below: tuple[str, Tensor | None],
) -> None:
    axes, (name, values) = page.axes(0, 0, WIDE, HIGH), below
    if len(points):
        size = 14 if len(points) < 300 else 8
        axes.scatter(points[:, 0], points[:, 1], s=size, color=_POINT, alpha=0.6, linewidths=0, label="known points")
    axes.fill_between(x, lines[1], lines[2], color=_CURVE, alpha=0.12, linewidth=0, label="interval")
    axes.plot(x, lines[0], color=_CURVE, linewidth=1.8, label="answer")
    ends = [[chosen.mean - chosen.lower], [chosen.upper - chosen.mean]]
    bar: dict[str, Any] = {"fmt": "s", "color": _CHOSEN, "markersize": 6, "capsize": 3, "elinewidth": 1.3}
    axes.errorbar([chosen.x], [chosen.mean], yerr=ends, label="predicted", zorder=4, **bar)
    name_axes(axes, "" if values is not None else labels[0], labels[1], grid="y")
    axes.legend(loc="best")
    if values is not None:
        axes.tick_params(labelbottom=False)
        lower = page.axes(0, HIGH + _GAP, WIDE, _LOW, sharex=axes)
        if name == "weight":
            lower.vlines(points[:, 0], 0, values, color=_CURVE, linewidth=1.2)
            lower.set_ylim(0, float(values.max()) * 1.12 or 1.0)
        else:
            lower.plot(x, values, color=_CURVE, linewidth=1.4)
            lower.axhline(0, color=FAINT, linewidth=0.6)
        lower.axvline(chosen.x, color=_CHOSEN, linewidth=1.1, linestyle=":")
        name_axes(lower, labels[0], name, grid="y")
