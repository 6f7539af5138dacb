"""No attention: the mean of the image's cells, and the LSTM state of the question."""

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
    """The sizes of a model with one vector per image.

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
    r"""Classifier of the mean of an image's cells and the state of the question.

    .. math:: f(x, q) = g\Big(\big[\tfrac{1}{n} \textstyle\sum_i a_i;\ \operatorname{LSTM}(q)\big]\Big)

    The classifier g has two layers. The mean does not depend on the question. It is standardized by batch normalization
    (`Standardized`).

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
        (https://arxiv.org/abs/1505.00468). There both vectors are multiplied.
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
        image = self.norm(self.encoder(visual).mean()[:, None])[:, 0]
        logits: Tensor = self.output(torch.cat([image, self.questions(question)], -1))
        return logits[:, None].expand(-1, draws, -1)
