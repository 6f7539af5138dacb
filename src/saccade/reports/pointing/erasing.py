"""Erasing cells of images, and what becomes of an answer: whether what a map calls important is what is needed."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.errors import ShapeError

__all__ = ["Left", "answered", "any_order", "erased", "heaviest_first"]

Answer = Callable[[Tensor], Tensor]
"""From images `(batch, channels, height, width)` to probabilities of answers `(batch, classes)`."""


def erased(images: Tensor, cells: Tensor) -> Tensor:
    r"""Return images in which some cells show nothing but ground.

    .. math:: x'_{cp} = \begin{cases} \operatorname{median}_q x_{cq} & \text{if } p \text{ lies in an erased cell} \\
        x_{cp} & \text{else} \end{cases}

    for the pixels p of each channel c. Where things cover less than half of an image its median is the ground's, which
    the mean is not: what is to be gone would colour it.

    Args:
        images: `(batch, channels, height, width)`.
        cells: `(batch, rows, columns)`, boolean, True where the image is erased. Each covers its part of the image.

    Raises:
        ShapeError: if there are not as many maps of cells as images, or more cells than pixels.

    Example:
        >>> image = torch.tensor([[[[9.0, 9.0, 1.0, 1.0], [9.0, 9.0, 1.0, 1.0], [1.0] * 4, [1.0] * 4]]])
        >>> erased(image, torch.tensor([[[True, False], [False, False]]])).unique()
        tensor([1.])
    """
    if images.ndim != 4 or cells.ndim != 3 or len(images) != len(cells):
        expected = "images (batch, channels, height, width) and cells (batch, rows, columns)"
        raise ShapeError(f"cells: expected {expected}, got {tuple(images.shape)} and {tuple(cells.shape)}")
    (rows, columns), (height, width) = cells.shape[1:], images.shape[2:]
    if not (0 < rows <= height and 0 < columns <= width):
        raise ShapeError(f"cells: expected 1 to {height} rows and 1 to {width} columns, got {rows} and {columns}")
    y, x = (torch.arange(size) * count // size for size, count in ((height, rows), (width, columns)))
    hidden = cells[:, y][:, :, x][:, None]
    ground = images.flatten(2).median(-1).values[:, :, None, None]
    return torch.where(hidden, ground, images)


def heaviest_first(maps: Tensor, ties: Tensor) -> Tensor:
    """Return the numbers of cells by their weights, the heaviest first.

    Args:
        maps: `(batch, rows, columns)`.
        ties: `(batch, rows * columns)`, the order of cells that weigh the same, as most do that weigh nothing.

    Returns:
        `(batch, rows * columns)`.

    Example:
        >>> heaviest_first(torch.tensor([[[0.0, 0.25], [0.75, 0.0]]]), torch.tensor([[3, 2, 1, 0]]))
        tensor([[2, 1, 3, 0]])
    """
    return ties.gather(1, maps.flatten(1).gather(1, ties).argsort(dim=-1, descending=True, stable=True))


def any_order(count: int, cells: int, numbers: torch.Generator) -> Tensor:
    """Return the numbers of cells in an order at random for each of some images, `(count, cells)`.

    >>> any_order(2, 3, torch.Generator().manual_seed(0)).sort(-1).values
    tensor([[0, 1, 2],
            [0, 1, 2]])
    """
    return torch.rand(count, cells, generator=numbers, dtype=torch.float64).argsort(-1)


class Left(NamedTuple):
    """What is left of answers once cells are erased.

    >>> Left(torch.tensor([3]), torch.tensor([0.25])).answer
    tensor([3])
    """

    answer: Tensor
    """The number of the most probable answer then, `(batch,)`."""
    probability: Tensor
    """Of the answer that came first before, `(batch,)`."""


def answered(
    answer: Answer, images: Tensor, first: Tensor, order: Tensor, shape: tuple[int, int], counts: Sequence[int]
) -> list[Left]:
    """Return what is answered once the first cells of an order are erased, for several numbers of them.

    The model sees the erased image from its first pixel on: cells are not left out of a mean, whose weights would have
    to be shared out anew, as in the source.

    Args:
        answer: the model, to its question.
        images: `(batch, channels, height, width)`.
        first: the number of the answer that came first to the whole images, `(batch,)`.
        order: `(batch, cells)`, numbers of cells, those to be erased first in front.
        shape: rows and columns of the cells.
        counts: how many are erased.

    Source:
        After Serrano, Smith 2019, "Is Attention Interpretable?" (https://arxiv.org/abs/1906.03731), who set
        weights to zero and share out the others anew.

    Example:
        >>> images = torch.zeros(1, 1, 4, 4)
        >>> images[0, 0, 0, 0] = 1  # one pixel is lit: is there any?
        >>> answer = lambda images: torch.stack([images.amax((1, 2, 3)), 1 - images.amax((1, 2, 3))], -1)
        >>> [int(left.answer) for left in answered(answer, images, torch.tensor([0]), torch.tensor([[3, 0, 1, 2]]),
        ...                                        (2, 2), [1, 2])]
        [0, 1]
    """
    found = []
    for count in counts:
        cells = torch.zeros(order.shape, dtype=torch.bool).scatter(1, order[:, :count].cpu(), True)
        shares = answer(erased(images, cells.unflatten(1, shape).to(images.device)))
        found.append(Left(shares.argmax(-1), shares.gather(1, first[:, None])[:, 0]))
    return found
