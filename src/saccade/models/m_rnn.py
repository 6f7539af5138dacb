"""m-RNN: an RNN over words and a multimodal layer (Mao et al. 2015).

"Deep Captioning with Multimodal Recurrent Neural Networks (m-RNN)", https://arxiv.org/abs/1412.6632.
"""

from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.models.captioning import MeanCaptioner, Options, State, picked, rnn_states, texts_of
from saccade.models.image_encoder import Visual
from saccade.models.recurrent import LockedDropout
from saccade.models.standardized import Standardized

__all__ = ["MRNN"]

_DEFAULT = Options()
_SCALE, _SLOPE = 1.7159, 2 / 3  # of the scaled tangent: LeCun et al. 1998, "Efficient BackProp", section 4.4


class MRNN(MeanCaptioner):
    r"""A recurrent layer over words, and a multimodal layer of word, past and image.

    .. math::
        w_t &= \operatorname{relu}(W_2 E y_t) \qquad r_t = \operatorname{relu}(U r_{t-1} + V w_t) \\
        m_t &= g\big(V_w w_t + V_r r_t + V_I \operatorname{norm}\big(\tfrac{1}{n} \textstyle\sum_i a_i\big)\big) \qquad
        p(y_{t+1}) = \operatorname{softmax}(W m_t + b)

    with \(g(x) = 1.7159 \tanh(\tfrac{2}{3} x)\), for cells a of the image. Their mean is standardized over
    the batch in training, and by running means otherwise. Every step has the same image features.

    Args:
        encoder: a `saccade.models.image_encoder.ImageEncoder` or `FeatureEncoder`.
        target_size: size of the vocabulary. Token 0 is padding.
        options: the sizes.

    Example:
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8", cell_dim=6, hidden_dim=5, embedding_dim=4)
        >>> model = MRNN(ImageEncoder(3, options), 9, options)
        >>> model(Visual(torch.rand(2, 3, 32, 32)), torch.randint(4, 9, (2, 7))).shape
        torch.Size([2, 7, 9])

    Source:
        Mao et al. 2015, Eq. 2 to 4; differences are listed in docs/caption.md.
    """

    Options: TypeAlias = Options

    def __init__(self, encoder: nn.Module, target_size: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        self.hidden_dim = hidden = options.hidden_dim
        dim = options.embedding_dim
        self.image_encoder, self.embedding = encoder, nn.Embedding(target_size, dim, padding_idx=0)
        self.second = nn.Linear(dim, dim)
        self.input_proj, self.hidden_proj = nn.Linear(dim, hidden), nn.Linear(hidden, hidden)
        nn.init.orthogonal_(self.hidden_proj.weight)  # with other weights rectified units vanish or explode
        self.word_proj, self.past_proj = nn.Linear(dim, hidden), nn.Linear(hidden, hidden)
        self.norm, self.image_proj = Standardized(options.cell_dim), nn.Linear(options.cell_dim, hidden)
        self.words = nn.Linear(hidden, target_size)
        self.dropout = LockedDropout(options.dropout)

    def encode(self, source: Visual) -> State:
        image = self.image_proj(self.image(source))
        zeros = image.new_zeros(len(image), 1, self.hidden_dim)
        return texts_of(State(zeros, zeros, image=image), source)

    def _decode(self, target: Tensor, state: State) -> tuple[Tensor, State]:
        assert state.image is not None
        past, cell = state.rows()
        words = F.relu(self.second(self.dropout(self.embedding(target))))
        states, past = rnn_states(self.hidden_proj, self.input_proj(words), past, F.relu)
        sums = self.word_proj(words) + self.past_proj(states) + picked(state.image, state)[:, None]
        return self.dropout(_SCALE * torch.tanh(_SLOPE * sums)), state.after(past, cell)
