"""A question about an image in one picture: the image, maps over it, the words of the question, and the answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look._figure import (
    COLOURS,
    INK,
    Page,
    checked,
    full_scale,
    numbers,
    ramp,
    rounded,
    shortened,
    write_picture,
)
from saccade.look._highlights import draw_word, lines_of
from saccade.look._images import Box, boxed, draw_panels, pixels_of, upsampled
from saccade.look._labels import plain
from saccade.look._overlays import largest_cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE, _BAR, _BARS, _WIDE = 0.34, 0.22, 2.2, 5.2  # inches: a line of words, a bar's line, a bar of 1, a text


def answered(
    image: Tensor,
    maps: Tensor,
    tokens: Sequence[str],
    path: str | Path,
    *,
    answers: Sequence[tuple[str, float]],
    captions: Sequence[str] = (),
    words: Tensor | None = None,
    boxes: Sequence[Box | None] | None = None,
    title: str = "",
    scale: str = "weight",
    even: float = 0.0,
    json: bool = False,
) -> list[Path]:
    """Draw an image, maps over it, the words of a question and the likeliest answers, as one picture.

    A map is brought to the image's size smoothly. The scale of colours ends at 1, or at the largest number of all maps
    if that is at most a half, but at the least at four even shares. At most eight maps are drawn.

    Args:
        image: `(channels, height, width)`, 1 channel or 3, in [0, 1], or uint8.
        maps: `(panels, rows, columns)`, finite, at least 0; no panels for a model that looks nowhere.
        tokens: words of the question.
        path: without a suffix; a taken name gets -2, -3, ... appended.
        answers: the likeliest, each with its probability.
        captions: a line above each map.
        words: a number for each word, finite, at least 0, or None.
        boxes: for each map a part of the image that is framed, as shares of it, or None.
        title: a line above the picture.
        scale: name of the colour bar.
        even: what each number of a map would be if all were equal; 0 for numbers that are not shares.
        json: write the numbers beside it.

    Returns:
        The paths of the PNG and the SVG, and of the JSON.

    Raises:
        ShapeError: other shapes.
        ArgumentError: no pixels, words or answers, or numbers that are negative or not finite.
        OSError: the files cannot be written.

    Source:
        Kazemi, Elqursh 2017, figure 1 (https://arxiv.org/abs/1704.03162), for answers beside weights; Xu et al. 2015,
        figure 5 (https://arxiv.org/abs/1502.03044), for weights brought to the image's size smoothly.

    Example:
        >>> import torch
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     maps, words = torch.rand(1, 4, 4), torch.tensor([0.1, 0.9])
        ...     more = {"answers": [("red", 0.9), ("blue", 0.1)], "captions": ["glimpse 1"]}
        ...     paths = answered(torch.rand(3, 9, 9), maps, ["what", "colour"], f"{folder}/a", words=words, **more)
        >>> [path.name for path in paths]
        ['a.png', 'a.svg']
    """
    if not answers or not tokens:
        raise ArgumentError(f"answers, tokens: expected one or more, got {len(answers)} and {len(tokens)}")
    if len(maps) != len(captions):
        raise ShapeError(f"maps: expected shape ({len(captions)}, rows, columns), got {tuple(maps.shape)}")
    pixels, values = (
        pixels_of(image),
        checked("maps", maps, ("panels", "rows", "columns"), least=0) if len(maps) else maps,
    )
    scores = None if words is None else checked("words", words, (len(tokens),), least=0)
    heading, names, frames = plain(title), [plain(caption) for caption in captions], boxed(boxes, len(values))
    top = full_scale(float(values.max()), even) if len(values) else 1.0
    smooth = upsampled(values, (pixels.shape[0], pixels.shape[1]))
    shown = [shortened(plain(token)) for token in tokens]
    told = [(shortened(plain(answer)), share) for answer, share in answers]

    def figure() -> "Figure":
        page = Page([*names, *shown, *(answer for answer, _ in told), heading, scale])
        height, rest = draw_panels(page, pixels, smooth, names, frames, top, scale)
        height = _draw_words(page, height, shown, scores)
        _draw_answers(page, height, told)
        return page.finished(heading, below=rest)

    said = [" ".join(tokens), "; ".join(f"{answer} {share:.2f}" for answer, share in answers)]
    said += largest_cells(values, names, [None] * len(names))
    if scores is not None:
        said.append(", ".join(f"{token} {score:.2f}" for token, score in zip(tokens, scores.tolist(), strict=True)))
    more: dict[str, Any] = {} if boxes is None else {"boxes": frames}
    more |= {"darkest": top, "answers": [{"answer": name, "probability": round(share, 6)} for name, share in answers]}
    return write_picture(
        path,
        figure,
        title=heading or "A question about an image",
        story=plain("; ".join(said)),
        behind=_behind(heading, captions, tokens, values, scores, **more) if json else None,
    )


def _behind(
    title: str, captions: Sequence[str], tokens: Sequence[str], maps: Tensor, words: Tensor | None, **more: Any
) -> dict[str, Any]:
    """The numbers of the maps and of the words; those of the words as rows if there are no maps."""
    scores = None if words is None else rounded(words)
    if len(maps):
        return numbers(title, captions, [], maps, tokens=list(tokens), words=scores, **more)
    return numbers(title, ["words"], tokens, [scores or [0.0] * len(tokens)], **more)


def _draw_words(page: Page, top: float, words: Sequence[str], scores: Tensor | None) -> float:
    """Draw the question, each word as dark as its number is large; return where its last line ends."""
    widths = [page.width_of(word, 11) for word in words]
    peak = 0.0 if scores is None else float(scores.max()) or 1.0
    places = lines_of(widths, _WIDE)
    axes = page.axes(0, top, _WIDE, (1 + max(line for _, line in places)) * _LINE, ticks=False)
    axes.set(xlim=(0, _WIDE), ylim=(axes.bbox.height / page.figure.dpi, 0))
    axes.axis("off")
    for number, (left, line) in enumerate(places):
        share = 0.0 if scores is None else float(scores[number]) / peak
        draw_word(axes, words[number], (left, (line + 0.5) * _LINE, widths[number]), ramp()(share), share, 11)
    return top + (1 + max(line for _, line in places)) * _LINE + 0.15


def _draw_answers(page: Page, top: float, answers: Sequence[tuple[str, float]]) -> None:
    """A bar for each answer, with its probability in front and its name behind."""
    axes = page.axes(0.45, top, _BARS, _BAR * len(answers))
    axes.barh(range(len(answers)), [share for _, share in answers], height=0.62, color=COLOURS[4], linewidth=0)
    axes.set(xlim=(0, 1), ylim=(len(answers) - 0.5, -0.5))
    axes.axis("off")
    for number, (answer, share) in enumerate(answers):
        middle = top + (number + 0.5) * _BAR
        page.write(0.4, middle, f"{share:.2f}", 8, INK, ha="right", va="center")
        page.write(0.5 + _BARS * share, middle, answer, 9, INK, va="center")
