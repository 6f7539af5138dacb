"""Show and Tell: an LSTM reads the image once, then writes (Vinyals et al. 2015).

"Show and Tell: A Neural Image Caption Generator", https://arxiv.org/abs/1411.4555.
"""

from typing import TypeAlias

from torch import Tensor, nn

from saccade.kernels.cells import lstm_of
from saccade.models.captioning import MeanCaptioner, Options, State, lstm_states, texts_of
from saccade.models.image_encoder import Visual
from saccade.models.recurrent import LockedDropout
from saccade.models.standardized import Standardized

__all__ = ["ShowAndTell"]

_DEFAULT = Options()


class ShowAndTell(MeanCaptioner):
    r"""LSTM decoder with the image as its first input, before the words.

    .. math::
        x_{-1} = W_I \operatorname{norm}\big(\tfrac{1}{n} \textstyle\sum_i a_i\big) \qquad x_t = E y_t \qquad
        h_t = \operatorname{LSTM}(x_t, h_{t-1}) \qquad p(y_{t+1}) = \operatorname{softmax}(W h_t + b)

    for cells a of the image. Their mean is standardized by batch normalization
    (`saccade.models.standardized.Standardized`). The decoder has no other view of the image.

    Args:
        encoder: of images, a `saccade.models.image_encoder.ImageEncoder` or a `FeatureEncoder`.
        target_size: size of the vocabulary, with padding (id 0).
        options: the sizes.

    Example:
        >>> import torch
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8", cell_dim=6, hidden_dim=5, embedding_dim=4)
        >>> model = ShowAndTell(ImageEncoder(3, options), 9, options)
        >>> model(Visual(torch.rand(2, 3, 32, 32)), torch.randint(4, 9, (2, 7))).shape
        torch.Size([2, 7, 9])

    Source:
        Vinyals et al. 2015, Eq. 4 to 12. docs/caption.md lists the differences.
    """

    Options: TypeAlias = Options

    def __init__(self, encoder: nn.Module, target_size: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        self.hidden_dim = hidden = options.hidden_dim
        dim = options.embedding_dim
        self.image_encoder, self.embedding = encoder, nn.Embedding(target_size, dim, padding_idx=0)
        self.norm, self.image_proj = Standardized(options.cell_dim), nn.Linear(options.cell_dim, dim)
        self.input_proj, self.hidden_proj = nn.Linear(dim, 4 * hidden), nn.Linear(hidden, 4 * hidden)
        self.words = nn.Linear(hidden, target_size)
        self.dropout = LockedDropout(options.dropout)

    def encode(self, source: Visual) -> State:
        image = self.image_proj(self.image(source))
        zeros = image.new_zeros(len(image), self.hidden_dim)
        hidden, cell = lstm_of(self.hidden_proj)(self.input_proj(image), zeros, zeros)
        return texts_of(State(hidden[:, None], cell[:, None]), source)

    def _decode(self, target: Tensor, state: State) -> tuple[Tensor, State]:
        inputs = self.input_proj(self.dropout(self.embedding(target)))
        states, hidden, cell = lstm_states(self.hidden_proj, inputs, *state.rows())
        return self.dropout(states), state.after(hidden, cell)
