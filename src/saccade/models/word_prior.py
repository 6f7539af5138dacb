"""Logistic regression on TF-IDF as a part of a text classifier."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from saccade.models.padded import Padded

__all__ = ["Coefficients", "WordPrior"]


class Coefficients(NamedTuple):
    """Numbers of a fitted logistic regression.

    Args:
        frequency: inverse document frequency of each word, `(size,)`. A word of 0 is not read.
        weight: of each word and class, `(size, classes)`.
        bias: of each class, `(classes,)`.
        bound: largest size of a logit that a model adds, a scalar.
    """

    frequency: Tensor
    weight: Tensor
    bias: Tensor
    bound: Tensor


class WordPrior(nn.Module):
    r"""Logits of a text by a fitted logistic regression on TF-IDF.

    .. math::
        f = \frac{1}{\lVert x \rVert} \sum_w x_w V_w + b \qquad
        x_w = \operatorname{count}(w) \cdot \operatorname{idf}(w)

    The numbers are fixed. They are buffers outside of the state dict, since a run keeps them beside its vocabulary.

    Args:
        coefficients: of the regression.
        dropout: probability in training that a text has logits of 0.

    Source:
        The sum of a linear model of words and a network: Cheng et al. 2016, "Wide & Deep Learning for Recommender
        Systems", Eq. 3 (https://arxiv.org/abs/1606.07792), where both are trained together.

    Example:
        >>> weight = torch.tensor([[0.0, 0.0], [0.0, 5.0]])
        >>> prior = WordPrior(Coefficients(torch.tensor([0.0, 2.0]), weight, torch.zeros(2), torch.ones(())))
        >>> prior(Padded(torch.tensor([[1, 1], [1, 0]]), torch.tensor([2, 1])))
        tensor([[0., 5.],
                [0., 5.]])
    """

    frequency: Tensor
    weight: Tensor
    bias: Tensor
    bound: Tensor

    def __init__(self, coefficients: Coefficients, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        for name, values in coefficients._asdict().items():
            self.register_buffer(name, values, persistent=False)

    def forward(self, source: Padded) -> Tensor:
        """Return logits `(batch, classes)`."""
        batch, size = source.values.shape[0], len(self.frequency)
        texts = torch.arange(batch, device=source.values.device)[:, None].expand_as(source.values)
        keys, counts = (texts * size + source.values)[source.within].unique(return_counts=True)
        rows, words = keys // size, keys % size
        values = counts * self.frequency[words]
        norms = values.new_zeros(batch).index_add(0, rows, values**2).sqrt().clamp(min=1e-12)
        scores = values[:, None] * self.weight[words] / norms[rows, None]
        logits = self.bias.expand(batch, -1).index_add(0, rows, scores)
        if self.training and self.dropout:
            logits = logits * (torch.rand(batch, 1, device=logits.device) >= self.dropout)
        return logits

    def bounded(self, logits: Tensor) -> Tensor:
        r"""Return logits of the model within the bound.

        .. math:: b \tanh(f / b)
        """
        return self.bound * torch.tanh(logits / self.bound)

    def contributions(self, tokens: Tensor) -> Tensor:
        """Return the part of each word `(length,)` in the logits, `(length, classes)`."""
        values = self.frequency[tokens]
        counts = (tokens[:, None] == tokens).sum(1)
        norm = (values**2 * counts).sum().sqrt().clamp(min=1e-12)
        return values[:, None] * self.weight[tokens] / norm
