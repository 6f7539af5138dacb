"""An image under maps, with a question about it and answers, and animations."""

import math
import textwrap
import unicodedata
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.errors import ArgumentError, ShapeError
from saccade.look._figure import MOST_PANELS, Page, checked, draw_picture, full_scale, not_drawn, numbers, ramp, rounded
from saccade.look._highlights import LEAST, SIZE, Scale, draw_words
from saccade.look._labels import plain, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from PIL.Image import Image

Position = tuple[int, int]
"""Row and column of a cell."""
Box = tuple[float, float, float, float]
"""Left, top, right and bottom of a part, as shares of the image."""

_PANEL, _GAP, _CAPTION = 1.9, 0.15, 0.28  # inches: a panel's longer side, between two, a line above it
_COLUMNS = 5
_SLIM = 0.2  # the shorter side of a panel at the least, of the longer
_BAR, _BARS = 0.22, 2.2  # inches: a bar's line, a bar of 1
_FINEST = 600  # pixels of the longer side that are drawn
_CRISP = 100  # pixels of the longer side up to which every one is a square
_BRIGHT = 0.4  # grey of a black pixel under a map
_MARK = "#0a7cff"
#: From nothing to opaque red: the more of it, the larger a number.
_HEAT = ((1.0, 0.88, 0.3, 0.0), (1.0, 0.72, 0.15, 0.55), (0.98, 0.4, 0.05, 0.8), (0.85, 0.05, 0.1, 0.92))
_PAUSE, _REST = 700, 2000  # milliseconds that a picture of an animation is shown, and the last
_SIDE, _LEAST = 3.0, 2.0  # inches of an animation: the image's longer side, the width at the least
_TOP, _STEP, _LINES, _EDGE = 0.3, 0.19, 3, 0.08  # inches above it, of a line below; how many lines; inches around
_LETTERS = 14  # an inch


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
        captions: a line above each map.
        marks: for each map the row and column of a cell that is framed, such as the position that attends, or None.
        boxes: for each map a part of the image that is framed instead, as shares of it, or None.
        smooth: bring maps to the image's size smoothly.
        question: words of a question about the image.
        words: a number for each word of it, finite, or None. Numbers below 0 are orange.
        answers: the likeliest, each with its probability.
        scale: name of the colour bar.
        even: an even share of a map; 0 for numbers that are not shares.
        animated: write a GIF too that shows one map after another, the captions as the words of a sentence.
        path, title, json: as of every picture (see `saccade.look`).

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
    pixels = pixels_of(image)
    values = torch.zeros(0, 1, 1)
    if maps.numel() or captions or not answers:
        values = checked("maps", maps, (len(captions), "rows", "columns"), least=0)
    scores = None if words is None else checked("words", words, (len(question),)).tolist()
    names, asking = ([shortened(plain(text), 28) for text in texts] for texts in (captions, question))
    cells, frames = _frames(marks, boxes, values)
    drawn = values
    if smooth and len(values):  # as in Xu et al. 2015
        drawn = F.interpolate(values[None], pixels.shape[:2], mode="bilinear", align_corners=False)[0]
    darkest = full_scale(float(values.max()), even, math.inf) if len(values) else 1.0

    def draw(page: Page) -> str:
        height = _draw_panels(page, pixels, drawn, names, frames, darkest, scale)
        if asking:
            spoken, least = scores or [0.0] * len(asking), math.inf if scores is None else LEAST
            top = max(map(abs, spoken)) or 1.0
            dark = Scale(-top if min(spoken) < 0 else 0.0, top)
            height = 0.15 + draw_words(page, height, page.measured(asking, SIZE), spoken, dark, least)
        if answers:
            _draw_answers(page, height, answers)
        return not_drawn(names, "maps")

    table: tuple[Any, ...] = (captions, [], values)
    more: dict[str, Any] = {"marks": cells, "darkest": darkest} | ({} if boxes is None else {"boxes": frames})
    if question:
        more |= {"tokens": list(question), "words": None if scores is None else rounded(scores)}
        more |= {"answers": [{"answer": answer, "probability": round(share, 6)} for answer, share in answers]}
        if not len(values):
            table = ["words"], question, [more["words"] or [0.0] * len(question)]
    story = [" ".join(question), "; ".join(f"{answer} {share:.2f}" for answer, share in answers)]
    story += map(_map_story, names, values, cells)
    story += [", ".join(f"{word} {score:.2f}" for word, score in zip(question, scores or [], strict=False))]
    behind = numbers(*table, **more) if json else None
    pages = {".gif": lambda: word_by_word(pixels, drawn, names, frames, darkest)} if animated else None
    beside = {"image": pixels, "scale": scale, "even": even, "frames": frames, "words": scores, "answers": answers}
    return draw_picture(path, draw, title, "Maps over an image", story, behind, pages=pages, more=beside)


