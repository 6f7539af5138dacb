"""Erasing cells of images, and what becomes of an answer: whether what a map calls important is what is needed."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.errors import ArgumentError, ShapeError

__all__ = ["Left", "answered", "any_order", "erased", "ground", "heaviest_first"]

Answer = Callable[[Tensor], Tensor]
"""From images `(batch, channels, height, width)` to probabilities of answers `(batch, classes)`."""


def ground(images: Tensor, brightest: float, numbers: torch.Generator) -> Tensor:
    """Return images of nothing but ground: each pixel is one of the same image's ground at random.

    Pixels are drawn with replacement from those none of whose channels is brighter than the ground gets, so that a
    noise without pattern goes on as it is, which one colour for all pixels would not.

    Args:
        images: `(batch, channels, height, width)`.
        brightest: level of the ground.
        numbers: that pixels are drawn by, on the CPU.

    Returns:
        As many images, `(batch, channels, height, width)`.

    Raises:
        ArgumentError: if an image has no such pixel.

    Example:
        >>> image = torch.tensor([[[[9.0, 1.0], [2.0, 9.0]]]])
        >>> ground(image, 2.0, torch.Generator().manual_seed(0)).unique()
        tensor([1., 2.])
    """
    dark = (images <= brightest).all(1).flatten(1).cpu()
    if not bool(dark.any(1).all()):
        raise ArgumentError(f"expected images with ground, got one whose pixels are all above {brightest}", "brightest")
    places = torch.multinomial(dark.float(), dark.shape[1], replacement=True, generator=numbers).to(images.device)
    return images.flatten(2).gather(2, places[:, None].expand(-1, images.shape[1], -1)).view_as(images)


def erased(images: Tensor, cells: Tensor, shown: Tensor) -> Tensor:
    r"""Return images in which some cells show something else.

    .. math:: x'_{cp} = \begin{cases} g_{cp} & \text{if } p \text{ lies in an erased cell} \\
        x_{cp} & \text{else} \end{cases}

    for the pixels p of each channel c.

    Args:
        images: `(batch, channels, height, width)`.
        cells: `(batch, rows, columns)`, boolean, True where the image is erased. Each covers its part of the image.
        shown: g, what is seen there, as `ground` makes it, `(batch, channels, height, width)`.

    Raises:
        ShapeError: if there are not as many maps of cells as images, or more cells than pixels.

    Example:
        >>> image = torch.tensor([[[[9.0, 9.0, 1.0, 1.0], [9.0, 9.0, 1.0, 1.0], [1.0] * 4, [1.0] * 4]]])
        >>> erased(image, torch.tensor([[[True, False], [False, False]]]), torch.ones(1, 1, 4, 4)).unique()
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
    return torch.where(hidden, shown, images)


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
    answer: Answer,
    images: Tensor,
    shown: Tensor,
    first: Tensor,
    order: Tensor,
    shape: tuple[int, int],
    counts: Sequence[int],
) -> list[Left]:
    """Return what is answered once the first cells of an order are erased, for several numbers of them.

    The model sees the erased image from its first pixel on: cells are not left out of a mean, whose weights would have
    to be shared out anew, as in the source.

    Args:
        answer: the model, to its question.
        images: `(batch, channels, height, width)`.
        shown: what is seen in erased cells, likewise.
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
        >>> order = torch.tensor([[3, 0, 1, 2]])
        >>> found = answered(answer, images, torch.zeros(1, 1, 4, 4), torch.tensor([0]), order, (2, 2), [1, 2])
        >>> [int(left.answer) for left in found]
        [0, 1]
    """
    found = []
    for count in counts:
        cells = torch.zeros(order.shape, dtype=torch.bool).scatter(1, order[:, :count].cpu(), True)
        shares = answer(erased(images, cells.unflatten(1, shape).to(images.device), shown))
        found.append(Left(shares.argmax(-1), shares.gather(1, first[:, None])[:, 0]))
    return found
