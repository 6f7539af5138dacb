"""Checks that definitions share; each raises one error."""

import warnings
from collections.abc import Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from saccade._definitions.numerics import LARGEST, SMALLEST, tracing, transforming, valueless
from saccade._definitions.structure import Extent
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError

Align = str | int | Tensor | None

FAR = 1 << 61
"""A position beyond all others; sums of a few of them do not overflow 64 bits."""

_LARGEST = (1 << 63) - 1
FEW = 128
"""Numbers that Python compares faster than torch."""

_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)


def ensure(condition: Tensor, message: str, *, values: bool = True) -> None:
    """Raise `ArgumentError(message)` unless all of `condition` holds.

    On CUDA by an asynchronous assert. Without `values`, or under compilers and transforms, nothing is checked.
    """
    if not values or tracing() or transforming() or valueless(condition):
        return
    if condition.is_cuda:
        torch._assert_async(condition.all(), message)
    elif not bool(condition.all()):
        raise ArgumentError(message)


def few_within(integers: Tensor, least: int, largest: int) -> bool:
    """Whether integers are from `least` to `largest`, if they are few and on a CPU."""
    if not integers.is_cpu or not 0 < integers.numel() <= FEW or valueless(row := integers.reshape(-1)):
        return False
    numbers: list[int] = row.tolist()
    return least <= min(numbers) and max(numbers) <= largest


def parameter(name: str, score: Any, tensor: Tensor, sizes: tuple[int | None, ...], shape: str, extent: Extent) -> None:
    """Raise unless a score's tensor fits the call, with trailing `sizes` (None: any)."""
    where = f"{name} of scores.{type(score).__name__}"
    if not isinstance(tensor, Tensor):
        raise ArgumentError(f"{where}: expected a tensor {shape}, got {type(tensor).__name__}")
    trailing = tensor.shape[tensor.ndim - len(sizes) :] if tensor.ndim >= len(sizes) else None
    if trailing != sizes and (
        trailing is None or any(size is not None and got != size for got, size in zip(trailing, sizes, strict=True))
    ):
        expected = ", ".join("any" if size is None else str(size) for size in sizes)
        raise ShapeError(
            f"{where}: expected {shape} with last dimensions ({expected}), got shape {tuple(tensor.shape)}"
        )
    if tensor.dtype != extent.dtype:
        raise ArgumentError(
            f"{where}: expected dtype {extent.dtype}, that of query, got dtype {tensor.dtype}; convert one of them"
        )
    on_device(where, tensor, extent)
    broadcasts(where, tensor.shape[: tensor.ndim - len(sizes)], extent.batch)


# Comparisons below are written out (a == 1 or a == b): for `in`, a compiler makes no guard.


