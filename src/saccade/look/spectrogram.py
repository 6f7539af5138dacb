"""Pictures of attention to sound: what was written, where it was said, and the spectrum there; as PNG and SVG."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saccade.errors import ArgumentError, ShapeError
from saccade.look.drawing import full_scale, numbers, write_picture
from saccade.look.labels import plain, visible
from saccade.look.pictures import COLOURS, FAINT, INK
from saccade.look.typefaces import families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw"]

_WIDTH, _SPECTRUM, _ROW, _TALLEST = 8.0, 1.5, 0.24, 12.0  # inches: the picture, its spectrum, a token, all tokens
_GAP = 0.08  # inches between the two
_SEEN = 1_000_000  # numbers that the colours of a spectrum go by


def draw(
    weights: Tensor,
    frames: Tensor,
    tokens: Sequence[str],
    times: tuple[float, float],
    path: str | Path,
    *,
    title: str | None = None,
    json: bool = False,
) -> list[Path]:
    """Draw where in a recording each token was said (as figure 2 of Chan et al. 2016): the spectrum above, and below a
    row a token, all over one axis of time.

    Args:
        weights: `(tokens, steps)`, finite, at least 0.
        frames: the features of the recording, `(length, dim)`; low frequencies first.
        tokens: the tokens.
        times: how long the recording is, and how long a step of the weights, in seconds; the last may go beyond.
        path: where to write, without a suffix; a name that is taken by another picture gets -2, -3, ... appended.
        title: a line above the picture.
        json: whether the numbers are written beside it.

    Returns:
        The paths of the PNG and the SVG, and of the JSON if it is wanted.

    Raises:
        ShapeError: if the weights' shape is not that of the tokens, or the frames are no matrix.
        ArgumentError: if there are no tokens, no steps or no frames, or weights that are negative or not finite.
        OSError: if the files cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = draw(torch.eye(2), torch.rand(20, 8), ["one", "two"], (0.2, 0.1), f"{folder}/said")
        >>> [path.name for path in paths]
        ['said.png', 'said.svg']
    """
    matrix, heading = _checked(weights, frames, tokens), plain(title or "")
    names, (seconds, step) = ["".join(map(visible, token)) for token in tokens], times
    told = {"seconds": seconds, "step_seconds": step, "darkest": _darkest(matrix)}
    return write_picture(
        path,
        lambda: _figure(matrix, frames, names, times, heading),
        title=heading or "Attention to sound",
        story=_story(matrix, names, step),
        behind=numbers(heading, tokens, [], matrix, **told) if json else None,
    )


def _figure(matrix: Tensor, frames: Tensor, names: Sequence[str], times: tuple[float, float], heading: str) -> "Figure":
    """The spectrum above, a row a token below, over one axis of time."""
    from matplotlib.figure import Figure

    height = min(_TALLEST, _ROW * len(names))
    whole = height + _GAP + _SPECTRUM
    figure = Figure(figsize=(_WIDTH, whole), dpi=150)
    below = figure.add_axes((0, 0, 1, height / whole))
    above = figure.add_axes((0, (height + _GAP) / whole, 1, _SPECTRUM / whole), sharex=below)
    style: dict[str, Any] = {"family": families("".join([*names, heading, "0.5 s"])), "parse_math": False, "color": INK}
    _spectrum(above, frames, times[0])
    _rows(below, matrix, names, times, style)
    if heading:
        figure.text(0.5, 1 + 0.1 / whole, heading, ha="center", va="bottom", fontsize=11, **style)
    return figure


def _checked(weights: Tensor, frames: Tensor, tokens: Sequence[str]) -> Tensor:
    matrix = torch.as_tensor(weights).detach().to("cpu", torch.float64)
    if matrix.ndim != 2 or len(matrix) != len(tokens) or frames.ndim != 2:
        expected = f"({len(tokens)}, steps), a row a token, and frames (length, dim)"
        got = f"{tuple(matrix.shape)} and {tuple(frames.shape)}"
        raise ShapeError(f"weights: expected shape {expected}, got {got}")
    if not matrix.numel() or not frames.numel():
        raise ArgumentError(f"weights: expected tokens, steps and frames, got {tuple(matrix.shape)}, {len(frames)}")
    if not bool((torch.isfinite(matrix) & (matrix >= 0)).all()):
        raise ArgumentError("weights: expected finite numbers of at least 0, got others; scores are no weights")
    return matrix


def _spectrum(axes: "Axes", frames: Tensor, seconds: float) -> None:
    """The features as an image, low frequencies at the bottom."""
    image = frames.detach().cpu().double()
    low, high = (
        float(torch.quantile(image.flatten()[:: 1 + image.numel() // _SEEN], share)) for share in (0.02, 0.98)
    )  # an outlier
    axes.imshow(
        image.T.numpy(), origin="lower", aspect="auto", cmap="magma", vmin=low, vmax=high,
        extent=(0, seconds, 0, frames.shape[1]), interpolation="nearest",
    )  # fmt: skip
    axes.set(yticks=[])
    axes.tick_params(bottom=False, labelbottom=False)
    axes.spines[:].set(color=FAINT, linewidth=0.5)


def _rows(
    axes: "Axes", matrix: Tensor, names: Sequence[str], times: tuple[float, float], style: dict[str, Any]
) -> None:
    """A row a token, the first on top, over the recording's time."""
    from matplotlib.colors import LinearSegmentedColormap

    count, (seconds, step) = len(names), times
    axes.imshow(
        matrix.numpy(), origin="upper", aspect="auto", cmap=LinearSegmentedColormap.from_list("saccade", COLOURS),
        vmin=0, vmax=_darkest(matrix), interpolation="nearest",
        extent=(0, matrix.shape[1] * step, count, 0),
    )  # fmt: skip
    room = max(1, round(count * _ROW / _TALLEST))  # of more tokens than have a row each, every n-th is named
    size = 10 if room == 1 and count * _ROW <= _TALLEST else 7
    axes.set_yticks([place + 0.5 for place in range(0, count, room)], names[::room])
    axes.tick_params(left=False, length=2, width=0.5, color=FAINT)
    for label in axes.get_yticklabels():
        label.set(fontsize=size, **style)
    for tick in axes.get_xticklabels():
        tick.set(fontsize=8, **style)
    axes.set_xlabel("seconds", fontsize=8, color=INK)
    axes.set_xlim(0, seconds)
    axes.hlines(range(1, count), 0, seconds, color=FAINT, linewidth=0.2)
    axes.spines[:].set(color=FAINT, linewidth=0.5)


def _darkest(matrix: Tensor) -> float:
    return full_scale(float(matrix.max()), 1 / matrix.shape[1])


def _story(matrix: Tensor, names: Sequence[str], step: float) -> str:
    """What the picture shows, in words: when each token was said most."""
    best, where = matrix.max(-1)
    rows = zip(names, where.tolist(), best.tolist(), strict=True)
    return "; ".join(f"{name} at {(place + 0.5) * step:.2f} s ({weight:.2f})" for name, place, weight in rows)
