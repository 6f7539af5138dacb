"""Two hops of attention: by the question's words, then by the whole question (Xu, Saenko 2016).

"Ask, Attend and Answer: Exploring Question-Guided Spatial Attention for Visual Question Answering",
https://arxiv.org/abs/1511.05234.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models import weighing
from saccade.models.answerer import Answerer, Reads, Seeing, attended, mask_of
from saccade.models.image_encoder import Cells, Visual
from saccade.models.padded import Padded
from saccade.models.questions import LastState
from saccade.models.reinforce import Reinforce
from saccade.models.standardized import Standardized
from saccade.nn import Attention

__all__ = ["AskAttendAndAnswer", "Bag", "Options"]

_PLACES = 32  # words that have a weight of their own in a bag


@dataclass(frozen=True, kw_only=True)
class Options(weighing.Options, Seeing):
    """The sizes, and how the question and cells are read.

    >>> Options(question="bag").hidden_dim
    128
    """

    hidden_dim: int = 128
    """Features of words and of cells."""

    question: Literal["lstm", "bag"] = "lstm"
    """Representation of the question: the last state of an LSTM, or a weighted sum of word vectors (bag)."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        Seeing.__post_init__(self)
        weighing.Options.__post_init__(self)
        in_ranges(self, (("hidden_dim", 1, 1 << 16),))
        if self.question not in ("lstm", "bag"):
            raise ArgumentError(f"--question: expected lstm or bag, got {self.question}")


_DEFAULT = Options()


class Bag(nn.Module):
    r"""The sum of words' vectors by weights of places: \(q = \sum_j w_j v_j + b\).

    Args:
        dim: features of a vector.

    Source:
        Xu, Saenko 2016, section 3.1: \(Q = W_Q V + b_Q\).

    Example:
        >>> Bag(6)(Padded(torch.ones(2, 4, 6), torch.tensor([4, 1])))[:, 0]
        tensor([4., 1.], grad_fn=<SelectBackward0>)
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(_PLACES)), nn.Parameter(torch.zeros(dim))

    def forward(self, vectors: Padded) -> Tensor:
        """Return what all words ask, `(batch, dim)`.

        Args:
            vectors: of words, `(batch, length, dim)`; what padding holds changes nothing.
        """
        places = torch.arange(vectors.values.shape[1], device=vectors.values.device).clamp(max=_PLACES - 1)
        weighted = torch.where(vectors.within[..., None], self.weight[places][:, None] * vectors.values, 0.0)
        return weighted.sum(1) + self.bias


class AskAttendAndAnswer(Answerer):
    r"""A spatial memory that is read twice: where a word fits, and where the question and the first evidence do.

    .. math::
        C_{ji} &= v_j^\top (W_A a_i + b_A) \qquad
        \alpha_i = \operatorname{softmax}_i\big(\max_j C_{ji}\big) \qquad
        o = \textstyle\sum_i \alpha_i (W_E a_i + b_E) + q \\
        \beta_i &= \operatorname{softmax}_i\big(o^\top (W_E a_i + b_E)\big) \qquad
        f = W_P \operatorname{relu}\big(\textstyle\sum_i \beta_i (W_{E_2} a_i + b_{E_2}) + o\big) + b_P

    for cells a, words v and the whole question q. Of the first hop the key of a cell is one number, its product with
    the word that fits it best, and the query is 1. A word calls for the weights of those cells that it fits best.

    | part | in the paper | here | because |
    |---|---|---|---|
    | the question | vectors of words, their sum by places | an LSTM; `--question bag` | a sum has no order |
    | cells | GoogLeNet's, 7 × 7 or 14 × 14 | those of an encoder trained here | nothing is downloaded |
    | hops | read softly | or one cell each, by `--read` | to compare |
    | where a cell lies | nothing says it | a code of its place is in it | questions ask about places |

    What a hop finds is standardized over the batch in training, and by running means outside of it (`Standardized`).

    Args:
        encoder: what sees: a `saccade.models.image_encoder.ImageEncoder`, or a `FeatureEncoder`.
        words: how many there are, from 0 (padding) on.
        classes: answers.
        options: the sizes.

    Example:
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8")
        >>> model = AskAttendAndAnswer(ImageEncoder(3, options), 9, 5, options)
        >>> question = Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1]))
        >>> looked = model.look(Visual(torch.rand(2, 3, 16, 16)), question)
        >>> looked.weights.shape, looked.shape, looked.words.shape
        (torch.Size([2, 2, 16]), (4, 4), torch.Size([2, 2]))

    Source:
        Xu, Saenko 2016, sections 3.1 (the first hop) and 3.2 (the second).
    """

    Options: TypeAlias = Options
    attends: ClassVar[bool] = True
    reading: ClassVar[str] = "hop"

    def __init__(self, encoder: nn.Module, words: int, classes: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        cell, dim = options.cell_dim, options.hidden_dim
        self.hard, self.soft_share = options.read != "soft", options.soft_share
        self.encoder = encoder
        drop = options.dropout
        self.embedding, self.dropout = nn.Embedding(words, dim, padding_idx=0), nn.Dropout(drop)
        self.questions = LastState(dim, dim) if options.question == "lstm" else Bag(dim)
        self.correlated, self.evidence, self.finer = (nn.Linear(cell, dim) for _ in range(3))
        reader: dict[str, Any] = weighing.attention_options(options)
        self.by_words = Attention(1, 1, dim, score="dot", **reader)
        self.by_question = Attention(dim, dim, dim, score="dot", **reader)
        self.first_norm, self.second_norm = Standardized(dim), Standardized(dim)
        self.output = nn.Sequential(nn.Dropout(drop), nn.Linear(dim, classes))
        self.reinforce = Reinforce(options, dim) if options.read == "reinforce" else None

    def answers(self, visual: Visual, question: Padded, draws: int, reads: Reads | None) -> Tensor:
        cells = cast("Cells", self.encoder(visual))
        words = self.dropout(self.embedding(torch.where(question.within, question.values, 0)))
        asked = self.questions(Padded(words, question.lengths))[:, None].expand(-1, draws, -1)
        evidence = self.evidence(cells.values)
        fits = words @ self.correlated(cells.values).mT
        best, word = fits.masked_fill(~question.within[..., None], -torch.inf).max(1)
        one = best.new_ones(*asked.shape[:2], 1)
        first = self._read(self.by_words, one, best[..., None], evidence, cells, reads, asked)
        if reads is not None and reads.weights:
            called = torch.zeros_like(fits[..., 0])
            reads.words = called.scatter_add(1, word, reads.weights[0][:, 0]).detach()
        found = self.first_norm(first) + asked
        second = self._read(self.by_question, found, evidence, self.finer(cells.values), cells, reads, found)
        logits: Tensor = self.output(F.relu(self.second_norm(second) + found))
        return logits

    def _read(
        self,
        attention: Attention,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        cells: Cells,
        reads: Reads | None,
        known: Tensor,
    ) -> Tensor:
        """What a hop reads, `(batch, draws, hidden_dim)`; `known` is what a reward is compared by."""
        found, aux = attended(attention, query, key, value, mask_of(cells), reads)
        if reads is not None:
            reads.add(known, aux)
            reads.shape = cells.shape
        return found
