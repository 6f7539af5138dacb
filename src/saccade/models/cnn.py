"""A residual convolutional network without attention (He et al. 2016).

"Deep Residual Learning for Image Recognition", https://arxiv.org/abs/1512.03385.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.errors import ArgumentError, ShapeError
from saccade.models.colours import colour_count, colour_shares
from saccade.models.standardized import standardized

__all__ = ["CNN", "RECIPES", "SMALLEST", "WIDEST", "Convolution", "Options", "Residual", "Sizes"]

SMALLEST = 8  # pixels of the shorter side of an image
WIDEST = 4096  # channels
_MOST_STAGES, _MOST_BLOCKS = 6, 64
_SCALE = 8.0  # of shares of colours: the rate of the rest then suits their weights

#: Chosen on 5,000 held-out training images of CIFAR-10. With 128 images a step, 4,000 steps are 11 epochs.
RECIPES: dict[str, dict[str, Any]] = {
    "shapes": {
        "widths": "16,32,64",
        "learning_rate": 1e-2,
        "schedule": "cosine",
        "warmup_steps": 200,
        "schedule_steps": 2400,
        "max_steps": 2400,
        "weight_decay": 0.05,
        "checkpoint_steps": 600,
        "validation_steps": 300,
        "threads": 1,
    },
    "files": {
        "learning_rate": 1e-2,
        "schedule": "cosine",
        "warmup_steps": 800,
        "schedule_steps": 4000,
        "max_steps": 4000,
        "weight_decay": 0.05,
        "checkpoint_steps": 1000,
        "validation_steps": 1000,
        "threads": 1,
        "precision": "bf16",
    },
}


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of a convolutional network.

    >>> Sizes(widths="16,32").channels
    (16, 32)
    """

    widths: str = "32,64,128"
    """Channels of each stage, separated by commas.

    Each later stage halves height and width."""

    blocks: int = 1
    """Residual blocks per stage, of two convolutions each."""

    stem_stride: int = 2
    """Stride of the stem. It divides height and width."""

    stem: Literal["patch", "double"] = "patch"
    """First layer: one strided convolution (patch), or two convolutions (double).

    The first of the two is at full size."""

    dropout: float = 0.0
    """Dropout of the input of the classifier."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        if not re.fullmatch(r"\d{1,4}(,\d{1,4})*", self.widths) or not all(0 < c <= WIDEST for c in self.channels):
            expected = f"numbers from 1 to {WIDEST} with commas between, such as 32,64,128"
            raise ArgumentError(f"--widths: expected {expected}, got {self.widths}")
        if len(self.channels) > _MOST_STAGES:
            raise ArgumentError(f"--widths: expected at most {_MOST_STAGES} stages, got {len(self.channels)}")
        if not 1 <= self.blocks <= _MOST_BLOCKS:
            raise ArgumentError(f"--blocks: expected a number from 1 to {_MOST_BLOCKS}, got {self.blocks}")
        if not 1 <= self.stem_stride <= SMALLEST:
            raise ArgumentError(f"--stem-stride: expected a number from 1 to {SMALLEST}, got {self.stem_stride}")
        if self.stem not in ("patch", "double"):
            raise ArgumentError(f"--stem: expected patch or double, got {self.stem}")
        if not 0 <= self.dropout < 1:
            raise ArgumentError(f"--dropout: expected 0 <= dropout < 1, got {self.dropout}")

    @property
    def channels(self) -> tuple[int, ...]:
        """Channels of each stage."""
        return tuple(map(int, self.widths.split(",")))


@dataclass(frozen=True, kw_only=True)
class Options(Sizes):
    """The sizes and parts of a classifier of images.

    >>> Options().colours
    False
    """

    colours: bool = False
    """Add a linear function of the image's shares of colours to the logits."""


