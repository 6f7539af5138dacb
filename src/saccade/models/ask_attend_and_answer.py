"""Two hops of attention: by words, then by the question (Xu, Saenko 2016).

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

_POSITIONS = 32  # word positions with a weight each in a bag. Later words share the last weight.


@dataclass(frozen=True, kw_only=True)
class Options(weighing.Options, Seeing):
    """The sizes, the question encoder and the read of the cells.

    >>> Options(question="bag").hidden_dim
    128
    """

    hidden_dim: int = 128
    """Features of words, question and cells in attention."""

    question: Literal["lstm", "bag"] = "lstm"
    """Question encoder: last state of an LSTM, or weighted sum of word vectors (bag)."""

    def __post_init__(self) -> None:
        """Reject invalid options by the names that a user types."""
        Seeing.__post_init__(self)
        weighing.Options.__post_init__(self)
        in_ranges(self, (("hidden_dim", 1, 1 << 16),))
        if self.question not in ("lstm", "bag"):
            raise ArgumentError(f"--question: expected lstm or bag, got {self.question}")


_DEFAULT = Options()


class Bag(nn.Module):
    r"""Sum of word vectors, weighted by position: \(q = \sum_j w_j v_j + b\).

    Args:
        dim: features of a word vector.

    Source:
        Xu, Saenko 2016, section 3.1: \(Q = W_Q V + b_Q\).

    Example:
        >>> Bag(6)(Padded(torch.ones(2, 4, 6), torch.tensor([4, 1])))[:, 0]
        tensor([4., 1.], grad_fn=<SelectBackward0>)
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(_POSITIONS)), nn.Parameter(torch.zeros(dim))

    def forward(self, vectors: Padded) -> Tensor:
        """Return the vectors of the questions, `(batch, dim)`.

        Args:
            vectors: word vectors, `(batch, length, dim)`. Values in padding are ignored.
        """
        positions = torch.arange(vectors.values.shape[1], device=vectors.values.device).clamp(max=_POSITIONS - 1)
        weighted = torch.where(vectors.within[..., None], self.weight[positions][:, None] * vectors.values, 0.0)
        return weighted.sum(1) + self.bias


class AskAttendAndAnswer(Answerer):
    r"""Two reads of a spatial memory: by single words, then by the question.

    .. math::
        C_{ji} &= v_j^\top (W_A a_i + b_A) \qquad
        \alpha_i = \operatorname{softmax}_i\big(\max_j C_{ji}\big) \qquad
        o = \textstyle\sum_i \alpha_i (W_E a_i + b_E) + q \\
        \beta_i &= \operatorname{softmax}_i\big(o^\top (W_E a_i + b_E)\big) \qquad
        f = W_P \operatorname{relu}\big(\textstyle\sum_i \beta_i (W_{E_2} a_i + b_{E_2}) + o\big) + b_P

    for cells a, words v and the whole question q. In the first hop the score of a cell is its largest product with any
    word. The query is 1, and the key of a cell is that product. The share of a word in the first hop is the sum of the
    weights of the cells with this word as maximum.

    The model differs from the paper in four parts:

    - An LSTM encodes the question, because a sum has no word order. `--question bag` is the paper's sum.
    - The image encoder is trained here. The paper has GoogLeNet's cells, 7 × 7 or 14 × 14.
    - `--read` also has hard attention. The paper's hops are soft.
    - Cells contain a position code, because questions ask about positions.

    The output of a hop is standardized over the batch in training, and by running means otherwise (`Standardized`).

    Args:
        encoder: a `saccade.models.image_encoder.ImageEncoder` or `FeatureEncoder`.
        words: size of the vocabulary. Word 0 is padding.
        classes: number of answers.
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
        query = self.questions(Padded(words, question.lengths))[:, None].expand(-1, draws, -1)
        evidence = self.evidence(cells.values)
        fits = words @ self.correlated(cells.values).mT
        best, word = fits.masked_fill(~question.within[..., None], -torch.inf).max(1)
        unit_query = best.new_ones(*query.shape[:2], 1)
        first = self._read(self.by_words, unit_query, best[..., None], evidence, cells, reads, query)
        if reads is not None and reads.weights:
            called = torch.zeros_like(fits[..., 0])
            reads.words = called.scatter_add(1, word, reads.weights[0][:, 0]).detach()
        evidence_query = self.first_norm(first) + query
        second = self._read(
            self.by_question, evidence_query, evidence, self.finer(cells.values), cells, reads, evidence_query
        )
        logits: Tensor = self.output(F.relu(self.second_norm(second) + evidence_query))
        return logits

    def _read(
        self,
        attention: Attention,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        cells: Cells,
        reads: Reads | None,
        state: Tensor,
    ) -> Tensor:
        """Return the output of a hop, `(batch, draws, hidden_dim)`.

        `state` is the input of REINFORCE's baseline.
        """
        output, aux = attended(attention, query, key, value, mask_of(cells), reads)
        if reads is not None:
            reads.add(state, aux)
            reads.shape = cells.shape
        return output
