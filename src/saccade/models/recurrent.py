"""Encoder and decoder of recurrent translators.

The decoder serves models with attention and without. At each step it calls `read(hidden)` for the context. Attention
computes a new context each time. A model without attention returns a fixed vector.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade._definitions.checks import in_ranges
from saccade.kernels.cells import gru_cell, gru_of, linear_cell
from saccade.kernels.threads import serves
from saccade.kernels.topk import Logits
from saccade.models.checks import below_one, even
from saccade.models.renames import renamed
from saccade.models.words import ProjectedWords

__all__ = ["RECIPES", "Decoder", "Encoder", "LockedDropout", "Options", "Read", "at_positions", "reversed_positions"]

_WIDEST = 1_000_000  # beyond any memory, and far below the sizes that torch itself rejects
Read: TypeAlias = Callable[[Tensor], Tensor]
_OLDER = {
    "word": "input_proj",
    "before": "hidden_proj",
    "context": "context_proj",
    "between": "intermediate_proj",
}

_FEW = {"hidden_dim": 128, "embedding_dim": 128, "dropout": 0.2, "learning_rate": 8e-3}
RECIPES: dict[str, dict[str, Any]] = {
    "dates": {"hidden_dim": 128, "embedding_dim": 64, "learning_rate": 8e-3},
    "several-dates": {"hidden_dim": 128, "embedding_dim": 64, "learning_rate": 8e-3},
    "trees": {"hidden_dim": 128, "embedding_dim": 64, "learning_rate": 8e-3},
    "files": {"hidden_dim": 256, "embedding_dim": 256, "dropout": 0.3, "learning_rate": 2e-3},
    "hundreds": {**_FEW, "vocabulary_size": 500},
    "thousands": {**_FEW, "vocabulary_size": 500},
    "ten-thousands": {**_FEW, "hidden_dim": 256, "embedding_dim": 256, "vocabulary_size": 2000, "learning_rate": 4e-3},
}
"""Recipes of all recurrent translators, by data set."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The sizes of a recurrent translator.

    >>> Options(hidden_dim=64).hidden_dim
    64
    """

    hidden_dim: int = 256
    """Units of the decoder, and of both directions of the encoder. It must be even."""

    embedding_dim: int = 128
    """Features of the token embeddings."""

    dropout: float = 0.0
    """Dropout of embeddings, annotations and readout, with one mask per sentence."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        even(self, "hidden_dim", _WIDEST)
        in_ranges(self, (("embedding_dim", 1, _WIDEST),))
        below_one(self, "dropout")


