"""`merge`: results over parts of the keys joined into the result over all of them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from saccade import normalizers
from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError

__all__ = ["merge"]


def merge(outputs: Sequence[Tensor], lses: Sequence[Tensor]) -> Tensor:
    """Joins softmax attention over parts of the keys (rings, paged caches) into attention over all of them.

        output = Σ_p exp(lse_p) output_p / Σ_p exp(lse_p)

    Args:
        outputs: of each part, `(..., Lq, Dv)`.
        lses: of each part, `(..., Lq)`, natural log, from `AuxRequest(lse=True)`.

    Returns:
        `(..., Lq, Dv)`; zeros where every part is empty.

    Raises:
        ArgumentError: no parts, or another number of lses than of outputs.
        ShapeError: an lse that does not fit its output.

    Milakov and Gimelshein 2018, "Online normalizer calculation for softmax".

    >>> import torch
    >>> merge([torch.tensor([[1.0]]), torch.tensor([[3.0]])], [torch.tensor([0.0]), torch.tensor([0.0])]).item()
    2.0
    """
    outputs, lses = list(() if outputs is None else outputs), list(() if lses is None else lses)
    if not outputs or len(outputs) != len(lses):
        raise ArgumentError(
            f"lses: expected one an output and at least one, got {len(outputs)} outputs and {len(lses)} lses"
        )
    for output, lse in zip(outputs, lses, strict=True):
        if not isinstance(output, Tensor) or not isinstance(lse, Tensor):
            raise ArgumentTypeError("outputs: expected tensors, and tensors as lses, got something else")
        if lse.shape != output.shape[:-1]:
            raise ShapeError(
                f"lses: expected shape {tuple(output.shape[:-1])}, that of its output, got {tuple(lse.shape)}"
            )
        if output.shape != outputs[0].shape:
            raise ShapeError(f"outputs: expected all of shape {tuple(outputs[0].shape)}, got {tuple(output.shape)}")
    stacked = torch.stack(lses)
    share = normalizers.Softmax()(stacked.movedim(0, -1), (stacked > -torch.inf).movedim(0, -1)).movedim(-1, 0)[
        ..., None
    ]
    parts = [output.to(share.dtype) for output in outputs]
    return (torch.stack(parts) * share).sum(0).to(outputs[0].dtype)
