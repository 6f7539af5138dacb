"""A network over the whole image, a baseline without glimpses."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade._definitions.checks import in_ranges
from saccade.models.ram import RECIPES as AGENTS
from saccade.models.ram import Path

__all__ = ["Options", "Whole", "pooled_by_products"]

_SIZES = (("hidden_dim", 1, 1 << 16), ("channels", 1, 4096), ("pooled", 1, 64))


@dataclass(frozen=True, kw_only=True)
class Options:
    """The sizes of a network over the whole image.

    >>> Options(network="mlp").hidden_dim
    256
    """

    network: Literal["cnn", "mlp"] = "cnn"
    """Network before two hidden layers: one convolution (cnn) or none (mlp)."""

    channels: int = 8
    """Filters of the convolution, 10 × 10 pixels at stride 5."""

    pooled: int = 16
    """Rows and columns of the pooled pixels or features, for images of any size."""

    hidden_dim: int = 256
    """Units of each hidden layer."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        in_ranges(self, _SIZES)


_DEFAULT = Options()
_SCHEDULE = ("learning_rate", "warmup_steps", "schedule", "final_rate", "clip", "threads", "validation_steps")
_STEPS = ("checkpoint_steps", "schedule_steps", "max_steps", "batch_size", "shift")
RECIPES: dict[str, dict[str, Any]] = {
    name: {key: recipe[key] for key in (*_SCHEDULE, *_STEPS) if key in recipe} | {"learning_rate": 1e-3}
    for name, recipe in AGENTS.items()
}
"""Recipes of the data sets, with the schedules of agents."""


class Whole(nn.Module):
    r"""Two hidden layers over all pixels, or over features of a convolution.

    .. math::
        f = \operatorname{pool}(\operatorname{relu}(K * x)) \text{ or } \operatorname{pool}(x) \qquad
        p(y \mid x) = \operatorname{softmax}(W_3 \operatorname{relu}(W_2 \operatorname{relu}(W_1 f)))

    Args:
        channels: of the images: 3 for RGB, 1 for grey.
        classes: number of classes.
        options: the sizes.

    Example:
        >>> import torch
        >>> model = Whole(1, 10)
        >>> model(torch.rand(2, 1, 60, 60)).shape, model(torch.rand(1, 1, 100, 90)).shape
        (torch.Size([2, 10]), torch.Size([1, 10]))

    Source:
        Mnih et al. 2014, section 4.1, table 1: "FC, 2 layers (256 hiddens each)" and "Convolutional, 2 layers" (8
        filters of 10 × 10 at a stride of 5, then 256 units). There images have one size, so there is no pooling. One
        layer of units follows the convolutions.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES

    def __init__(self, channels: int, classes: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        self.options = options
        cnn, hidden = options.network == "cnn", options.hidden_dim
        self.conv = nn.Conv2d(channels, options.channels, 10, 5, padding=5) if cnn else None
        width = (options.channels if cnn else channels) * options.pooled**2
        self.layers = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.output = nn.Linear(hidden, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits `(batch, classes)` of images in [0, 1].

        Args:
            images: `(batch, channels, height, width)`.
        """
        features = images if self.conv is None else F.relu(self.conv(images))
        # On a GPU torch has no deterministic gradient of this pooling, and so rejects it in training.
        pool = F.adaptive_avg_pool2d if features.device.type == "cpu" else pooled_by_products
        pooled = pool(features, self.options.pooled)
        logits: Tensor = self.output(self.layers(pooled.flatten(1)))
        return logits

    def look(
        self,
        images: Tensor,
        rollouts: int = 1,
        *,
        draw: bool = True,
        progress: float | Tensor = 1.0,
        numbers: Tensor | None = None,
    ) -> Path:
        """Return a path without locations. All rollouts have equal logits."""
        del draw, progress, numbers
        logits, shape = self(images)[:, None, None], (len(images), rollouts)
        empty = images.new_zeros(*shape, 0)
        hidden = images.new_zeros(*shape, 0, self.options.hidden_dim)
        return Path(images.new_zeros(*shape, 0, 2), logits.expand(*shape, 1, -1), empty, empty, hidden)

    def cost(
        self, images: Tensor, labels: Tensor, progress: float | Tensor = 0.0, label_smoothing: float = 0.0
    ) -> Tensor:
        """Return the cross-entropy of labels `(batch,)`."""
        del progress
        return F.cross_entropy(self(images).float(), labels, label_smoothing=label_smoothing)


def pooled_by_products(features: Tensor, side: int) -> Tensor:
    """Return `adaptive_avg_pool2d(features, side)`, by two matrix products.

    >>> pooled_by_products(torch.arange(6.0).view(1, 1, 2, 3), 1).flatten()
    tensor([2.5000])
    """
    rows, columns = (_shares(extent, side, features) for extent in features.shape[2:])
    return rows @ features @ columns.mT


def _shares(extent: int, side: int, like: Tensor) -> Tensor:
    """Weight of each position in each mean, `(side, extent)`. Means may overlap."""
    number, position = torch.arange(side, device=like.device)[:, None], torch.arange(extent, device=like.device)
    inside = (position >= number * extent // side) & (position < -(-(number + 1) * extent // side))
    return (inside / inside.sum(-1, keepdim=True)).to(like)
