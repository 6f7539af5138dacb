"""An LSTM over the question, with attention to the image at every word (Zhu et al. 2016).

"Visual7W: Grounded Question Answering in Images", https://arxiv.org/abs/1511.03416.
"""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias, cast

import torch
from torch import Tensor, nn

from saccade.models import show_and_answer
from saccade.models.answerer import Answerer, Reads, attended, classifier, mask_of
from saccade.models.image_encoder import Cells, Visual
from saccade.models.listener import Listener
from saccade.models.padded import Padded
from saccade.models.questions import LastState
from saccade.models.standardized import Standardized
from saccade.models.weighing import NORMALIZERS, Name, check_normalizer
from saccade.nn import Attention

__all__ = ["AttentionLSTM", "Options"]


@dataclass(frozen=True, kw_only=True)
class Options(show_and_answer.Options):
    """The sizes, and how cells are weighed.

    >>> Options(normalizer="sparsemax").hidden_dim
    128
    """

    normalizer: Name = "softmax"
    """Normalizer of the scores. Sparsemax and entmax make most weights exactly 0."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        check_normalizer(self.normalizer)


_DEFAULT = Options()


class AttentionLSTM(Answerer):
    r"""An LSTM that reads the question, each word of which reads the image.

    .. math::
        s_j &= \big[\operatorname{LSTM}_1(E w)_j;\ \operatorname{LSTM}_2(E w^{\text{reversed}})_{n+1-j}\big] \qquad
        \alpha_{ji} = \operatorname{softmax}_i\big((W_s s_j + b_s)^\top (W_a a_i + b_a) / \sqrt d\big) \\
        r_j &= \operatorname{norm}\big(\textstyle\sum_i \alpha_{ji}\, a_i\big) \qquad
        h_j = \operatorname{LSTM}_3([s_j; r_j], h_{j-1}) \\
        f &= W_2 \operatorname{relu}\big(W_1 [h_n;\ \tfrac{1}{n} \textstyle\sum_j r_j] + b_1\big) + b_2

    for cells a and the n words of a question: "is the red circle left of the blue square ?" can read the circle's place
    before the square's, and compare. What words found is standardized over the words of a batch in training, and by
    running means outside of it.

    | part | in the paper | here | because |
    |---|---|---|---|
    | what asks | the state before a word | states at it of two LSTMs, one a direction | "red" has to know of what |
    | what weighs cells | the additive score | scaled products | they name a thing by colour and shape together |
    | the image | VGG-16's, and the first input too | cells of an encoder trained here | nothing is downloaded |
    | where a cell lies | nothing says it | a code of its place is in it | questions ask about places |
    | what was read | as it is | standardized over the batch | a thing is a small part of a mean over all cells |
    | the answer | written, or one of four | one of the classes; `--generate` writes it | as all models here |

    Args:
        encoder: what sees: a `saccade.models.image_encoder.ImageEncoder`, or a `FeatureEncoder`.
        words: how many there are, from 0 (padding) on.
        classes: answers.
        options: the sizes.

    Example:
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8")
        >>> model = AttentionLSTM(ImageEncoder(3, options), 9, 5, options)
        >>> question = Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1]))
        >>> looked = model.look(Visual(torch.rand(2, 3, 16, 16)), question)
        >>> looked.weights.shape, looked.shape  # a read for each word, and the mean of them
        (torch.Size([2, 3, 16]), (4, 4))

    Source:
        Zhu, Groth, Bernstein, Fei-Fei 2016, the attention-based LSTM.
    """

    Options: TypeAlias = Options
    attends: ClassVar[bool] = True
    reading: ClassVar[str] = "word"

    def __init__(self, encoder: nn.Module, words: int, classes: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        cell, hidden, drop = options.cell_dim, options.hidden_dim, options.dropout
        self.encoder = encoder
        self.embedding = nn.Embedding(words, options.embedding_dim, padding_idx=0)
        self.dropout = nn.Dropout(drop)
        width = hidden + hidden % 2  # half of it for each direction
        self.reader = Listener(options.embedding_dim, width, layers=1, pyramid=0)
        normalizer = NORMALIZERS[options.normalizer]()
        self.attention = Attention(width, cell, hidden_dim=hidden, score="scaled_dot", normalizer=normalizer)
        self.norm = Standardized(cell)
        self.questions = LastState(width + cell, hidden)
        self.output = classifier(hidden + cell, options.classifier_dim, classes, drop)

    def answers(self, visual: Visual, question: Padded, draws: int, reads: Reads | None) -> Tensor:
        cells, within = cast("Cells", self.encoder(visual)), question.within
        words = self.dropout(self.embedding(torch.where(within, question.values, 0)))
        states = self.reader(Padded(words, question.lengths)).values
        found, aux = attended(self.attention, states, cells.values, cells.values, mask_of(cells), reads)
        if reads is not None and aux.weights is not None:
            self._keep(reads, torch.where(within[..., None], aux.weights, 0), question, cells)
        seen = self._standardized(found, within)
        last = self.questions(Padded(torch.cat([states, seen], -1), question.lengths))
        logits: Tensor = self.output(torch.cat([last, seen.sum(1) / question.lengths[:, None]], -1))
        return logits[:, None].expand(-1, draws, -1)

    def _standardized(self, found: Tensor, within: Tensor) -> Tensor:
        """What words found, those that are padding left out of all means."""
        rows = self.norm(found[within][:, None])[:, 0]
        return torch.zeros_like(found).index_put((within,), rows)

    def _keep(self, reads: Reads, weights: Tensor, question: Padded, cells: Cells) -> None:
        """Keep the weights `(batch, words, cells)` of each word, then those of all words, their mean."""
        mean = weights.sum(1) / question.lengths[:, None]
        reads.weights += [each[:, None] for each in (*weights.unbind(1), mean)]
        reads.shape = cells.shape
