"""Pictures of alignments: target tokens in rows, source tokens in columns."""

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

from torch import Tensor

from saccade.look._figure import (
    BOTH,
    COLOURS,
    FAINT,
    Page,
    checked,
    draw_cells,
    draw_picture,
    numbers,
    ramp,
    scale_ends,
)
from saccade.look._labels import labels, right_to_left, sentence, shortened, visible

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
    signed: bool = False,
    json: bool = False,
) -> list[Path]:
    """Draw the attention of each target token to the source tokens.

    Both sides are in logical order in every script: the first token is at the top left. If a letter and its marks are
    several tokens, one label spans their columns. Below and beside a matrix of characters stand the whole texts. The
    title ends with how sharp the rows are: the mean of their largest weights, beside an even share.

    Args:
        weights: `(len(target), len(source))`, finite, at least 0 unless they are signed.
        source: the source tokens.
        target: the target tokens.
        title: beginning of the line above the picture.
        verb: relation of a target token to the source token of its largest weight, for the words in the SVG.
        axes: names of the columns and of the rows.
        scale: name of the colour bar.
        signed: whether weights may be negative, as derivatives are. Colours then diverge: blue above 0, orange below,
            and 0 is white. The title ends with the range.
        path, json: as of every picture (see `saccade.look`).

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
    matrix = checked("weights", weights, (len(target), len(source)), least=-inf if signed else 0)
    largest, even = float(matrix.amax(1).mean()), 1 / len(source)
    sharpness = "sharp" if largest >= 0.5 else "spread" if largest >= 2 * even else "nearly even"
    verdict = f"{sharpness}, largest weight of a row {largest:.2f} on average (even: {even:.2f})"
    bounds = scale_ends(matrix, even, signed=signed)
    if signed:
        verdict = f"from {float(matrix.min()):.2g} to {float(matrix.max()):.2g}"

    def draw(page: Page) -> None:
        colours = ramp(BOTH if signed else COLOURS)
        (rows, columns), longest, (over, beside) = matrix.shape, max(matrix.shape), map(labels, (source, target))
        cell = min(_CELL, max(_USUAL / longest, _SMALLEST), _LARGEST / longest)
        width, height, size = columns * cell, rows * cell, min(11.0, max(4.5, 72 * cell * 0.58))
        drawn = page.axes(0, 0, width, height, ticks=False)
        draw_cells(drawn, matrix, lines=cell > _SMALLEST, cmap=colours, vmin=bounds[0], vmax=bounds[1])
        drawn.set(xlim=(0, columns), ylim=(rows, 0))
        upright = all(len(label.text) <= 2 or label.stop - label.start >= len(label.text) for label in over)
        turned: dict[str, Any] = {"va": "baseline"} if upright else {"rotation": 90, "va": "bottom"}
        rise, every = 2 * _GAP + (size * 0.3 / 72 if upright else 0), max(1, round(_SMALLEST / cell))
        for names, across in ((over, True), (beside, False)):
            for start, stop, text in names[::every]:
                middle, text = (start + stop) / 2 * cell, shortened(text)
                if across:
                    page.write(middle, -rise, text, size, ha="center", **turned)
                else:
                    page.write(-2 * _GAP, middle, text, size, ha="right", va="center")
                if stop - start > 1:  # a rule beside the cells
                    ends, apart = [start + 0.2, stop - 0.2], [-_GAP / cell] * 2
                    drawn.plot(*((ends, apart) if across else (apart, ends)), color=FAINT, linewidth=0.8, clip_on=False)
        page.write(-2 * _GAP, -2 * _GAP, "\n".join(axes), 7.5, FAINT, ha="right")
        below, left = (
            shortened(sentence(tokens), int(max(side, 6.0) * 10))
            for tokens, side in ((source, width), (target, height))
        )
        page.write(width / 2, height + 0.12, below, 11, ha="center", va="top")
        if right_to_left(below):
            note = "read from right to left; in the matrix its first letter is at the left"
            page.write(width / 2, height + 0.4, note, 8, FAINT, ha="center", va="top")
        page.write(-0.75, height / 2, left, 11, ha="right", va="center", rotation=90)
        page.colour_bar(scale, colours, bounds, (width + 0.15, 0), min(height, 2.0))

    best = zip(target, matrix, matrix.abs().argmax(-1).tolist(), strict=True)
    story = (f"{visible(token)} {verb} {visible(source[at])} ({float(row[at]):.2f})" for token, row, at in best)
    heading = f"{(title or 'Attention').removesuffix('.')}: {verdict}"
    behind = numbers(target, source, matrix, darkest=bounds[1]) if json else None
    more = {"name": title or "", "verb": verb, "axes": axes, "scale": scale}
    return draw_picture(path, draw, heading, "Alignment", story, behind, more=more)
