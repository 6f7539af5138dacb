"""Baseline of single words: logistic regression on means of equal time slots."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from torch import Tensor

__all__ = ["RECORDINGS", "SLOTS", "learn", "slots", "suits"]

RECORDINGS = 2_000
"""Most training recordings. They take seconds."""

SLOTS = 10
"""Slots of a recording."""

_TEXTS = 100  # most different texts
_STEPS = 1000


def suits(texts: Sequence[str]) -> bool:
    """Whether training texts suit a classifier: few, with two recordings in the mean.

    >>> suits(["yes", "no", "yes", "no"]), suits(["yes", "no"]), suits(["no", "no"])
    (True, False, False)
    """
    return 2 <= len(set(texts)) <= min(_TEXTS, len(texts) // 2)


def slots(frames: Tensor) -> np.ndarray:
    """Return the mean features of `SLOTS` equal parts of a recording.

    Args:
        frames: `(length, dim)`.

    Returns:
        `(SLOTS * dim,)`.

    Example:
        >>> import torch
        >>> slots(torch.arange(5.0)[:, None]).tolist()
        [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]
    """
    parts = frames.repeat_interleave(SLOTS, 0).view(SLOTS, *frames.shape)
    means: np.ndarray = parts.mean(1).flatten().numpy()
    return means


def learn(recordings: Iterable[Tensor], texts: Sequence[str]) -> Any:
    """Return scikit-learn's pipeline from `slots` of recordings to their texts."""
    from sklearn.linear_model import LogisticRegression  # here: it takes a second to import
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features = np.stack([slots(frames) for frames in recordings])
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=_STEPS)).fit(features, list(texts))
