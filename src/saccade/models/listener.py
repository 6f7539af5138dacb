"""Pyramidal BLSTM encoder of speech, and SpecAugment.

Chan, Jaitly, Le, Vinyals 2016, "Listen, Attend and Spell", https://arxiv.org/abs/1508.01211.
"""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.models.padded import Padded
from saccade.models.recurrent import LockedDropout, at_positions, reversed_positions

__all__ = ["Listener", "SpecAugment", "halved"]


class Listener(nn.Module):
    r"""A pyramid of bidirectional LSTMs.

    The first layers halve the number of steps: each reads two steps of the layer below as one.

    .. math:: h^j_i = \operatorname{BLSTM}\big(h^j_{i-1},\ [h^{j-1}_{2i};\ h^{j-1}_{2i+1}]\big)

    Args:
        input_dim: features of a frame.
        hidden_dim: features of the output, both directions together. It must be even.
        layers: number of layers.
        pyramid: number of layers that halve the steps. They are the first layers, so most layers have few steps.
        dropout: dropout below each layer but the first, with one mask per utterance.

    Source:
        Chan et al. 2016, Eq. 5. There the bottom layer does not halve the steps.

    Example:
        >>> listener = Listener(4, 6, layers=3, pyramid=2)
        >>> states = listener(Padded(torch.randn(2, 9, 4), torch.tensor([9, 5])))
        >>> states.values.shape, states.lengths.tolist()
        (torch.Size([2, 3, 6]), [3, 2])
    """

    def __init__(self, input_dim: int, hidden_dim: int, layers: int, pyramid: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.pyramid = pyramid
        widths = [(hidden_dim if depth else input_dim) * (2 if depth < pyramid else 1) for depth in range(layers)]
        self.layers = nn.ModuleList(_Layer(width, hidden_dim) for width in widths)
        self.dropout = LockedDropout(dropout)

    def forward(self, source: Padded) -> Padded:
        """Encode utterances.

        Args:
            source: frames `(batch, length, input_dim)`. Values in padding are ignored.

        Returns:
            States `(batch, length', hidden_dim)` and the number of steps of each utterance.
        """
        # LSTMs also run over padding. A NaN there would enter the gradients of all weights, so padding is 0.
        source = Padded(torch.where(source.within[..., None], source.values, 0.0), source.lengths)
        for depth, layer in enumerate(cast("Sequence[_Layer]", self.layers)):
            source = Padded(self.dropout(source.values), source.lengths) if depth else source
            source = halved(source) if depth < self.pyramid else source
            source = Padded(layer(*source), source.lengths)
        return source


class _Layer(nn.Module):
    """A bidirectional LSTM of torch, for many steps twice as fast as `lstm_cell`."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(input_dim, hidden_dim // 2, batch_first=True)
        self.backwards = nn.LSTM(input_dim, hidden_dim // 2, batch_first=True)

    def forward(self, frames: Tensor, lengths: Tensor) -> Tensor:
        # In both directions padding comes last, so nothing is packed.
        order = reversed_positions(lengths, frames.shape[1])
        forward, backward = self.forwards(frames)[0], self.backwards(at_positions(frames, order))[0]
        return torch.cat([forward, at_positions(backward, order)], -1)


def halved(source: Padded) -> Padded:
    """Concatenate pairs of adjacent frames. Zeros follow an odd last frame.

    Args:
        source: frames `(batch, length, features)`.

    Returns:
        Frames `(batch, ceil(length / 2), 2 features)`.

    Example:
        >>> halved(Padded(torch.tensor([[[1.0], [2.0], [3.0]]]), torch.tensor([3])))
        Padded(values=tensor([[[1., 2.],
                 [3., 0.]]]), lengths=tensor([2]))
    """
    # Padding would otherwise join an odd last frame.
    frames = torch.where(source.within[..., None], source.values, 0.0)
    frames = F.pad(frames, (0, 0, 0, frames.shape[1] % 2))
    return Padded(frames.unflatten(1, (-1, 2)).flatten(2), (source.lengths + 1) // 2)


class SpecAugment(nn.Module):
    """Time and frequency masks in training. Masked features are 0, the mean.

    Width and position of each mask are uniform samples. The time warp of the paper is missing, because it contributes
    least there.

    Args:
        time_masks: number of time masks.
        time_width: largest width of a time mask, in frames. A mask hides at most a fifth of an utterance.
        frequency_masks: number of frequency masks.
        frequency_width: largest width of a frequency mask, in features. A mask hides at most half of them.

    Source:
        Park et al. 2019, "SpecAugment", section 2, https://arxiv.org/abs/1904.08779.

    Example:
        >>> SpecAugment(2, 10, 2, 5).eval()(Padded(torch.ones(1, 30, 8), torch.tensor([30]))).values.min()
        tensor(1.)
    """

    def __init__(self, time_masks: int, time_width: int, frequency_masks: int, frequency_width: int) -> None:
        super().__init__()
        self.time_masks, self.time_width = time_masks, time_width
        self.frequency_masks, self.frequency_width = frequency_masks, frequency_width

    def forward(self, source: Padded) -> Padded:
        """Return frames `(batch, length, features)`, masked in training."""
        if not self.training:
            return source
        frames, lengths = source
        visible = torch.ones_like(frames[..., :1], dtype=torch.bool)
        for _ in range(self.time_masks):
            visible = visible & ~_span(lengths, (lengths // 5).clamp(max=self.time_width), frames.shape[1])[..., None]
        bands = torch.full_like(lengths, frames.shape[2])
        for _ in range(self.frequency_masks):
            widest = torch.full_like(lengths, min(self.frequency_width, frames.shape[2] // 2))
            visible = visible & ~_span(bands, widest, frames.shape[2])[:, None]
        return Padded(torch.where(visible, frames, 0.0), lengths)


def _span(sizes: Tensor, widest: Tensor, length: int) -> Tensor:
    """Return a random span within `sizes` of each row, boolean `(batch, length)`."""
    width = (torch.rand_like(sizes, dtype=torch.float) * (widest + 1)).long()
    start = (torch.rand_like(sizes, dtype=torch.float) * (sizes - width + 1)).long()
    offsets = torch.arange(length, device=sizes.device) - start[:, None]
    return (offsets >= 0) & (offsets < width[:, None])
