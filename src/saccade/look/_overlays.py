"""An image under maps, a panel each, with a question about it and its answers."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look._figure import COLOURS, Page, checked, draw_picture, full_scale, numbers, ramp, rounded, shortened
from saccade.look._highlights import draw_word, lines_of
from saccade.look._images import Box, boxed, draw_panels, pixels_of, upsampled, word_by_word
from saccade.look._labels import plain

Position = tuple[int, int]
"""Row and column of a cell."""

_LINE, _BAR, _BARS, _WIDE = 0.34, 0.22, 2.2, 5.2  # inches: a line of words, a bar's line, a bar of 1, a text


def overlays(
    image: Tensor,
    maps: Tensor,
    path: str | Path,
    *,
    captions: Sequence[str],
    marks: Sequence[Position | None] | None = None,
    boxes: Sequence[Box | None] | None = None,
    smooth: bool = False,
    question: Sequence[str] = (),
    words: Tensor | None = None,
    answers: Sequence[tuple[str, float]] = (),
    title: str | None = None,
    scale: str = "weight",
    even: float = 0.0,
    animated: bool = False,
    json: bool = False,
) -> list[Path]:
    """Draw an image, the image in grey under each map, and a question with answers.

    All maps share one scale of colours, from 0 to 1, or to the largest number if that is at most a half or above 1, but
    at the least to four even shares. At most eight are drawn; a line below names the others.

    Args:
        image: `(channels, height, width)`, 1 channel or 3, in [0, 1], or uint8.
        maps: `(panels, rows, columns)`, finite, at least 0; a cell covers its part of the image. No panels for a model
            that answers without looking.
        path: without a suffix; a taken name gets -2, -3, ... appended.
        captions: a line above each map.
        marks: for each map the row and column of a cell that is framed, such as the position that attends, or None.
        boxes: for each map a part of the image that is framed instead, as shares of it, or None.
        smooth: bring maps to the image's size smoothly.
        question: words of a question about the image.
        words: a number for each word of it, finite, at least 0, or None.
        answers: the likeliest, each with its probability.
        title: a line above the picture.
        scale: name of the colour bar.
        even: an even share of a map; 0 for numbers that are not shares.
        animated: write a GIF too that shows one map after another, the captions as the words of a sentence.
        json: write the numbers beside it.

    Raises:
        ShapeError: other shapes, or captions, marks or boxes that are not one a map.
        ArgumentError: no pixels, neither maps nor answers, numbers that are negative or not finite, or a mark outside
            its map.

    Source:
        Zhang et al. 2019, "Self-Attention Generative Adversarial Networks", figure 5, for query
        positions and their weights. Kazemi, Elqursh 2017, figure 1 (https://arxiv.org/abs/1704.03162), for answers.

    Example:
        >>> import torch
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = overlays(torch.rand(3, 8, 8), torch.rand(1, 4, 4), f"{folder}/cat", captions=["head 1"])
        >>> [path.name for path in paths]
        ['cat.png', 'cat.svg']
    """
    pixels, heading = pixels_of(image), plain(title or "")
    values = checked("maps", maps, (len(captions), "rows", "columns"), least=0) if len(maps) or not answers else maps
    scores = None if words is None else checked("words", words, (len(question),), least=0)
    names, asking = ([shortened(plain(text), 28) for text in texts] for texts in (captions, question))
    likeliest = [(shortened(plain(answer)), share) for answer, share in answers]
    cells = _marked(marks, values)
    frames = [_box(cell, values.shape[1:]) for cell in cells] if boxes is None else boxed(boxes, len(values))
    drawn = upsampled(values, (pixels.shape[0], pixels.shape[1])) if smooth else values
    darkest = full_scale(float(values.max()), even, math.inf) if len(values) else 1.0

    def draw(page: Page) -> str:
        height, rest = draw_panels(page, pixels, drawn, names, frames, darkest, scale)
        if asking:
            height = _draw_words(page, height, asking, scores)
        if likeliest:
            _draw_answers(page, height, likeliest)
        return rest

    table: tuple[Any, ...] = (captions, [], values)
    more: dict[str, Any] = {"marks": cells, "darkest": darkest} | ({} if boxes is None else {"boxes": frames})
    if question:
        more |= {"tokens": list(question), "words": None if scores is None else rounded(scores)}
        more |= {"answers": [{"answer": answer, "probability": round(share, 6)} for answer, share in answers]}
        if not len(values):
            table = ["words"], question, [more["words"] or [0.0] * len(question)]
    return draw_picture(
        path,
        draw,
        [*names, *asking, *(answer for answer, _ in likeliest), scale],
        title=heading,
        kind="Maps over an image",
        story=_story(values, names, cells, question, scores, answers),
        behind=numbers(heading, *table, **more) if json else None,
        pages={".gif": lambda: word_by_word(pixels, drawn, names, frames, darkest)} if animated else None,
    )


def _marked(marks: Sequence[Position | None] | None, maps: Tensor) -> list[Position | None]:
    cells: list[Position | None] = [None] * len(maps) if marks is None else list(marks)
    if len(cells) != len(maps):
        raise ShapeError(f"marks: expected a cell or None for each of {len(maps)} maps, got {len(cells)}")
    rows, columns = maps.shape[1:]
    for cell in cells:
        if cell is not None and not (0 <= cell[0] < rows and 0 <= cell[1] < columns):
            raise ArgumentError(f"marks: expected a row and a column of a map {rows} × {columns}, got {cell}")
    return cells


def _box(cell: Position | None, shape: Sequence[int]) -> Box | None:
    if cell is None:
        return None
    (row, column), (rows, columns) = cell, shape
    return column / columns, row / rows, (column + 1) / columns, (row + 1) / rows


def _story(
    maps: Tensor,
    names: Sequence[str],
    marks: Sequence[Position | None],
    question: Sequence[str],
    words: Tensor | None,
    answers: Sequence[tuple[str, float]],
) -> str:
    """Question and answers, the largest number of each map, and numbers of the words."""
    parts = [" ".join(question)] if question else []
    parts += ["; ".join(f"{answer} {share:.2f}" for answer, share in answers)] if answers else []
    for name, matrix, mark in zip(names, maps, marks, strict=True):
        row, column = divmod(int(matrix.argmax()), matrix.shape[1])
        at = "" if mark is None else f" from row {mark[0] + 1}, column {mark[1] + 1}"
        parts.append(f"{name}{at}: most at row {row + 1}, column {column + 1} ({float(matrix.max()):.2f})")
    if words is not None:
        parts.append(", ".join(f"{word} {score:.2f}" for word, score in zip(question, words.tolist(), strict=True)))
    return plain("; ".join(parts))


def _draw_words(page: Page, top: float, words: Sequence[str], scores: Tensor | None) -> float:
    """Draw the question, words as dark as their numbers are large, and return its end."""
    widths = [page.width_of(word, 11) for word in words]
    peak = 0.0 if scores is None else float(scores.max()) or 1.0
    starts = lines_of(widths, _WIDE)
    high = (1 + starts[-1][1]) * _LINE
    axes = page.axes(0, top, _WIDE, high, ticks=False)
    axes.set(xlim=(0, _WIDE), ylim=(high, 0))
    axes.axis("off")
    for number, (left, line) in enumerate(starts):
        share = 0.0 if scores is None else float(scores[number]) / peak
        draw_word(axes, words[number], (left, (line + 0.5) * _LINE, widths[number]), ramp()(share), share, 11)
    return top + high + 0.15


def _draw_answers(page: Page, top: float, answers: Sequence[tuple[str, float]]) -> None:
    """A bar for each answer, with its probability in front and its name behind."""
    axes = page.axes(0.45, top, _BARS, _BAR * len(answers))
    axes.barh(range(len(answers)), [share for _, share in answers], height=0.62, color=COLOURS[4], linewidth=0)
    axes.set(xlim=(0, 1), ylim=(len(answers) - 0.5, -0.5))
    axes.axis("off")
    for number, (answer, share) in enumerate(answers):
        middle = top + (number + 0.5) * _BAR
        page.write(0.4, middle, f"{share:.2f}", 8, ha="right", va="center")
        page.write(0.5 + _BARS * share, middle, answer, 9, va="center")
