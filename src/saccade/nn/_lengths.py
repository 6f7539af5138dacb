"""Lengths of sequences, as recurrent modules take them."""

from typing import Any

import torch
from torch import Tensor

from saccade._definitions.checks import ensure, whole_dtype
from saccade._definitions.numerics import tracing, transforming
from saccade.errors import ShapeError

__all__ = ["check_lengths", "steps"]


def check_lengths(lengths: Any, inputs: Tensor) -> None:
    """Raise unless lengths are integers from 0 to the length, one a sequence.

    Args:
        lengths: any value.
        inputs: `(batch, length, ...)`.

    Raises:
        ShapeError: another shape.
        ArgumentError: no integers, or integers out of range.

    >>> import torch
    >>> check_lengths(torch.tensor([3]), torch.zeros(1, 2, 4))
    Traceback (most recent call last):
    ...
    saccade.errors.ArgumentError: lengths: expected from 0 to 2, got some outside
    """
    batch, longest = inputs.shape[:2]
    if not isinstance(lengths, Tensor) or lengths.shape != (batch,):
        got = tuple(lengths.shape) if isinstance(lengths, Tensor) else type(lengths).__name__
        raise ShapeError(f"lengths: expected an integer tensor ({batch},), got {got}")
    whole_dtype("lengths", lengths)
    inside = (lengths >= 0) & (lengths <= longest)
    ensure(inside, f"lengths: expected from 0 to {longest}, got some outside", values=not (tracing() or transforming()))


def steps(lengths: Tensor, inputs: Tensor) -> Tensor:
    """Steps before the end of each sequence, boolean `(batch, length)`.

    Args:
        lengths: the number of steps of each sequence, integer `(batch,)`.
        inputs: `(batch, length, ...)`.

    >>> import torch
    >>> steps(torch.tensor([1, 0]), torch.zeros(2, 2, 4)).tolist()
    [[True, False], [False, False]]
    """
    return torch.arange(inputs.shape[1], device=inputs.device) < lengths[:, None]