def _frames(
    marks: Sequence[Position | None] | None, boxes: Sequence[Box | None] | None, maps: Tensor
) -> tuple[list[Position | None], list[Box | None]]:
    """The marked cell and the framed part of each map."""
    count, rows, columns = maps.shape
    cells: list[Position | None] = [None] * count if marks is None else list(marks)
    frames: list[Box | None] = [None] * count if boxes is None else list(boxes)
    for name, kind, length in (("marks", "cell", len(cells)), ("boxes", "box", len(frames))):
        if length != count:
            raise ShapeError(f"{name}: expected a {kind} or None for each of {count} maps, got {length}")
    for number, cell in enumerate(cells):
        if cell is not None and not (0 <= cell[0] < rows and 0 <= cell[1] < columns):
            raise ArgumentError(f"marks: expected a row and a column of a map {rows} × {columns}, got {cell}")
        if cell is not None and boxes is None:
            row, column = cell
            frames[number] = column / columns, row / rows, (column + 1) / columns, (row + 1) / rows
    for box in frames:
        if box is not None and not (0 <= box[0] <= box[2] <= 1 and 0 <= box[1] <= box[3] <= 1):
            raise ArgumentError(f"boxes: expected left, top, right and bottom as shares of the image, got {box}")
    return cells, frames


def _map_story(name: str, values: Tensor, mark: Position | None) -> str:
    row, column = divmod(int(values.argmax()), values.shape[1])
    at = "" if mark is None else f" from row {mark[0] + 1}, column {mark[1] + 1}"
    return f"{name}{at}: most at row {row + 1}, column {column + 1} ({float(values.max()):.2f})"


