"""Tables of additive attention of few queries: see `compiled.steps`."""

from typing import NamedTuple

from torch import Tensor

from saccade.kernels.threads import Kernel


class Inputs(NamedTuple):
    """First part of both tables. A block is a batch entry with contiguous tensors."""

    query: Tensor
    key: Tensor
    powers: Tensor  # e^2x of the key, NaN if it leaves the range
    value: Tensor
    v: Tensor
    v_stride: int
    mask: Tensor
    mask_stride: int  # from one entry's mask to the next
    row_stride: int  # from one query's mask to the next
    length: int
    width: int
    features: int
    out: int  # features of values
    temperature: Tensor


class Forward(NamedTuple):
    """Table of the forward: `output`, `weights` and `ways` of rows are its results."""

    inputs: Inputs
    output: Tensor
    weights: Tensor
    ways: Tensor
    room: Tensor  # A row of features for each entry


class Backward(NamedTuple):
    """Table of the backward.

    Without weights, `grad` is the gradient of the scores, which sums to zero in each row as that of any softmax does.
    """

    inputs: Inputs
    grad: Tensor
    weights: Tensor | None
    ways: Tensor
    room: Tensor  # two rows of features and one of keys for each entry
    query_grad: Tensor
    key_grad: Tensor  # it is added to
    v_grad: Tensor  # One for each entry. It is added to


forward, backward = Kernel("steps.forward", Forward), Kernel("steps.backward", Backward)
