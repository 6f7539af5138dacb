"""Sphinx's feature files: 13 mel-frequency cepstra a frame, 100 frames a second.

Source:
    CMU Sphinx (https://cmusphinx.github.io): the format of the files.
"""

import numpy as np
import torch
from torch import Tensor

from saccade.errors import ArgumentError
from saccade.tasks.audio.features import deltas, normalized

__all__ = ["COEFFICIENTS", "SUFFIX", "cepstra", "encode", "features"]

SUFFIX = ".mfc"  # of a feature file
COEFFICIENTS = 13  # of a frame, a third of its features with first and second differences


def features(static: Tensor) -> Tensor:
    """Return cepstra `(frames, 13)` with their first and second differences.

    Each feature has mean 0 and variance 1.

    >>> features(torch.randn(50, 13)).shape
    torch.Size([50, 39])
    """
    first = deltas(static)
    return normalized(torch.cat([static, first, deltas(first)], -1))


def cepstra(data: bytes | memoryview, name: str) -> Tensor:
    """Return the frames `(frames, 13)` of a Sphinx feature file.

    Args:
        data: the number of floats, then the floats, frame by frame. All have 32 bits, big-endian.
        name: of the file in messages.

    Raises:
        ArgumentError: with the file, if it is no feature file.
    """
    floats = int.from_bytes(data[:4], "big", signed=True)
    if len(data) < 4 or floats < 1 or len(data) != 4 + 4 * floats or floats % COEFFICIENTS:
        expected = f"expected a count of floats, which {COEFFICIENTS} divides, and as many 32-bit floats"
        got = f"a count of {floats} and {len(data) - 4} bytes" if len(data) >= 4 else f"{len(data)} bytes"
        raise ArgumentError(f"{name}: {expected}, got {got}; copy the file anew")
    frames = torch.from_numpy(np.frombuffer(data, ">f4", offset=4).astype(np.float32)).view(-1, COEFFICIENTS)
    if not frames.isfinite().all():
        raise ArgumentError(f"{name}: expected finite features, got NaN or infinity; copy the file anew")
    return frames


def encode(static: Tensor) -> bytes:
    """Return the feature file of cepstra `(frames, 13)`.

    >>> frames = torch.randn(2, 13)
    >>> torch.equal(cepstra(encode(frames), "a.mfc"), frames)
    True
    """
    return np.array([static.numel()], ">i4").tobytes() + static.numpy().astype(">f4").tobytes()
