"""Pictures of attention, as PNG and SVG. matplotlib is imported when the first is drawn."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look.drawing import full_scale, numbers, write_picture
from saccade.look.labels import Label, labels, plain, right_to_left, sentence, visible
from saccade.look.typefaces import families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL, SMALLEST = 0.27, 0.11  # inches: a cell in a picture of few tokens, and the smallest that can have a label
USUAL, LARGEST = 16.0, 40.0  # inches: the longer side beyond which cells shrink, and beyond which pictures do not grow
DOTS = 150  # an inch
LONGEST = 40  # characters of a label
MANY_CELLS = 20_000  # beyond, the SVG holds the cells as one image
INK, FAINT, GRID = "#22223a", "#8d8da5", "#eef0f6"
#: Lightness falls evenly from no weight to all of it.
COLOURS = ("#ffffff", "#e6eaf7", "#b9c6ea", "#7f9bd9", "#4a6dbf", "#27459a", "#141f63", "#0a0b33")


def alignment(
    weights: Tensor,
    source: Sequence[str],
    target: Sequence[str],
    path: str | Path,
    *,
    title: str | None = None,
    verb: str = "attends to",
    json: bool = False,
) -> list[Path]:
    """Draw which source tokens each target token attended to (as figure 3 of Bahdanau, Cho, Bengio 2015).

    One row a target token, one column a source token, both in logical order: the first is at the top left, whatever
    way its script runs. The matrix stays what the model computed; where a letter and its marks are several tokens, one
    label spans their columns. Characters are also put together again, to be read below and beside the matrix.

    Args:
        weights: `(len(target), len(source))`, finite, at least 0.
        source: the source tokens.
        target: the target tokens.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        title: a line above the picture.
        verb: what a target token does to the source token with its largest weight, in the words that the SVG tells.
        json: whether the numbers are written beside it.

    Returns:
        The paths of the PNG and the SVG, and of the JSON if it is wanted.

    Raises:
        ShapeError: if the weights' shape is not that of the tokens.
        ArgumentError: if there are no tokens on a side, or weights that are negative or not finite.
        OSError: if the files cannot be written.

    Source:
        Bahdanau, Cho, Bengio 2015, section 5.2.1 and figure 3.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = alignment(torch.eye(2), ["le", "chat"], ["the", "cat"], f"{folder}/cat")
        >>> [path.name for path in paths]
        ['cat.png', 'cat.svg']
    """
    matrix, heading = _checked(weights, source, target), plain(title or "")
    darkest = full_scale(float(matrix.max()), 1 / len(source))
    return write_picture(
        path,
        lambda: _figure(matrix, _names(source), _names(target), (sentence(source), sentence(target)), heading),
        title=heading or "Attention alignment",
        story=_story(matrix, source, target, verb),
        behind=numbers(heading, target, source, matrix, darkest=darkest) if json else None,
    )


def _names(tokens: Sequence[str]) -> list[Label]:
    """Labels, long ones cut."""
    found = labels(tokens)
    return [each if len(each.text) <= LONGEST else each._replace(text=each.text[: LONGEST - 1] + "…") for each in found]


def _checked(weights: Tensor, source: Sequence[str], target: Sequence[str]) -> Tensor:
    matrix = torch.as_tensor(weights).detach().to("cpu", torch.float64)
    if matrix.shape != (len(target), len(source)):
        raise ShapeError(
            f"weights: expected shape {(len(target), len(source))}, a row a target and a column a source token, "
            f"got {tuple(matrix.shape)}; pick one example and one head"
        )
    if not matrix.numel():
        raise ArgumentError(f"source, target: expected a token or more each, got {len(source)} and {len(target)}")
    if not bool((torch.isfinite(matrix) & (matrix >= 0)).all()):
        raise ArgumentError("weights: expected finite numbers of at least 0, got others; scores are no weights")
    return matrix


def _figure(
    matrix: Tensor, source: list[Label], target: list[Label], sentences: tuple[str, str], title: str
) -> "Figure":
    """The whole picture, laid out in inches so that its cells are squares of a readable size."""
    from matplotlib.figure import Figure

    rows, columns = matrix.shape
    cell = _cell(max(rows, columns))
    width, height = columns * cell, rows * cell
    texts = [label.text for label in source + target] + [*sentences, title, "0.5…"]
    figure = Figure(figsize=(width, height), dpi=DOTS)
    axes = figure.add_axes((0, 0, 1, 1))
    image = _cells(axes, matrix, cell)
    style = {"family": families("".join(texts)), "parse_math": False, "color": INK}
    size = min(11.0, max(4.5, 72 * cell * 0.58))
    _name_columns(axes, source, cell, {**style, "fontsize": size})
    _name_rows(axes, target, cell, {**style, "fontsize": size})
    _write_around(figure, (width, height), sentences, title, style)
    _scale(figure, image, (width, height), style)
    return figure


def _cell(count: int) -> float:
    """The side of a cell in inches, for the longer side's number of tokens."""
    return min(CELL, max(USUAL / count, SMALLEST), LARGEST / count)