class Convolution(nn.Module):
    r"""A convolution without bias, followed by batch normalization.

    .. math:: y = g\,\frac{W * x - \mu}{\sqrt{\sigma^2 + \epsilon}} + b

    with mean and variance of each channel over batch and positions in training. Evaluation uses running means, and so
    does a batch with one position in all.

    Args:
        before, after: channels of input and output.
        kernel: height and width of the kernel, in pixels.
        stride: stride, in pixels.

    Source:
        Ioffe, Szegedy 2015, "Batch Normalization", algorithm 1 (https://arxiv.org/abs/1502.03167).

    Example:
        >>> Convolution(3, 5, 4, 2)(torch.rand(2, 3, 8, 10)).shape
        torch.Size([2, 5, 4, 5])
    """

    def __init__(self, before: int, after: int, kernel: int = 3, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, kernel, stride, (kernel - 1) // 2, bias=False)
        self.norm = nn.BatchNorm2d(after)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve and normalize.

        Returns:
            `(batch, after, ⌈height / stride⌉, ⌈width / stride⌉)`, or one row or column less with an even kernel.
        """
        return standardized(self.norm, self.conv(x))


class Residual(nn.Module):
    r"""A residual block of two convolutions.

    .. math:: y = \operatorname{relu}\big(x + \operatorname{conv}(\operatorname{relu}(\operatorname{conv}(x)))\big)

    Args:
        channels: channels of input and output.

    Source:
        He et al. 2016, Eq. 1 and figure 2.

    Example:
        >>> Residual(5)(torch.rand(2, 5, 4, 3)).shape
        torch.Size([2, 5, 4, 3])
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = Convolution(channels, channels), Convolution(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        """Return features of the shape of x, `(batch, channels, height, width)`."""
        return F.relu(x + self.second(F.relu(self.first(x))))


class CNN(nn.Module):
    r"""Stages of residual blocks, mean pooling and a linear classifier.

    .. math:: f = W \Big(\frac{1}{hw} \sum_{i,j} \operatorname{features}(x)_{i,j}\Big) + b

    With `options.colours`, a linear function of `saccade.models.colours.colour_shares` is added. It learns colours from
    few images. Its weights are 0 at first.

    Images are normalized by mean and standard deviation of each channel. These are buffers, so checkpoints hold them. A
    convolution of stride 2 connects two stages. Height and width may be any numbers from 8 on.

    Args:
        channels: channels of the images: 3 for RGB, 1 for grey.
        classes: number of classes.
        options: the sizes.
        mean, std: of each channel over the training images, `(channels,)`. None: 0.5.

    Raises:
        ArgumentError: if mean or std is not one finite number per channel, or std is not above 0.

    Example:
        >>> model = CNN(3, 10, Options(widths="4,8")).eval()
        >>> model(torch.rand(2, 3, 32, 32)).shape, model(torch.rand(1, 3, 9, 41)).shape
        (torch.Size([2, 10]), torch.Size([1, 10]))

    Source:
        He et al. 2016, section 4.2, for blocks and stages. Here the convolution between stages has no shortcut.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES

    def __init__(
        self,
        channels: int,
        classes: int,
        options: Sizes = Options(),  # noqa: B008 (frozen)
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        for name, values in (("mean", mean), ("std", std)):
            self.register_buffer(name, _constants(name, values, channels))
        stride, widths = options.stem_stride, options.channels
        self.stem = _stem(channels, widths[0], stride, options.stem)
        self.down = nn.ModuleList(Convolution(a, b, 3, 2) for a, b in pairwise(widths))
        self.stages = nn.ModuleList(
            nn.Sequential(*(Residual(width) for _ in range(options.blocks))) for width in widths
        )
        self.dropout = nn.Dropout(options.dropout)
        self.output = nn.Linear(widths[-1], classes)
        self.colours: nn.Linear | None = None
        if isinstance(options, Options) and options.colours:
            self.colours = nn.Linear(colour_count(channels), classes, bias=False)
            nn.init.zeros_(self.colours.weight)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload] # faster on a CPU

    mean: Tensor
    std: Tensor

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits of classes.

        Args:
            images: `(batch, channels, height, width)` in [0, 1].

        Returns:
            `(batch, classes)`.

        Raises:
            ShapeError: if images have other channels, or are smaller than 8 × 8.
        """
        logits: Tensor = self.output(self.dropout(self.features(images).mean((2, 3))))
        if self.colours is None:
            return logits
        return logits + self.colours(_SCALE * colour_shares(images))  # type: ignore[no-any-return]

    def features(self, images: Tensor) -> Tensor:
        """Return the last feature map, `(batch, widths[-1], height', width')`."""
        x = F.relu(self.stem(self._normalized(images)))
        for number, stage in enumerate(self.stages):
            x = self._after(number, stage(F.relu(self.down[number - 1](x)) if number else x))
        return x

    @property
    def last_layer(self) -> str:
        """Name of the module of the last feature map, for `saccade.look.grad_cam`."""
        return f"stages.{len(self.stages) - 1}"

    def _after(self, stage: int, x: Tensor) -> Tensor:
        """Transform the output of a stage. Subclasses override it."""
        return x

    def _normalized(self, images: Tensor) -> Tensor:
        count = len(self.mean)
        if images.ndim != 4 or images.shape[1] != count or min(images.shape[2:]) < SMALLEST:
            expected = f"(batch, {count}, height, width) of {SMALLEST} pixels or more"
            raise ShapeError(f"images: expected shape {expected}, got {tuple(images.shape)}")
        scaled = (images - self.mean[:, None, None]) / self.std[:, None, None]
        return scaled.contiguous(memory_format=torch.channels_last)


def _stem(channels: int, width: int, stride: int, kind: str) -> nn.Module:
    if kind == "patch":
        return Convolution(channels, width, 2 * stride if stride > 1 else 3, stride)
    half = max(1, width // 2)
    return nn.Sequential(Convolution(channels, half), nn.ReLU(), Convolution(half, width, 3, stride))


def _constants(name: str, values: Sequence[float] | None, channels: int) -> Tensor:
    constants = torch.full((channels,), 0.5) if values is None else torch.tensor(tuple(values), dtype=torch.float32)
    if (
        constants.shape != (channels,)
        or not bool(constants.isfinite().all())
        or (name == "std" and bool((constants <= 0).any()))
    ):
        above = " above 0" if name == "std" else ""
        raise ArgumentError(f"{name}: expected {channels} finite numbers{above}, one a channel, got {values}")
    return constants
