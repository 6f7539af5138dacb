"""Scikit-learn's digits: 1,797 handwritten ones of 8 × 8 pixels, scaled to MNIST's 28 × 28. No file is needed.

Source:
    Alpaydin, Kaynak 1998, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, the test part,
    as `sklearn.datasets.load_digits` has it.
"""

from functools import cache

import numpy as np
import torch
from torch.nn import functional as F

from saccade.data.dataset import SPLITS
from saccade.data.rows import bytes_hash, divide
from saccade.errors import SaccadeError, pip_install
from saccade.tasks.image.dataset import HELD_OUT, InMemory, Part

__all__ = ["SIDE", "open_digits"]

SIDE, _MARGIN = 28, 2  # pixels of an image, and how many of them stay black around a digit, as MNIST has four
_GREYS = 16  # the brightest


@cache
def open_digits() -> InMemory:
    """Return the digits; a tenth each is held out for validation and test, by their hashes.

    Raises:
        SaccadeError: if scikit-learn is not installed.

    Example:
        >>> data = open_digits()
        >>> data.shape, len(data.labels), data.size("train")
        ((1, 28, 28), 10, 1439)
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        way_out = pip_install("train")
        raise SaccadeError(f"the digits come with scikit-learn, which is not installed: {way_out}") from error
    known = load_digits()
    small = torch.from_numpy(known.images).float()[:, None] / _GREYS
    side = SIDE - 2 * _MARGIN
    scaled = F.interpolate(small, (side, side), mode="bilinear", antialias=False)
    images = (F.pad(scaled, (_MARGIN,) * 4) * 255).round().to(torch.uint8).numpy()
    codes = known.target.astype(np.int64)
    hashes = np.array([bytes_hash(image.tobytes()) for image in known.images], np.uint64)
    inside = divide(hashes, "digits", "images", SPLITS[1:], HELD_OUT)
    parts = {split: Part(images[where], codes[where]) for split, where in inside.items()}
    return InMemory(parts, tuple(map(str, range(10))), "")
