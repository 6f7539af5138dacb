"""Options, recipes, state and recurrent parts of captioning models."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn

from saccade._definitions.checks import in_ranges
from saccade.kernels.cells import linear_cell, lstm_of
from saccade.kernels.topk import Logits
from saccade.memory import Memory
from saccade.models import image_encoder
from saccade.models.image_encoder import Visual
from saccade.models.seq2seq import Seq2Seq
from saccade.models.seq2seq import State as AnyState
from saccade.models.words import logits

__all__ = ["RECIPES", "MeanCaptioner", "Options", "State", "lstm_states", "picked", "rnn_states", "texts_of"]

_COMMON: dict[str, Any] = {"schedule": "cosine", "final_rate": 0.02, "clip": 1.0, "threads": 1}
_SCENES: dict[str, Any] = {
    **_COMMON,
    "widths": "48,64",  # more blocks widen the receptive field of a cell, for relations between objects
    "blocks": 2,
    "stem_stride": 6,
    "cell_dim": 128,
    "learning_rate": 2e-3,
    "warmup_steps": 200,
    "schedule_steps": 6000,
    "max_steps": 6000,
    "validation_steps": 1000,
    "checkpoint_steps": 1000,
}
RECIPES: dict[str, dict[str, Any]] = {
    "scenes": _SCENES,
    "scenes-questions": _SCENES,
    "files": {
        **_COMMON,
        "widths": "32,64,128,256",
        "cell_dim": 256,
        "dropout": 0.4,
        "learning_rate": 1e-3,
        "warmup_steps": 200,
        "schedule_steps": 4000,
        "max_steps": 4000,
        "validation_steps": 500,
        "checkpoint_steps": 500,
    },
}
"""Recipes of all captioning models, by data set."""


@dataclass(frozen=True, kw_only=True)
class Options(image_encoder.Options):
    """The sizes of the image encoder and of the decoder.

    >>> Options(hidden_dim=64).embedding_dim
    128
    """

    hidden_dim: int = 256
    """Units of the decoder."""

    embedding_dim: int = 128
    """Features of the token embeddings."""

    dropout: float = 0.0
    """Dropout of cells, embeddings and the input of the output layer."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        in_ranges(self, (("hidden_dim", 1, 1 << 20), ("embedding_dim", 1, 1 << 20)))


@dataclass(frozen=True)
class State:
    """Decoder state of each output of a beam.

    Args:
        hidden: hidden state, `(examples, beam, hidden_dim)`.
        cell: cell state of an LSTM, `(examples, beam, hidden_dim)`.
        memory: cells of each image, shared by its outputs. None without attention.
        image: image features at every step, `(examples, dim)`. None if the decoder has none.

    Example:
        >>> state = State(torch.zeros(2, 1, 4), torch.zeros(2, 1, 4), image=torch.zeros(2, 3))
        >>> state.select(torch.tensor([[0, 0], [1, 1]]), None).hidden.shape
        torch.Size([2, 2, 4])
    """

    hidden: Tensor
    cell: Tensor
    memory: Memory | None = None
    image: Tensor | None = None

    def select(self, rows: Tensor, examples: Tensor | None) -> "State":
        """Select and reorder rows, as `saccade.models.seq2seq.State.select` does."""
        state = self if examples is None else self._of(examples)
        return replace(state, hidden=self.hidden.flatten(0, 1)[rows], cell=self.cell.flatten(0, 1)[rows])

    def _of(self, examples: Tensor) -> "State":
        memory = None if self.memory is None else self.memory.select(examples)
        return replace(self, memory=memory, image=None if self.image is None else self.image[examples])

    def rows(self) -> tuple[Tensor, Tensor]:
        """Return hidden and cell with flat rows, `(examples * beam, hidden_dim)`."""
        return self.hidden.flatten(0, 1), self.cell.flatten(0, 1)

    def after(self, hidden: Tensor, cell: Tensor) -> "State":
        """Return the state with new hidden and cell rows."""
        return replace(self, hidden=hidden.view(self.hidden.shape), cell=cell.view(self.cell.shape))


S = TypeVar("S", bound=AnyState)


