"""Logistic regression on TF-IDF: what a classifier of texts has to beat, as scikit-learn computes it.

It is written out because scikit-learn takes two seconds to import in every process and brings an OpenMP runtime beside
PyTorch's. It computes what `TfidfVectorizer()` and `LogisticRegression(C=10)` do, but that an ideograph is a word.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.tasks.text.words import LONE

__all__ = ["MOST", "Model", "fit"]

MOST = 20_000  # training texts at most, which are learned from in seconds
_STRENGTH = 10.0  # C: what the errors of all texts weigh beside the squares of the weights
_WORDS, _NUMBERS = 50_000, 5_000_000  # words at most, and weights
_STEPS = 100
_WORD = re.compile(f"[{LONE}]|[^\\W{LONE}]{{2,}}")  # TfidfVectorizer's own: two characters or more


@dataclass(frozen=True)
class Model:
    """What was learned.

    Args:
        words: the number of each word that is known.
        idf: by which each word's count is multiplied, `(words,)`.
        weight: `(words, columns)`; one column where there are two classes.
        bias: `(columns,)`.
    """

    words: dict[str, int]
    idf: Tensor
    weight: Tensor
    bias: Tensor

    def predict(self, texts: Iterable[str]) -> list[int]:
        """Return the most probable class of each text."""
        scores = _scores(_bags(_counted(texts), self.words, self.idf), self.weight, self.bias)
        return scores.argmax(-1).tolist()


def fit(texts: Iterable[str], labels: Sequence[int], classes: int) -> Model:
    r"""Learn from texts with their classes.

    .. math::
        x_{dw} &\propto n_{dw} \Big(\ln \frac{1 + D}{1 + D_w} + 1\Big) \qquad |x_d| = 1 \\
        W, b &= \arg\min\; \tfrac12 |W|^2 - C \sum_d \ln \operatorname{softmax}(W x_d + b)_{y_d}

    where word w is n times in text d and in D_w of all D texts; two classes have one vector of weights.

    Args:
        texts: the texts.
        labels: the number of the class of each.
        classes: how many there are.

    Source:
        scikit-learn, "Feature extraction", "TF-IDF term weighting", and "Logistic regression".

    Example:
        >>> model = fit(["a fine film", "a dull film"], [1, 0], 2)
        >>> model.predict(["fine", "dull, dull film"])
        [1, 0]
    """
    counts = _counted(texts)
    having = Counter(word for count in counts for word in count)
    columns = 1 if classes == 2 else classes
    most = min(_WORDS, max(1, _NUMBERS // columns))
    chosen = sorted(having, key=lambda word: (-having[word], word))[:most]
    numbers = {word: number for number, word in enumerate(chosen)}
    documents = torch.tensor([having[word] for word in chosen], dtype=torch.float64)
    idf = torch.log((1 + len(counts)) / (1 + documents)) + 1
    weight, bias = _learned(_bags(counts, numbers, idf), torch.tensor(labels), len(chosen), columns)
    return Model(numbers, idf, weight, bias)


def _counted(texts: Iterable[str]) -> list[Counter[str]]:
    """How often each word is in each text."""
    return [Counter(_WORD.findall(text.lower())) for text in texts]


def _bags(counts: Sequence[Counter[str]], numbers: dict[str, int], idf: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The numbers of the known words of all texts, their weights, and where each text begins."""
    rows = [[(numbers[word], count) for word, count in text.items() if word in numbers] for text in counts]
    lengths = np.array([len(row) for row in rows], np.int64)
    flat = np.array([pair for row in rows for pair in row], np.int64).reshape(-1, 2)
    words = torch.from_numpy(flat[:, 0].copy())
    values = torch.from_numpy(flat[:, 1].astype(np.float64)) * idf[words]
    text = torch.from_numpy(np.repeat(np.arange(len(rows)), lengths))
    norms = torch.zeros(len(rows), dtype=torch.float64).index_add(0, text, values.square()).sqrt()
    return words, values / norms[text], torch.from_numpy(lengths.cumsum() - lengths)


def _scores(bags: tuple[Tensor, Tensor, Tensor], weight: Tensor, bias: Tensor) -> Tensor:
    words, values, begins = bags
    found = F.embedding_bag(words, weight, begins, mode="sum", per_sample_weights=values) + bias
    return torch.cat([torch.zeros_like(found), found], 1) if weight.shape[1] == 1 else found


def _learned(
    bags: tuple[Tensor, Tensor, Tensor], labels: Tensor, words: int, columns: int
) -> tuple[Tensor, Tensor]:
    """The weights and the bias at which the loss is least, by L-BFGS."""
    weight = torch.zeros(words, columns, dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(columns, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=_STEPS, tolerance_grad=1e-6, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        errors = F.cross_entropy(_scores(bags, weight, bias), labels)
        total = errors + weight.square().sum() / (2 * _STRENGTH * len(labels))
        total.backward()
        return total

    optimizer.step(loss)
    return weight.detach(), bias.detach()
