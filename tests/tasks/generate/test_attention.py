import math
from dataclasses import replace

import pytest
import torch

from saccade import look
from saccade.models.encoder_decoder import EncoderDecoder
from saccade.models.padded import Padded
from saccade.models.rnnsearch import Options, RNNSearch
from saccade.tasks.generate.attention import END_MARK, attended, coverage, ranked_by_coverage, weights_of
from saccade.tasks.generate.generate import Output
from saccade.tasks.text.tokenizer import SpacedWords
from saccade.tasks.translate import translation
from saccade.tasks.translate.batches import Encoded

SIZES = Options(hidden_dim=12, embedding_dim=8)
PAIRS = [Encoded([5, 7, 9], [4, 6]), Encoded([8], [5]), Encoded([6, 10], [3, 3, 4, 5]), Encoded([], [])]


def alone(source):
    return Padded(torch.tensor([[*source, 2]]), torch.tensor([len(source) + 1]))


@pytest.mark.parametrize("tokens", [1, 8, 1000])
def test_weights_are_those_of_each_pair_alone_whatever_the_batches(tokens, monkeypatch):
    monkeypatch.setattr(translation, "_READ_TOKENS", tokens)
    model = RNNSearch(11, 7, SIZES).eval()
    with torch.inference_mode():
        found = translation._weights(model, PAIRS)
        for (source, target), weights in zip(PAIRS, found, strict=True):
            with look.record(model, required=False) as records:
                model(alone(source), torch.tensor([[1, *target]]))
            torch.testing.assert_close(weights, model.alignment(records)[0])


def test_who_does_not_attend_is_found_out():
    model = EncoderDecoder(11, 7, SIZES).eval()
    with torch.inference_mode():
        assert weights_of(
            model, model.encode(alone([5, 7])), torch.tensor([[1, 4]])
        ) is None and not translation.attends(model)
        attending = RNNSearch(11, 7, SIZES).eval()
        assert weights_of(attending, attending.encode(alone([5, 7])), torch.tensor([[1, 4]])).shape == (1, 2, 3)
        assert translation.attends(attending)


def test_nothing_stays_recorded():
    model = RNNSearch(11, 7, SIZES).eval()
    hooks = [len(part._forward_hooks) for part in model.modules()]
    with torch.inference_mode():
        weights_of(model, model.encode(alone([5])), torch.tensor([[1, 4]]))
    assert [len(part._forward_hooks) for part in model.modules()] == hooks


def test_coverage_by_hand():
    weights = torch.tensor([[0.5, 0.25, 0.0, 0.25], [0.75, 0.25, 0.0, 0.0]])
    assert coverage(weights) == pytest.approx(math.log(1) + math.log(0.5) + math.log(1e-6))
    assert coverage(torch.tensor([[0.0, 1.0], [1.0, 0.0]])) == 0 == coverage(torch.tensor([[1.0]]))
    assert coverage(weights, ended=False) == pytest.approx(coverage(weights) + math.log(0.25))
    once, twice = torch.tensor([[0.6, 0.4, 0.0]]), torch.tensor([[0.6, 0.4, 0.0], [0.6, 0.4, 0.0]])
    assert coverage(once) < coverage(twice) < 0  # what was read more often is covered better


def test_what_has_read_more_comes_first_where_that_counts():
    all_read, half_read = torch.eye(3), torch.eye(3)[[0, 0, 2]]
    outputs = [Output("half", [4, 5], -1.0, half_read), Output("all", [4, 6], -1.5, all_read)]
    assert [output.text for output in ranked_by_coverage(outputs, 0.0, 2)] == ["half", "all"]
    [best, other] = ranked_by_coverage(outputs, 0.5, 2)
    assert (best.text, best.score) == ("all", -1.5)
    assert other.score == pytest.approx(-1.0 + 0.5 * math.log(1e-6))
    assert [output.text for output in ranked_by_coverage(outputs, 0.5, 1)] == ["all"]
    unknown = replace(outputs[0], weights=None)
    assert ranked_by_coverage([unknown], 0.5, 1) == [] == ranked_by_coverage([], 0.5, 3)


def test_outputs_of_one_example_have_own_weights():
    words, outputs = SpacedWords(["a", "b", "c"]), [Output("a b", [4, 5], -1.0), Output("c", [6], -2.0)]
    model, rows = RNNSearch(11, 7, SIZES).eval(), torch.tensor([[1], [1]])
    both = Padded(torch.tensor([[5, 7, 2], [8, 2, 0]]), torch.tensor([3, 2]))
    with torch.inference_mode():
        found = attended(model, model.encode(both).select(rows, rows[:, 0]), outputs, words)
        for output, own in zip(outputs, found, strict=True):
            [alone_] = attended(model, model.encode(alone([8])), [output], words)
            torch.testing.assert_close(own.weights[:, :2], alone_.weights)
            assert own.tokens == alone_.tokens and len(own.weights) == len(output.ids) + 1
    assert [one.tokens for one in found] == [("a", "b", END_MARK), ("c", END_MARK)]


def test_outputs_of_who_does_not_attend_have_tokens_alone():
    model, words = EncoderDecoder(11, 7, SIZES).eval(), SpacedWords(["a", "b", "c"])
    with torch.inference_mode():
        [found] = attended(model, model.encode(alone([5])), [Output("a", [4], -1.0)], words)
    assert found.weights is None and found.tokens == ("a", END_MARK)
