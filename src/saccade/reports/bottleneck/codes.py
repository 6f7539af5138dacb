"""Digits through codes of few numbers: an autoencoder, the best linear code of the same size, and what codes keep."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from saccade.reports.digits import Digits
from saccade.reports.direct import Budget, fit, size
from saccade.train.randomness import generator, seeded

__all__ = ["AUTOENCODER", "CODES", "PIXELS", "PRINCIPAL", "Autoencoder", "coded", "drawing", "drawn_image"]

AUTOENCODER, PRINCIPAL, PIXELS = "autoencoder", "principal components", "pixels"
CODES = (2, 4, 8, 16, 32, 64)
_HIDDEN, _BATCH, _RATE = 256, 128, 3e-3
_CLASSIFIED = 5000  # codes that the classifier learns from, at most
_SHOWN = 10  # digits of the picture
_GREYS = 15
_ITERATIONS = 1000
_Numbers = NDArray[np.float64]


class Autoencoder(nn.Module):
    """Pixels to a code and back, through a layer of 256 either way.

    Args:
        pixels: of an image.
        code: numbers of its code.

    Source:
        Hinton, Salakhutdinov 2006, "Reducing the Dimensionality of Data with Neural Networks", of deeper ones.

    Example:
        >>> Autoencoder(784, 2)(torch.rand(5, 784)).shape
        torch.Size([5, 784])
    """

    def __init__(self, pixels: int, code: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, code))
        self.decoder = nn.Sequential(nn.Linear(code, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, pixels))

    def forward(self, images: Tensor) -> Tensor:
        """Return the images from their codes, `(batch, pixels)`."""
        found: Tensor = self.decoder(self.encoder(images))
        return found


def coded(model: str, code: int, digits: Digits, seed: int, budget: Budget, device: torch.device) -> dict[str, Any]:
    """Return what is kept of digits by a code: the error of what comes back, and how well it is classified.

    Args:
        model: `AUTOENCODER`, which is trained; `PRINCIPAL`, which is computed; or `PIXELS`, which keeps all.
        code: numbers of the code.
        digits: the images.
        seed: of weights and batches.
        budget: of the training.
        device: where.

    Returns:
        "error", the mean over pixels of the squared distance from the test's images, and "right", the share of them
        that a linear classifier of their codes names; of all pixels and of the first seed also "shown", an image of
        each class as it comes back.
    """
    if model == PIXELS:
        return {**_kept(digits, _same, _same), "shown": _shown(digits, _same)}
    if model == PRINCIPAL:
        return _principal(code, digits)
    with seeded(seed, "code", code):
        network = Autoencoder(digits.train.shape[1], code).to(device)

    def loss(step: int) -> Tensor:
        chosen = torch.randint(len(digits.train), (_BATCH,), generator=generator(seed, "images", step))
        images = digits.train[chosen].to(device)
        return nn.functional.mse_loss(network(images), images)

    spent = fit(network, loss, budget, _RATE)
    found = _kept(digits, _applied(network.encoder, device), _applied(network, device))
    if seed == 1:
        found["shown"] = _shown(digits, _applied(network, device))
    return {**found, "parameters": size(network), **vars(spent)}


def _applied(network: nn.Module, device: torch.device) -> Callable[[Tensor], _Numbers]:
    @torch.no_grad()
    def apply(images: Tensor) -> _Numbers:
        rows: _Numbers = network(images.to(device)).cpu().double().numpy()
        return rows

    return apply


def _same(images: Tensor) -> _Numbers:
    return images.double().numpy()


def _principal(code: int, digits: Digits) -> dict[str, Any]:
    """The code of the first principal components: of all linear ones the one of the least squared error."""
    from sklearn.decomposition import PCA

    found = PCA(min(code, *digits.train.shape), svd_solver="covariance_eigh").fit(digits.train.numpy())
    return _kept(
        digits,
        lambda images: found.transform(images.numpy()),
        lambda images: found.inverse_transform(found.transform(images.numpy())),
    )


def _kept(
    digits: Digits, encode: Callable[[Tensor], _Numbers], restore: Callable[[Tensor], _Numbers]
) -> dict[str, Any]:
    return {
        "error": float(((restore(digits.test) - digits.test.double().numpy()) ** 2).mean()),
        "right": _classified(digits, encode(digits.train[:_CLASSIFIED]), encode(digits.test)),
    }


def _shown(digits: Digits, restore: Callable[[Tensor], _Numbers]) -> list[str]:
    """The first image of each class of the test, as it comes back."""
    firsts = [int(np.flatnonzero(digits.truth == digit)[0]) for digit in np.unique(digits.truth)[:_SHOWN]]
    return [drawing(image) for image in restore(digits.test[firsts])]


def _classified(digits: Digits, train: NDArray[Any], test: NDArray[Any]) -> float:
    """The share of the test's digits that a linear classifier of the codes names."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=_ITERATIONS))
    classifier.fit(train[:_CLASSIFIED], digits.classes[:_CLASSIFIED])
    return float(classifier.score(test, digits.truth))


def drawing(pixels: _Numbers) -> str:
    """Return an image as a hexadecimal digit a pixel.

    >>> drawing(np.array([0.0, 0.5, 1.2]))
    '08f'
    """
    return "".join(f"{int(grey):x}" for grey in (_GREYS * pixels.clip(0, 1)).round())


def drawn_image(digits: str, side: int) -> Tensor:
    """Return the image that `drawing` wrote, `(side, side)`.

    >>> drawn_image("08f0", 2)[0].tolist()
    [0.0, 0.5333333611488342]
    """
    return torch.tensor([int(digit, 16) / _GREYS for digit in digits]).view(-1, side)
