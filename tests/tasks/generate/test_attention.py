import math

import pytest
import torch

from saccade import look
from saccade.models.encoder_decoder import EncoderDecoder
from saccade.models.rnnsearch import Options, RNNSearch
from saccade.tasks.generate.attention import attends, coverage, weights_of
from saccade.tasks.translate import attention
from saccade.tasks.translate.batches import Encoded

SIZES = Options(hidden_dim=12, embedding_dim=8)
PAIRS = [Encoded([5, 7, 9], [4, 6]), Encoded([8], [5]), Encoded([6, 10], [3, 3, 4, 5]), Encoded([], [])]


@pytest.mark.parametrize("tokens", [1, 8, 1000])
def test_weights_are_those_of_each_pair_alone_whatever_the_batches(tokens, monkeypatch):
    monkeypatch.setattr(attention, "_TOKENS", tokens)
    model = RNNSearch(11, 7, SIZES).eval()
    with torch.inference_mode():
        found = weights_of(model, PAIRS)
        for (source, target), weights in zip(PAIRS, found, strict=True):
            with look.record(model) as records:
                model(torch.tensor([[*source, 2]]), torch.tensor([len(source) + 1]), torch.tensor([[1, *target]]))
            torch.testing.assert_close(weights, model.alignment(records)[0])


def test_who_does_not_attend_is_found_out():
    model = EncoderDecoder(11, 7, SIZES).eval()
    assert weights_of(model, PAIRS) == [None] * 4 and not attends(model)
    assert attends(RNNSearch(11, 7, SIZES).eval())


def test_coverage_by_hand():
    weights = torch.tensor([[0.5, 0.25, 0.0, 0.25], [0.75, 0.25, 0.0, 0.0]])
    assert coverage(weights) == pytest.approx(math.log(1) + math.log(0.5) + math.log(1e-6))
    assert coverage(torch.tensor([[0.0, 1.0], [1.0, 0.0]])) == 0 == coverage(torch.tensor([[1.0]]))
    once, twice = torch.tensor([[0.6, 0.4, 0.0]]), torch.tensor([[0.6, 0.4, 0.0], [0.6, 0.4, 0.0]])
    assert coverage(once) < coverage(twice) < 0  # what was read more often is covered better
