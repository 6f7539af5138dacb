import math

import pytest
import torch

from saccade.reports.pooling.probe import PAIRS, relative


def test_a_pair_is_a_sentence_and_the_same_with_a_not():
    for pair in PAIRS:
        assert [word for word in pair.denied.split() if word != "not"] == pair.plain.split()
        assert pair.word in pair.plain.split()
    assert sum(pair.positive for pair in PAIRS) * 2 == len(PAIRS)


def test_a_words_relative_weight_is_its_relative_score():
    scores = torch.tensor([[0.5, 2.0, -1.0, 0.0]])
    expected = 2.0 - (0.5 - 1.0 + 0.0) / 3
    assert relative(scores.softmax(-1), 1) == pytest.approx(expected, abs=1e-6)
    with_more = torch.cat([scores, torch.tensor([[7.0]])], 1).softmax(-1)[:, :4]  # what another word takes falls out
    assert relative(with_more, 1) == pytest.approx(expected, abs=1e-5)


def test_it_is_the_mean_over_queries_and_never_endless():
    weights = torch.tensor([[0.5, 0.5], [0.9, 0.1]])
    assert relative(weights, 0) == pytest.approx(math.log(9) / 2, abs=1e-6)
    assert math.isfinite(relative(torch.tensor([[1.0, 0.0]]), 0))
