"""A question about an image in one picture: where was looked, which words asked for it, and what was answered."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.errors import ArgumentError, ShapeError
from saccade.look.drawing import full_scale, numbers, write_picture
from saccade.look.labels import plain
from saccade.look.panels import Box, boxed, draw_frame, upsampled
from saccade.look.pictures import COLOURS, DOTS, FAINT, INK
from saccade.look.typefaces import families

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MOST_MAPS", "answered"]

_PANEL, _GAP, _CAPTION, _EDGE = 1.9, 0.15, 0.28, 0.05  # inches: a panel, between two, a line above it, around a word
_LINE, _BAR, _BARS = 0.34, 0.22, 2.2  # inches: a line of words, a bar's line, and how long a bar of 1 is
MOST_MAPS = 64  # in one picture
_COLUMNS = 4
_FINEST = 400  # pixels of the longer side that are drawn
_LONGEST = 40  # characters of a word
_CMAP, _DIM = "inferno", 0.25


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
    even: float = 0.0,
    json: bool = False,
) -> list[Path]:
    """Draw an image, maps over it, the words of a question and the likeliest answers, as one picture.

    A map is brought to the image's size smoothly, so that what is largest lies where its cell does. The brightest
    colour of all maps is 1, or their largest number where none is above a half, but at the least four times an even
    share.

    Args:
        image: `(channels, height, width)`, 1 channel or 3, in [0, 1], or uint8.
        maps: `(panels, rows, columns)`, finite, at least 0; no panels where nothing was looked at.
        tokens: words of the question.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        answers: the likeliest, each with its probability.
        captions: a line above each map.
        words: a number for each word, finite, at least 0; None where words have none.
        boxes: for each map a part of the image that is framed, as shares of it; None for none.
        title: a line above the picture.
        even: what each number of a map would be if all were alike, 0 where they are no shares.
        json: whether the numbers are written beside it.

    Returns:
        The paths of the PNG and the SVG, and of the JSON if it is wanted.

    Raises:
        ShapeError: if the shapes are others.
        ArgumentError: if there are no pixels, no answers or too many maps, or numbers that are negative or not finite.
        OSError: if the files cannot be written.

    Source:
        Kazemi, Elqursh 2017, figure 1 (https://arxiv.org/abs/1704.03162), for answers beside weights; Xu et al. 2015,
        figure 5 (https://arxiv.org/abs/1502.03044), for weights brought to the image's size smoothly.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     told = {"answers": [("red", 0.9), ("blue", 0.1)], "captions": ["glimpse 1"]}
        ...     maps, words = torch.rand(1, 4, 4), torch.tensor([0.1, 0.9])
        ...     paths = answered(torch.rand(3, 9, 9), maps, ["what", "colour"], f"{folder}/a", words=words, **told)
        >>> [path.name for path in paths]
        ['a.png', 'a.svg']
    """
    pixels, values, scores = _checked(image, maps, tokens, words, captions, answers)
    heading, names = plain(title), [plain(caption) for caption in captions]
    top = full_scale(float(values.max()), even) if len(values) else 1.0
    shown = [_cut(plain(token)) for token in tokens]
    frames = boxed(boxes, len(values))
    told = [(_cut(plain(answer)), share) for answer, share in answers]
    said = [{"answer": answer, "probability": round(share, 6)} for answer, share in answers]
    more: dict[str, Any] = {} if boxes is None else {"boxes": frames}
    behind = _behind(heading, captions, tokens, values, scores, darkest=top, answers=said, **more)
    return write_picture(
        path,
        lambda: _figure(pixels, values, names, frames, shown, scores, told, heading, top),
        title=heading or "A question about an image",
        story=plain(_story(values, names, tokens, scores, answers)),
        behind=behind if json else None,
    )


def _behind(
    title: str, captions: Sequence[str], tokens: Sequence[str], maps: Tensor, words: Tensor | None, **more: Any
) -> dict[str, Any]:
    """The numbers of the maps with those of the words; of words alone where nothing was looked at."""
    if not len(maps):
        return numbers(title, ["words"], tokens, torch.zeros(1, len(tokens)) if words is None else words[None], **more)
    scores = None if words is None else [round(one, 6) for one in words.tolist()]
    return numbers(title, captions, [], maps, tokens=list(tokens), words=scores, **more)


def _checked(
    image: Tensor,
    maps: Tensor,
    tokens: Sequence[str],
    words: Tensor | None,
    captions: Sequence[str],
    answers: Sequence[tuple[str, float]],
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The image as `(3, height, width)` in [0, 1], the maps, and the words' numbers."""
    if image.ndim != 3 or image.shape[0] not in (1, 3):
        raise ShapeError(f"image: expected shape (1 or 3, height, width), got {tuple(image.shape)}")
    if maps.ndim != 3 or len(maps) != len(captions):
        raise ShapeError(f"maps: expected shape ({len(captions)}, rows, columns), got {tuple(maps.shape)}")
    if words is not None and words.shape != (len(tokens),):
        raise ShapeError(f"words: expected shape ({len(tokens)},), got {tuple(words.shape)}")
    if not image.numel() or len(maps) > MOST_MAPS or not answers or not tokens:
        got = f"{tuple(image.shape)}, {len(maps)} maps, {len(answers)} answers and {len(tokens)} words"
        expected = f"pixels, at most {MOST_MAPS} maps, an answer and a word or more"
        raise ArgumentError(f"image: expected {expected}, got {got}")
    pixels = (image.detach().cpu().double() / (1 if image.is_floating_point() else 255)).expand(3, -1, -1)
    values = maps.detach().to("cpu", torch.float64)
    scores = None if words is None else words.detach().to("cpu", torch.float64)
    for name, part in (("maps", values), ("words", scores)):
        if part is not None and not bool((part.isfinite() & (part >= 0)).all()):
            raise ArgumentError(f"{name}: expected finite numbers of at least 0, got others")
    share = min(1.0, _FINEST / max(pixels.shape[1:]))
    size = [max(1, round(side * share)) for side in pixels.shape[1:]]
    return F.interpolate(pixels[None], size, mode="area")[0].clamp(0, 1), values, scores


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _figure(
    pixels: Tensor,
    values: Tensor,
    names: Sequence[str],
    frames: Sequence[Box | None],
    tokens: Sequence[str],
    scores: Tensor | None,
    answers: Sequence[tuple[str, float]],
    title: str,
    top: float,
) -> "Figure":
    """The image and its maps in rows, below them the words, and below these the answers; laid out in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style: dict[str, Any] = {"family": families("".join([*names, *tokens, *(a for a, _ in answers), title]))}
    style["parse_math"] = False
    rows, columns = pixels.shape[1:]
    high, wide = (_PANEL * max(0.2, min(1.0, side / other)) for side, other in ((rows, columns), (columns, rows)))
    across = min(_COLUMNS, 1 + len(values))
    down = math.ceil((1 + len(values)) / across)
    width = max(across * (wide + _GAP), 5.2)
    figure = Figure(figsize=(width, 1), dpi=DOTS)
    renderer = FigureCanvasAgg(figure).get_renderer()
    spread = [_extent(figure, renderer, token, style) for token in tokens]
    places, lines = _laid_out(spread, width)
    panels, text, bars = down * (high + _CAPTION + _GAP), lines * _LINE + _GAP, len(answers) * _BAR + _GAP
    height = panels + text + bars
    figure.set_size_inches(width, height)
    for number in range(1 + len(values)):
        line, column = divmod(number, across)
        left, bottom = column * (wide + _GAP), height - line * (high + _CAPTION + _GAP) - _CAPTION - high
        axes = figure.add_axes((left / width, bottom / height, wide / width, high / height))
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(color=FAINT, linewidth=0.5)
        _panel(axes, pixels, values[number - 1] if number else None, top, frames[number - 1] if number else None)
        axes.set_title(names[number - 1] if number else "", fontsize=8, pad=3, color=INK, **style)
    axes = figure.add_axes((0, 0, 1, (text + bars) / height))
    axes.set(xlim=(0, width), ylim=(text + bars, 0))
    axes.axis("off")
    _words(axes, tokens, scores, spread, places, style)
    _answers(axes, answers, text, style)
    if title:
        figure.text(0, 1 - 0.1 / height, title[:120], ha="left", va="bottom", fontsize=11, color=INK, **style)
    return figure


def _extent(figure: "Figure", renderer: Any, text: str, style: dict[str, Any]) -> float:
    """How wide a word is, in inches."""
    drawn = figure.text(0, 0, text, fontsize=11, **style)
    width = float(drawn.get_window_extent(renderer).width) / DOTS
    drawn.remove()
    return width


def _laid_out(spread: Sequence[float], width: float) -> tuple[list[tuple[float, int]], int]:
    """Where each word begins and in which line, and how many lines there are."""
    left, line, places = _EDGE, 0, list[tuple[float, int]]()
    for extent in spread:
        if left > _EDGE and left + extent + _EDGE > width:
            left, line = _EDGE, line + 1
        places.append((left, line))
        left += extent + 3 * _EDGE
    return places, line + 1


def _panel(axes: Any, pixels: Tensor, values: Tensor | None, top: float, frame: Box | None) -> None:
    """The image, or the image in grey below a map, the more of whose colour is seen the larger its number."""
    if values is None:
        axes.imshow(pixels.permute(1, 2, 0).numpy(), aspect="auto")
        return
    grey = 0.15 + 0.7 * torch.einsum("chw,c->hw", pixels, pixels.new_tensor([0.299, 0.587, 0.114]))
    axes.imshow(grey[..., None].expand(-1, -1, 3).numpy(), aspect="auto")
    smooth = upsampled(values[None], (pixels.shape[1], pixels.shape[2]))[0]
    seen = (_DIM + 0.6 * (smooth / top).clamp(0, 1)).numpy()
    axes.imshow(smooth.numpy(), cmap=_CMAP, vmin=0, vmax=top, alpha=seen, aspect="auto")
    if frame is not None:
        draw_frame(axes, frame, (pixels.shape[1], pixels.shape[2]), start=-0.5)  # where the first pixel begins


def _words(
    axes: Any,
    tokens: Sequence[str],
    scores: Tensor | None,
    spread: Sequence[float],
    places: Sequence[tuple[float, int]],
    style: dict[str, Any],
) -> None:
    """The question, each word as dark as its number is large."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex
    from matplotlib.patches import FancyBboxPatch

    ramp = LinearSegmentedColormap.from_list("saccade", COLOURS)
    most = 1.0 if scores is None else max(float(scores.max()), 1e-9)
    for place, (token, extent, (left, line)) in enumerate(zip(tokens, spread, places, strict=True)):
        share = 0.0 if scores is None else float(scores[place]) / most
        top = line * _LINE + 0.5 * _LINE
        if scores is not None:
            box = (left - _EDGE / 2, top - 0.12), extent + _EDGE, 0.24
            colour = to_hex(ramp(share))
            axes.add_patch(FancyBboxPatch(*box, boxstyle="round,pad=0,rounding_size=0.04", color=colour, linewidth=0))
        ink = "#ffffff" if share > 0.5 else INK
        axes.text(left, top, token, fontsize=11, color=ink, ha="left", va="center", **style)


def _answers(axes: Any, answers: Sequence[tuple[str, float]], top: float, style: dict[str, Any]) -> None:
    """A bar for each answer, with its probability in front and its name behind."""
    from matplotlib.patches import Rectangle

    for number, (answer, share) in enumerate(answers):
        middle = top + (number + 0.5) * _BAR
        axes.add_patch(Rectangle((0.45, middle - 0.07), _BARS * share, 0.14, color=COLOURS[4], linewidth=0))
        common: dict[str, Any] = {"va": "center", "color": INK, **style}
        axes.text(0.4, middle, f"{share:.2f}", fontsize=8, ha="right", **common)
        axes.text(0.5 + _BARS * share, middle, answer, fontsize=9, ha="left", **common)


def _story(
    values: Tensor,
    names: Sequence[str],
    tokens: Sequence[str],
    scores: Tensor | None,
    answers: Sequence[tuple[str, float]],
) -> str:
    """What the picture shows, in words."""
    said = [" ".join(tokens), "; ".join(f"{answer} {share:.2f}" for answer, share in answers)]
    for name, matrix in zip(names, values, strict=True):
        row, column = divmod(int(matrix.argmax()), matrix.shape[1])
        said.append(f"{name}: most at row {row + 1}, column {column + 1} ({float(matrix.max()):.2f})")
    if scores is not None:
        said.append(", ".join(f"{token} {score:.2f}" for token, score in zip(tokens, scores.tolist(), strict=True)))
    return "; ".join(said)
