"""Several attention maps at once, by an LSTM's state of the question (Kazemi, Elqursh 2017).

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
    """The sizes, and how cells are read.

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
    r"""Several glimpses, each a mean of cells by weights of its own, beside the question, and two layers.

    .. math::
        s &= \operatorname{LSTM}(q) \qquad
        \alpha_{c,i} = \operatorname{softmax}_i\big(v_c^\top \tanh(W_s s + W_a a_i + b)\big) \\
        x_c &= \textstyle\sum_i \alpha_{c,i}\, a_i \qquad
        f = W_2 \operatorname{relu}\big(W_1 [x_1; \ldots; x_C; s] + b_1\big) + b_2

    A convolution of 1 × 1 is a linear map of each cell, so the two layers that weigh cells are the additive score: the
    first is shared by all glimpses, the second is one vector each. What a glimpse finds is standardized over the batch
    in training, and by running means outside of it (`Standardized`).

    | part | in the paper | here | because |
    |---|---|---|---|
    | what weighs cells | convolutions of 1 × 1, rectified | a hyperbolic tangent | it is the additive score |
    | cells | ResNet-152's, of length 1 | those of an encoder trained here, as they are | a zero has no direction |
    | glimpses | read softly | or one cell each, by `--read` | to compare |
    | where a cell lies | nothing says it | a code of its place is in it | questions ask about places |
    | sizes | 1024 units, dropout of a half | 128 or 256, `--dropout` | data are smaller |

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
        >>> looked = model.look(Visual(torch.rand(2, 3, 16, 16)), question)
        >>> looked.logits.shape, looked.weights.shape, looked.shape
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
        asked = self.questions(question)[:, None].expand(-1, draws, -1)
        query = asked[:, None].expand(-1, self.glimpses, -1, -1)
        mask = None if cells.lengths is None else masks.Lengths(cells.lengths[:, None])
        values = cells.values[:, None]
        found, aux = attended(self.attention, query, values, values, mask, reads)
        if reads is not None:
            reads.add(asked, aux, self.glimpses)
            reads.shape = cells.shape
        seen = self.norm(found.transpose(1, 2).flatten(2))
        logits: Tensor = self.output(torch.cat([seen, asked], -1))
        return logits
