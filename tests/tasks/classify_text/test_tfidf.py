"""Logistic regression on TF-IDF: the numbers that scikit-learn comes to, and bounds."""

import pytest
import torch

from saccade.tasks.classify_text import tfidf

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
SKLEARN_TWO = {"dull": [-1.6922], "fine": [1.9278], "story": [-0.2863], "where": [-0.2096]}
SKLEARN_THREE = {
    "dull": [1.5808, -1.1048, -0.476],
    "fine": [-1.1389, -1.2212, 2.3601],
    "story": [0.4294, 0.1416, -0.571],
    "where": [-1.0756, 1.523, -0.4475],
}


def test_it_is_what_scikit_learn_computes():
    """TfidfVectorizer and LogisticRegression(C=10, tol=1e-9, max_iter=10000) of scikit-learn 1.9.1 on these texts."""
    for labels, classes, expected in ((TWO, 2, SKLEARN_TWO), (THREE, 3, SKLEARN_THREE)):
        model = tfidf.fit(TEXTS, labels, classes)
        for word, row in expected.items():
            assert model.weight[model.words[word]].tolist() == pytest.approx(row, abs=2e-4)
        assert model.idf[model.words["dull"]] == pytest.approx(1.81093, abs=1e-5)


def test_texts_that_it_learned_from_are_told_apart_and_unknown_words_are_nothing():
    model = tfidf.fit(TEXTS, THREE, 3)
    assert model.predict(TEXTS) == THREE
    assert model.predict(["FINE fine", "fine unheard", "", "unheard"])[:2] == [2, 2]
    assert len(set(model.predict(["", "unheard"]))) == 1  # the bias alone


def test_an_ideograph_is_a_word_and_a_letter_is_none():
    model = tfidf.fit(["我很高兴 a", "我不高兴 b"], [1, 0], 2)
    assert set(model.words) == set("我很不高兴")
    assert model.predict(["很", "不"]) == [1, 0]


def test_words_and_weights_are_bounded(monkeypatch):
    monkeypatch.setattr(tfidf, "_NUMBERS", 9)
    model = tfidf.fit(TEXTS, THREE, 3)
    assert model.weight.shape == (3, 3) and set(model.words) <= {"film", "dull", "cast", "fine", "story", "the", "is"}


def test_it_draws_nothing_at_random_and_repeats():
    before = torch.random.get_rng_state()
    one, other = (tfidf.fit(TEXTS, TWO, 2) for _ in range(2))
    assert torch.equal(one.weight, other.weight) and torch.equal(before, torch.random.get_rng_state())
