"""Answers written word by word, by any model that answers with classes: what it knows is what writing begins with.

Malinowski, Rohrbach, Fritz 2015, "Ask Your Neurons", https://arxiv.org/abs/1505.01121.
"""

from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.kernels.topk import Logits
from saccade.models.answerer import Answerer, Looked
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.models.seq2seq import Seq2Seq
from saccade.models.words import logits

__all__ = ["Answers", "GenerativeAnswerer", "State"]


class Answers(NamedTuple):
    """The true answers of a batch, word by word.

    >>> Answers(torch.tensor([[1, 7, 2]]), torch.tensor([0]), torch.ones(1)).to(torch.device("cpu")).ids.shape
    torch.Size([1, 3])
    """

    ids: Tensor
    """`(answers, length)`: the begin token, words, the end token, and 0 behind it."""
    rows: Tensor
    """Which question each is an answer to, `(answers,)`."""
    shares: Tensor
    """How probable each should be, `(answers,)`; those of a question have the sum 1."""

    def to(self, device: torch.device) -> "Answers":
        """Return the answers on a device."""
        return Answers(*(part.to(device) for part in self))


@dataclass(frozen=True)
class State:
    """What is carried from word to word: `(rows, hidden_dim)`.

    >>> State(torch.zeros(2, 4)).select(torch.tensor([[0, 0], [1, 1]]), None).hidden.shape
    torch.Size([4, 4])
    """

    hidden: Tensor

    def select(self, rows: Tensor, examples: Tensor | None) -> "State":
        """Return the state of rows `(examples, beam)`."""
        return State(self.hidden[rows.flatten()])


class GenerativeAnswerer(Seq2Seq[tuple[Visual, Padded], State]):
    r"""A GRU that writes an answer, begun with what an answerer makes of the image and the question.

    .. math::
        h_0 = \tanh f(x, q) \qquad h_t = \operatorname{GRU}(E y_{t-1}, h_{t-1}) \qquad
        p(y_t \mid y_{<t}, x, q) = \operatorname{softmax}(W h_t + b)

    where f is all of the answerer with as many numbers, in the place of classes, as there are units here.

    | part | in the paper | here | because |
    |---|---|---|---|
    | what writes | the LSTM that read the question and the image | a GRU of its own | any model will do |
    | what is learned | the likelihood of words behind true ones | the same, its mean where several people answered | |
    | answers | sets of words | texts | one question, one answer |

    Args:
        answerer: a model with `hidden_dim` classes.
        size: number of words of answers, from 0 (padding) on.
        hidden_dim: units, and features of a word.
        dropout: probability of dropping a feature of a word, and of what words are predicted from, in training.

    Example:
        >>> from saccade.models.question_only import Options, QuestionOnly
        >>> model = GenerativeAnswerer(QuestionOnly(None, 9, 6, Options(hidden_dim=6)), 11, 6)
        >>> asked = Visual(torch.rand(2, 3, 16, 16)), Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1]))
        >>> model(asked, torch.tensor([[1, 4, 5], [1, 7, 0]])).shape
        torch.Size([2, 3, 11])

    Source:
        Malinowski, Rohrbach, Fritz 2015, section 3.
    """

    def __init__(self, answerer: Answerer, size: int, hidden_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.answerer, self.embedding = answerer, nn.Embedding(size, hidden_dim, padding_idx=0)
        self.gru, self.words = nn.GRU(hidden_dim, hidden_dim, batch_first=True), nn.Linear(hidden_dim, size)
        self.dropout = nn.Dropout(dropout)

    @property
    def attends(self) -> bool:
        """Whether the answerer looks at cells."""
        return self.answerer.attends

    @property
    def reading(self) -> str:
        """What one of the answerer's reads is called."""
        return self.answerer.reading

    @property
    def output(self) -> nn.Module:
        return self.words

    def encode(self, source: tuple[Visual, Padded]) -> State:
        return State(torch.tanh(self.answerer(*source)))

    def step(self, token: Tensor, state: State) -> tuple[Logits | Tensor, State]:
        features, hidden = self._read(token[:, None], state)
        return logits(features[:, 0], self.output), State(hidden)

    def decode(self, target: Tensor, state: State) -> Tensor:
        return self._read(target, state)[0]

    def cost(self, visual: Visual, question: Padded, wanted: Answers, label_smoothing: float = 0.0) -> Tensor:
        r"""Return what the answers cost in training, the mean of the batch: \(-\sum_t \log p(y_t \mid y_{<t}, x, q)\).

        Args:
            visual: images or features of a batch.
            question: ids of words `(batch, length)`.
            wanted: the true answers.
            label_smoothing: share of each word's probability that is spread evenly over all words.
        """

        def losses(known: Tensor) -> Tensor:
            draws, hidden = known.shape[1], torch.tanh(known[wanted.rows]).flatten(0, 1)
            ids = wanted.ids.repeat_interleave(draws, 0)
            scores = self.words(self.decode(ids[:, :-1], State(hidden)))
            smoothed = {"ignore_index": 0, "label_smoothing": label_smoothing}
            each = F.cross_entropy(scores.flatten(0, 1), ids[:, 1:].flatten(), reduction="none", **smoothed)  # type: ignore[arg-type]
            whole = each.view(len(ids), ids.shape[1] - 1).sum(1).view(-1, draws) * wanted.shares[:, None].to(each)
            return each.new_zeros(known.shape[:2]).index_add(0, wanted.rows, whole)

        return self.answerer.expected_cost(visual, question, losses)

    def look(self, visual: Visual, question: Padded) -> Looked:
        """Return what of the image and the question the answerer read; its `logits` are what writing begins with."""
        return self.answerer.look(visual, question)

    def _read(self, target: Tensor, state: State) -> tuple[Tensor, Tensor]:
        """What every next word is predicted from, and the state behind the last one."""
        states, last = self.gru(self.dropout(self.embedding(target)), state.hidden[None])
        return self.dropout(states), cast("Tensor", last)[0]