def _draw_panels(
    page: Page, pixels: Tensor, maps: Tensor, names: Sequence[str], boxes: Sequence[Box | None], top: float, scale: str
) -> float:
    """Draw an image, beside it the image under the first maps, and return their end."""
    high, wide = _sides(pixels, _PANEL)
    count = 1 + min(len(maps), MOST_PANELS)
    columns = min(_COLUMNS, count)
    for panel in range(count):
        line, column = divmod(panel, columns)
        corner = column * (wide + _GAP), _CAPTION + line * (high + _CAPTION + _GAP)
        axes = page.axes(*corner, wide, high, ticks=False)
        if panel:
            draw_map(axes, pixels, maps[panel - 1], top, boxes[panel - 1])
            axes.set_title(names[panel - 1], fontsize=8, pad=3)
        else:
            show_pixels(axes, pixels)
    if count > 1:
        page.colour_bar(scale, ramp(_HEAT), (0.0, top), (columns * (wide + _GAP), _CAPTION), high)
    return -(-count // columns) * (high + _CAPTION + _GAP)


def _draw_answers(page: Page, top: float, answers: Sequence[tuple[str, float]]) -> None:
    """A bar for each answer, with its probability in front and its name behind."""
    axes = page.axes(0.45, top, _BARS, _BAR * len(answers))
    shares = [share for _, share in answers]
    bars = axes.barh(range(len(answers)), shares, height=0.62, color=ramp()(4 / 7), linewidth=0)
    axes.bar_label(bars, [shortened(plain(answer)) for answer, _ in answers], padding=4, fontsize=9)
    axes.set_yticks(range(len(answers)), [f"{share:.2f}" for share in shares], fontsize=8)
    axes.set(xlim=(0, 1), ylim=(len(answers) - 0.5, -0.5), xticks=[])
    axes.tick_params(left=False)
    axes.spines[:].set_visible(False)


def pixels_of(image: Tensor, finest: int = _FINEST) -> Tensor:
    """An image as `(height, width, 3)` in [0, 1], reduced to the drawn size."""
    if image.ndim != 3 or image.shape[0] not in (1, 3):
        raise ShapeError(f"image: expected shape (1 or 3, height, width), got {tuple(image.shape)}")
    pixels = (image.detach().cpu().double() / (1 if image.is_floating_point() else 255)).expand(3, -1, -1)
    if not pixels.numel() or not bool(pixels.isfinite().all()):
        raise ArgumentError(f"image: expected finite pixels, got {'others' if pixels.numel() else 'none'}")
    share = finest / max(pixels.shape[1:])
    if share < 1:
        size = [max(1, round(side * share)) for side in pixels.shape[1:]]
        pixels = F.interpolate(pixels[None], size, mode="area")[0]
    return pixels.clamp(0, 1).permute(1, 2, 0)


def _sides(pixels: Tensor, longest: float) -> tuple[float, float]:
    height, width = pixels.shape[:2]
    return longest * max(_SLIM, min(1.0, height / width)), longest * max(_SLIM, min(1.0, width / height))


def show_pixels(axes: "Axes", pixels: Tensor) -> None:
    height, width = pixels.shape[:2]
    method = "nearest" if max(height, width) <= _CRISP else "antialiased"
    axes.imshow(pixels.numpy(), extent=(0, width, height, 0), interpolation=method)
    axes.set(xlim=(0, width), ylim=(height, 0))


def draw_map(axes: "Axes", pixels: Tensor, values: Tensor, top: float, box: Box | None) -> None:
    """Draw an image in grey, a map `(rows, columns)` over it, and the edges of a part."""
    from matplotlib.patches import Rectangle

    height, width = pixels.shape[:2]
    grey = pixels @ torch.tensor([0.299, 0.587, 0.114], dtype=pixels.dtype)
    show_pixels(axes, (_BRIGHT + (1 - _BRIGHT) * grey)[..., None].expand(-1, -1, 3))
    axes.imshow(values.numpy(), cmap=ramp(_HEAT), vmin=0, vmax=top, extent=(0, width, height, 0))
    if box is not None:
        left, upper, right, lower = box
        corner, size = (left * width, upper * height), ((right - left) * width, (lower - upper) * height)
        axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=_MARK, linewidth=1.5))


def animated(pictures: Sequence["Image"]) -> bytes:
    """Pictures of one size as a GIF that begins anew after the last."""
    file, pauses = BytesIO(), [_PAUSE] * (len(pictures) - 1) + [_REST]
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:], duration=pauses, loop=0)
    return file.getvalue()


def word_by_word(pixels: Tensor, maps: Tensor, words: Sequence[str], boxes: Sequence[Box | None], top: float) -> bytes:
    """A GIF: an image under the maps of words in turn (Xu et al. 2015, figure 2)."""
    from matplotlib.transforms import Bbox
    from PIL import Image

    high, wide = _sides(pixels, _SIDE)
    broad, pictures = max(_LEAST, wide), []
    tall = _TOP + high + _STEP * _LINES + _EDGE
    for number, word in enumerate(words, 1):
        page, file = Page(), BytesIO()
        axes = page.axes((broad - wide) / 2, _TOP, wide, high, ticks=False)
        draw_map(axes, pixels, maps[number - 1], top, boxes[number - 1])
        page.write(0, 0, word, 12, va="top")
        # with its number, no picture is the one before it, which a GIF would show as one
        page.write(broad, 0, f"{number}/{len(words)}", 8, ha="right", va="top")
        page.write(0, _TOP + high + _EDGE, _last_lines(words[:number], broad), 9, va="top")
        page.choose_fonts()
        frame = Bbox([[-_EDGE, 1 - tall], [broad + _EDGE, 1 + _EDGE]])
        page.figure.savefig(file, format="png", dpi=100, bbox_inches=frame)
        pictures.append(Image.open(file).convert("RGB"))
    return animated(pictures)


def _last_lines(words: Sequence[str], inches: float) -> str:
    """Words in lines of a width, of many lines the last."""
    text = " ".join(word.strip() for word in words)
    wide = any(unicodedata.east_asian_width(character) in "WF" for character in text)
    lines = textwrap.wrap(text, int(inches * _LETTERS / (2 if wide else 1)))
    return "\n".join(lines if len(lines) <= _LINES else [f"… {lines[-_LINES]}", *lines[1 - _LINES :]])
