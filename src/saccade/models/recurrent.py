"""What recurrent translators share: a bidirectional encoder, and a decoder that is told what to look at by a function.

The decoder is one for models with attention and without: at each step it asks `read(hidden)` for the context. Attention
answers anew each time; a fixed vector is the same answer always.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

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

_WIDEST = 1_000_000  # beyond any memory; torch fails in other words at far larger sizes
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
"""What suits each data set, for all recurrent translators."""


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
    """Dropout of embeddings, annotations and readout, the same for a whole sentence."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        even(self, "hidden_dim", _WIDEST)
        in_ranges(self, (("embedding_dim", 1, _WIDEST),))
        below_one(self, "dropout")


class LockedDropout(nn.Module):
    """Dropout with one draw a sequence: a feature is dropped at all steps of it or at none.

    A recurrent network cannot average what differs from step to step, so this is the stronger regularizer; it also
    draws fewer random numbers, which take time on a CPU.

    Args:
        probability: of dropping a feature, in training; the others are scaled up to keep the mean.

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
        """Return what drops the same features of a batch as long as one asks, of a step or of all of them.

        Args:
            sequence: of the batch `(batch, ...)`, for its device and type.
            features: how many there are.

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
    r"""A bidirectional GRU over padded sentences: \(h_j = [\overrightarrow{h}_j; \overleftarrow{h}_j]\).

    Args:
        embedding_dim: features of the input.
        hidden_dim: features of the output, both directions together; even.

    Source:
        Bahdanau, Cho, Bengio 2015, section 3.2 (https://arxiv.org/abs/1409.0473); the unit is torch's GRU, whose reset
        gate acts on the product with the state, and not on the state before it.

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
        """Read sentences.

        Args:
            embedded: `(batch, length, embedding_dim)`; what lies beyond a sentence's length changes nothing within it.
            lengths: `(batch,)`, at least 1.

        Returns:
            `(batch, length, hidden_dim)`.
        """
        # Mirrored within their lengths, sentences have their padding behind them for the backward direction too: no
        # state has seen any, and nothing has to be packed, which costs more.
        order = reversed_positions(lengths, embedded.shape[1])
        ahead, back = self.forwards(embedded), self.backwards(at_positions(embedded, order))
        return torch.cat([ahead, at_positions(back, order)], -1)


class Decoder(nn.Module):
    r"""A conditional GRU with a deep output: it takes the last word in, looks, takes in what it saw, and predicts.

    .. math::
        s'_i &= \operatorname{GRU}_1(E y_{i-1},\ s_{i-1}) \qquad c_i = \operatorname{read}(s'_i) \\
        s_i &= \operatorname{GRU}_2(c_i,\ s'_i) \\
        p(y_i) &= \operatorname{softmax}\big(E \tanh(W_t [s_i; c_i; E y_{i-1}]) + b\big)

    The query \(s'_i\) knows the last word, which the paper's \(s_{i-1}\) does not: what to look at next depends on it.
    The output matrix is the embedding of the target: a third of the parameters of a small model, learned from both
    sides (Press, Wolf 2017, https://arxiv.org/abs/1608.05859).

    Args:
        embedding: of the target tokens; its matrix is the output's too.
        context_dim: features of what `read` returns.
        hidden_dim: features of the state.
        dropout: probability of dropping a feature of embeddings, of what the readout sees and of what it makes.

    Source:
        Bahdanau, Cho, Bengio 2015, appendix A.2 (https://arxiv.org/abs/1409.0473); the conditional GRU of Sennrich et
        al. 2017, "Nematus", section 2 (https://arxiv.org/abs/1703.04357).

    Example:
        >>> decoder = Decoder(nn.Embedding(7, 4), context_dim=3, hidden_dim=6)
        >>> context = torch.randn(2, 3)
        >>> decoder(torch.randint(7, (2, 5)), torch.zeros(2, 6), lambda hidden: context).shape
        torch.Size([2, 5, 4])
    """

    def __init__(self, embedding: nn.Embedding, context_dim: int, hidden_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        size, dim = embedding.weight.shape
        self.embedding = embedding
        self.input_proj = nn.Linear(dim, 3 * hidden_dim)
        self.hidden_proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.context_proj = nn.Linear(context_dim, 3 * hidden_dim)
        self.intermediate_proj = nn.Linear(hidden_dim, 3 * hidden_dim)
        self.readout = nn.Linear(hidden_dim + context_dim + dim, dim)
        self.bias = nn.Parameter(torch.zeros(size))
        self.dropout = LockedDropout(dropout)
        self._words = ProjectedWords()
        renamed(self, _OLDER)

    def step(self, token: Tensor, hidden: Tensor, read: Read) -> tuple[Logits, Tensor]:
        """Return the `Logits` `(batch, vocabulary)` after one more token `(batch,)`, and the next state.

        Args:
            token: ids `(batch,)`.
            hidden: `(batch, hidden_dim)`.
            read: from a state to what it sees, `(batch, hidden_dim)` to `(batch, context_dim)`.
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
        """Return what every next token is predicted from, given the true ones before it.

        Args:
            target: ids `(batch, length)`, from the begin token on.
            hidden: `(batch, hidden_dim)`, before the first.
            read: as for `step`.

        Returns:
            `(batch, length, dim)`, of the embedding's features.
        """
        embedded = self.dropout(self.embedding(target))
        hiddens, contexts = [], []
        cells = self._cells()
        for word in self.input_proj(embedded).unbind(1):
            hidden, context = _advance(word, hidden, read, cells)
            hiddens.append(hidden)
            contexts.append(context)
        # The words before the loop and the readout after it need no step's result for the next: one product for all
        # steps is far faster than one each.
        return self._features(torch.stack(hiddens, 1), torch.stack(contexts, 1), embedded)

    def _cells(self) -> "_Cells":
        return _Cells(gru_of(self.hidden_proj), linear_cell(self.context_proj), gru_of(self.intermediate_proj))

    def _features(self, hidden: Tensor, context: Tensor, embedded: Tensor) -> Tensor:
        seen = self.dropout(torch.cat([hidden, context, embedded], -1))
        features: Tensor = self.dropout(torch.tanh(self.readout(seen)))
        return features

    def _logits(self, features: Tensor) -> Logits:
        return Logits(features, self.embedding.weight, self.bias)


class _Cells(NamedTuple):
    """What a decoder does at every step: the unit that takes the word in, and the one that takes in what was seen."""

    first: Callable[[Tensor, Tensor], Tensor]
    context: Callable[[Tensor], Tensor]
    second: Callable[[Tensor, Tensor], Tensor]


def _advance(word: Tensor, hidden: Tensor, read: Read, cells: _Cells) -> tuple[Tensor, Tensor]:
    """The next state and what was seen, from the projected word."""
    hidden = cells.first(word, hidden)
    context = read(hidden)
    return cells.second(cells.context(context), hidden), context


class _Direction(nn.GRU):
    """One direction of an encoder: on a CPU, a loop of our own over `saccade.kernels.cells`."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(input_dim, hidden_dim, batch_first=True)

    def forward(self, sequence: Tensor) -> Tensor:  # type: ignore[override]
        """The states `(batch, length, hidden_dim)` after each of `(batch, length, input_dim)`."""
        if not serves(sequence):
            states: Tensor = super().forward(sequence)[0]
            return states
        parts: Any = self  # of whose tensors torch says no type
        step = gru_cell(parts.weight_hh_l0, parts.bias_hh_l0)
        hidden, steps = sequence.new_zeros(len(sequence), self.hidden_size), []
        for inputs in F.linear(sequence, parts.weight_ih_l0, parts.bias_ih_l0).unbind(1):
            hidden = step(inputs, hidden)
            steps.append(hidden)
        return torch.stack(steps, 1)


def reversed_positions(lengths: Tensor, width: int) -> Tensor:
    """Return positions that turn each sentence around and leave its padding where it is; their own inverse.

    Args:
        lengths: `(batch,)`.
        width: of the sentences with their padding.

    Returns:
        `(batch, width)`.

    Example:
        >>> reversed_positions(torch.tensor([3, 1]), 3).tolist()
        [[2, 1, 0], [0, 1, 2]]
    """
    steps = torch.arange(width, device=lengths.device)
    return torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)


def at_positions(values: Tensor, positions: Tensor) -> Tensor:
    """Return what stands at some positions of each sentence.

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
