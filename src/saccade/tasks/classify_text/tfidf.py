"""Baseline of text classification: logistic regression on TF-IDF."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from saccade.models.word_prior import Coefficients
from saccade.tasks.text.special import SPECIAL
from saccade.tasks.text.words import LONE

__all__ = ["TEXTS", "Model", "coefficients", "fit"]

TEXTS = 20_000
"""Most training texts. They take seconds."""

_STRENGTH = 10.0  # C, the weight of errors beside the squares of the coefficients
_WORDS, _COEFFICIENTS = 50_000, 5_000_000  # at most
_STEPS = 1000
_TEXTS_A_LOGIT = 3000  # training texts by which the bound of a model's logits grows by 1
_WORD = f"[{LONE}]|[^\\W{LONE}]{{2,}}"  # that of TfidfVectorizer, two characters or more, but an ideograph is a word


@dataclass(frozen=True)
class Model:
    """A pipeline of scikit-learn, from texts to the numbers of classes."""

    pipeline: Any

    def predict(self, texts: Sequence[str]) -> list[int]:
        """Return the most probable class of each text."""
        return self.pipeline.predict(np.asarray(texts, object)).tolist() if texts else []


def fit(texts: Iterable[str], labels: Sequence[int], classes: int) -> Model:
    """Learn from texts.

    If all have one class, or none has a word, the most frequent class is predicted.

    Args:
        texts: the texts.
        labels: number of the class of each.
        classes: number of classes.

    Example:
        >>> model = fit(["a fine film", "a dull film"], [1, 0], 2)
        >>> model.predict(["fine", "dull, dull film"])
        [1, 0]
    """
    from sklearn.dummy import DummyClassifier  # here: it takes a second to import
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    size = _most_words(classes)
    words = TfidfVectorizer(token_pattern=_WORD, max_features=size)
    cut, learned = words.build_analyzer(), np.asarray(list(texts), object)
    if len(set(labels)) < 2 or not any(cut(text) for text in learned):
        return Model(DummyClassifier(strategy="most_frequent").fit(learned, labels))
    return Model(make_pipeline(words, LogisticRegression(C=_STRENGTH, max_iter=_STEPS)).fit(learned, labels))


def coefficients(texts: Sequence[Sequence[int]], labels: Sequence[int], size: int, classes: int) -> Coefficients:
    """Learn from texts as ids of words.

    A network trusts few texts too much, so the bound of its logits grows with their number. A regression of two
    classes gives each of them half of its logit. If all texts have one class, or no word, all coefficients are 0.

    Args:
        texts: ids of words. Special ids, and rare words beyond a bound, are not read.
        labels: number of the class of each.
        size: size of the vocabulary, which is sorted by frequency.
        classes: number of classes.

    Example:
        >>> learned = coefficients([[4, 5], [5, 6, 3]], [1, 0], 8, 2)
        >>> learned.weight[[3, 4, 6]].sign()
        tensor([[ 0.,  0.],
                [-1.,  1.],
                [ 1., -1.]])
    """
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression

    frequency, weight, bias = torch.zeros(size), torch.zeros(size, classes), torch.zeros(classes)
    bound = torch.tensor(max(1, len(texts)) / _TEXTS_A_LOGIT)
    read = range(SPECIAL, min(size, SPECIAL + _most_words(classes)))
    words = np.fromiter(chain.from_iterable(texts), np.int64)
    rows = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    inside = (words >= read.start) & (words < read.stop)
    if len(set(labels)) < 2 or not inside.any():
        return Coefficients(frequency, weight, bias, bound)
    occurrences = np.ones(inside.sum())
    counts = csr_array((occurrences, (rows[inside], words[inside] - SPECIAL)), shape=(len(texts), len(read)))
    scaling = TfidfTransformer()
    regression = LogisticRegression(C=_STRENGTH, max_iter=_STEPS).fit(scaling.fit_transform(counts), labels)
    slopes, biases = _float(regression.coef_), _float(regression.intercept_)
    if len(slopes) == 1:
        slopes, biases = torch.cat([-slopes, slopes]) / 2, torch.cat([-biases, biases]) / 2
    frequency[read.start : read.stop] = _float(scaling.idf_)
    weight[read.start : read.stop, regression.classes_] = slopes.mT
    bias.fill_(float(biases.min()))[regression.classes_] = biases  # a class without texts is not likelier than another
    return Coefficients(frequency, weight, bias, bound)


def _most_words(classes: int) -> int:
    return min(_WORDS, max(1, _COEFFICIENTS // (1 if classes == 2 else classes)))


def _float(values: Any) -> Tensor:
    return torch.from_numpy(values).float()