def _cells(axes: "Axes", matrix: Tensor, cell: float) -> Any:
    """The matrix as squares, with lines between them where they are large enough; the first row on top."""
    from matplotlib.colors import LinearSegmentedColormap

    rows, columns = matrix.shape
    grid: dict[str, Any] = {"edgecolors": GRID, "linewidth": 0.5} if cell > SMALLEST else {}
    image = axes.pcolormesh(
        matrix.numpy(),
        cmap=LinearSegmentedColormap.from_list("saccade", COLOURS),
        vmin=0.0,
        vmax=full_scale(float(matrix.max()), 1 / columns),
        rasterized=matrix.numel() > MANY_CELLS,
        **grid,
    )
    axes.set(xlim=(0, columns), ylim=(rows, 0), xticks=[], yticks=[])
    axes.spines[:].set(color=FAINT, linewidth=0.5)
    return image


def _name_columns(axes: "Axes", names: list[Label], cell: float, style: dict[str, Any]) -> None:
    """Source labels above their columns, upright where all are short; a rule under a label that spans several."""
    upright = all(len(label.text) <= 2 or label.stop - label.start >= len(label.text) for label in names)
    gap = -0.06 / cell
    place: dict[str, Any] = {"rotation": 0, "va": "baseline"} if upright else {"rotation": 90, "va": "bottom"}
    rise = 2 * gap - (style["fontsize"] * 0.3 / 72 / cell if upright else 0)
    for label in _legible(names, cell):
        middle = (label.start + label.stop) / 2
        axes.text(middle, rise, label.text, ha="center", **place, **style)
        if label.stop - label.start > 1:
            axes.plot([label.start + 0.2, label.stop - 0.2], [gap, gap], color=FAINT, linewidth=0.8, clip_on=False)


def _name_rows(axes: "Axes", names: list[Label], cell: float, style: dict[str, Any]) -> None:
    """Target labels before their rows."""
    gap = -0.06 / cell
    for label in _legible(names, cell):
        middle = (label.start + label.stop) / 2
        axes.text(2 * gap, middle, label.text, ha="right", va="center", **style)
        if label.stop - label.start > 1:
            axes.plot([gap, gap], [label.start + 0.2, label.stop - 0.2], color=FAINT, linewidth=0.8, clip_on=False)


def _legible(names: list[Label], cell: float) -> list[Label]:
    """All labels, or every so many where cells are too small for each to have its own."""
    return names[:: max(1, round(SMALLEST / cell))]


def _write_around(
    figure: "Figure", size: tuple[float, float], sentences: tuple[str, str], title: str, style: dict[str, Any]
) -> None:
    """The source text below, the target text at the left, the title above whatever stands above the matrix."""
    width, height = size
    source, target = (_fitting(text, side) for text, side in zip(sentences, size, strict=True))
    figure.text(0.5, -0.12 / height, source, ha="center", va="top", fontsize=11, **style)
    if right_to_left(source):
        note = "read from right to left; in the matrix its first letter is at the left"
        figure.text(0.5, -0.4 / height, note, ha="center", va="top", fontsize=8, **{**style, "color": FAINT})
    figure.text(-0.5 / width, 0.5, target, ha="right", va="center", rotation=90, fontsize=11, **style)
    if title:
        top = max(text.get_window_extent().y1 for axes in figure.axes for text in axes.texts) / (height * figure.dpi)
        figure.text(0.5, top + 0.15 / height, _fitting(title, width), ha="center", va="bottom", fontsize=12, **style)


def _fitting(text: str, side: float) -> str:
    """As much of a text as stands along a side of so many inches, and no less than a line of six."""
    room = int(max(side, 6.0) * 10)
    return text if len(text) <= room else text[: room - 1] + "…"


def _scale(figure: "Figure", image: Any, size: tuple[float, float], style: dict[str, Any]) -> None:
    """The colours' meaning, at the right."""
    width, height = size
    long = min(height, 2.0)
    axes = figure.add_axes((1 + 0.15 / width, 1 - long / height, 0.1 / width, long / height))
    bar = figure.colorbar(image, cax=axes)
    bar.outline.set(edgecolor=FAINT, linewidth=0.5)
    axes.tick_params(length=2, width=0.5, labelsize=7, color=FAINT, labelcolor=style["color"])
    top = image.norm.vmax * (1 + 1e-6)
    ticks = [tick for tick in axes.get_yticks() if 0 <= tick <= top]  # one beyond it would stretch the bar
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], family=style["family"])


def _story(matrix: Tensor, source: Sequence[str], target: Sequence[str], verb: str) -> str:
    """What the picture shows, in words: for each target token the source token with its largest weight."""
    shown = ["".join(map(visible, token)) for token in source]
    best, where = matrix.max(-1)
    rows = zip(target, where.tolist(), best.tolist(), strict=True)
    named = (("".join(map(visible, token)), shown[j], weight) for token, j, weight in rows)
    return "; ".join(f"{token} {verb} {key} ({weight:.2f})" for token, key, weight in named)
