"""Pictures of attention to sound: tokens, their times, and the spectrum."""

from collections.abc import Sequence
from math import inf
from pathlib import Path

import numpy as np
from torch import Tensor

from saccade.look._figure import BOTH, COLOURS, FAINT, Page, checked, draw_picture, numbers, ramp, scale_ends
from saccade.look._labels import visible

_WIDTH, _SPECTRUM, _ROW, _TALLEST, _GAP = 8.0, 1.5, 0.24, 12.0, 0.08  # inches: picture, spectrum, a token, all, between


def spectrogram(
    weights: Tensor,
    frames: Tensor,
    tokens: Sequence[str],
    times: tuple[float, float],
    path: str | Path,
    *,
    title: str | None = None,
    scale: str = "weight",
    start: float = 0.0,
    signed: bool = False,
    json: bool = False,
) -> list[Path]:
    """Draw the spectrum of a recording, and below it a row of weights for each token.

    Args:
        weights: `(tokens, steps)`, finite, at least 0 unless they are signed.
        frames: the features of the recording, `(length, dim)`; low frequencies first.
        tokens: the tokens.
        times: seconds of the recording and of a step of the weights; the last step may go beyond the end.
        scale: name of the colour bar.
        start: second of the first frame, if a part of a recording is drawn.
        signed: whether weights may be negative, as in `saccade.look.alignment`.
        path, title, json: as of every picture (see `saccade.look`).

    Raises:
        ShapeError: weights that are not a row a token, or frames that are no matrix.
        ArgumentError: no tokens, steps or frames, or weights that are negative or not finite.

    Source:
        Chan et al. 2016, "Listen, Attend and Spell", figure 2.

    Example:
        >>> import torch
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     paths = spectrogram(torch.eye(2), torch.rand(20, 8), ["one", "two"], (0.2, 0.1), f"{folder}/said")
        >>> [path.name for path in paths]
        ['said.png', 'said.svg']
    """
    matrix = checked("weights", weights, (len(tokens), "steps"), least=-inf if signed else 0)
    features = checked("frames", frames, ("length", "dim"))
    names, (seconds, step) = list(map(visible, tokens)), times
    ends = scale_ends(matrix, 1 / matrix.shape[1], signed=signed)

    def draw(page: Page) -> None:
        colours = ramp(BOTH if signed else COLOURS)
        count, height = len(names), min(_TALLEST, _ROW * len(names))
        below = page.axes(0, _SPECTRUM + _GAP, _WIDTH, height)
        above = page.axes(0, 0, _WIDTH, _SPECTRUM, sharex=below)
        low, high = np.percentile(features, (2, 98))  # no outliers
        end = start + seconds
        spectrum = start, end, 0, features.shape[1]
        rows = start, start + matrix.shape[1] * step, count, 0
        above.imshow(features.T.numpy(), origin="lower", cmap="magma", vmin=low, vmax=high, extent=spectrum)
        above.set(yticks=[], ylabel="frequency →")
        above.tick_params(bottom=False, labelbottom=False)
        below.imshow(matrix.numpy(), cmap=colours, vmin=ends[0], vmax=ends[1], extent=rows)
        room = max(1, round(count * _ROW / _TALLEST))  # of more tokens than have a row each, every n-th is named
        below.set_yticks([row + 0.5 for row in range(0, count, room)], names[::room])
        below.tick_params(axis="y", left=False, labelsize=10 if count * _ROW <= _TALLEST else 7)
        below.set(xlabel="seconds", ylabel="← written", xlim=(start, end))
        below.hlines(range(1, count), start, end, color=FAINT, linewidth=0.2)
        page.colour_bar(scale, colours, ends, (_WIDTH + 0.15, _SPECTRUM + _GAP), min(height, 2.0))

    rows = zip(names, matrix, matrix.abs().argmax(-1).tolist(), strict=True)
    story = (f"{name} at {start + (frame + 0.5) * step:.2f} s ({float(row[frame]):.2f})" for name, row, frame in rows)
    about = {"start_seconds": start, "seconds": seconds, "step_seconds": step}
    behind = numbers(tokens, [], matrix, **about, darkest=ends[1]) if json else None
    more = {"frames": features, "scale": scale}
    return draw_picture(path, draw, title, "Attention to sound", story, behind, more=more)
