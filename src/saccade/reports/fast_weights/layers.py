"""Layers that mix positions, each as a matrix: attention makes its own of the input, a convolution has one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.auxiliary import AuxRequest
from saccade.nn import MultiheadAttention
from saccade.normalizers import Identity

__all__ = ["ATTENTION", "DENSE", "FAST", "FIXED", "LAYERS", "LOCATION", "SEPARABLE", "Kind", "by_places", "matrix"]

ATTENTION, FAST, LOCATION = "attention", "fast weights", "attention by location"
DENSE, SEPARABLE = "convolution", "convolution, separable"
FIXED = (DENSE, SEPARABLE)
"""Those whose weights are learned, and the same for every input."""


class _Convolution(nn.Module):
    r"""Features are projected, mixed by a kernel as long as the longest input, and projected back; nothing is added.

    .. math:: y_t = W_o \sum_{s \le t} K_{t-s} \, W_i \, x_s

    Args:
        width: features.
        channels: that are mixed.
        length: of the kernel.
        separable: whether each channel is mixed by itself, by a kernel of its own.
    """

    def __init__(self, width: int, channels: int, length: int, *, separable: bool) -> None:
        super().__init__()
        self.length = length
        self.inner = nn.Linear(width, channels, bias=False)
        self.kernel = nn.Conv1d(channels, channels, length, bias=False, groups=channels if separable else 1)
        self.outer = nn.Linear(channels, width, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        """Mixes `(batch, length, width)`."""
        before = F.pad(self.inner(features).mT, (self.length - 1, 0))
        found: Tensor = self.outer(self.kernel(before).mT)
        return found


@dataclass(frozen=True)
class Kind:
    """A layer that mixes positions, and how large the network is whose others it stands in.

    Args:
        make: the layer, from its features and the longest input; without any bias, so that it is a matrix alone.
        hidden: features of each network behind it, which make up for the layer's own parameters.
        told: what its weights are.
    """

    make: Callable[[int, int], nn.Module]
    hidden: int
    told: str


def _attention(width: int, length: int, **about: Any) -> nn.Module:
    return MultiheadAttention(width, 1, bias=False, **about)


LAYERS: Mapping[str, Kind] = {
    ATTENTION: Kind(_attention, 128, "softmax of what query and key say of each other"),
    FAST: Kind(lambda width, length: _attention(width, length, normalizer=Identity()), 128, "query times key"),
    LOCATION: Kind(
        lambda width, length: _attention(width, length, score="location", max_length=length),
        128,
        "softmax of what the query alone says of each place",
    ),
    DENSE: Kind(
        lambda width, length: _Convolution(width, 20, length, separable=False), 134, "learned, of each distance"
    ),
    SEPARABLE: Kind(
        lambda width, length: _Convolution(width, width, length, separable=True), 176, "learned, of each distance"
    ),
}
"""Layers by name. Location is Luong, Pham, Manning 2015, equation 8; of a query's own place it is the dynamic
convolution of Wu et al. 2019 (https://arxiv.org/abs/1901.10430). Fast weights are those of Schmidhuber 1992 in the form
of Schlag, Irie, Schmidhuber 2021, section 3 (https://arxiv.org/abs/2102.11174)."""


@torch.no_grad()
def matrix(layer: nn.Module, features: Tensor) -> Tensor:
    r"""Return M(x) of one input, \(y = M(x)\, x\) over all positions and features, `(length, width, length, width)`.

    Of a convolution it is measured by impulses on the input; of attention, which is no linear function of its input,
    it is the weights times what values are projected by.

    Args:
        layer: of `LAYERS`.
        features: `(length, width)`.

    Example:
        >>> layer, x = LAYERS[ATTENTION].make(4, 5), torch.randn(3, 4)
        >>> torch.allclose(torch.einsum("tdse,se->td", matrix(layer, x), x), layer(x[None])[0], atol=1e-6)
        True
    """
    length, width = features.shape
    if isinstance(layer, MultiheadAttention):
        _, aux = layer(features[None], aux=AuxRequest(weights=True))
        through = layer.out_proj.weight @ layer.in_proj_weight[-width:]
        return torch.einsum("ts,de->tdse", aux.weights[0, 0], through)
    impulses = torch.eye(length * width, dtype=features.dtype).view(-1, length, width)
    moved = layer(features + impulses) - layer(features[None])
    found: Tensor = moved.permute(1, 2, 0).reshape(length, width, length, width)
    return found


def by_places(mixing: Tensor) -> Tensor:
    """Return how strongly each position reads each other: the norm over features, `(length, length)`.

    >>> by_places(torch.ones(3, 2, 3, 2)).tolist()[0]
    [2.0, 2.0, 2.0]
    """
    found: Tensor = mixing.square().sum((1, 3)).sqrt()
    return found
