"""What the laws compare by."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

__all__ = ["content", "is_near", "parts", "same"]


def parts(value: Any) -> list[Tensor]:
    """Return all tensors of a batch, however they are packed."""
    if isinstance(value, Tensor):
        return [value]
    if value is None:  # what a batch of this kind has not
        return []
    return [tensor for part in value for tensor in parts(part)]


def same(one: Any, other: Any) -> bool:
    """Return whether two batches are the same to the bit."""
    pairs = list(zip(parts(one), parts(other), strict=True))
    return all(a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b) for a, b in pairs)


def content(given: Any, name: str) -> list[Any]:
    """Return the attribute of an input that a model reads: pixels, frames, ids or numbers."""
    values: Any = getattr(given, name)
    return values.tolist() if isinstance(values, Tensor) else list(values)


def is_near(one: Any, other: Any) -> bool:
    """Return whether two answers, as JSON has them, differ by no more than numbers that were rounded otherwise."""
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, abs=1e-4, rel=1e-4)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(is_near(one[key], other[key]) for key in one)
    if isinstance(one, Sequence) and not isinstance(one, str) and isinstance(other, Sequence):
        return len(one) == len(other) and all(map(is_near, one, other))
    return one == other
