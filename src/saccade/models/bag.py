"""A bag of words: logistic regression on the sum of word vectors, no attention (Joulin et al. 2017).

"Bag of Tricks for Efficient Text Classification", https://arxiv.org/abs/1607.01759.
"""

from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor, nn

from saccade.models.classifier import Classifier, Options, Words
from saccade.models.padded import Padded

__all__ = ["Bag", "Options"]

_DEFAULT = Options()


class Bag(Classifier):
    r"""Every word has a say of its own, whatever stands beside it.

    .. math:: f = W \sum_j E w_j + b

    so that each word adds W E w to the logits, wherever it stands: "not" moves every sentence by the same. The paper
    takes the mean in the sum's place, and n-grams beside the words.

    Args:
        size: number of words, from 0 (padding) on.
        classes: number of classes.
        options: dimensions and probabilities.

    Example:
        >>> model = Bag(11, 2, Options(embedding_dim=4)).eval()
        >>> logits = model(Padded(torch.tensor([[4, 5, 6]]), torch.tensor([3])))
        >>> torch.allclose(logits, model(Padded(torch.tensor([[6, 4, 5]]), torch.tensor([3]))), atol=1e-6)
        True

    Source:
        Joulin et al. 2017, section 2; the sum in the mean's place, and the name, Iyyer et al. 2015, section 2
        (https://aclanthology.org/P15-1162).
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "reviews": {"learning_rate": 1e-2},
        "files": {},
    }

    def __init__(self, size: int, classes: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        self.words = Words(size, options)
        self.output = nn.Linear(options.dim, classes)

    def forward(self, source: Padded) -> Tensor:
        logits: Tensor = self.output(torch.where(source.within[..., None], self.words(source.values), 0.0).sum(1))
        return logits

    def shares(self, tokens: Tensor, label: int) -> Tensor | None:
        """What each word adds to the logit of a class over the mean of the others' is its vector by a difference."""
        weight = self.output.weight
        others = (weight.sum(0) - weight[label]) / (len(weight) - 1)
        return self.words.embedding(tokens) @ (weight[label] - others)  # type: ignore[no-any-return]
