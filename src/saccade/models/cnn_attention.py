"""A residual CNN with self-attention (Zhang et al. 2019, Bello et al. 2019).

Zhang et al. 2019, "Self-Attention Generative Adversarial Networks", https://arxiv.org/abs/1805.08318.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor, nn

from saccade._definitions.numerics import without_autocast
from saccade._threads import hooked
from saccade.errors import ArgumentError
from saccade.models import cnn
from saccade.models.cnn import CNN, WIDEST, Convolution
from saccade.nn import MultiheadAttention

__all__ = ["CNNAttention", "Options", "SelfAttention"]


@dataclass(frozen=True, kw_only=True)
class Options(cnn.Options):
    """The sizes of a convolutional network with self-attention.

    >>> Options(heads=2).attention_stage
    2
    """

    attention_dim: int = 32
    """Features of self-attention over all heads."""

    heads: int = 2
    """Heads of self-attention, a divisor of its features."""

    attention_gain: float = 0.0
    """Initial factor of the attention's output, learned in training.

    At 0 training begins without attention."""

    attention_stage: int = 2
    """Stage before self-attention, counted from 1."""

    def __post_init__(self) -> None:
        """Reject invalid options by the names that a user types."""
        cnn.Options.__post_init__(self)
        if not 1 <= self.attention_stage <= len(self.channels):
            expected = f"a stage from 1 to {len(self.channels)} (--widths)"
            raise ArgumentError(f"--attention-stage: expected {expected}, got {self.attention_stage}")
        if not 1 <= self.attention_dim <= WIDEST:
            raise ArgumentError(f"--attention-dim: expected a number from 1 to {WIDEST}, got {self.attention_dim}")
        if not 0 <= self.attention_gain <= 1:
            raise ArgumentError(f"--attention-gain: expected a number from 0 to 1, got {self.attention_gain}")
        if self.heads < 1 or self.attention_dim % self.heads:
            raise ArgumentError(f"--heads: expected a divisor of {self.attention_dim} features, got {self.heads}")


class SelfAttention(nn.Module):
    r"""Residual self-attention over all positions of a feature map.

    .. math::
        u_i = A x_i + p_i \qquad
        o_i = \Big[\sum_j \operatorname{softmax}_j\Big(\frac{(W^Q_h u_i)^\top W^K_h u_j}{\sqrt{d / H}}\Big)
            W^V_h u_j\Big]_{h=1}^H \qquad y_i = x_i + B\, W^O o_i

    A and B are convolutions of one pixel, to fewer features and back, with batch normalization. The position encoding p
    of row and column is fixed, so it exists for maps of any size.

    Args:
        channels: channels of input and output.
        dim: features of attention over all heads, d.
        heads: number of heads, H.
        gain: initial gain of B's normalization.

    Source:
        Zhang et al. 2019, Eq. 1 to 3 and figure 2. Their \(\gamma\), a learned scalar with initial value 0, is the gain
        of B's normalization here. Vaswani et al. 2017, section 3.5, for the position encoding, in two dimensions as in
        Parmar et al. 2018, "Image Transformer", section 3.

    Example:
        >>> SelfAttention(8, 4, 2)(torch.rand(2, 8, 4, 3)).shape
        torch.Size([2, 8, 4, 3])
    """

    def __init__(self, channels: int, dim: int, heads: int, gain: float = 0.0) -> None:
        super().__init__()
        self.before = Convolution(channels, dim, 1)
        self.attention = MultiheadAttention(dim, heads)
        self.after = Convolution(dim, channels, 1)
        nn.init.constant_(self.after.norm.weight, gain)

    def forward(self, x: Tensor) -> Tensor:
        """Return features of the shape of x, `(batch, channels, height, width)`."""
        height, width = x.shape[2:]
        narrow = self.before(x)
        # bfloat16 is slower on a CPU
        with without_autocast(x) if x.is_cpu or x.is_meta else torch.autocast(x.device.type):
            positions = narrow.flatten(2).mT.float() + _code(height, width, narrow.shape[1]).to(x.device)
            output = self.attention(positions)
        added: Tensor = self.after(output.mT.unflatten(2, (height, width)))
        return x + added


def _code(height: int, width: int, channels: int) -> Tensor:
    """Sines and cosines of rows and columns, `(height · width, channels)`."""
    rates = 10_000.0 ** -(torch.arange(-(-channels // 4)) * 4 / channels)
    rows, columns = (torch.arange(count)[:, None] * rates for count in (height, width))
    vertical = torch.cat([rows.sin(), rows.cos()], 1)[:, None].expand(-1, width, -1)
    horizontal = torch.cat([columns.sin(), columns.cos()], 1)[None].expand(height, -1, -1)
    return torch.cat([vertical, horizontal], 2).flatten(0, 1)[:, :channels]


class CNNAttention(CNN):
    r"""`CNN` with self-attention over the feature map of one stage.

    A convolution is local. Attention can compare distant parts of an image without many layers.

    Args:
        channels, classes, mean, std: as for `CNN`.
        options: the sizes.

    Example:
        >>> model = CNNAttention(3, 10, Options(widths="4,8")).eval()
        >>> model(torch.rand(2, 3, 32, 32)).shape, model(torch.rand(1, 3, 9, 41)).shape
        (torch.Size([2, 10]), torch.Size([1, 10]))

    Source:
        Zhang et al. 2019, section 3. Bello et al. 2019, "Attention Augmented Convolutional Networks", section 3
        (https://arxiv.org/abs/1904.09925), concatenate the outputs of attention and convolution instead.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = cnn.RECIPES

    def __init__(
        self,
        channels: int,
        classes: int,
        options: Options = Options(),  # noqa: B008 (frozen)
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
    ) -> None:
        super().__init__(channels, classes, options, mean, std)
        self.stage = options.attention_stage - 1
        self.across = SelfAttention(
            options.channels[self.stage], options.attention_dim, options.heads, options.attention_gain
        )

    @property
    def last_layer(self) -> str:
        """Name of the module of the last feature map: attention, or the last stage."""
        return "across" if self.stage == len(self.stages) - 1 else super().last_layer

    def _after(self, stage: int, x: Tensor) -> Tensor:
        return self.across(x) if stage == self.stage else x

    def attention_shape(self, images: Tensor) -> tuple[int, int]:
        """Return height and width of the map under attention for some images."""
        shapes: list[tuple[int, int]] = []
        with hooked([self.across], lambda module, args, output: shapes.append(tuple(output.shape[2:]))):
            self(images)
        return shapes[-1]
