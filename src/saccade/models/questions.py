"""How models that answer read a question: words as vectors, and an LSTM over them."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from saccade._definitions.checks import in_ranges
from saccade.models.padded import Padded

__all__ = ["Asking", "LastState", "Questions"]

_WIDEST = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Asking:
    """What reads questions.

    >>> Asking(hidden_dim=64).embedding_dim
    64
    """

    embedding_dim: int = 64
    """Features of a word."""

    hidden_dim: int = 128
    """Units of the question's LSTM, and features in which it is compared with the image."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        in_ranges(self, (("embedding_dim", 1, _WIDEST), ("hidden_dim", 1, _WIDEST)))


class Questions(nn.Module):
    r"""Words as vectors, and an LSTM over them: what all of them ask.

    .. math:: v_j = \tanh(E w_j) \qquad s_j = \operatorname{LSTM}(v_j, s_{j-1}) \qquad s = s_n

    Args:
        words: how many there are, from 0 (padding) on.
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
        """Return what is asked, `(batch, hidden_dim)`.

        Args:
            question: ids of words `(batch, length)`; what padding holds changes nothing.
        """
        vectors = torch.tanh(self.embedding(torch.where(question.within, question.values, 0)))
        asked: Tensor = self.last(Padded(self.dropout(vectors), question.lengths))
        return asked


class LastState(nn.Module):
    """An LSTM over sequences of several lengths, of which the last state is taken.

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
            source: `(batch, length, input_dim)`; what padding holds changes nothing.
        """
        # Padding lies behind the sequence, where a state has no way back to it; but 0 times NaN would be NaN.
        states, _ = self.lstm(torch.where(source.within[..., None], source.values, 0.0))
        last = (source.lengths - 1)[:, None, None].expand(-1, 1, states.shape[2])
        found: Tensor = states.gather(1, last)[:, 0]
        return found
