"""LSTM encoder of the questions of `answer`."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from saccade._definitions.checks import in_ranges
from saccade.models.padded import Padded

__all__ = ["Asking", "LastState", "Questions"]

_WIDEST = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Asking:
    """The sizes of an encoder of questions.

    >>> Asking(hidden_dim=64).embedding_dim
    64
    """

    embedding_dim: int = 64
    """Features of a word."""

    hidden_dim: int = 128
    """Units of the question's LSTM, and hidden features of the attention score."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        in_ranges(self, (("embedding_dim", 1, _WIDEST), ("hidden_dim", 1, _WIDEST)))


class Questions(nn.Module):
    r"""Embedded words, and the last state of an LSTM over them.

    .. math:: v_j = \tanh(E w_j) \qquad s_j = \operatorname{LSTM}(v_j, s_{j-1}) \qquad s = s_n

    Args:
        words: size of the vocabulary, with padding (id 0).
        options: `embedding_dim` and `hidden_dim`.
        dropout: probability of dropping a feature of a word's vector, in training.

    Source:
        Kazemi, Elqursh 2017, section 3 (https://arxiv.org/abs/1704.03162).

    Example:
        >>> question = Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1]))
        >>> Questions(9, Asking(hidden_dim=6))(question).shape
        torch.Size([2, 6])
    """

    def __init__(self, words: int, options: Asking, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, options.embedding_dim, padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        self.last = LastState(options.embedding_dim, options.hidden_dim)

    def forward(self, question: Padded) -> Tensor:
        """Return the encoded questions, `(batch, hidden_dim)`.

        Args:
            question: word ids `(batch, length)`. Padding may hold anything.
        """
        vectors = torch.tanh(self.embedding(torch.where(question.within, question.values, 0)))
        state: Tensor = self.last(Padded(self.dropout(vectors), question.lengths))
        return state


class LastState(nn.Module):
    """The last state of an LSTM over sequences of several lengths.

    Args:
        input_dim: features of a step.
        hidden_dim: units.

    Example:
        >>> LastState(4, 6)(Padded(torch.ones(2, 3, 4), torch.tensor([3, 1]))).shape
        torch.Size([2, 6])
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_dim, hidden_dim, batch_first=True)

    def forward(self, source: Padded) -> Tensor:
        """Return the state after the last step of each sequence, `(batch, hidden_dim)`.

        Args:
            source: `(batch, length, input_dim)`. Padding may hold anything.
        """
        # No state of the sequence depends on the padding behind it, but 0 · NaN is NaN in the gradient.
        states, _ = self.lstm(torch.where(source.within[..., None], source.values, 0.0))
        last = (source.lengths - 1)[:, None, None].expand(-1, 1, states.shape[2])
        state: Tensor = states.gather(1, last)[:, 0]
        return state
