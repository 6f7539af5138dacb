import math

import pytest
import torch
from torch.nn import functional as F

from saccade.tasks.memorize.measures import Said, cost, judged, measured


def test_bits_and_symbols_cost_their_cross_entropy():
    logits, bits = torch.randn(5, 3), torch.randint(0, 2, (5, 3)).float()
    torch.testing.assert_close(cost(logits, bits).sum(), F.binary_cross_entropy_with_logits(logits, bits) * 15)
    symbols = torch.randint(0, 3, (5,))
    torch.testing.assert_close(cost(logits, symbols).sum(), F.cross_entropy(logits, symbols) * 5)


def test_bits_are_counted_in_bits():
    found = judged(torch.zeros(4, 2), torch.ones(4, 2))
    assert (found.asked, found.wrong) == (8, 8) and found.bits == pytest.approx(8.0)
    assert judged(torch.full((4, 2), 60.0), torch.ones(4, 2)).bits == pytest.approx(0, abs=1e-9)


def test_a_symbol_that_cannot_be_said_is_wrong():
    assert judged(torch.zeros(2, 3), torch.tensor([0, 3])) == Said(2, 1)


def test_groups_are_counted_by_questions_and_bits():
    said = [Said(8, 0, 1.0), Said(16, 4, 9.0), Said(16, 0, 2.0)]
    metrics, parts = measured(said, ["a", "b", "b"], vectors=True)
    assert next(iter(metrics)) == "accuracy" and metrics["exact_match"] == pytest.approx(2 / 3)
    assert (
        metrics["accuracy"] == pytest.approx(1 - 0.25 / 3)
        and metrics["bit_error"] == pytest.approx(0.1)
        and metrics["bits"] == 4.0
    )
    assert parts["bit_error"] == {"a": 0.0, "b": pytest.approx(4 / 32)} and parts["bits"] == {"a": 1.0, "b": 5.5}
    symbols, none = measured([Said(2, 1), Said(2, 0)], ["", ""], vectors=False)
    assert symbols == {"accuracy": 0.75, "exact_match": 0.5} and none == {}
    assert not math.isnan(measured([], [], vectors=True)[0]["bits"])
