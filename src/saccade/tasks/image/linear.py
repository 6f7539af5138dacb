"""Simple methods on labelled images: linear baselines and nearest neighbours."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from saccade._threads import own_filters
from saccade.data.dataset import spread
from saccade.models.colours import colour_shares
from saccade.tasks.image.dataset import pixels

__all__ = ["LINEAR", "Linear", "Neighbours", "colours", "neighbours", "small"]

_SIDE = 16  # largest height and width of images whose pixels are compared
_NUMBERS = 200_000_000  # images × features × classes of a fit, at most: it takes seconds
_STEPS, _AT_ONCE = 200, 100
_LARGE, _SURE = 0.1, 3.0  # share of right answers, and standard errors


def small(images: Tensor) -> Tensor:
    """Return the pixels of images, uint8, scaled down to 16 × 16, one row an image.

    >>> small(torch.full((2, 3, 32, 8), 51, dtype=torch.uint8)).shape
    torch.Size([2, 384])
    """
    height, width = (min(side, _SIDE) for side in images.shape[2:])
    parts = (F.adaptive_avg_pool2d(pixels(part), (height, width)) for part in images.split(_AT_ONCE))
    return torch.cat(list(parts)).flatten(1)


def colours(images: Tensor) -> Tensor:
    """Return the roots of the shares of colours in images, uint8, one row an image.

    >>> colours(torch.zeros(2, 3, 8, 8, dtype=torch.uint8)).shape
    torch.Size([2, 512])
    """
    return torch.cat([colour_shares(pixels(part)) for part in images.split(_AT_ONCE)])


class Linear(NamedTuple):
    """A linear baseline: logistic regression on features of images."""

    features: Callable[[Tensor], Tensor]
    strength: float
    """C, the weight of errors beside the squares of the coefficients."""
    about: str
    advice: str

    def fit(self, images: Tensor, labels: Sequence[int], classes: int) -> Any:
        """Fit a regression, or the most frequent label if there is one label alone.

        Args:
            images: `(images, channels, height, width)`, uint8. Many are thinned out evenly.
            labels: numbers of their labels.
            classes: number of labels.

        Returns:
            A classifier of scikit-learn, from the rows of `features` to numbers of labels.
        """
        from sklearn.dummy import DummyClassifier  # here: it takes a second to import
        from sklearn.linear_model import LogisticRegression

        width = self.features(images[:1]).shape[1]
        rows = list(spread(len(labels), max(classes, _NUMBERS // (width * classes))))
        features, numbers = self.features(images[rows]).numpy(), np.asarray(labels)[rows]
        if len(set(numbers.tolist())) < 2:
            return DummyClassifier(strategy="most_frequent").fit(features, numbers)
        with own_filters():
            warnings.simplefilter("ignore")  # of steps: a baseline need not converge
            return LogisticRegression(C=self.strength, max_iter=_STEPS).fit(features, numbers)

    def predict(self, model: Any, images: Callable[[int, int], Tensor], size: int) -> list[int]:
        """Return the number of the label of each image.

        Args:
            model: from `fit`.
            images: from the first index and the last one, exclusive, to images.
            size: number of images.
        """
        parts = (images(first, min(size, first + _AT_ONCE)) for first in range(0, size, _AT_ONCE))
        return [number for part in parts for number in model.predict(self.features(part).numpy()).tolist()]


#: Linear baselines by name. Of C = 0.1, 1, 10 and 100, each is the best or about a standard error behind the best, in
#: cross-validation on training images of scikit-learn's digits and of crops of photographs.
LINEAR = {
    "pixels": Linear(
        small,
        1.0,
        f"pixels of at most {_SIDE} × {_SIDE}",
        "scikit-learn is enough: LogisticRegression(max_iter=200).fit(images.reshape(len(images), -1) / 255, labels)",
    ),
    "colours": Linear(
        colours,
        10.0,
        "shares of colours",
        "scikit-learn is enough: LogisticRegression(C=10).fit(histograms ** 0.5, labels), "
        "histograms by numpy.histogramdd(image.reshape(-1, 3), 8, [(0, 256)] * 3)",
    ),
}


class Neighbours(NamedTuple):
    """Shares of images with the label of their nearest neighbour."""

    pixels: float
    mirrored: float
    """The mirror image has the label of its nearest neighbour by pixels."""
    colours: float
    sides: bool
    """Whether left and right matter: mirror images are recognized clearly less often."""
    coloured: bool
    """Whether images are recognized clearly more often by their colours."""


def neighbours(images: Tensor, labels: Sequence[Any]) -> Neighbours:
    """Recognize half of the images, drawn at random, by the nearest of the rest.

    Mirror images are recognized as often as images if left and right do not matter. They do, for example, of digits. A
    clear difference is more than a tenth and three standard errors.

    Args:
        images: training images, `(images, channels, height, width)`, uint8.
        labels: their labels.

    Source:
        McNemar 1947, "Note on the sampling error of the difference between correlated proportions or percentages".

    Example:
        >>> images = torch.zeros(80, 1, 2, 2, dtype=torch.uint8)
        >>> images[::2, ..., 0] = images[1::2, ..., 1] = 255
        >>> near = neighbours(images, ["left", "right"] * 40)
        >>> near.pixels, near.mirrored, near.sides, near.coloured
        (1.0, 0.0, True, False)
    """
    if len(images) < 2:
        return Neighbours(0.0, 0.0, 0.0, sides=False, coloured=False)
    names = list(dict.fromkeys(labels))
    numbers = torch.tensor([names.index(label) for label in labels])
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))  # labels may alternate
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    references, queries = images[first], images[second]
    right, mirrored, coloured = (
        numbers[first][torch.cdist(features(inputs), features(references)).argmin(1)] == numbers[second]
        for features, inputs in ((small, queries), (small, queries.flip(3)), (colours, queries))
    )
    as_is, turned, by_colours = (float(hits.float().mean()) for hits in (right, mirrored, coloured))
    return Neighbours(as_is, turned, by_colours, _clearly(right, mirrored), _clearly(coloured, right))


def _clearly(more: Tensor, less: Tensor) -> bool:
    won, lost = int((more & ~less).sum()), int((less & ~more).sum())
    least: float = max(_SURE * (won + lost) ** 0.5, _LARGE * int(more.sum()))
    return won - lost > least
