"""What a model makes of numbers: the curve among known points, what weighed on one answer, and what a width costs."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look.curves import STYLES, framed, plain_ticks
from saccade.look.drawing import full_scale, numbers, rounded, write_picture
from saccade.look.labels import plain
from saccade.look.pictures import COLOURS, DOTS, FAINT, INK
from saccade.look.typefaces import families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Answer", "Curve", "curve", "widths"]

_WIDE, _HIGH, _LOW = 7.2, 3.0, 1.3  # inches: a picture, its curve, and what stands below that
_CURVE, _CHOSEN, _POINT = STYLES[0][0], STYLES[1][0], COLOURS[3]


@dataclass(frozen=True)
class Answer:
    """An answer and its interval.

    Args:
        x: what was asked.
        mean, lower, upper: the answer, and the ends of its interval.
    """

    x: float
    mean: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Curve:
    """What a model answers to many places.

    Args:
        x: the places, rising, `(places,)`.
        mean, lower, upper: answers and the ends of their intervals, `(places,)`.
        points: known ones, x and y, `(points, 2)`.
    """

    x: Tensor
    mean: Tensor
    lower: Tensor
    upper: Tensor
    points: Tensor


def curve(
    found: Curve,
    chosen: Answer,
    path: str | Path,
    *,
    labels: tuple[str, str],
    title: str,
    weights: Tensor | None = None,
    slope: Tensor | None = None,
    json: bool = False,
) -> list[Path]:
    """Draw a curve with its interval among known points, and below it what weighed on one answer.

    Args:
        found: the curve.
        chosen: the answer that is marked.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        labels: what x and y are called.
        title: a line above the picture.
        weights: of each known point in the chosen answer, `(points,)`, at least 0; they are drawn as bars.
        slope: of the curve at its places, `(places,)`, which is drawn where there are no weights.
        json: whether the numbers are written beside it.

    Returns:
        The paths of the PNG and the SVG, and of the JSON if it is wanted.

    Raises:
        ShapeError: if the shapes are others.
        ArgumentError: if there are no places, or numbers that are not finite.
        OSError: if the files cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> x = torch.linspace(0, 1, 5)
        >>> line = Curve(x, x, x - 1, x + 1, torch.tensor([[0.5, 0.4]]))
        >>> with TemporaryDirectory() as folder:
        ...     told = {"labels": ("x", "y"), "title": "a line", "weights": torch.ones(1)}
        ...     paths = curve(line, Answer(0.5, 0.5, -0.5, 1.5), f"{folder}/a", **told)
        >>> [path.name for path in paths]
        ['a.png', 'a.svg']
    """
    lines = torch.stack([found.mean, found.lower, found.upper]).detach().double().cpu()
    _check_curve(found, lines, weights, slope)
    heading = plain(title)
    darkest = 1.0 if weights is None else full_scale(float(weights.max()), 1 / len(weights))
    behind: dict[str, Any] = {"x": _listed(found.x), "points": _listed(found.points)}
    behind |= {
        "weights": None if weights is None else _listed(weights),
        "slope": None if slope is None else _listed(slope),
    }
    told = numbers(heading, ["answer", "lower", "upper"], [], lines, darkest=darkest, **behind)
    return write_picture(
        path,
        lambda: _curve_figure(found, chosen, (plain(labels[0]), plain(labels[1])), heading, weights, slope),
        title=heading or "A fitted curve",
        story=_curve_story(found, chosen, weights),
        behind={**told, "values": _listed(lines)} if json else None,
    )


def widths(
    tried: Tensor,
    errors: Tensor,
    chosen: float,
    path: str | Path,
    *,
    label: str,
    title: str,
    json: bool = False,
) -> list[Path]:
    """Draw what each of some bandwidths errs by, and which one is taken.

    Args:
        tried: bandwidths, rising, above 0, `(widths,)`.
        errors: of each, at least 0, `(widths,)`.
        chosen: the one that is taken.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        label: what bandwidths are measured in.
        title: a line above the picture.
        json: whether the numbers are written beside it.

    Returns:
        The paths of the PNG and the SVG, and of the JSON if it is wanted.

    Raises:
        ShapeError: if there are more errors than bandwidths, or fewer.
        ArgumentError: if there are none, or numbers that are not finite.
        OSError: if the files cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     tried = torch.tensor([0.1, 1.0, 10.0])
        ...     paths = widths(tried, (tried - 1).square(), 1.0, f"{folder}/a", label="bandwidth", title="a kernel")
        >>> [path.name for path in paths]
        ['a.png', 'a.svg']
    """
    if tried.shape != errors.shape or tried.ndim != 1:
        raise ShapeError(f"errors: expected shape {tuple(tried.shape)}, got {tuple(errors.shape)}")
    if not len(tried) or not bool((errors.isfinite() & tried.isfinite() & (tried > 0)).all()):
        raise ArgumentError("tried: expected bandwidths above 0 with finite errors, got others")
    heading, best = plain(title), int(errors.argmin())
    told = f"least at {float(tried[best]):.4g} ({float(errors[best]):.4g}), taken is {chosen:.4g}"
    behind = numbers(heading, ["error"], [], errors[None], darkest=1.0, bandwidths=_listed(tried), chosen=chosen)
    return write_picture(
        path,
        lambda: _widths_figure(tried, errors, chosen, plain(label), heading),
        title=heading or "Bandwidth and error",
        story=f"error by leaving out: {told}",
        behind={**behind, "values": _listed(errors[None])} if json else None,
    )


def _check_curve(found: Curve, lines: Tensor, weights: Tensor | None, slope: Tensor | None) -> None:
    if not len(found.x) or lines.shape[1:] != found.x.shape:
        raise ShapeError(
            f"found: expected answers of the shape of x, got {tuple(lines.shape[1:])}, {tuple(found.x.shape)}"
        )
    if weights is not None and weights.shape != found.points.shape[:1]:
        raise ShapeError(f"weights: expected shape {tuple(found.points.shape[:1])}, got {tuple(weights.shape)}")
    if slope is not None and slope.shape != found.x.shape:
        raise ShapeError(f"slope: expected shape {tuple(found.x.shape)}, got {tuple(slope.shape)}")
    if not all(bool(part.isfinite().all()) for part in (lines, found.points, weights, slope) if part is not None):
        raise ArgumentError("found: expected finite numbers, got others")


def _style(words: str) -> dict[str, Any]:
    return {"family": families(words), "parse_math": False, "color": INK}


def _curve_figure(
    found: Curve, chosen: Answer, labels: tuple[str, str], title: str, weights: Tensor | None, slope: Tensor | None
) -> "Figure":
    from matplotlib.figure import Figure

    style, below = _style("".join([title, *labels])), weights is not None or slope is not None
    height = _HIGH + 1.15 + (_LOW + 0.15 if below else 0)
    figure = Figure(figsize=(_WIDE, height), dpi=DOTS)
    bottom = 0.6 + (_LOW + 0.15 if below else 0)
    upper = figure.add_axes((0.1, bottom / height, 0.87, _HIGH / height))
    _draw_curve(upper, found, chosen)
    framed(upper, ("" if below else labels[0], labels[1]), style, grid="y")
    upper.legend(frameon=False, prop={"family": style["family"], "size": 8.5}, labelcolor=INK, loc="best")
    if below:
        upper.tick_params(labelbottom=False)
        lower = figure.add_axes((0.1, 0.6 / height, 0.87, _LOW / height), sharex=upper)
        _draw_below(lower, found, chosen, weights, slope)
        framed(lower, (labels[0], "slope" if weights is None else "weight"), style, grid="y")
    figure.text(0.1, 1 - 0.28 / height, title, fontsize=12, **style)
    return figure


def _draw_curve(axes: "Axes", found: Curve, chosen: Answer) -> None:
    points = found.points.detach().cpu()
    if len(points):
        size = 14 if len(points) < 300 else 8
        axes.scatter(points[:, 0], points[:, 1], s=size, color=_POINT, alpha=0.6, linewidths=0, label="known points")
    x, mean = (part.detach().cpu().numpy() for part in (found.x, found.mean))
    lower, upper = (part.detach().cpu().numpy() for part in (found.lower, found.upper))
    axes.fill_between(x, lower, upper, color=_CURVE, alpha=0.12, linewidth=0, label="interval")
    axes.plot(x, mean, color=_CURVE, linewidth=1.8, label="answer")
    bar = [[chosen.mean - chosen.lower], [chosen.upper - chosen.mean]]
    axes.errorbar(
        [chosen.x], [chosen.mean], yerr=bar, fmt="s", color=_CHOSEN, markersize=6, capsize=3, elinewidth=1.3,
        label="asked", zorder=4,
    )  # fmt: skip


def _draw_below(axes: "Axes", found: Curve, chosen: Answer, weights: Tensor | None, slope: Tensor | None) -> None:
    """Bars at the known points, as long as their weights, or the slope of the curve; and where was asked."""
    if weights is not None:
        x, high = found.points[:, 0].detach().cpu(), weights.detach().cpu()
        axes.vlines(x, 0, high, color=_CURVE, linewidth=1.2)
        axes.set_ylim(0, float(high.max()) * 1.12 or 1.0)
    elif slope is not None:
        axes.plot(found.x.detach().cpu(), slope.detach().cpu(), color=_CURVE, linewidth=1.4)
        axes.axhline(0, color=FAINT, linewidth=0.6)
    axes.axvline(chosen.x, color=_CHOSEN, linewidth=1.1, linestyle=":")


def _widths_figure(tried: Tensor, errors: Tensor, chosen: float, label: str, title: str) -> "Figure":
    from matplotlib.figure import Figure

    style, height = _style(title + label), _HIGH + 1.15
    figure = Figure(figsize=(_WIDE, height), dpi=DOTS)
    axes = figure.add_axes((0.1, 0.6 / height, 0.87, _HIGH / height))
    axes.plot(tried.cpu(), errors.cpu(), color=_CURVE, linewidth=1.6, marker="o", markersize=3)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    plain_ticks(axes.xaxis)
    axes.axvline(chosen, color=_CHOSEN, linewidth=1.2, linestyle=":", label=f"taken: {chosen:.4g}")
    framed(axes, (label, "mean squared error, each point by all others"), style, grid="y")
    axes.legend(frameon=False, prop={"family": style["family"], "size": 9}, labelcolor=INK, loc="best")
    figure.text(0.1, 1 - 0.28 / height, title, fontsize=12, **style)
    return figure


def _curve_story(found: Curve, chosen: Answer, weights: Tensor | None) -> str:
    asked = f"{chosen.x:.4g} is answered by {chosen.mean:.4g}, from {chosen.lower:.4g} to {chosen.upper:.4g}"
    if weights is None or not len(weights):
        return asked
    best = int(weights.argmax())
    return (
        f"{asked}; the largest weight, {float(weights[best]):.3g}, has the point at {float(found.points[best, 0]):.4g}"
    )


def _listed(values: Tensor) -> Any:
    return rounded(values.detach().double().cpu().tolist(), significant=True)
