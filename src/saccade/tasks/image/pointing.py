"""Whether weights over an image's cells point at a thing: where the largest of them lies, and how much lies on it."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.errors import ShapeError

__all__ = ["Pointed", "pointed"]


class Pointed(NamedTuple):
    """Whether weights point at some boxes.

    >>> Pointed(True, 0.75).share
    0.75
    """

    hit: bool
    """Whether the middle of the cell with the largest weight lies in a box."""
    share: float
    """The share of the weight that is on cells whose middles lie in one."""


def pointed(weights: Tensor, boxes: Sequence[Sequence[float]], size: tuple[int, int]) -> Pointed:
    r"""Return whether the largest weight is in a box, and how much of all weight is.

    .. math::
        \text{hit} = \big[m_{\arg\max_i w_i} \in \textstyle\bigcup B\big] \qquad
        \text{share} = \frac{\sum_i w_i\, [m_i \in \bigcup B]}{\sum_i w_i}

    where \(m_i\) is the middle of cell i. Of cells with the same weight the first counts; weights that are all 0 point
    at nothing.

    Args:
        weights: `(rows, columns)`, at least 0, each of which covers its part of the image.
        boxes: left, top, right and bottom of each in pixels, the last two exclusive.
        size: height and width of the image in pixels.

    Raises:
        ShapeError: if weights are no map.

    Example:
        >>> pointed(torch.tensor([[0.75, 0.25], [0.0, 0.0]]), [(0, 0, 6, 6)], (16, 16))
        Pointed(hit=True, share=0.75)

    Source:
        Zhang et al. 2016, "Top-down Neural Attention by Excitation Backprop", section 4.1, the pointing game
        (https://arxiv.org/abs/1608.00507), with a thing's box and no tolerance around it.
    """
    if weights.ndim != 2 or not weights.numel():
        raise ShapeError(f"weights: expected shape (rows, columns), got {tuple(weights.shape)}")
    rows, columns = weights.shape
    y = (torch.arange(rows, dtype=torch.float64) + 0.5) * size[0] / rows
    x = (torch.arange(columns, dtype=torch.float64) + 0.5) * size[1] / columns
    inside = torch.zeros(rows, columns, dtype=torch.bool)
    for left, top, right, bottom in boxes:
        inside |= ((y >= top) & (y < bottom))[:, None] & ((x >= left) & (x < right))
    values = weights.detach().to("cpu", torch.float64)
    total = float(values.sum())
    if total <= 0:
        return Pointed(False, 0.0)
    return Pointed(bool(inside.flatten()[values.argmax()]), float((values * inside).sum()) / total)