def texts_of(state: S, source: Visual) -> S:
    """Return the state of the texts, so that texts about one image share its encoding.

    Args:
        state: one row per image.
        source: images, with the image of each text in `about`.

    Example:
        >>> source = Visual(torch.zeros(2, 3, 8, 8), about=torch.tensor([0, 0, 1]))
        >>> texts_of(State(torch.zeros(2, 1, 4), torch.zeros(2, 1, 4)), source).hidden.shape
        torch.Size([3, 1, 4])
    """
    return state if source.about is None else state.select(source.about[:, None], source.about)


def picked(image: Tensor, state: State) -> Tensor:
    """Repeat the image features for each output, `(examples * beam, dim)`.

    >>> picked(torch.tensor([[1.0], [2.0]]), State(torch.zeros(2, 2, 4), torch.zeros(2, 2, 4))).flatten()
    tensor([1., 1., 2., 2.])
    """
    return torch.repeat_interleave(image, state.hidden.shape[1], 0)


class MeanCaptioner(Seq2Seq[Visual, State]):
    r"""Base of captioning models that see one vector of an image.

    .. math:: v = \operatorname{norm}\big(\tfrac{1}{n} \textstyle\sum_i a_i\big)

    for cells a of the image. The norm standardizes over the batch in training, and uses running means otherwise. A
    subclass has the `image_encoder`, the `norm` and the output layer `words`, and defines `encode` and `_decode`.

    Example:
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> from saccade.models.m_rnn import MRNN
        >>> options = Options(widths="4,8", cell_dim=6)
        >>> MRNN(ImageEncoder(3, options), 9, options).image(Visual(torch.rand(2, 3, 32, 32))).shape
        torch.Size([2, 6])
    """

    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    image_encoder: nn.Module
    norm: nn.Module
    words: nn.Module

    @property
    def output(self) -> nn.Module:
        return self.words

    def image(self, source: Visual) -> Tensor:
        """Return the standardized mean of the cells of each image, `(images, cell_dim)`."""
        mean: Tensor = self.norm(self.image_encoder(source.images()).mean()[:, None])
        return mean[:, 0]

    def step(self, token: Tensor, state: State) -> tuple[Logits | Tensor, State]:
        features, state = self._decode(token[:, None], state)
        return logits(features[:, 0], self.output), state

    def decode(self, target: Tensor, state: State) -> Tensor:
        return self._decode(target, state)[0]

    @abstractmethod
    def _decode(self, target: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the features `(rows, length, dim)` of next tokens, and the next state."""


def lstm_states(linear: nn.Linear, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the hidden states of an LSTM at all steps, and its last state.

    Args:
        linear: of the hidden state, to the four gates.
        inputs: `(rows, length, 4 * hidden_dim)`.
        hidden, cell: before the first step, `(rows, hidden_dim)`.

    Returns:
        All hidden states `(rows, length, hidden_dim)`, the last one and the last cell state, `(rows, hidden_dim)`.

    Example:
        >>> states, hidden, _ = lstm_states(nn.Linear(2, 8), torch.rand(3, 5, 8), torch.zeros(3, 2), torch.zeros(3, 2))
        >>> states.shape, torch.equal(states[:, -1], hidden)
        (torch.Size([3, 5, 2]), True)
    """
    advance, states = lstm_of(linear), list[Tensor]()
    for gates in inputs.unbind(1):
        hidden, cell = advance(gates, hidden, cell)
        states.append(hidden)
    return torch.stack(states, 1), hidden, cell


def rnn_states(
    linear: nn.Linear, inputs: Tensor, hidden: Tensor, activation: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    r"""Return the hidden states of a simple recurrent network, and the last one.

    .. math:: h_t = f(U h_{t-1} + b + x_t)

    Args:
        linear: U and b.
        inputs: x, `(rows, length, hidden_dim)`.
        hidden: before the first step, `(rows, hidden_dim)`.
        activation: f.

    Returns:
        `(rows, length, hidden_dim)` and `(rows, hidden_dim)`.

    Example:
        >>> states, hidden = rnn_states(nn.Linear(2, 2), torch.rand(3, 5, 2), torch.zeros(3, 2), torch.sigmoid)
        >>> states.shape, torch.equal(states[:, -1], hidden)
        (torch.Size([3, 5, 2]), True)
    """
    recur, states = linear_cell(linear), list[Tensor]()
    for features in inputs.unbind(1):
        hidden = activation(recur(hidden) + features)
        states.append(hidden)
    return torch.stack(states, 1), hidden
