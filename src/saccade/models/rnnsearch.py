"""RNNsearch: a recurrent translator that looks back at the source for every word (Bahdanau, Cho, Bengio 2015).

The equations cited below are those of "Neural Machine Translation by Jointly Learning to Align and Translate",
https://arxiv.org/abs/1409.0473, appendix A. The gated unit is torch's GRU, which applies the reset gate after the
matrix product instead of before it.
"""

from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn

from saccade import masks
from saccade.errors import ArgumentError
from saccade.memory import Memory
from saccade.nn import Attention

__all__ = ["Options", "RNNSearch", "State"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The sizes of an RNNsearch.

    >>> Options(hidden_dim=64).hidden_dim
    64
    """

    hidden_dim: int = 256
    """Units of the decoder, of the attention, and of the encoder's two directions together; even."""

    embedding_dim: int = 128
    """Size of the token embeddings."""

    dropout: float = 0.0
    """Probability of dropping an element of the embeddings and of the readout in training."""

    def __post_init__(self) -> None:
        """Refuse sizes of nothing, naming the option as it is typed."""
        if self.hidden_dim < 2 or self.hidden_dim % 2:
            raise ArgumentError(f"--hidden-dim: expected an even number above 0, got {self.hidden_dim}")
        if self.embedding_dim < 1:
            raise ArgumentError(f"--embedding-dim: expected a number above 0, got {self.embedding_dim}")
        if not 0 <= self.dropout < 1:
            raise ArgumentError(f"--dropout: expected 0 <= dropout < 1, got {self.dropout}")


@dataclass(frozen=True)
class State:
    """What the decoder carries on: its hidden state `(batch, hidden_dim)` and the source's prepared keys."""

    hidden: Tensor
    memory: Memory

    def select(self, batch_index: Tensor) -> "State":
        """Return the state of some rows, in the order given."""
        return State(self.hidden[batch_index], self.memory.select(batch_index))


class RNNSearch(nn.Module):
    r"""Bidirectional GRU encoder, GRU decoder, and between them additive attention on the previous decoder state.

    .. math::
        h_j &= [\overrightarrow{h}_j; \overleftarrow{h}_j] \qquad s_0 = \tanh(W_s \overleftarrow{h}_1) \\
        c_i &= \sum_j \operatorname{softmax}_j\big(v^\top \tanh(W s_{i-1} + U h_j)\big)\, h_j \\
        s_i &= \operatorname{GRU}([E y_{i-1}; c_i], s_{i-1}) \\
        p(y_i) &= \operatorname{softmax}\big(W_o \operatorname{maxout}(U_o s_{i-1} + V_o E y_{i-1} + C_o c_i)\big)

    Args:
        source_size: number of source tokens, from 0 (padding) on.
        target_size: number of target tokens.
        options: the sizes.

    Example:
        >>> model = RNNSearch(11, 7, Options(hidden_dim=8, embedding_dim=4))
        >>> source, lengths = torch.randint(4, 11, (2, 5)), torch.tensor([5, 3])
        >>> model(source, lengths, torch.randint(4, 7, (2, 6))).shape
        torch.Size([2, 6, 7])

    Source:
        Bahdanau, Cho, Bengio 2015, Eq. 4-8 and appendix A.
    """

    Options: TypeAlias = Options

    def __init__(self, source_size: int, target_size: int, options: Options = Options()) -> None:  # noqa: B008 (frozen)
        super().__init__()
        hidden, embedding = options.hidden_dim, options.embedding_dim
        self.source_embedding = nn.Embedding(source_size, embedding, padding_idx=0)
        self.target_embedding = nn.Embedding(target_size, embedding, padding_idx=0)
        self.forwards = nn.GRU(embedding, hidden // 2, batch_first=True)
        self.backwards = nn.GRU(embedding, hidden // 2, batch_first=True)
        self.bridge = nn.Linear(hidden // 2, hidden)
        self.attention = Attention(hidden, hidden, hidden_dim=hidden, score="additive")
        self.decoder = nn.GRUCell(embedding + hidden, hidden)
        self.readout = nn.Linear(hidden + embedding + hidden, hidden)
        self.output = nn.Linear(hidden // 2, target_size)
        self.dropout = nn.Dropout(options.dropout)

    def encode(self, source: Tensor, lengths: Tensor) -> State:
        """Read source sentences.

        Args:
            source: token ids `(batch, length)`; what lies beyond a sentence's length changes nothing.
            lengths: `(batch,)`, at least 1.

        Returns:
            The state before the first target token.
        """
        embedded = self.dropout(self.source_embedding(source))
        # Mirrored within their lengths, sentences have their padding behind them for the backward direction too: no
        # state has seen any, and nothing has to be packed, which costs a third more.
        mirror = _mirror(lengths, source.shape[1])
        ahead, _ = self.forwards(embedded)
        back, _ = self.backwards(_at(embedded, mirror))
        back = _at(back, mirror)
        memory = self.attention.remember(torch.cat([ahead, back], -1), mask=masks.Lengths(lengths))
        return State(torch.tanh(self.bridge(back[:, 0])), memory)

    def step(self, token: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the logits `(batch, target_size)` after one more target token `(batch,)`, and the next state."""
        embedded = self.target_embedding(token)
        context = self._context(state)
        following = State(self._follow(embedded, context, state.hidden), state.memory)
        return self._predict(state.hidden, embedded, context), following

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """Return the logits of every next token, given the true tokens before it (teacher forcing).

        Args:
            source: token ids `(batch, source_length)`.
            lengths: `(batch,)`.
            target: token ids `(batch, target_length)`, from the begin token on.

        Returns:
            Logits `(batch, target_length, target_size)`.
        """
        state = self.encode(source, lengths)
        embedded = self.dropout(self.target_embedding(target))
        hiddens, contexts = [], []
        for word in embedded.unbind(1):
            context = self._context(state)
            hiddens.append(state.hidden)
            contexts.append(context)
            state = State(self._follow(word, context, state.hidden), state.memory)
        # The readout needs no step's result for the next: one product for all of them is far faster than one each.
        return self._predict(torch.stack(hiddens, 1), embedded, torch.stack(contexts, 1))

    def _context(self, state: State) -> Tensor:
        """What the decoder attends to: c_i, Eq. 5 and 6."""
        context: Tensor = self.attention(state.hidden[:, None], memory=state.memory)
        return context[:, 0]

    def _follow(self, embedded: Tensor, context: Tensor, hidden: Tensor) -> Tensor:
        """The next hidden state: s_i of appendix A.1.2."""
        following: Tensor = self.decoder(torch.cat([embedded, context], -1), hidden)
        return following

    def _predict(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        """The logits of the next token: t_i of appendix A.2.2, a maxout layer of pairs."""
        pairs = self.readout(torch.cat([hidden, embedded, context], -1)).unflatten(-1, (-1, 2))
        logits: Tensor = self.output(self.dropout(pairs.amax(-1)))
        return logits


def _mirror(lengths: Tensor, width: int) -> Tensor:
    """Positions `(batch, width)` that turn each sentence around and leave its padding where it is; its own inverse."""
    steps = torch.arange(width, device=lengths.device)
    return torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)


def _at(values: Tensor, positions: Tensor) -> Tensor:
    """`values` `(batch, width, features)` at `positions` `(batch, width)`."""
    return values.gather(1, positions[..., None].expand_as(values))
