"""The mean of the image's cells and the question's last state, side by side: a fixed vector, no attention."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn

from saccade.checks import in_ranges
from saccade.models import answerer
from saccade.models.answerer import Answerer, Reads, classifier
from saccade.models.image_encoder import ImageEncoder, Visual
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
    """Units between the two layers that classify."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        in_ranges(self, (("classifier_dim", 1, 1 << 16),))


_DEFAULT = Options()


class ShowAndAnswer(Answerer):
    r"""What the image is on the mean, beside what is asked, and two layers.

    .. math:: f(x, q) = g\Big(\big[\tfrac{1}{n} \textstyle\sum_i a_i;\ \operatorname{LSTM}(q)\big]\Big)

    The image is one vector, whatever is asked.

    It is standardized over the batch in training, and by running means outside of it (`Standardized`).

    Args:
        channels: of the images.
        words: how many there are, from 0 (padding) on.
        classes: answers.
        options: the sizes.
        mean, std: of each channel, see `saccade.models.cnn.CNN`.
        encoder: what makes cells of images or features, with `cell_dim` features each; None: one of images.

    Example:
        >>> question = Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1]))
        >>> ShowAndAnswer(3, 9, 5, Options(widths="4,8"))(Visual(torch.rand(2, 3, 16, 16)), question).shape
        torch.Size([2, 5])

    Source:
        Antol et al. 2015, "VQA: Visual Question Answering", section 5.2, its "LSTM Q + I"
        (https://arxiv.org/abs/1505.00468), where the two are multiplied.
    """

    Options: TypeAlias = Options

    def __init__(
        self,
        channels: int,
        words: int,
        classes: int,
        options: Options = _DEFAULT,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        encoder: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.encoder = ImageEncoder(channels, options, mean, std) if encoder is None else encoder
        self.questions = Questions(words, options, options.dropout)
        self.norm = Standardized(options.cell_dim)
        features = options.cell_dim + options.hidden_dim
        self.output = classifier(features, options.classifier_dim, classes, options.dropout)

    def answers(self, visual: Visual, question: Padded, draws: int, reads: Reads | None) -> Tensor:
        seen = self.norm(self.encoder(visual).mean()[:, None])[:, 0]
        known = torch.cat([seen, self.questions(question)], -1)
        logits: Tensor = self.output(known)
        return logits[:, None].expand(-1, draws, -1)
