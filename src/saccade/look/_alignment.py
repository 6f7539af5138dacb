"""Pictures of alignments: target tokens in rows, source tokens in columns."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from saccade.look._figure import (
    FAINT,
    GRID,
    MANY_CELLS,
    Page,
    checked,
    draw_picture,
    full_scale,
    numbers,
    ramp,
    shortened,
)
from saccade.look._labels import Label, labels, plain, right_to_left, sentence, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELL, _SMALLEST = 0.27, 0.11  # inches: a cell in a picture of few tokens, and the smallest that can have a label
_USUAL, _LARGEST = 16.0, 40.0  # inches: the longer side beyond which cells shrink, and the largest side
_GAP = 0.06  # inches


def alignment(
    weights: Tensor,
    source: Sequence[str],
    target: Sequence[str],
    path: str | Path,
    *,
    title: str | None = None,
    verb: str = "attends to",
    axes: tuple[str, str] = ("read →", "written ↓"),
    scale: str = "weight",
    json: bool = False,
) -> list[Path]:
    """Draw the attention of each target token to the source tokens.

    Both sides are in logical order in every script: the first token is at the top left. If a letter and its marks are
    several tokens, one label spans their columns. Below and beside a matrix of characters stand the whole texts. The
    title ends with how sharp the rows are: the mean of their largest weights, beside an even share.

    Args:
        weights: `(len(target), len(source))`, finite, at least 0.
        source: the source tokens.
        target: the target tokens.
        path: without a suffix; a taken name gets -2, -3, ... appended.
        title: beginning of the line above the picture.
        verb: relation of a target token to the source token of its largest weight, for the words in the SVG.
        axes: names of the columns and of the rows.
        scale: name of the colour bar.
        json: write the numbers beside it.

    Raises:
        ShapeError: weights of another shape.
        ArgumentError: a side without tokens, or weights that are negative or not finite.

    Source:
        Bahdanau, Cho, Bengio 2015, section 5.2.1 and figure 3.

    Example:
        >>> import torch
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = alignment(torch.eye(2), ["le", "chat"], ["the", "cat"], f"{folder}/cat")
        >>> [path.name for path in paths]
        ['cat.png', 'cat.svg']
    """
    matrix = checked("weights", weights, (len(target), len(source)), least=0)
    heading = f"{plain(title or 'Attention').removesuffix('.')}: {_verdict(matrix)}"
    darkest = full_scale(float(matrix.max()), 1 / len(source))
    over, beside = (
        [label._replace(text=shortened(label.text)) for label in labels(tokens)] for tokens in (source, target)
    )
    whole = sentence(source), sentence(target)
    return draw_picture(
        path,
        lambda page: _draw(page, matrix, (over, beside), whole, axes, (scale, darkest)),
        [label.text for label in over + beside] + [*whole, *axes, scale],
        title=heading,
        kind="Alignment",
        story=_story(matrix, source, target, verb),
        behind=numbers(heading, target, source, matrix, darkest=darkest) if json else None,
    )


def _verdict(matrix: Tensor) -> str:
    largest, even = float(matrix.amax(1).mean()), 1 / matrix.shape[1]
    word = "sharp" if largest >= 0.5 else "spread" if largest >= 2 * even else "nearly even"
    return f"{word}, largest weight of a row {largest:.2f} on average (even: {even:.2f})"


def _draw(
    page: Page,
    matrix: Tensor,
    names: tuple[list[Label], list[Label]],
    whole: tuple[str, str],
    sides: tuple[str, str],
    scale: tuple[str, float],
) -> None:
    """Draw the matrix in squares, its labels, the whole texts and the colour bar."""
    (rows, columns), longest, (over, beside) = matrix.shape, max(matrix.shape), names
    cell = min(_CELL, max(_USUAL / longest, _SMALLEST), _LARGEST / longest)
    width, height, size = columns * cell, rows * cell, min(11.0, max(4.5, 72 * cell * 0.58))
    texts = [shortened(text, int(max(side, 6.0) * 10)) for text, side in zip(whole, (width, height), strict=True)]
    axes = page.axes(0, 0, width, height, ticks=False)
    grid: dict[str, Any] = {"edgecolors": GRID, "linewidth": 0.5} if cell > _SMALLEST else {}
    axes.pcolormesh(
        matrix.numpy(), cmap=ramp(), vmin=0.0, vmax=scale[1], rasterized=matrix.numel() > MANY_CELLS, **grid
    )
    axes.set(xlim=(0, columns), ylim=(rows, 0))
    upright = all(len(label.text) <= 2 or label.stop - label.start >= len(label.text) for label in over)
    turned: dict[str, Any] = {"va": "baseline"} if upright else {"rotation": 90, "va": "bottom"}
    every = max(1, round(_SMALLEST / cell))
    for label in over[::every]:
        rise = 2 * _GAP + (size * 0.3 / 72 if upright else 0)
        page.write((label.start + label.stop) / 2 * cell, -rise, label.text, size, ha="center", **turned)
        _span(axes, label, _GAP / cell, across=True)
    for label in beside[::every]:
        page.write(-2 * _GAP, (label.start + label.stop) / 2 * cell, label.text, size, ha="right", va="center")
        _span(axes, label, _GAP / cell, across=False)
    page.write(-2 * _GAP, -2 * _GAP, "\n".join(sides), 7.5, FAINT, ha="right")
    page.write(width / 2, height + 0.12, texts[0], 11, ha="center", va="top")
    if right_to_left(texts[0]):
        note = "read from right to left; in the matrix its first letter is at the left"
        page.write(width / 2, height + 0.4, note, 8, FAINT, ha="center", va="top")
    page.write(-0.75, height / 2, texts[1], 11, ha="right", va="center", rotation=90)
    page.colour_bar(scale[0], ramp(), (0.0, scale[1]), width + 0.15, 0, min(height, 2.0))


def _span(axes: "Axes", label: Label, gap: float, *, across: bool) -> None:
    """A rule beside the cells of a label of several tokens."""
    if label.stop - label.start > 1:
        ends, beside = [label.start + 0.2, label.stop - 0.2], [-gap, -gap]
        axes.plot(*((ends, beside) if across else (beside, ends)), color=FAINT, linewidth=0.8, clip_on=False)


def _story(matrix: Tensor, source: Sequence[str], target: Sequence[str], verb: str) -> str:
    """For each target token, in words, the source token of its largest weight."""
    names = ["".join(map(visible, token)) for token in source]
    best, where = matrix.max(-1)
    return "; ".join(
        f"{''.join(map(visible, token))} {verb} {names[column]} ({weight:.2f})"
        for token, column, weight in zip(target, where.tolist(), best.tolist(), strict=True)
    )
