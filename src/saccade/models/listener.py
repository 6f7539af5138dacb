"""What listens: bidirectional LSTMs, each over half as many steps as the one below, and features hidden in training.

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
    r"""A pyramid of bidirectional LSTMs: a layer that halves reads two steps of the one below as one.

    .. math:: h^j_i = \operatorname{BLSTM}\big(h^j_{i-1},\ [h^{j-1}_{2i};\ h^{j-1}_{2i+1}]\big)

    Args:
        input_dim: features of a frame.
        hidden_dim: features of the output, both directions together; even.
        layers: how many layers.
        pyramid: how many of them halve: the first of all, so that most of the work is done on few steps.
        dropout: probability of dropping a feature, for a whole utterance, below each layer but the first.

    Source:
        Chan et al. 2016, Eq. 5, where the bottom layer does not halve.

    Example:
        >>> listener = Listener(4, 6, layers=3, pyramid=2)
        >>> found = listener(Padded(torch.randn(2, 9, 4), torch.tensor([9, 5])))
        >>> found.values.shape, found.lengths.tolist()
        (torch.Size([2, 3, 6]), [3, 2])
    """

    def __init__(self, input_dim: int, hidden_dim: int, layers: int, pyramid: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.pyramid = pyramid
        widths = [(hidden_dim if depth else input_dim) * (2 if depth < pyramid else 1) for depth in range(layers)]
        self.layers = nn.ModuleList(_Layer(width, hidden_dim) for width in widths)
        self.dropout = LockedDropout(dropout)

    def forward(self, source: Padded) -> Padded:
        """Listen to utterances.

        Args:
            source: frames `(batch, length, input_dim)`; what padding holds changes nothing within an utterance.

        Returns:
            What was heard, `(batch, length', hidden_dim)`, and how many steps of it are of each utterance.
        """
        # What padding holds is read behind each utterance, and would be in the gradients of all weights if it were NaN.
        source = Padded(torch.where(source.within[..., None], source.values, 0.0), source.lengths)
        for depth, layer in enumerate(cast("Sequence[_Layer]", self.layers)):
            source = Padded(self.dropout(source.values), source.lengths) if depth else source
            source = halved(source) if depth < self.pyramid else source
            source = Padded(layer(*source), source.lengths)
        return source


class _Layer(nn.Module):
    """A bidirectional LSTM. torch's own: over many steps at once it takes half the time of `lstm_cell`."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(input_dim, hidden_dim // 2, batch_first=True)
        self.backwards = nn.LSTM(input_dim, hidden_dim // 2, batch_first=True)

    def forward(self, frames: Tensor, lengths: Tensor) -> Tensor:
        order = reversed_positions(
            lengths, frames.shape[1]
        )  # padding is behind the frames in both directions: none is packed
        ahead, back = self.forwards(frames)[0], self.backwards(at_positions(frames, order))[0]
        return torch.cat([ahead, at_positions(back, order)], -1)


def halved(source: Padded) -> Padded:
    """Return every two frames as one of twice the features; to an odd last one zeros are added.

    Args:
        source: frames `(batch, length, features)`.

    Returns:
        Frames `(batch, ceil(length / 2), 2 features)`.

    Example:
        >>> halved(Padded(torch.tensor([[[1.0], [2.0], [3.0]]]), torch.tensor([3])))
        Padded(values=tensor([[[1., 2.],
                 [3., 0.]]]), lengths=tensor([2]))
    """
    # What lies behind an odd length would be read with its last.
    frames = torch.where(source.within[..., None], source.values, 0.0)
    frames = F.pad(frames, (0, 0, 0, frames.shape[1] % 2))
    return Padded(frames.unflatten(1, (-1, 2)).flatten(2), (source.lengths + 1) // 2)


class SpecAugment(nn.Module):
    """Hides stretches of time and bands of features from the model in training: there they are 0, the mean.

    Each mask is as wide as a draw from 0 to its widest, and lies at a place that is drawn. The time warp of the paper
    is left out: there it matters least.

    Args:
        time_masks: how many stretches of time.
        time_width: frames of the widest; one mask hides at most a fifth of an utterance.
        frequency_masks: how many bands.
        frequency_width: features of the widest.

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
        """Return frames `(batch, length, features)`, in training with parts of them hidden."""
        if not self.training:
            return source
        frames, lengths = source
        shown = torch.ones_like(frames[..., :1], dtype=torch.bool)
        for _ in range(self.time_masks):
            shown = shown & ~_stretch(lengths, (lengths // 5).clamp(max=self.time_width), frames.shape[1])[..., None]
        bands = torch.full_like(lengths, frames.shape[2])
        for _ in range(self.frequency_masks):
            widest = torch.full_like(lengths, min(self.frequency_width, frames.shape[2] // 2))
            shown = shown & ~_stretch(bands, widest, frames.shape[2])[:, None]
        return Padded(torch.where(shown, frames, 0.0), lengths)


def _stretch(sizes: Tensor, widest: Tensor, length: int) -> Tensor:
    """A stretch of each of some rows, boolean `(batch, length)`: of 0 to `widest` places, within the first `sizes`."""
    width = (torch.rand_like(sizes, dtype=torch.float) * (widest + 1)).long()
    start = (torch.rand_like(sizes, dtype=torch.float) * (sizes - width + 1)).long()
    places = torch.arange(length, device=sizes.device) - start[:, None]
    return (places >= 0) & (places < width[:, None])
