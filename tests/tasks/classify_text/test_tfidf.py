"""Logistic regression on TF-IDF: words, bounds, and data without signal."""

import numpy as np
import pytest
import torch

from saccade.models.padded import Padded
from saccade.models.word_prior import WordPrior
from saccade.tasks.classify_text import tfidf
from saccade.tasks.text.words import Words

TEXTS = [
    "A fine film, a fine cast.",
    "The film is dull and the cast is weak",
    "fine, fine and moving",
    "what a dull story",
    "Is it a moving story?",
    "where was the film made",
    "a weak story, dull from start to finish",
    "where is the cast",
]
TWO = [1, 0, 1, 0, 1, 1, 0, 0]
THREE = [2, 0, 2, 0, 1, 1, 0, 1]


def words(model):
    return set(model.pipeline[0].vocabulary_)


def test_it_separates_texts_and_skips_unknown_words():
    model = tfidf.fit(TEXTS, THREE, 3)
    assert model.predict(TEXTS) == THREE and model.predict([]) == []
    assert model.predict(["FINE fine", "fine unheard", "", "unheard"])[:2] == [2, 2]
    assert len(set(model.predict(["", "unheard"]))) == 1  # the bias alone


def test_an_ideograph_is_a_word_and_a_letter_is_none():
    model = tfidf.fit(["我很高兴 a", "我不高兴 b"], [1, 0], 2)
    assert words(model) == set("我很不高兴")
    assert model.predict(["很", "不"]) == [1, 0]


def test_words_and_weights_are_bounded(monkeypatch):
    monkeypatch.setattr(tfidf, "_COEFFICIENTS", 9)
    model = tfidf.fit(TEXTS, THREE, 3)
    assert model.pipeline[-1].coef_.shape == (3, 3)
    assert words(model) <= {"film", "dull", "cast", "fine", "story", "the", "is"}


@pytest.mark.parametrize(("texts", "labels"), [(["a b", "c d", "e"], [1, 1, 0]), (["fine", "dull"], [1, 1])])
def test_without_signal_the_most_frequent_class_wins(texts, labels):
    assert tfidf.fit(texts, labels, 2).predict(["fine", "a"]) == [1, 1]


def test_a_class_without_texts_is_never_predicted():
    model = tfidf.fit(TEXTS, [2 * label for label in TWO], 3)
    assert set(model.predict(TEXTS)) == {0, 2}


def test_it_repeats():
    one, other = (tfidf.fit(TEXTS, TWO, 2).pipeline[-1].coef_ for _ in range(2))
    assert np.array_equal(one, other)


@pytest.mark.parametrize(("labels", "classes"), [(TWO, 2), (THREE, 3)])
def test_coefficients_predict_as_the_pipeline(labels, classes):
    tokens = Words.learn(TEXTS, 100, 1)
    ids = [[number for number in tokens.encode(text) if len(tokens.piece(number)) > 1] for text in TEXTS]
    prior = WordPrior(tfidf.coefficients(ids, labels, len(tokens), classes))
    pipeline = tfidf.fit(TEXTS, labels, classes).pipeline
    for text, words_of_text in zip(TEXTS, ids, strict=True):
        found = prior(Padded(torch.tensor([words_of_text]), torch.tensor([len(words_of_text)]))).softmax(-1)[0]
        assert found.numpy() == pytest.approx(pipeline.predict_proba([text])[0], abs=1e-3)


@pytest.mark.parametrize(("ids", "labels"), [([[4, 5], [6]], [1, 1]), ([[3], [3, 3]], [0, 1])])
def test_coefficients_without_signal_are_zero(ids, labels):
    assert not any(bool(part.any()) for part in tfidf.coefficients(ids, labels, 9, 2)[:3])


def test_the_bound_grows_with_the_texts():
    few, many = (tfidf.coefficients([[4], [5]] * count, [0, 1] * count, 9, 2).bound for count in (30, 600))
    assert float(many) == pytest.approx(20 * float(few)) == pytest.approx(0.4)


def test_a_class_without_texts_has_the_least_bias(monkeypatch):
    monkeypatch.setattr(tfidf, "_COEFFICIENTS", 9)
    learned = tfidf.coefficients([[4, 5, 8], [5, 6], [6, 6], [7]], [0, 2, 2, 0], 9, 3)
    assert float(learned.bias[1]) == float(learned.bias.min()) and not learned.weight[:, 1].any()
    assert not learned.frequency[:4].any() and not learned.frequency[7:].any()  # at most three words are read
