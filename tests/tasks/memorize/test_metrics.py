import pytest
import torch
from torch.nn import functional as F

from saccade.tasks.memorize.data import open_corpus
from saccade.tasks.memorize.episode import Item
from saccade.tasks.memorize.metrics import Score, baselines, cost, judged, measured
from saccade.tasks.memorize.symbols import Symbols


def test_costs_are_cross_entropies():
    logits, bits = torch.randn(5, 3), torch.randint(0, 2, (5, 3)).float()
    torch.testing.assert_close(cost(logits, bits).sum(), F.binary_cross_entropy_with_logits(logits, bits) * 15)
    symbols = torch.randint(0, 3, (5,))
    torch.testing.assert_close(cost(logits, symbols).sum(), F.cross_entropy(logits, symbols) * 5)


def test_the_cost_of_bits_is_in_bits_and_a_symbol_without_logit_is_wrong():
    assert judged(torch.zeros(4, 2), torch.ones(4, 2)) == (8, 8, pytest.approx(8.0))
    assert judged(torch.full((4, 2), 60.0), torch.ones(4, 2)).bits == pytest.approx(0, abs=1e-9)
    assert judged(torch.zeros(2, 3), torch.tensor([0, 3])) == Score(2, 1)


def test_metrics_are_means_over_answers_or_bits():
    metrics, parts = measured([Score(8, 0, 1.0), Score(16, 4, 9.0), Score(16, 0, 2.0)], ["a", "b", "b"], vectors=True)
    means = {"accuracy": 1 - 0.25 / 3, "exact_match": 2 / 3, "bit_error": 0.1, "bits": 4.0}
    assert list(metrics) == list(means) and metrics == pytest.approx(means)
    assert parts["bit_error"] == {"a": 0.0, "b": pytest.approx(4 / 32)} and parts["bits"] == {"a": 1.0, "b": 5.5}
    symbols, none = measured([Score(2, 1), Score(2, 0)], ["", ""], vectors=False)
    assert symbols == {"accuracy": 0.75, "exact_match": 0.5} and none == {}
    assert measured([], [], vectors=True)[0]["bits"] == 0


@pytest.mark.parametrize(("name", "low", "high"), [("n-grams", 0.0, 0.6), ("copy", 0.45, 0.55)])
def test_baselines_of_bits(name, low, high):
    data = open_corpus(name)
    train, test = ([data.example(split, index) for index in range(30)] for split in ("train", "test"))
    found = baselines(data, train, test)
    constant = found["constant"].metrics
    assert low < constant["accuracy"] < high and ("counting" in found) == (name == "n-grams")
    if name == "n-grams":
        counting = found["counting"].metrics
        assert counting["bits"] < 0.8 * constant["bits"] and counting["accuracy"] > 0.7


def test_the_most_frequent_symbol_is_a_baseline():
    train = [Item("a ?", "x"), Item("b ?", "y"), Item("c ?", "x")]
    found = baselines(Symbols.learn(train, story=True), train, [Item("a ? b ?", "x y")])
    assert found["majority"].about == "always x" and found["majority"].metrics["accuracy"] == 0.5
