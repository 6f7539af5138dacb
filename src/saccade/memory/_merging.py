"""`merge`: attention over parts of the keys joined into attention over all."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from saccade import normalizers
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError


def merge(outputs: Sequence[Tensor], lses: Sequence[Tensor]) -> Tensor:
    """Join softmax attention over parts of the keys into attention over all keys.

    For example, over the parts of a ring or the pages of a cache.

        output = Σ_p exp(lse_p) output_p / Σ_p exp(lse_p)

    Args:
        outputs: of each part, `(..., Lq, Dv)`.
        lses: of each part, `(..., Lq)`, natural log, from `AuxRequest(lse=True)`.

    Returns:
        `(..., Lq, Dv)`; zeros if every part is empty.

    Raises:
        ArgumentError: no parts, or another number of lses than of outputs.
        ShapeError: an lse that does not fit its output.

    Milakov and Gimelshein 2018, "Online normalizer calculation for softmax".

    >>> import torch
    >>> merge([torch.tensor([[1.0]]), torch.tensor([[3.0]])], [torch.tensor([0.0]), torch.tensor([0.0])]).item()
    2.0
    """
    for name, sequence in (("outputs", outputs), ("lses", lses)):
        if sequence is not None and not isinstance(sequence, Iterable):
            raise ArgumentTypeError(f"{name}: expected a sequence of tensors, got {type(sequence).__name__}")
    outputs, lses = list(() if outputs is None else outputs), list(() if lses is None else lses)
    if not outputs or len(outputs) != len(lses):
        got = f"{len(outputs)} outputs and {len(lses)} lses"
        raise ArgumentError(f"lses: expected one an output and at least one, got {got}")
    for output, lse in zip(outputs, lses, strict=True):
        _check(output, lse, outputs[0])
    stacked = torch.stack(lses)
    weights = normalizers.Softmax()(stacked.movedim(0, -1), (stacked > -torch.inf).movedim(0, -1))
    share = weights.movedim(-1, 0)[..., None]
    parts = [output.to(share.dtype) for output in outputs]
    return (torch.stack(parts) * share).sum(0).to(outputs[0].dtype)


def _check(output: object, lse: object, first: Tensor) -> None:
    """Reject an output or an lse that does not fit the first part."""
    if not isinstance(output, Tensor) or not isinstance(lse, Tensor):
        raise ArgumentTypeError("outputs: expected tensors, and tensors as lses, got another type")
    if not output.is_floating_point() or not lse.is_floating_point():
        got = f"dtypes {output.dtype} and {lse.dtype}"
        raise ArgumentTypeError(f"outputs: expected floating tensors, and floating lses, got {got}")
    if not output.ndim:
        raise ShapeError("outputs: expected shape (..., Lq, Dv), got ()")
    if {output.device, lse.device} != {first.device}:
        got = f"{output.device} and {lse.device} beside {first.device}"
        raise ArgumentError(f"outputs: expected all parts on one device, got {got}")
    if lse.shape != output.shape[:-1]:
        expected = f"{tuple(output.shape[:-1])}, that of its output"
        raise ShapeError(f"lses: expected shape {expected}, got {tuple(lse.shape)}")
    if output.shape != first.shape:
        raise ShapeError(f"outputs: expected all of shape {tuple(first.shape)}, got {tuple(output.shape)}")
