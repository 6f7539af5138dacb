"""The mean of the image's features, a baseline without the question."""

from dataclasses import dataclass
from typing import TypeAlias

from torch import Tensor, nn

from saccade._definitions.checks import in_ranges
from saccade.models.answerer import Answerer, Reads, Seeing, classifier
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.models.standardized import Standardized

__all__ = ["ImageOnly", "Options"]


@dataclass(frozen=True, kw_only=True)
class Options(Seeing):
    """The sizes of image encoder and classifier.

    >>> Options().hidden_dim
    128
    """

    hidden_dim: int = 128
    """Hidden units of the classifier."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        in_ranges(self, (("hidden_dim", 1, 1 << 16),))


_DEFAULT = Options()


class ImageOnly(Answerer):
    r"""A classifier g of the mean of an image's cells.

    .. math:: f(x, q) = g\big(\operatorname{norm}(\tfrac{1}{n} \textstyle\sum_i a_i)\big)

    The norm standardizes over the batch in training, and uses running means otherwise (`Standardized`).

    Args:
        encoder: a `saccade.models.image_encoder.ImageEncoder` or `FeatureEncoder`.
        words: size of the vocabulary of questions, which the model ignores.
        classes: number of answers.
        options: the sizes.

    Example:
        >>> import torch
        >>> question = Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1]))
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8")
        >>> ImageOnly(ImageEncoder(3, options), 9, 5, options)(Visual(torch.rand(2, 3, 16, 16)), question).shape
        torch.Size([2, 5])

    Source:
        Antol et al. 2015, "VQA: Visual Question Answering", section 5.2, its "I" (https://arxiv.org/abs/1505.00468).
    """

    Options: TypeAlias = Options

    def __init__(self, encoder: nn.Module, words: int, classes: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        del words
        self.encoder = encoder
        self.norm = Standardized(options.cell_dim)
        self.output = classifier(options.cell_dim, options.hidden_dim, classes, options.dropout)

    def answers(self, visual: Visual, question: Padded, draws: int, reads: Reads | None) -> Tensor:
        logits: Tensor = self.output(self.norm(self.encoder(visual).mean()[:, None])[:, 0])
        return logits[:, None].expand(-1, draws, -1)
