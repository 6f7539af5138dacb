"""Whether weights over an image's cells point at a thing: where the largest of them lies, and how much lies on it;
and what the reads of many questions come to by that.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.errors import ShapeError
from saccade.tasks.groups import means

__all__ = ["Pointed", "Pointing", "metrics_of", "pointed"]


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
    return _pointed(weights, _inside(weights.shape, boxes, size))


def _inside(shape: Sequence[int], boxes: Sequence[Sequence[float]], size: tuple[int, int]) -> Tensor:
    """Whether the middle of each cell of a map `(rows, columns)` lies in a box."""
    rows, columns = shape
    y = (torch.arange(rows, dtype=torch.float64) + 0.5) * size[0] / rows
    x = (torch.arange(columns, dtype=torch.float64) + 0.5) * size[1] / columns
    inside = torch.zeros(rows, columns, dtype=torch.bool)
    for left, top, right, bottom in boxes:
        inside |= ((y >= top) & (y < bottom))[:, None] & ((x >= left) & (x < right))
    return inside


def _pointed(weights: Tensor, inside: Tensor) -> Pointed:
    values = weights.detach().to("cpu", torch.float64)
    total = float(values.sum())
    if total <= 0:
        return Pointed(False, 0.0)
    return Pointed(bool(inside.flatten()[values.argmax()]), float((values * inside).sum()) / total)


class Pointing(NamedTuple):
    """Where the reads of one text pointed.

    >>> Pointing("colour", [True, False], [0.5, 0.25]).hits[-1]
    False
    """

    group: str
    hits: list[bool]
    """Of each read, whether its largest weight lies in one of the boxes."""
    shares: list[float]
    """Of each read, how much of its weight does."""

    @classmethod
    def of(cls, group: str, weights: Tensor, boxes: Sequence[Sequence[float]], size: tuple[int, int]) -> "Pointing":
        """Judge the weights `(reads, rows, columns)` of one text by boxes in an image of a height and width.

        A read without any weight is none, such as those at words that are padding.
        """
        inside = _inside(weights.shape[1:], boxes, size)
        found = [_pointed(each, inside) for each in weights if bool(each.any())] or [Pointed(False, 0.0)]
        return cls(group, [one.hit for one in found], [one.share for one in found])


def metrics_of(seen: Sequence[Pointing]) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Return how often reads pointed at what matters, as a whole and by group; nothing where there are none.

    Of several reads `pointing` is the last one's, `pointing_mean` the mean of all; `weight_inside` is how much of the
    last one's weight is on things that matter.

    Example:
        >>> metrics_of([Pointing("is", [False, True], [0.1, 0.5])])
        ({'pointing': 1.0, 'pointing_mean': 0.5, 'weight_inside': 0.5}, {'pointing': {'is': 1.0}})
    """
    if not seen:
        return {}, {}
    last = [float(one.hits[-1]) for one in seen]
    each, inside = fmean(fmean(one.hits) for one in seen), fmean(one.shares[-1] for one in seen)
    metrics = {"pointing": fmean(last), "pointing_mean": each, "weight_inside": inside}
    return metrics, {"pointing": means([one.group for one in seen], last)}
