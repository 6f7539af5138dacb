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
from saccade.tasks.translate.codec import padded

SIZES = Options(hidden_dim=12, embedding_dim=8)
WORDS = SpacedWords(["a", "b", "c"])
SOURCES = [[5, 7, 9], [8], [6, 10], []]
IDS = [[[4, 6], [5]], [[5]], [[6, 6, 4, 5], []], [[]]]
OUTPUTS = [[Output("", ids, -1.0) for ids in row] for row in IDS]


def alone(source):
    return Padded(torch.tensor([[*source, 2]]), torch.tensor([len(source) + 1]))


@pytest.mark.parametrize("tokens", [1, 8, 1000])
def test_weights_in_any_batches_are_those_of_each_pair(tokens):
    model = RNNSearch(11, 7, SIZES).eval()
    with torch.inference_mode():
        state = model.encode(padded(SOURCES))
        read = attended(model, state, OUTPUTS, WORDS, [len(source) + 1 for source in SOURCES], tokens)
        assert [[output.ids for output in row] for row in read] == IDS
        for source, row in zip(SOURCES, read, strict=True):
            for output in row:
                with look.record(model, required=False) as records:
                    model(alone(source), torch.tensor([[1, *output.ids]]))
                torch.testing.assert_close(output.weights, model.alignment(records)[0])
                assert output.tokens == (*map(WORDS.piece, output.ids), END_MARK)


def test_weights_are_as_wide_as_the_source():
    model, outputs = RNNSearch(11, 7, SIZES).eval(), [[Output("", [4], -1.0)]]
    with torch.inference_mode():
        for width, columns in ((None, 3), (2, 2), (5, 5)):
            [[output]] = attended(model, model.encode(alone([5, 7])), outputs, WORDS, [width], 9)
            assert output.weights.shape == (2, columns)


def test_examples_without_outputs_stay_in_place():
    model = RNNSearch(11, 7, SIZES).eval()
    with torch.inference_mode():
        state = model.encode(padded([[5], [6]]))
        assert attended(model, state, [[], []], WORDS, [2, 2], 9) == [[], []]
        first, [second] = attended(model, state, [[], [Output("a", [4], -1.0)]], WORDS, [2, 2], 9)
    assert first == [] and second.tokens == ("a", END_MARK)


def test_a_model_without_attention_has_no_weights():
    model, attending = EncoderDecoder(11, 7, SIZES).eval(), RNNSearch(11, 7, SIZES).eval()
    target = torch.tensor([[1, 4]])
    with torch.inference_mode():
        assert weights_of(model, model.encode(alone([5, 7])), target) is None
        assert weights_of(attending, attending.encode(alone([5, 7])), target).shape == (1, 2, 3)
        [[output]] = attended(model, model.encode(alone([5])), [[Output("a", [4], -1.0)]], WORDS, [2], 9)
    assert output.weights is None and output.tokens == ("a", END_MARK)


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