class LockedDropout(nn.Module):
    """Dropout with one mask per sequence: a feature drops at all steps or at none.

    Noise that differs from step to step averages out over a sequence, and a constant mask does not. So locked dropout
    regularizes more. It also needs fewer random numbers, which take time on a CPU.

    Args:
        probability: of dropping a feature in training. The remaining features are scaled up to keep the mean.

    Source:
        Gal, Ghahramani 2016, "A Theoretically Grounded Application of Dropout in Recurrent Neural Networks",
        https://arxiv.org/abs/1512.05287.

    Example:
        >>> kept = LockedDropout(0.5)(torch.ones(3, 7, 4))
        >>> bool((kept == kept[:, :1]).all()), sorted({*kept.flatten().tolist()} | {0.0, 2.0})
        (True, [0.0, 2.0])
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, sequence: Tensor) -> Tensor:
        """Drop features of `(batch, ..., features)`."""
        return self.draw(sequence, sequence.shape[-1])(sequence)

    def draw(self, sequence: Tensor, features: int) -> Callable[[Tensor], Tensor]:
        """Return a function that drops the same features at every call.

        Args:
            sequence: any tensor `(batch, ...)` of the batch, for its device and dtype.
            features: number of features.

        Returns:
            A function of `(batch, ..., features)`.

        Example:
            >>> drop = LockedDropout(0.5).draw(torch.ones(2, 4), 4)
            >>> torch.equal(drop(torch.ones(2, 4)), drop(torch.ones(2, 4)))
            True
        """
        if not self.training or not self.probability:
            return lambda sequence: sequence
        kept = F.dropout(sequence.new_ones(len(sequence), features), self.probability)
        return lambda sequence: sequence * kept.view(len(kept), *[1] * (sequence.ndim - 2), features)


class Encoder(nn.Module):
    r"""Bidirectional GRU over padded sentences.

    .. math:: h_j = [\overrightarrow{h}_j; \overleftarrow{h}_j]

    Args:
        embedding_dim: features of the input.
        hidden_dim: features of the output, both directions together. It must be even.

    Source:
        Bahdanau, Cho, Bengio 2015, section 3.2 (https://arxiv.org/abs/1409.0473). The unit is torch's GRU. Its reset
        gate multiplies the projected state, and not the state before the projection.

    Example:
        >>> encoder = Encoder(4, 6)
        >>> encoder(torch.randn(2, 5, 4), torch.tensor([5, 3])).shape
        torch.Size([2, 5, 6])
    """

    def __init__(self, embedding_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.forwards = _Direction(embedding_dim, hidden_dim // 2)
        self.backwards = _Direction(embedding_dim, hidden_dim // 2)

    def forward(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """Encode sentences.

        Args:
            embedded: `(batch, length, embedding_dim)`. Padding has no effect on the states of a sentence.
            lengths: `(batch,)`, at least 1.

        Returns:
            `(batch, length, hidden_dim)`.
        """
        # Sentences are reversed within their lengths, so padding comes last for the backward direction too. No state
        # depends on padding, without the cost of packing.
        order = reversed_positions(lengths, embedded.shape[1])
        ahead, back = self.forwards(embedded), self.backwards(at_positions(embedded, order))
        return torch.cat([ahead, at_positions(back, order)], -1)  # h_j


class Decoder(nn.Module):
    r"""Conditional GRU with a read between its two cells, and a deep output layer.

    .. math::
        s'_i &= \operatorname{GRU}_1(E y_{i-1},\ s_{i-1}) \qquad c_i = \operatorname{read}(s'_i) \\
        s_i &= \operatorname{GRU}_2(c_i,\ s'_i) \\
        p(y_i) &= \operatorname{softmax}\big(E \tanh(W_t [s_i; c_i; E y_{i-1}]) + b\big)

    The query \(s'_i\) depends on the last token. With `query="before"` the query is the paper's, and there is one cell:

    .. math::
        c_i = \operatorname{read}(s_{i-1}) \qquad s_i = \operatorname{GRU}(E y_{i-1} + C c_i,\ s_{i-1})

    The output matrix is the
    embedding of the target (Press, Wolf 2017, https://arxiv.org/abs/1608.05859), so both sides train it. It has a
    third of the parameters of a small model.

    Args:
        embedding: of the target tokens. Its matrix is also the output matrix.
        context_dim: features of the context.
        hidden_dim: features of the state.
        dropout: of embeddings, and of the input and output of the readout.
        query: the state that reads, "after" the last token or "before" it.

    Source:
        Bahdanau, Cho, Bengio 2015, appendix A.2 (https://arxiv.org/abs/1409.0473). Sennrich et al. 2017, "Nematus",
        section 2, for the conditional GRU (https://arxiv.org/abs/1703.04357).

    Example:
        >>> decoder = Decoder(nn.Embedding(7, 4), context_dim=3, hidden_dim=6)
        >>> context = torch.randn(2, 3)
        >>> decoder(torch.randint(7, (2, 5)), torch.zeros(2, 6), lambda hidden: context).shape
        torch.Size([2, 5, 4])
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        context_dim: int,
        hidden_dim: int,
        dropout: float = 0.0,
        query: Literal["after", "before"] = "after",
    ) -> None:
        super().__init__()
        size, dim = embedding.weight.shape
        self.embedding = embedding
        # Symbols are those of appendix A.2.2. Each layer has the matrices of both gates, r and z, and of the new state.
        self.input_proj = nn.Linear(dim, 3 * hidden_dim)  # W_r, W_z, W
        self.hidden_proj = nn.Linear(hidden_dim, 3 * hidden_dim)  # U_r, U_z, U
        self.context_proj = nn.Linear(context_dim, 3 * hidden_dim)  # C_r, C_z, C
        self.intermediate_proj = nn.Linear(hidden_dim, 3 * hidden_dim) if query == "after" else None
        self.readout = nn.Linear(hidden_dim + context_dim + dim, dim)  # U_o, C_o and V_o of the deep output t_i
        self.bias = nn.Parameter(torch.zeros(size))
        self.dropout = LockedDropout(dropout)
        self._words = ProjectedWords()
        renamed(self, _OLDER)

    def step(self, token: Tensor, hidden: Tensor, read: Read) -> tuple[Logits, Tensor]:
        """Return the `Logits` `(batch, vocabulary)` of the next token, and the next state.

        Args:
            token: ids of the last tokens `(batch,)`.
            hidden: `(batch, hidden_dim)`.
            read: function from a state `(batch, hidden_dim)` to a context `(batch, context_dim)`.
        """
        embedded = self.dropout(self.embedding(token))
        dropped = self.dropout.training and self.dropout.probability
        if dropped:
            word = self.input_proj(embedded)
        else:
            word = self._words.project(self.embedding, self.input_proj, token, embedded)
        hidden, context = _advance(word, hidden, read, self._cells())
        return self._logits(self._features(hidden, context, embedded)), hidden

    def forward(self, target: Tensor, hidden: Tensor, read: Read) -> Tensor:
        """Return features of every next token, given the true tokens before it.

        Args:
            target: ids `(batch, length)`, from the begin token on.
            hidden: the initial state, `(batch, hidden_dim)`.
            read: as for `step`.

        Returns:
            `(batch, length, dim)`, with the dimension of the embedding.
        """
        embedded = self.dropout(self.embedding(target))
        hiddens, contexts = [], []
        cells = self._cells()
        for word in self.input_proj(embedded).unbind(1):
            hidden, context = _advance(word, hidden, read, cells)
            hiddens.append(hidden)
            contexts.append(context)
        # The input projection before the loop and the readout after it are outside of the recurrence. One product for
        # all steps is far faster than one per step.
        return self._features(torch.stack(hiddens, 1), torch.stack(contexts, 1), embedded)

    def _cells(self) -> "_Cells":
        second = None if self.intermediate_proj is None else gru_of(self.intermediate_proj)
        return _Cells(gru_of(self.hidden_proj), linear_cell(self.context_proj), second)

    def _features(self, hidden: Tensor, context: Tensor, embedded: Tensor) -> Tensor:
        inputs = self.dropout(torch.cat([hidden, context, embedded], -1))
        features: Tensor = self.dropout(torch.tanh(self.readout(inputs)))
        return features

    def _logits(self, features: Tensor) -> Logits:
        return Logits(features, self.embedding.weight, self.bias)


class _Cells(NamedTuple):
    """Functions of a decoder's step. There may be no second cell."""

    first: Callable[[Tensor, Tensor], Tensor]
    context: Callable[[Tensor], Tensor]
    second: Callable[[Tensor, Tensor], Tensor] | None


def _advance(word: Tensor, hidden: Tensor, read: Read, cells: _Cells) -> tuple[Tensor, Tensor]:
    """Return the next state and the context, given the projected token."""
    if cells.second is None:
        context = read(hidden)  # c_i by s_{i-1}, Eq. 5 and 6
        return cells.first(word + cells.context(context), hidden), context  # s_i = f(s_{i-1}, y_{i-1}, c_i)
    hidden = cells.first(word, hidden)  # s'_i
    context = read(hidden)
    return cells.second(cells.context(context), hidden), context


class _Direction(nn.GRU):
    """One direction of an encoder. On a CPU it loops over `saccade.kernels.cells`."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(input_dim, hidden_dim, batch_first=True)

    def forward(self, sequence: Tensor) -> Tensor:  # type: ignore[override]
        """Return the states `(batch, length, hidden_dim)`."""
        if not serves(sequence):
            states: Tensor = super().forward(sequence)[0]
            return states
        parts: Any = self  # torch declares no types of these parameters
        step = gru_cell(parts.weight_hh_l0, parts.bias_hh_l0)
        hidden, steps = sequence.new_zeros(len(sequence), self.hidden_size), []
        for inputs in F.linear(sequence, parts.weight_ih_l0, parts.bias_ih_l0).unbind(1):
            hidden = step(inputs, hidden)
            steps.append(hidden)
        return torch.stack(steps, 1)


def reversed_positions(lengths: Tensor, width: int) -> Tensor:
    """Return positions that reverse each sentence without its padding.

    They are their own inverse.

    Args:
        lengths: `(batch,)`.
        width: length of the padded sentences.

    Returns:
        `(batch, width)`.

    Example:
        >>> reversed_positions(torch.tensor([3, 1]), 3).tolist()
        [[2, 1, 0], [0, 1, 2]]
    """
    steps = torch.arange(width, device=lengths.device)
    return torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)


def at_positions(values: Tensor, positions: Tensor) -> Tensor:
    """Return the features at some positions of each sentence.

    Args:
        values: `(batch, width, features)`.
        positions: `(batch, length)`.

    Returns:
        `(batch, length, features)`.

    Example:
        >>> at_positions(torch.tensor([[[4.0], [5.0], [6.0]]]), torch.tensor([[2, 0, 0]])).flatten().tolist()
        [6.0, 4.0, 4.0]
    """
    return values.gather(1, positions[..., None].expand_as(values))
