"""Answers generated word by word from the features of any answering model.

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
    """`(answers, length)`: the begin token, words, the end token, and 0 as padding."""
    rows: Tensor
    """The question of each answer, `(answers,)`."""
    shares: Tensor
    """Target probability of each answer, `(answers,)`. The sum is 1 per question."""

    def to(self, device: torch.device) -> "Answers":
        """Return the answers on a device."""
        return Answers(*(part.to(device) for part in self))


@dataclass(frozen=True)
class State:
    """Decoder state, `(rows, hidden_dim)`.

    >>> State(torch.zeros(2, 4)).select(torch.tensor([[0, 0], [1, 1]]), None).hidden.shape
    torch.Size([4, 4])
    """

    hidden: Tensor

    def select(self, rows: Tensor, examples: Tensor | None) -> "State":
        """Select and reorder rows, as `saccade.models.seq2seq.State.select` does."""
        return State(self.hidden[rows.flatten()])


class GenerativeAnswerer(Seq2Seq[tuple[Visual, Padded], State]):
    r"""A GRU decoder of answers, with the output of an answerer as initial state.

    .. math::
        h_0 = \tanh f(x, q) \qquad h_t = \operatorname{GRU}(E y_{t-1}, h_{t-1}) \qquad
        p(y_t \mid y_{<t}, x, q) = \operatorname{softmax}(W h_t + b)

    with the answerer f, whose "classes" are the units of the GRU. The model differs from the paper in three parts:

    - A separate GRU writes the answer, so the answerer may be any model. In the paper one LSTM reads question and image
      and writes the answer.
    - The loss is the mean over the answers of several people. It is otherwise the likelihood of the next word after the
      true words, as in the paper.
    - Answers are texts. The paper's are sets of words.

    Args:
        answerer: a model with `hidden_dim` classes.
        size: size of the vocabulary of answers. Word 0 is padding.
        hidden_dim: units, and features of a word.
        dropout: dropout of word vectors and of the input of the output layer.

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
        """Whether the answerer attends to image cells."""
        return self.answerer.attends

    @property
    def reading(self) -> str:
        """Name of one read of the answerer."""
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

    def cost(self, visual: Visual, question: Padded, target: Answers, label_smoothing: float = 0.0) -> Tensor:
        r"""Return the training loss, the mean of \(-\sum_t \log p(y_t \mid y_{<t}, x, q)\).

        Args:
            visual: images or features of a batch.
            question: word ids `(batch, length)`.
            target: the true answers.
            label_smoothing: share of each word's probability that is spread evenly over all words.
        """

        def losses(outputs: Tensor) -> Tensor:
            draws, hidden = outputs.shape[1], torch.tanh(outputs[target.rows]).flatten(0, 1)
            ids = target.ids.repeat_interleave(draws, 0)
            scores = self.words(self.decode(ids[:, :-1], State(hidden)))
            smoothed = {"ignore_index": 0, "label_smoothing": label_smoothing}
            words = F.cross_entropy(scores.flatten(0, 1), ids[:, 1:].flatten(), reduction="none", **smoothed)  # type: ignore[arg-type]
            answers = words.view(len(ids), ids.shape[1] - 1).sum(1).view(-1, draws) * target.shares[:, None].to(words)
            return words.new_zeros(outputs.shape[:2]).index_add(0, target.rows, answers)

        return self.answerer.expected_cost(visual, question, losses)

    def look(self, visual: Visual, question: Padded) -> Looked:
        """Return the answerer's attention weights.

        Its `logits` are the initial state of the GRU before the tanh.
        """
        return self.answerer.look(visual, question)

    def _read(self, target: Tensor, state: State) -> tuple[Tensor, Tensor]:
        """Return the features of the next words, and the state after the last one."""
        states, last = self.gru(self.dropout(self.embedding(target)), state.hidden[None])
        return self.dropout(states), cast("Tensor", last)[0]
