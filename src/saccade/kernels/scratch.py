"""Temporary memory of kernels, used again by the next call.

PyTorch gives memory on a CPU back at once, and fresh memory is handed out by the page: of additive attention, forward
and backward at 8 x 256 x 256 x 256 on two cores, that was 5 of 36 ms.
"""

import math
import threading
from collections.abc import Sequence

import torch
from torch import Tensor

_KEPT = 1 << 23
"""Largest memory to keep, in bytes."""

_local = threading.local()


def scratch(name: str, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """An uninitialized tensor in this thread's memory of a name.

    Two tensors that are needed at once have two names.
    """
    size = math.prod(shape) * dtype.itemsize
    if size > _KEPT:
        return torch.empty(*shape, dtype=dtype, device="cpu")
    pieces = _local.__dict__.setdefault("pieces", {})
    if name not in pieces or pieces[name].numel() < size:
        pieces[name] = torch.empty(size, dtype=torch.uint8, device="cpu")
    piece: Tensor = pieces[name]
    return piece[:size].view(dtype).view(*shape)
