"""A simple RNN with the image at its first step (Karpathy, Fei-Fei 2015).

"Deep Visual-Semantic Alignments for Generating Image Descriptions", https://arxiv.org/abs/1412.2306. The paper calls
its generator "Multimodal RNN", and its code "NeuralTalk".
"""

from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.models.captioning import MeanCaptioner, Options, State, rnn_states, texts_of
from saccade.models.image_encoder import Visual
from saccade.models.recurrent import LockedDropout
from saccade.models.standardized import Standardized

__all__ = ["FirstStepRNN"]

_DEFAULT = Options()


class FirstStepRNN(MeanCaptioner):
    r"""Rectified recurrent units over words, and the image in their first bias.

    .. math::
        b_v &= W_{hi} \operatorname{norm}\big(\tfrac{1}{n} \textstyle\sum_i a_i\big) \\
        h_t &= \operatorname{relu}\big(W_{hx} E y_t + W_{hh} h_{t-1} + b_h + [t = 1]\, b_v\big) \qquad
        p(y_{t+1}) = \operatorname{softmax}(W_{oh} h_t + b_o)

    for cells a of the image. Their mean is standardized over the batch in training, and by running means otherwise. The
    decoder has no other view of the image.

    Args:
        encoder: a `saccade.models.image_encoder.ImageEncoder` or `FeatureEncoder`.
        target_size: size of the vocabulary. Token 0 is padding.
        options: the sizes.

    Example:
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8", cell_dim=6, hidden_dim=5, embedding_dim=4)
        >>> model = FirstStepRNN(ImageEncoder(3, options), 9, options)
        >>> model(Visual(torch.rand(2, 3, 32, 32)), torch.randint(4, 9, (2, 7))).shape
        torch.Size([2, 7, 9])

    Source:
        Karpathy, Fei-Fei 2015, Eq. 13 to 15; differences are listed in docs/caption.md.
    """

    Options: TypeAlias = Options

    def __init__(self, encoder: nn.Module, target_size: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        self.hidden_dim = hidden = options.hidden_dim
        self.image_encoder = encoder
        self.embedding = nn.Embedding(target_size, options.embedding_dim, padding_idx=0)
        self.norm, self.image_proj = Standardized(options.cell_dim), nn.Linear(options.cell_dim, hidden, bias=False)
        self.input_proj, self.hidden_proj = nn.Linear(options.embedding_dim, hidden), nn.Linear(hidden, hidden)
        nn.init.orthogonal_(self.hidden_proj.weight)  # with other weights rectified units vanish or explode
        self.words = nn.Linear(hidden, target_size)
        self.dropout = LockedDropout(options.dropout)

    def encode(self, source: Visual) -> State:
        """Return the state. In place of an LSTM's cell it has the bias of the next step."""
        bias = self.image_proj(self.image(source))[:, None]  # Eq. 13
        return texts_of(State(torch.zeros_like(bias), bias), source)

    def _decode(self, target: Tensor, state: State) -> tuple[Tensor, State]:
        hidden, bias = state.rows()
        inputs = self.input_proj(self.dropout(self.embedding(target)))
        inputs = torch.cat([inputs[:, :1] + bias[:, None], inputs[:, 1:]], 1)  # Eq. 14: once
        states, hidden = rnn_states(self.hidden_proj, inputs, hidden, F.relu)
        return self.dropout(states), state.after(hidden, torch.zeros_like(bias))
