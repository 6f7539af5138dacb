"""Checks of arguments that modules share."""

from typing import Any

import torch
from torch import Tensor, nn

from saccade._definitions.checks import ensure, whole, whole_dtype
from saccade._definitions.numerics import autocasting, tracing, transforming
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.kernels.cells import plain

_WEIGHTS: dict[type[nn.Module], str] = {nn.Linear: "weight", nn.LSTMCell: "weight_ih", nn.LSTM: "weight_ih_l0"}


def sizes(*, none: bool = False, **arguments: Any) -> None:
    """Raise unless the arguments are ints of at least 1, or None if allowed."""
    for name, size in arguments.items():
        whole(name, size, least=1, none=none)


def one_of(name: str, value: Any, names: tuple[str, ...]) -> None:
    """Raise unless an argument has one of these names."""
    if value not in names:
        raise ArgumentError(f"{name}: expected one of {', '.join(names)}, got {value!r}")


def features(name: str, tensor: Any, size: int, weight: Any) -> None:
    """Raise unless dense, `(..., length, size)`, of the dtype of a weight or layer."""
    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError(f"{name}: expected a tensor, got {type(tensor).__name__}")
    if tensor.is_nested:
        raise ArgumentTypeError(
            f"{name}: expected a dense tensor, got a nested one. Pad it and pass masks.Lengths, or give attention its "
            "values() and masks.Packed."
        )
    if tensor.ndim < 2 or tensor.shape[-1] != size:
        raise ShapeError(f"{name}: expected (..., length, {size}), got shape {tuple(tensor.shape)}")
    same_dtype(name, tensor, weight)


def same_dtype(name: str, tensor: Tensor, weight: Any) -> None:
    """Raise unless the tensor has the weight's dtype, or autocast casts both."""
    if isinstance(weight, nn.Module):
        if type(weight) not in _WEIGHTS or not plain(weight, type(weight)):
            return  # a layer of the user decides about dtypes
        weight = getattr(weight, _WEIGHTS[type(weight)])
    if tensor.dtype == weight.dtype:
        return
    double = torch.float64 in (tensor.dtype, weight.dtype)
    if not tensor.is_floating_point() or double or not autocasting(tensor):
        raise ArgumentError(
            f"{name}: expected dtype {weight.dtype}, that of the module's parameters, got dtype {tensor.dtype}. "
            f"Convert one of them: {name}.to({weight.dtype}), or module.to({tensor.dtype})."
        )


def padded(inputs: Any, lengths: Any, size: int, weight: nn.Module) -> tuple[Tensor, Tensor | None]:
    """Inputs `(batch, length, size)` with masked padding, and its complement.

    The complement is None without lengths. Padding may hold NaN and 0 · NaN is NaN, so it is masked before any product.
    """
    features("inputs", inputs, size, weight)
    if inputs.ndim != 3:
        raise ShapeError(f"inputs: expected (batch, length, {size}), got {tuple(inputs.shape)}")
    if lengths is None:
        return inputs, None
    batch, longest = inputs.shape[:2]
    if not isinstance(lengths, Tensor) or lengths.shape != (batch,):
        got = tuple(lengths.shape) if isinstance(lengths, Tensor) else type(lengths).__name__
        raise ShapeError(f"lengths: expected an integer tensor ({batch},), got {got}")
    whole_dtype("lengths", lengths)
    inside = (lengths >= 0) & (lengths <= longest)
    ensure(inside, f"lengths: expected from 0 to {longest}, got some outside", values=not (tracing() or transforming()))
    there = torch.arange(longest, device=inputs.device) < lengths[:, None]
    return inputs.masked_fill(~there[..., None], 0.0), there


def state_sizes(name: str, state: Any, owner: str, **shapes: tuple[int, ...] | None) -> None:
    """Raise unless parts have these shapes: kernels would index out of bounds."""
    for field, shape in shapes.items():
        part = getattr(state, field)
        got = None if part is None else tuple(part.shape)
        if got != shape:
            raise ShapeError(f"{name}.{field}: expected {shape} of this {owner}, got {got}. Begin with start().")
