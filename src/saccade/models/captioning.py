"""Options, recipes and LSTM state of captioning models."""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from saccade._definitions.checks import in_ranges
from saccade.memory import Memory
from saccade.models import image_encoder
from saccade.models.image_encoder import Visual
from saccade.models.seq2seq import State as AnyState

__all__ = ["RECIPES", "Options", "State", "picked", "texts_of"]

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
