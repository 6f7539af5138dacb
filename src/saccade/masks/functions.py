"""Masks by a function of two positions, written by the user."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from saccade._definitions.functions import OfPositions, PositionFunction
from saccade._definitions.structure import Extent, Grid, registered
from saccade.masks.base import Mask


@registered
@dataclass(frozen=True)
class Where(Mask, OfPositions):
    """Pairs of query i and key j by a predicate `function(i, j)`.

    It is a mask_mod of flex_attention for whole blocks of pairs. The function is evaluated block by block, never for
    all pairs at once, and once more to find the empty blocks. Combined with a mask of known shape
    (`Window(64, 64) & Where(f)`) it is evaluated only on the pairs that this mask leaves.

    Args:
        function: `(i, j)`, int64 tensors `(rows, 1)` and `(1, keys)` of indices from 0 on, to a boolean tensor that
            broadcasts to `(..., rows, keys)`, by torch's operations. It may index tensors by i and j, batch dimensions
            in front: `ids[:, i] == ids[:, j]`. It needs no gradient and must not be random.

    Raises:
        ArgumentTypeError: no function, or a function that does not return booleans.
        ArgumentError: in a call, a function that fails on some positions, or returns a tensor on another device.
        ShapeError: in a call, results that do not broadcast.

    Dong et al. 2024, "Flex Attention" (https://arxiv.org/abs/2412.05496): its mask_mod.

    >>> import torch
    >>> from saccade import attend
    >>> dilated = Where(lambda i, j: (i - j) % 2 == 0)
    >>> attend(torch.zeros(4, 1), torch.zeros(4, 1), torch.eye(4), mask=dilated).tolist()[0]
    [0.5, 0.0, 0.5, 0.0]
    """

    owner: ClassVar[str] = "masks.Where"
    due: ClassVar[str] = "booleans (True: may attend); compare, or give floats to biases.Position"
    itself: ClassVar[str] = "a boolean tensor is a mask by itself"
    function: PositionFunction

    def __post_init__(self) -> None:
        self.check_callable()

    @staticmethod
    def is_due(result: Tensor) -> bool:
        return result.dtype == torch.bool

    def dense(self, grid: Grid) -> Tensor:
        return self.laid_out(grid)

    def check(self, extent: Extent) -> None:
        self.check_function(extent)