def fitting(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts to another."""
    return len(shape) <= len(to) and all(a == 1 or a == b for a, b in zip(reversed(shape), reversed(to), strict=False))


def broadcasts(where: str, batch: tuple[int, ...], to: tuple[int, ...]) -> None:
    """Raise `ShapeError` unless the leading dimensions `batch` broadcast to `to`."""
    if batch and not fitting(batch, to):
        raise ShapeError(f"{where}: expected leading dimensions that broadcast to {tuple(to)}, got {tuple(batch)}")


def per_query(name: str, value: float | Tensor | None, extent: Extent) -> None:
    """Raise unless no tensor, or one that broadcasts against `(..., Lq, 1)`."""
    if not isinstance(value, Tensor):
        return
    if not value.is_floating_point():
        raise ArgumentError(f"{name}: expected a float or a floating tensor, got dtype {value.dtype}")
    shape = (1,) * max(2 - value.ndim, 0) + tuple(value.shape)
    if shape[-1] != 1 or not (shape[-2] == 1 or shape[-2] == extent.q_len):
        raise ShapeError(
            f"{name}: expected a number or a tensor (..., Lq, 1) with Lq = {extent.q_len}, got shape "
            f"{tuple(value.shape)}"
        )
    on_device(name, value, extent)
    broadcasts(name, shape[:-2], extent.batch)


def number(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    high: float | None = None,
    above: float | None = None,
    finite: bool = False,
    tensor: bool = False,
    none: bool = False,
) -> None:
    """Raise unless a number from `least` to `high` or above `above`, or allowed.

    Tensors are checked with the call.
    """
    if (none and value is None) or (tensor and isinstance(value, Tensor)):
        return
    real, infinite = isinstance(value, int | float) and not isinstance(value, bool), False
    if real:
        infinite = finite and abs(value) == float("inf")
        inside = (least is None or value >= least) and (high is None or value <= high) and value == value
        large = isinstance(value, int) and not tracing() and abs(value) > _LARGEST
        if inside and (above is None or value > above) and not infinite and not large:
            return
    bound = "" if least is None else f" of at least {least:g}"
    bound = bound if above is None else f" above {above:g}"
    bound = bound if high is None else f" from {least:g} to {high:g}"
    expected = f"a {'finite ' * infinite}number{bound}{' or a tensor' * tensor}{' or None' * none}"
    if not real:
        raise ArgumentTypeError(f"{name}: expected {expected}, got {type(value).__name__}")
    if inside and large:
        raise ArgumentError(f"{name}: expected {expected}, got an int beyond 64 bits; write it as a float")
    raise ArgumentError(f"{name}: expected {expected}, got {value}")


def whole(name: str, value: Any, *, least: int, high: int = _LARGEST, tensor: bool = False, none: bool = False) -> None:
    """Raise unless an int from `least` to `high`, or an allowed tensor or None."""
    if (none and value is None) or (tensor and isinstance(value, Tensor)) or isinstance(value, torch.SymInt):
        return  # comparing a symbolic size would make a guard
    expected = f"an int of at least {least}{' or a tensor' * tensor}{' or None' * none}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"{name}: expected {expected}, got {type(value).__name__}")
    if value < least:
        raise ArgumentError(f"{name}: expected {expected}, got {value}")
    if not tracing() and value > high:
        raise ArgumentError(f"{name}: expected {expected} and at most {high}, got more")


positive_number = partial(number, least=SMALLEST, high=LARGEST)


def positive(name: str, value: float | Tensor | None, extent: Extent) -> None:
    """Raise unless `value` fits the queries and the range of positive parameters."""
    if isinstance(value, Tensor):
        per_query(name, value, extent)
        within(name, value, extent)


def within(name: str, value: Tensor, extent: Extent, least: float = SMALLEST) -> None:
    """Raise unless values, if they can be read, are from `least` to `LARGEST`."""
    if not extent.values:  # a compiler may make symbols of the limits, which a message cannot contain
        return
    numbers = value.detach().float()  # half types round the limits to 0 and infinity, float64 has no 1e-12f
    inside = (numbers >= least) & (numbers <= LARGEST)
    ensure(inside, f"{name}: expected values from {least:g} to {LARGEST:g}, got some outside")


def fits(name: str, tensor: Tensor, extent: Extent) -> None:
    """Raise unless `tensor` broadcasts to `(..., Lq, Lk)` on the query's device."""
    target = (*extent.batch, extent.q_len, extent.k_len)
    if not fitting(tensor.shape, target):
        got = f"got {tuple(tensor.shape)}"
        if tensor.shape == (*extent.batch[:1], extent.k_len):  # the shape of other libraries' padding masks
            got = f"{got}; where that is (batch, Lk), write {_by_example(name, extent)}"
        raise ShapeError(f"{name}: expected a shape that broadcasts to (..., Lq, Lk) = {target}, {got}")
    on_device(name, tensor, extent)


def ambiguous(shape: tuple[int, ...], scores: tuple[int, ...]) -> bool:
    """Whether a mask `(n, Lk)` could also be one row an example: B = Lq = n."""
    return len(shape) == 2 < len(scores) and shape[0] == scores[0] > 1


def warn_if_ambiguous(name: str, tensor: Tensor, extent: Extent) -> None:
    """Warn if a tensor `(Lq, Lk)` would also fit as `(B, Lk)`.

    No error: B = Lq may hold for some batches alone, and a correct program must not end at one of them.
    """
    if tracing() or not ambiguous(tensor.shape, (*extent.batch, extent.q_len, extent.k_len)):
        return
    warnings.warn(
        f"{name}: {tuple(tensor.shape)} is read as (Lq, Lk), though (batch, Lk) fits as well; write {name}[None] if "
        f"that is right, {_by_example(name, extent)} if it says which keys of each example may be attended to (as "
        "masks.Lengths does)",
        stacklevel=2,
    )


def _by_example(name: str, extent: Extent) -> str:
    return f"{name}[:, {', '.join(['None'] * len(extent.batch))}]"


def dense(name: str, tensor: Tensor) -> None:
    """Raise for a nested or sparse tensor."""
    if tensor.is_nested:
        raise ArgumentTypeError(f"{name}: expected a dense tensor, got a nested one. Call .to_padded_tensor(0).")
    if tensor.layout != torch.strided:
        raise ArgumentTypeError(f"{name}: expected a dense tensor, got layout {tensor.layout}. Call .to_dense().")


def on_device(name: str, tensor: Tensor, extent: Extent) -> None:
    """Raise unless `tensor` is dense and on the query's device."""
    dense(name, tensor)
    same_device(name, tensor, extent.device, "query")


def same_device(name: str, tensor: Tensor, device: torch.device, owner: str, attribute: str | None = None) -> None:
    """Raise unless `tensor` is on the device of its owner's tensor `attribute`."""
    if tensor.device != device:
        way_out = f"move it with .to({attribute or owner}.device)"
        raise ArgumentError(f"{name}: expected device {device}, that of {owner}, got {tensor.device}; {way_out}")


def check_align(owner: str, align: Align, extent: Extent) -> None:
    """Raise unless `align` is "start", "end", an int, integers, or None if Lq = Lk."""
    expected = f"align of {owner}: expected 'start', 'end', an int or a tensor"
    if align is None and extent.q_len != extent.k_len:
        raise ArgumentError(
            f"{expected}, since Lq = {extent.q_len} and Lk = {extent.k_len} differ, "
            "got None (a cached decoding step is align='end', or the step's position)"
        )
    if isinstance(align, str) and align not in ("start", "end"):
        raise ArgumentError(f"{expected}, got {align!r}")
    if isinstance(align, Tensor):
        integers(f"align of {owner}", align, extent)
    elif not (align is None or isinstance(align, str | int | torch.SymInt)) or isinstance(align, bool):
        raise ArgumentTypeError(f"{expected}, got {type(align).__name__}")
    elif isinstance(align, int) and not tracing() and abs(align) > FAR:
        raise ArgumentError(f"align of {owner}: expected a position of at most {FAR} on either side, got {align}")


def in_ranges(options: object, ranges: Iterable[tuple[str, float, float]]) -> None:
    """Raise for an option of the command line outside its range (name, low, high)."""
    for name, least, largest in ranges:
        if not least <= (value := getattr(options, name)) <= largest:
            option = f"--{name.replace('_', '-')}"
            raise ArgumentError(f"{option}: expected a number from {least} to {largest}, got {value}")


def whole_dtype(name: str, tensor: Tensor) -> None:
    """Raise unless the tensor holds integers."""
    if tensor.dtype in _UNSIGNED:  # torch does not compare them with other dtypes
        raise ArgumentTypeError(f"{name}: expected a signed integer tensor, got dtype {tensor.dtype}; write .long()")
    if tensor.dtype not in _INTEGERS:
        raise ArgumentTypeError(f"{name}: expected an integer tensor, got dtype {tensor.dtype}")


def integers(name: str, tensor: Tensor, extent: Extent) -> None:
    """Raise unless an integer tensor with all batch dimensions of the query, or none."""
    whole_dtype(name, tensor)
    batch_only(name, tensor.shape, extent)
    on_device(name, tensor, extent)


def batch_only(name: str, shape: tuple[int, ...], extent: Extent) -> None:
    """Raise unless `shape` is () or has exactly the query's batch dimensions."""
    if len(shape) not in (0, len(extent.batch)):
        index = "[:" * (len(shape) > 0) + ", None" * (len(extent.batch) - len(shape)) + "]"
        hint = f"; write it as tensor{index} if its first dimension is the batch"
        raise ShapeError(
            f"{name}: expected no leading dimensions or all {len(extent.batch)} of query {tuple(extent.batch)}, "
            f"got {tuple(shape)}{hint if len(shape) < len(extent.batch) else ''}"
        )
    broadcasts(name, tuple(shape), extent.batch)


def per_position(name: str, tensor: Tensor, length: int, symbol: str, extent: Extent) -> None:
    """Raise unless `tensor` is `(..., length)` or `(..., 1)` and broadcasts."""
    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError(f"{name}: expected a tensor (..., {symbol}), got {type(tensor).__name__}")
    if tensor.ndim < 1 or not (tensor.shape[-1] == 1 or tensor.shape[-1] == length):
        raise ShapeError(f"{name}: expected (..., {symbol}) with {symbol} = {length}, got shape {tuple(tensor.shape)}")
    broadcasts(name, tuple(tensor.shape[:-1]), extent.batch)
    on_device(name, tensor, extent)
