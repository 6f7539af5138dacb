import pytest

from saccade.tasks.memorize.baselines import baselines
from saccade.tasks.memorize.data import open_corpus
from saccade.tasks.memorize.data.corpus import Item
from saccade.tasks.memorize.languages import learn
from saccade.tasks.memorize.symbols import Symbols


def items(data, split, count):
    return [data.example(split, index) for index in range(count)]


def test_foretelling_by_counts_is_better_than_the_usual_bit():
    data = open_corpus("n-grams")
    found = baselines(learn(data), items(data, "train", 30), items(data, "test", 30))
    assert list(found) == ["constant", "counting"]
    counting, usual = found["counting"].metrics, found["constant"].metrics
    assert counting["bits"] < 0.8 * usual["bits"] and counting["accuracy"] > 0.7 > 0.6 > usual["accuracy"]


def test_random_vectors_are_half_right_by_any_constant():
    data = open_corpus("copy")
    found = baselines(learn(data), items(data, "train", 30), items(data, "test", 30))
    assert list(found) == ["constant"] and found["constant"].metrics["accuracy"] == pytest.approx(0.5, abs=0.05)


def test_the_most_frequent_symbol_is_always_said():
    learned = [Item("a ?", "x"), Item("b ?", "y"), Item("c ?", "x")]
    language = Symbols.learn(learned, story=True)
    found = baselines(language, learned, [Item("a ? b ?", "x y")])
    assert found["majority"].about == "always x" and found["majority"].metrics["accuracy"] == 0.5
