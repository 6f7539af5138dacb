"""Simple methods on labelled images: linear baselines, and whether mirrored images keep their labels."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from saccade._threads import own_filters
from saccade.data.dataset import spread
from saccade.tasks.image.dataset import pixels

__all__ = ["LINEAR", "Linear", "colours", "mirrored_differ", "small"]

_SIDE = 16  # largest height and width of images whose pixels are compared
_LEVELS, _GREYS = 8, 64  # of a channel in RGB, and of a grey image
_NUMBERS = 200_000_000  # images × features × classes of a fit, at most: it takes seconds
_STEPS, _AT_ONCE = 200, 1000
_LARGE, _SURE = 0.1, 3.0  # share of right answers, and standard errors


def small(images: Tensor) -> Tensor:
    """Return the pixels of images, uint8, scaled down to 16 × 16, one row an image.

    >>> small(torch.full((2, 3, 32, 8), 51, dtype=torch.uint8)).shape
    torch.Size([2, 384])
    """
    height, width = (min(side, _SIDE) for side in images.shape[2:])
    return F.adaptive_avg_pool2d(pixels(images), (height, width)).flatten(1)


def colours(images: Tensor) -> Tensor:
    """Return the roots of the shares of colours in images, uint8, one row an image.

    A channel of RGB has 8 levels, and a grey image has 64. Euclidean distances of roots are Hellinger distances.

    >>> colours(torch.tensor([[[[0, 0], [255, 255]]]], dtype=torch.uint8))[0, [0, 1, 63]]
    tensor([0.7071, 0.0000, 0.7071])
    """
    levels = _GREYS if images.shape[1] == 1 else _LEVELS
    number = torch.zeros(len(images), *images.shape[2:], dtype=torch.long)
    for channel in images.unbind(1):
        number = number * levels + channel.long() * levels // 256
    size = levels ** images.shape[1]
    counts = torch.stack([torch.bincount(row, minlength=size) for row in number.flatten(1)])
    return (counts / counts.sum(1, keepdim=True)).sqrt()


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


#: Linear baselines by name. Each C was chosen on validation images of digits, of crops of photographs and of CIFAR-10.
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


def mirrored_differ(images: Tensor, labels: Sequence[Any]) -> tuple[float, float] | None:
    """Compare images and their mirror images by their nearest neighbours.

    Every other image is recognized as it is and mirrored, by the nearest of the rest. The result is None if mirrored
    images are recognized about as often. For example, a mirrored digit is taken for another one.

    Args:
        images: training images, `(images, channels, height, width)`, uint8.
        labels: their labels.

    Returns:
        The shares of right labels as they are and mirrored, if they differ by more than a tenth and three standard
        errors.

    Source:
        McNemar 1947, "Note on the sampling error of the difference between correlated proportions or percentages".

    Example:
        >>> images = torch.zeros(80, 1, 2, 2, dtype=torch.uint8)
        >>> images[::4, ..., 0] = images[1::4, ..., 0] = images[2::4, ..., 1] = images[3::4, ..., 1] = 255
        >>> mirrored_differ(images, ["left", "left", "right", "right"] * 20)
        (1.0, 0.0)
    """
    if len(images) < 2:
        return None
    names = list(dict.fromkeys(labels))
    numbers = torch.tensor([names.index(label) for label in labels])
    known, asked = small(images[::2]), images[1::2]
    right, mirrored = (
        numbers[::2][torch.cdist(small(some), known).argmin(1)] == numbers[1::2] for some in (asked, asked.flip(3))
    )
    lost, won = int((right & ~mirrored).sum()), int((mirrored & ~right).sum())
    as_is, turned = float(right.float().mean()), float(mirrored.float().mean())
    differ = lost - won > _SURE * (lost + won) ** 0.5 and turned < (1 - _LARGE) * as_is
    return (as_is, turned) if differ else None
