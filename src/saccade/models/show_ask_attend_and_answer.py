"""Several attention maps for the LSTM state of a question (Kazemi, Elqursh 2017).

"Show, Ask, Attend, and Answer: A Strong Baseline For Visual Question Answering", https://arxiv.org/abs/1704.03162.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, cast

import torch
from torch import Tensor, nn

from saccade import masks, scores
from saccade._definitions.checks import in_ranges
from saccade.models import show_and_answer, weighing
from saccade.models.answerer import Answerer, Reads, attended, classifier
from saccade.models.image_encoder import Cells, Visual
from saccade.models.padded import Padded
from saccade.models.questions import Questions
from saccade.models.reinforce import Reinforce
from saccade.models.standardized import Standardized
from saccade.nn import Attention

__all__ = ["Options", "ShowAskAttendAndAnswer"]


@dataclass(frozen=True, kw_only=True)
class Options(weighing.Options, show_and_answer.Options):
    """The sizes of the model, and its reads of cells.

    >>> Options(read="reinforce", samples=2, baseline="leave-one-out").glimpses
    2
    """

    glimpses: int = 2
    """Attention maps over the cells."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        show_and_answer.Options.__post_init__(self)
        weighing.Options.__post_init__(self)
        in_ranges(self, (("glimpses", 1, 64),))


_DEFAULT = Options()


class ShowAskAttendAndAnswer(Answerer):
    r"""Classifier of several attention reads of an image and the state of the question.

    .. math::
        s &= \operatorname{LSTM}(q) \qquad
        \alpha_{c,i} = \operatorname{softmax}_i\big(v_c^\top \tanh(W_s s + W_a a_i + b)\big) \\
        x_c &= \textstyle\sum_i \alpha_{c,i}\, a_i \qquad
        f = W_2 \operatorname{relu}\big(W_1 [x_1; \ldots; x_C; s] + b_1\big) + b_2

    The attention of the paper has two convolutions of 1 × 1, which are linear maps of each cell, so it is an additive
    score. All glimpses share the first map, and the second is one vector per glimpse. The reads are standardized by
    batch normalization (`Standardized`).

    The paper differs in these points:

    - Its score has a ReLU. Here it has tanh, which makes it the additive score.
    - Its cells are those of ResNet-152, scaled to length 1. Here an encoder is trained with the model. Its cells may be
      zeros, which have no direction, so they are not scaled.
    - Its attention is soft. Here `--read` may select one cell per glimpse, to compare both.
    - Its cells have no positions. Here they have position encodings, since questions ask about positions.
    - It has 1024 units and a dropout of 0.5. Here the data are smaller, so there are 128 or 256 units and `--dropout`.

    Args:
        encoder: of images, a `saccade.models.image_encoder.ImageEncoder` or a `FeatureEncoder`.
        words: size of the vocabulary, with padding (id 0).
        classes: number of answers.
        options: the sizes.

    Example:
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8", glimpses=3)
        >>> model = ShowAskAttendAndAnswer(ImageEncoder(3, options), 9, 5, options)
        >>> question = Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1]))
        >>> answer = model.look(Visual(torch.rand(2, 3, 16, 16)), question)
        >>> answer.logits.shape, answer.weights.shape, answer.shape
        (torch.Size([2, 5]), torch.Size([2, 3, 16]), (4, 4))

    Source:
        Kazemi, Elqursh 2017, section 3.
    """

    Options: TypeAlias = Options
    attends: ClassVar[bool] = True

    def __init__(self, encoder: nn.Module, words: int, classes: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        cell, hidden, count = options.cell_dim, options.hidden_dim, options.glimpses
        self.glimpses, self.hard, self.soft_share = count, options.read != "soft", options.soft_share
        self.encoder = encoder
        self.questions = Questions(words, options, options.dropout)
        bound = hidden**-0.5
        score = scores.Additive(nn.Parameter(torch.empty(count, hidden).uniform_(-bound, bound)))
        reader: dict[str, Any] = weighing.attention_options(options)
        self.attention = Attention(hidden, cell, hidden_dim=hidden, score=score, **reader)
        self.norm = Standardized(count * cell)
        self.output = classifier(count * cell + hidden, options.classifier_dim, classes, options.dropout)
        self.reinforce = Reinforce(options, hidden) if options.read == "reinforce" else None

    def answers(self, visual: Visual, question: Padded, draws: int, reads: Reads | None) -> Tensor:
        cells = cast("Cells", self.encoder(visual))
        state = self.questions(question)[:, None].expand(-1, draws, -1)
        query = state[:, None].expand(-1, self.glimpses, -1, -1)
        mask = None if cells.lengths is None else masks.Lengths(cells.lengths[:, None])
        values = cells.values[:, None]
        contexts, aux = attended(self.attention, query, values, values, mask, reads)
        if reads is not None:
            reads.add(state, aux, self.glimpses)
            reads.shape = cells.shape
        image = self.norm(contexts.transpose(1, 2).flatten(2))
        logits: Tensor = self.output(torch.cat([image, state], -1))
        return logits
