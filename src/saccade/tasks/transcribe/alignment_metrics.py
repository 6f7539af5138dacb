"""Metrics of alignments: order, coverage of the audio, and weight on sound."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["AlignmentMetrics", "alignment_metrics", "mean_metrics", "sounding"]

_BACK = 0.5  # of a step that counts as going back


class AlignmentMetrics(NamedTuple):
    r"""Metrics of an alignment.

    With the centre of each token's weights, \(m_i = \sum_j j\, a_{ij}\), among the L steps that the model attends to:

    Args:
        monotonicity: share of the tokens with a centre at most half a step before that of the previous token, or None
            for fewer than two tokens.
        coverage: \((\max_i m_i - \min_i m_i) / (L - 1)\), the share of the audio that the centres span, or None for
            fewer than two tokens.
        on_sound: share of the tokens' weights at steps louder than the mean, or None without loudness.
        sound: share of these steps, the value of `on_sound` for uniform weights, or None as above.

    Speech has the order of its text. Attention that has collapsed stays at one step (coverage near 0) or jumps
    (monotonicity near a half). A single word has neither number. Attention that reads silence has no more weight on
    sound than an even spread.
    """

    monotonicity: float | None
    coverage: float | None
    on_sound: float | None = None
    sound: float | None = None

    def __str__(self) -> str:
        parts = []
        if self.monotonicity is not None and self.coverage is not None:
            parts.append(f"monotonic {self.monotonicity:.2f}, covers {self.coverage:.2f} of the audio")
        if self.on_sound is not None and self.sound is not None:
            parts.append(f"{self.on_sound:.0%} on sound, {self.sound:.0%} if spread evenly")
        return ", ".join(parts) or "a single token"


def alignment_metrics(weights: Tensor, sound: Tensor | None = None) -> AlignmentMetrics:
    """Return the metrics of an alignment without the row of its end.

    Args:
        weights: `(tokens + 1, steps)`, the last row of the end. Rows sum to one.
        sound: boolean `(steps,)`, True at steps louder than the mean (see `sounding`).

    Example:
        >>> alignment_metrics(torch.eye(4)[[0, 3, 1, 2, 0]]).monotonicity
        0.6666666666666666
        >>> print(alignment_metrics(torch.eye(4)[[3, 0]], torch.tensor([True, True, False, False])))
        0% on sound, 50% if spread evenly
    """
    steps = weights.shape[1]
    weights = (weights[:-1] if len(weights) > 1 else weights).double()  # an empty text has its end alone
    heard, share = None, None
    if sound is not None:
        loud = sound.to(weights)
        heard, share = float((weights @ loud).mean() / weights.sum(1).mean()), float(loud.mean())
    if len(weights) < 2:
        return AlignmentMetrics(None, None, heard, share)
    centers = weights @ torch.arange(steps, dtype=torch.double, device=weights.device)
    monotonicity = float((centers.diff() >= -_BACK).double().mean())
    coverage = float(centers.max() - centers.min()) / max(1, steps - 1)
    return AlignmentMetrics(monotonicity, coverage, heard, share)


def sounding(loudness: Tensor, step_frames: int) -> Tensor:
    """Return `(steps,)`, True at steps louder than the mean of the recording.

    A step has `step_frames` frames.

    >>> sounding(torch.tensor([0.0, 0.0, 3.0, 5.0, 0.0]), 2)
    tensor([False,  True, False])
    """
    means = torch.stack([part.mean() for part in loudness.double().split(step_frames)])
    return means > loudness.double().mean()


def mean_metrics(alignments: Sequence[AlignmentMetrics]) -> AlignmentMetrics:
    """Return the mean of each metric over the texts with that metric.

    >>> mean_metrics([AlignmentMetrics(1.0, 0.5), AlignmentMetrics(None, None)])[:2]
    (1.0, 0.5)
    """
    columns = ([number for number in column if number is not None] for column in zip(*alignments, strict=True))
    return AlignmentMetrics(*(statistics.fmean(column) if column else None for column in columns))
