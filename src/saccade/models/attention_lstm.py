"""An LSTM with attention to the image at every word (Zhu et al. 2016).

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
    """The sizes and the normalizer.

    >>> Options(normalizer="sparsemax").hidden_dim
    128
    """

    normalizer: Name = "softmax"
    """Normalizer of the scores. Sparsemax and entmax make most weights exactly 0."""

    def __post_init__(self) -> None:
        """Reject invalid options by the names that a user types."""
        super().__post_init__()
        check_normalizer(self.normalizer)


_DEFAULT = Options()


class AttentionLSTM(Answerer):
    r"""An LSTM over question words and their reads of the image.

    .. math::
        s_j &= \big[\operatorname{LSTM}_1(E w)_j;\ \operatorname{LSTM}_2(E w^{\text{reversed}})_{n+1-j}\big] \qquad
        \alpha_{ji} = \operatorname{softmax}_i\big((W_s s_j + b_s)^\top (W_a a_i + b_a) / \sqrt d\big) \\
        r_j &= \operatorname{norm}\big(\textstyle\sum_i \alpha_{ji}\, a_i\big) \qquad
        h_j = \operatorname{LSTM}_3([s_j; r_j], h_{j-1}) \\
        f &= W_2 \operatorname{relu}\big(W_1 [h_n;\ \tfrac{1}{n} \textstyle\sum_j r_j] + b_1\big) + b_2

    for cells a and the n words of a question. For example, "is the red circle left of the blue square ?" reads the
    position of the circle before that of the square, and compares them. The norm standardizes the reads of all words of
    a batch in training, and uses running means otherwise.

    The model differs from the paper in these parts:

    - The query is the state of a bidirectional LSTM at the word, because "red" depends on the noun behind it. The paper
      has the state before the word.
    - The score is a scaled dot product. The paper's is additive.
    - The image encoder is trained here. The paper has VGG-16, whose features are also the first input of the LSTM.
    - Cells contain a position code, because questions ask about positions.
    - Reads are standardized over the batch, because an object is a small part of the mean of all cells.
    - The answer is one of the classes. `--generate` writes it, as the paper does. The paper also chooses one of four.

    Args:
        encoder: a `saccade.models.image_encoder.ImageEncoder` or `FeatureEncoder`.
        words: size of the vocabulary. Word 0 is padding.
        classes: number of answers.
        options: the sizes.

    Example:
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8")
        >>> model = AttentionLSTM(ImageEncoder(3, options), 9, 5, options)
        >>> question = Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1]))
        >>> looked = model.look(Visual(torch.rand(2, 3, 16, 16)), question)
        >>> looked.weights.shape, looked.shape  # a read per word, and the mean of the reads
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
        outputs, aux = attended(self.attention, states, cells.values, cells.values, mask_of(cells), reads)
        if reads is not None and aux.weights is not None:
            self._keep(reads, torch.where(within[..., None], aux.weights, 0), question, cells)
        contexts = self._standardized(outputs, within)
        last = self.questions(Padded(torch.cat([states, contexts], -1), question.lengths))
        logits: Tensor = self.output(torch.cat([last, contexts.sum(1) / question.lengths[:, None]], -1))
        return logits[:, None].expand(-1, draws, -1)

    def _standardized(self, outputs: Tensor, within: Tensor) -> Tensor:
        """Standardize the reads of words. Reads of padding are 0 and enter no mean."""
        rows = self.norm(outputs[within][:, None])[:, 0]
        return torch.zeros_like(outputs).index_put((within,), rows)

    def _keep(self, reads: Reads, weights: Tensor, question: Padded, cells: Cells) -> None:
        """Keep the weights `(batch, words, cells)` word by word, and then their mean."""
        mean = weights.sum(1) / question.lengths[:, None]
        reads.weights += [rows[:, None] for rows in (*weights.unbind(1), mean)]
        reads.shape = cells.shape
