"""No attention: the mean of the image's features, and the question's last LSTM state."""

from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn

from saccade._definitions.checks import in_ranges
from saccade.models import answerer
from saccade.models.answerer import Answerer, Reads, classifier
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.models.questions import Questions
from saccade.models.standardized import Standardized

__all__ = ["Options", "ShowAndAnswer"]


@dataclass(frozen=True, kw_only=True)
class Options(answerer.Options):
    """The sizes of a model that knows an image by one vector.

    >>> Options().classifier_dim
    256
    """

    classifier_dim: int = 256
    """Hidden units of the classifier."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        in_ranges(self, (("classifier_dim", 1, 1 << 16),))


_DEFAULT = Options()


class ShowAndAnswer(Answerer):
    r"""What the image is on the mean, beside what is asked, and two layers.

    .. math:: f(x, q) = g\Big(\big[\tfrac{1}{n} \textstyle\sum_i a_i;\ \operatorname{LSTM}(q)\big]\Big)

    The image is one vector, whatever is asked.

    It is standardized over the batch in training, and by running means outside of it (`Standardized`).

    Args:
        encoder: of images, a `saccade.models.image_encoder.ImageEncoder` or a `FeatureEncoder`.
        words: size of the vocabulary, with padding (id 0).
        classes: number of answers.
        options: the sizes.

    Example:
        >>> question = Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1]))
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8")
        >>> ShowAndAnswer(ImageEncoder(3, options), 9, 5, options)(Visual(torch.rand(2, 3, 16, 16)), question).shape
        torch.Size([2, 5])

    Source:
        Antol et al. 2015, "VQA: Visual Question Answering", section 5.2, its "LSTM Q + I"
        (https://arxiv.org/abs/1505.00468), where the two are multiplied.
    """

    Options: TypeAlias = Options

    def __init__(self, encoder: nn.Module, words: int, classes: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        self.encoder = encoder
        self.questions = Questions(words, options, options.dropout)
        self.norm = Standardized(options.cell_dim)
        features = options.cell_dim + options.hidden_dim
        self.output = classifier(features, options.classifier_dim, classes, options.dropout)

    def answers(self, visual: Visual, question: Padded, draws: int, reads: Reads | None) -> Tensor:
        seen = self.norm(self.encoder(visual).mean()[:, None])[:, 0]
        known = torch.cat([seen, self.questions(question)], -1)
        logits: Tensor = self.output(known)
        return logits[:, None].expand(-1, draws, -1)
