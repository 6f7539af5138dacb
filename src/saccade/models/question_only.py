"""An LSTM over the question, a baseline without the image."""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from torch import Tensor, nn

from saccade.models import answerer
from saccade.models.answerer import Answerer, Reads, classifier
from saccade.models.checks import below_one
from saccade.models.image_encoder import Visual
from saccade.models.padded import Padded
from saccade.models.questions import Asking, Questions

__all__ = ["Options", "QuestionOnly"]


@dataclass(frozen=True, kw_only=True)
class Options(Asking):
    """The sizes of a classifier of questions.

    >>> Options().hidden_dim
    128
    """

    dropout: float = 0.0
    """Dropout of words and of the input of the classifier."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        below_one(self, "dropout")


_DEFAULT = Options()


class QuestionOnly(Answerer):
    r"""An LSTM over the question, and a classifier of its last state.

    .. math:: f(x, q) = g(\operatorname{LSTM}(q))

    The classifier g has two layers. The image x is ignored.

    Args:
        encoder: of images. It is ignored and may be None.
        words: size of the vocabulary, with padding (id 0).
        classes: number of answers.
        options: the sizes.

    Example:
        >>> import torch
        >>> question = Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1]))
        >>> QuestionOnly(None, 9, 5)(Visual(torch.rand(2, 3, 16, 16)), question).shape
        torch.Size([2, 5])

    Source:
        Antol et al. 2015, "VQA: Visual Question Answering", section 5.2, its "LSTM Q" (https://arxiv.org/abs/1505.00468).
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        data: {name: value for name, value in recipe.items() if name not in ("widths", "blocks", "stem_stride")}
        | {"shift": 0}  # of images, which the model ignores
        for data, recipe in answerer.RECIPES.items()
    }

    def __init__(self, encoder: nn.Module | None, words: int, classes: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        del encoder
        self.questions = Questions(words, options, options.dropout)
        self.output = classifier(options.hidden_dim, options.hidden_dim, classes, options.dropout)

    def answers(self, visual: Visual, question: Padded, draws: int, reads: Reads | None) -> Tensor:
        logits: Tensor = self.output(self.questions(question))
        return logits[:, None].expand(-1, draws, -1)
