"""A recurrent memory of visual features of the words (Chen, Zitnick 2015).

"Mind's Eye: A Recurrent Visual Representation for Image Caption Generation", https://arxiv.org/abs/1411.5654.
"""

from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.errors import ArgumentError
from saccade.models import captioning
from saccade.models.captioning import MeanCaptioner, State, picked, rnn_states, texts_of
from saccade.models.image_encoder import Visual
from saccade.models.recurrent import LockedDropout
from saccade.models.standardized import Standardized
from saccade.models.words import logits_or_loss

__all__ = ["Options", "VisualMemory"]


@dataclass(frozen=True, kw_only=True)
class Options(captioning.Options):
    """The sizes of the model, and the weight of its second loss.

    >>> Options(reconstruction_weight=0.5).hidden_dim
    256
    """

    reconstruction_weight: float = 1.0
    """Weight of the reconstruction of the image from the words so far, in the loss.

    Its error is 1 for the mean of all images."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        if not 0 <= self.reconstruction_weight < float("inf"):
            got = f"{self.reconstruction_weight}"
            raise ArgumentError(f"--reconstruction-weight: expected a finite number from 0 on, got {got}")


_DEFAULT = Options()


class VisualMemory(MeanCaptioner):
    r"""Two recurrent states: one sees the image, the other reconstructs it.

    .. math::
        v &= \operatorname{norm}\big(\tfrac{1}{n} \textstyle\sum_i a_i\big) \qquad
        s_t = \sigma\big(W_s E y_t + U_s s_{t-1} + [V v; 0] + b_s\big) \qquad
        u_t = \sigma\big(W_u E y_t + U_u u_{t-1} + b_u\big) \\
        \tilde v_t &= A u_t + c \qquad
        p(y_{t+1}) = \operatorname{softmax}(W [s_t; u_t] + b)

    for cells a of the image. Their mean is standardized over the batch in training, and by running means otherwise. The
    image v enters half of the units s. The memory u reads words alone. In training the loss of a word is its
    cross-entropy and the error of the reconstruction of the d features of v,

    .. math:: \lambda \tfrac{1}{d} \lVert \tilde v_t - v \rVert^2

    Args:
        encoder: a `saccade.models.image_encoder.ImageEncoder` or `FeatureEncoder`.
        target_size: size of the vocabulary. Token 0 is padding.
        options: the sizes, and λ.

    Example:
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8", cell_dim=6, hidden_dim=5, embedding_dim=4)
        >>> model = VisualMemory(ImageEncoder(3, options), 9, options)
        >>> images, words = Visual(torch.rand(2, 3, 32, 32)), torch.randint(4, 9, (2, 7))
        >>> model(images, words).shape, model.reconstruction(images, words).shape
        (torch.Size([2, 7, 9]), torch.Size([2, 7]))

    Source:
        Chen, Zitnick 2015, Eq. 1 and section 3.1; differences are listed in docs/caption.md.
    """

    Options: TypeAlias = Options

    def __init__(self, encoder: nn.Module, target_size: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        hidden, dim = options.hidden_dim, options.embedding_dim
        self.options = options
        self.image_encoder, self.embedding = encoder, nn.Embedding(target_size, dim, padding_idx=0)
        self.norm = Standardized(options.cell_dim, affine=False)  # with a gain, errors would have no unit
        self.image_proj = nn.Linear(options.cell_dim, (hidden + 1) // 2, bias=False)
        self.input_proj, self.hidden_proj = nn.Linear(dim, hidden), nn.Linear(hidden, hidden)
        self.memory_input, self.memory_hidden = nn.Linear(dim, hidden), nn.Linear(hidden, hidden)
        for recurrent in (self.hidden_proj, self.memory_hidden):
            nn.init.orthogonal_(recurrent.weight, 4)  # the slope of a sigmoid is at most 1/4: gradients would vanish
        self.reconstruct = nn.Linear(hidden, options.cell_dim)
        self.words = nn.Linear(2 * hidden, target_size)
        self.dropout = LockedDropout(options.dropout)

    def encode(self, source: Visual) -> State:
        """Return the state, with the memory in place of an LSTM's cell."""
        return self._begin(self.image(source), source)

    def forward(
        self, source: Visual, target: Tensor, labels: Tensor | None = None, label_smoothing: float = 0.0
    ) -> Tensor:
        """Return logits or the loss of labels, in training with the reconstruction's."""
        weight = self.options.reconstruction_weight
        if labels is None or not weight or not self.training:
            return super().forward(source, target, labels, label_smoothing)
        image = self.image(source)
        features = self.decode(target, self._begin(image, source))
        cost = logits_or_loss(features, self.output, labels, label_smoothing)
        return cost + weight * self._errors(features, image, source)[labels != 0].mean()

    def reconstruction(self, source: Visual, target: Tensor) -> Tensor:
        """Return the mean squared error of the reconstruction after each token.

        Args:
            source: the images.
            target: token ids `(rows, length)`, from the begin token on.

        Returns:
            `(rows, length)`. A constant that is the mean of all images has about 1.
        """
        image = self.image(source)
        return self._errors(self.decode(target, self._begin(image, source)), image, source)

    def _begin(self, image: Tensor, source: Visual) -> State:
        zeros = image.new_zeros(len(image), 1, self.options.hidden_dim)
        return texts_of(State(zeros, zeros, image=self.image_proj(image)), source)

    def _errors(self, features: Tensor, image: Tensor, source: Visual) -> Tensor:
        true = image.detach()  # else the image encoder would learn features that are easy to reconstruct
        true = true if source.about is None else true[source.about]
        errors: Tensor = self.reconstruct(features[..., self.options.hidden_dim :]) - true[:, None]
        return errors.square().mean(-1)

    def _decode(self, target: Tensor, state: State) -> tuple[Tensor, State]:
        assert state.image is not None
        hidden, memory = state.rows()
        words, image = self.dropout(self.embedding(target)), picked(state.image, state)[:, None]
        inputs = self.input_proj(words) + F.pad(image, (0, hidden.shape[1] - image.shape[2]))
        states, hidden = rnn_states(self.hidden_proj, inputs, hidden, torch.sigmoid)
        memories, memory = rnn_states(self.memory_hidden, self.memory_input(words), memory, torch.sigmoid)
        return self.dropout(torch.cat([states, memories], -1)), state.after(hidden, memory)
