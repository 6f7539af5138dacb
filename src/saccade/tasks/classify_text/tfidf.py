"""Baseline of text classification: logistic regression on TF-IDF."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from saccade.tasks.text.words import LONE

__all__ = ["TEXTS", "Model", "fit"]

TEXTS = 20_000
"""Most training texts. They take seconds."""

_STRENGTH = 10.0  # C, the weight of errors beside the squares of the coefficients
_WORDS, _COEFFICIENTS = 50_000, 5_000_000  # at most
_STEPS = 1000
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

    size = min(_WORDS, max(1, _COEFFICIENTS // (1 if classes == 2 else classes)))
    words = TfidfVectorizer(token_pattern=_WORD, max_features=size)
    cut, learned = words.build_analyzer(), np.asarray(list(texts), object)
    if len(set(labels)) < 2 or not any(cut(text) for text in learned):
        return Model(DummyClassifier(strategy="most_frequent").fit(learned, labels))
    return Model(make_pipeline(words, LogisticRegression(C=_STRENGTH, max_iter=_STEPS)).fit(learned, labels))
