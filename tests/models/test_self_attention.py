import pytest
import torch

from models.translators import pooled_by_hand, torch_layer
from models.variants import CLASSIFIERS, SELF, TEXTS
from saccade import look
from saccade.errors import ArgumentError
from saccade.models.padded import Padded
from saccade.models.positions import waves
from saccade.models.self_attention import Options


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_it_is_torchs_encoder_pooled_by_a_query(norm):
    model = CLASSIFIERS["self-attention"].make(norm=norm)
    for row, length in enumerate(TEXTS.lengths):
        words = model.words.embedding(TEXTS.values[row, :length])
        x = (model.projection(words) + waves(torch.arange(int(length)), 12))[None]
        for layer in model.layers:
            x = torch_layer(layer, norm, attends=False)(x)
        expected = pooled_by_hand(model, model.norm(x)[0], "additive")
        torch.testing.assert_close(model(TEXTS)[row], expected)


def test_every_word_attends_to_every_other_and_to_no_padding():
    model = CLASSIFIERS["self-attention"].make()
    with look.record(model) as records:
        model(TEXTS)
    layers = [aux.weights for name, aux in records if not name.endswith("pool")]
    assert [weights.shape for weights in layers] == [(3, 3, 7, 7)] * 2
    for weights in layers:
        for row, length in enumerate(TEXTS.lengths):
            assert bool((weights[row, :, :, :length] > 0).all()) and not weights[row, :, :, length:].any()


def test_without_positions_a_text_is_a_bag_of_words():
    model = CLASSIFIERS["self-attention, a bag"].make()
    expected = model(CLASSIFIERS["self-attention, a bag"].alone(2))
    for seed in range(3):
        order = torch.randperm(7, generator=torch.Generator().manual_seed(seed))
        shuffled = model(Padded(TEXTS.values[2:, order], TEXTS.lengths[2:]))
        torch.testing.assert_close(shuffled, expected)


def test_several_queries_are_classified_side_by_side():
    model = CLASSIFIERS["self-attention, rotary"].make()
    assert model.pool.queries.shape[0] == 3 and model.output.in_features == 3 * 12


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"queries": 0}, "--queries: expected a number from 1"),
        ({"heads": 7}, "--hidden-dim: expected a multiple of --heads = 7"),
        ({"word_dropout": 1.0}, "--word-dropout: expected 0 <= word dropout < 1"),
        ({"positions": "waves"}, "--positions: expected sinusoidal or rotary or alibi or none, got waves"),
    ],
)
def test_options_that_mean_nothing(said, words):
    with pytest.raises(ArgumentError, match=words):
        Options(**{**vars(SELF), **said})
