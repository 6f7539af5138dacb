"""LRCN: one or two LSTMs with the image beside every word (Donahue et al. 2015).

"Long-term Recurrent Convolutional Networks for Visual Recognition and Description", https://arxiv.org/abs/1411.4389.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

from saccade.errors import ArgumentError
from saccade.models import captioning
from saccade.models.captioning import MeanCaptioner, State, lstm_states, picked, texts_of
from saccade.models.image_encoder import Visual
from saccade.models.recurrent import LockedDropout
from saccade.models.standardized import Standardized

__all__ = ["LRCN", "Options"]

_STACKS = ("1u", "2u", "2f")


@dataclass(frozen=True, kw_only=True)
class Options(captioning.Options):
    """The sizes of the model, and its LSTMs.

    >>> Options(stack="1u").hidden_dim
    256
    """

    stack: Literal["1u", "2u", "2f"] = "2f"
    """LSTMs and the place of the image: one LSTM (1u), or two.

    Of two, the first reads image and words (2u), or words alone, and the second the image (2f, factored)."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        if self.stack not in _STACKS:
            raise ArgumentError(f"--stack: expected {', '.join(_STACKS[:-1])} or {_STACKS[-1]}, got {self.stack}")


_DEFAULT = Options()


class LRCN(MeanCaptioner):
    r"""A stack of LSTMs that reads the image at every word.

    .. math::
        v = \operatorname{norm}\big(\tfrac{1}{n} \textstyle\sum_i a_i\big) \qquad
        \text{1u:}\quad h_t &= \operatorname{LSTM}([E y_t; v], h_{t-1}) \\
        \text{2u:}\quad h_t &= \operatorname{LSTM}_2(\operatorname{LSTM}_1([E y_t; v])) \qquad
        \text{2f:}\quad h_t = \operatorname{LSTM}_2([\operatorname{LSTM}_1(E y_t); v]) \\
        p(y_{t+1}) &= \operatorname{softmax}(W_z h_t + b_z)

    for cells a of the image. Their mean is standardized over the batch in training, and by running means otherwise. In
    the factored stack the first LSTM is a language model that sees no image.

    Args:
        encoder: a `saccade.models.image_encoder.ImageEncoder` or `FeatureEncoder`.
        target_size: size of the vocabulary. Token 0 is padding.
        options: the sizes and the stack.

    Example:
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8", cell_dim=6, hidden_dim=5, embedding_dim=4)
        >>> model = LRCN(ImageEncoder(3, options), 9, options)
        >>> model(Visual(torch.rand(2, 3, 32, 32)), torch.randint(4, 9, (2, 7))).shape
        torch.Size([2, 7, 9])

    Source:
        Donahue et al. 2015, section 5: LRCN-1u, LRCN-2u and LRCN-2f. The LSTM is that of section 2. Differences are
        listed in docs/caption.md.
    """

    Options: TypeAlias = Options

    def __init__(self, encoder: nn.Module, target_size: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        hidden, dim = options.hidden_dim, options.embedding_dim
        self.options = options
        self.image_encoder, self.embedding = encoder, nn.Embedding(target_size, dim, padding_idx=0)
        self.norm = Standardized(options.cell_dim)
        self.image_proj = nn.Linear(options.cell_dim, 4 * hidden, bias=False)
        self.input_proj, self.hidden_proj = nn.Linear(dim, 4 * hidden), nn.Linear(hidden, 4 * hidden)
        self.second_input = self.second_hidden = None
        if options.stack != "1u":
            self.second_input, self.second_hidden = nn.Linear(hidden, 4 * hidden), nn.Linear(hidden, 4 * hidden)
        self.words = nn.Linear(hidden, target_size)
        self.dropout = LockedDropout(options.dropout)

    def encode(self, source: Visual) -> State:
        """Return the state. States of two LSTMs lie side by side."""
        image = self.image_proj(self.image(source))
        layers = 1 if self.second_hidden is None else 2
        zeros = image.new_zeros(len(image), 1, layers * self.options.hidden_dim)
        return texts_of(State(zeros, zeros, image=image), source)

    def _decode(self, target: Tensor, state: State) -> tuple[Tensor, State]:
        assert state.image is not None
        image, factored = picked(state.image, state)[:, None], self.options.stack == "2f"
        hiddens, cells = (part.split(self.options.hidden_dim, 1) for part in state.rows())
        inputs = self.input_proj(self.dropout(self.embedding(target)))
        inputs = inputs if factored else inputs + image
        states, hidden, cell = lstm_states(self.hidden_proj, inputs, hiddens[0], cells[0])
        if self.second_input is None or self.second_hidden is None:
            return self.dropout(states), state.after(hidden, cell)
        inputs = self.second_input(self.dropout(states))
        inputs = inputs + image if factored else inputs
        states, second_hidden, second_cell = lstm_states(self.second_hidden, inputs, hiddens[1], cells[1])
        hidden, cell = torch.cat([hidden, second_hidden], 1), torch.cat([cell, second_cell], 1)
        return self.dropout(states), state.after(hidden, cell)
