"""Whether an alignment of speech is one: it moves on with the text, and from the beginning of the audio to its end."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["AlignmentMetrics", "alignment_metrics", "mean_metrics"]

_BACK = 0.5  # of a step: what counts as going back


class AlignmentMetrics(NamedTuple):
    r"""How an alignment runs.

    With the centre of each token's weights, \(m_i = \sum_j j\, a_{ij}\), among the L steps that the model attends to:

    Args:
        monotonicity: share of the tokens whose centre is not before that of the token before them, by more than half a
            step; 1 where there is one token.
        coverage: \((\max_i m_i - \min_i m_i) / (L - 1)\), the share of the audio that the centres span.

    Speech is said in the order in which it is written. Attention that has collapsed looks at one place whatever is
    written (coverage near 0) or jumps (monotonicity near a half).
    """

    monotonicity: float
    coverage: float

    def __str__(self) -> str:
        return f"monotonic {self.monotonicity:.2f}, covers {self.coverage:.2f}"


def alignment_metrics(weights: Tensor) -> AlignmentMetrics:
    """Return how the alignment of one text runs; its end, which is said nowhere, does not count.

    Args:
        weights: `(tokens + 1, steps)`, the last row of the end; rows sum to one.

    Example:
        >>> alignment_metrics(torch.eye(4)[[0, 1, 2, 3, 0]])
        AlignmentMetrics(monotonicity=1.0, coverage=1.0)
        >>> alignment_metrics(torch.eye(4)[[0, 3, 1, 2, 0]]).monotonicity
        0.6666666666666666
        >>> alignment_metrics(torch.full((4, 4), 0.25))
        AlignmentMetrics(monotonicity=1.0, coverage=0.0)
    """
    weights = weights[:-1] if len(weights) > 1 else weights  # of an empty text there is nothing but the end
    centers = weights.double() @ torch.arange(weights.shape[1], dtype=torch.double, device=weights.device)
    moves = centers.diff()
    monotonicity = float((moves >= -_BACK).double().mean()) if len(moves) else 1.0
    return AlignmentMetrics(monotonicity, float(centers.max() - centers.min()) / max(1, weights.shape[1] - 1))


def mean_metrics(found: Sequence[AlignmentMetrics]) -> AlignmentMetrics:
    """Return the mean over some texts, at least one."""
    return AlignmentMetrics(*(sum(column) / len(found) for column in zip(*found, strict=True)))
