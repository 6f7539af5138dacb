"""Pointing: the largest of the weights over an image lies on a thing."""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import torch
from torch import Tensor

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
    """Share of the weight on cells with their middle in a box."""


def pointed(weights: Tensor, boxes: Sequence[Sequence[float]], size: tuple[int, int]) -> Pointed:
    r"""Compare weights `(rows, columns)` with boxes: pointing game and share inside.

    .. math::
        \text{hit} = \big[m_{\arg\max_i w_i} \in \textstyle\bigcup B\big] \qquad
        \text{share} = \frac{\sum_i w_i\, [m_i \in \bigcup B]}{\sum_i w_i}

    where \(m_i\) is the middle of cell i. Of equal largest weights the first counts. All weights of 0 are no hit.

    Args:
        weights: of cells, at least 0.
        boxes: left, top, right and bottom in pixels, the last two exclusive.
        size: height and width of the image in pixels.

    Example:
        >>> pointed(torch.tensor([[0.75, 0.25], [0.0, 0.0]]), [(0, 0, 6, 6)], (16, 16))
        Pointed(hit=True, share=0.75)

    Source:
        Zhang et al. 2016, "Top-down Neural Attention by Excitation Backprop", section 4.1, the pointing game
        (https://arxiv.org/abs/1608.00507), with a thing's box and no tolerance around it.
    """
    [point] = _points(weights[None], boxes, size)
    return point


def _points(maps: Tensor, boxes: Sequence[Sequence[float]], size: tuple[int, int]) -> list[Pointed]:
    """Compare each of several maps with boxes."""
    rows, columns = maps.shape[1:]
    y = (torch.arange(rows, dtype=torch.float64) + 0.5) * size[0] / rows
    x = (torch.arange(columns, dtype=torch.float64) + 0.5) * size[1] / columns
    inside = torch.zeros(rows, columns, dtype=torch.bool)
    for left, top, right, bottom in boxes:
        inside |= ((y >= top) & (y < bottom))[:, None] & ((x >= left) & (x < right))
    points = []
    for values in maps.detach().to("cpu", torch.float64):
        total = float(values.sum())
        hit, weight = bool(inside.flatten()[values.argmax()]), float((values * inside).sum())
        points.append(Pointed(hit, weight / total) if total > 0 else Pointed(False, 0.0))
    return points


class Pointing(NamedTuple):
    """Pointing of the reads of one text.

    >>> Pointing("colour", [True, False], [0.5, 0.25]).hits[-1]
    False
    """

    group: str
    hits: list[bool]
    """Of each read, whether its largest weight lies in a box."""
    shares: list[float]
    """Of each read, the share of its weight in boxes."""

    @classmethod
    def of(cls, group: str, weights: Tensor, boxes: Sequence[Sequence[float]], size: tuple[int, int]) -> "Pointing":
        """Compare the weights of a text, `(reads, rows, columns)`, with boxes.

        `size` is the height and width of the image. Reads without weight, such as those at padding, do not count.
        """
        reads = _points(weights[weights.flatten(1).any(1)], boxes, size) or [Pointed(False, 0.0)]
        return cls(group, [read.hit for read in reads], [read.share for read in reads])


def metrics_of(reads: Sequence[Pointing]) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Return the pointing metrics of reads, as a whole and by group.

    `pointing` is the share of hits of the last read, and `pointing_mean` of all reads. `weight_inside` is the share of
    the weight of the last read inside boxes.

    Example:
        >>> metrics_of([Pointing("is", [False, True], [0.1, 0.5])])
        ({'pointing': 1.0, 'pointing_mean': 0.5, 'weight_inside': 0.5}, {'pointing': {'is': 1.0}})
    """
    if not reads:
        return {}, {}
    last = [float(text.hits[-1]) for text in reads]
    mean, inside = fmean(fmean(text.hits) for text in reads), fmean(text.shares[-1] for text in reads)
    metrics = {"pointing": fmean(last), "pointing_mean": mean, "weight_inside": inside}
    return metrics, {"pointing": means([text.group for text in reads], last)}
