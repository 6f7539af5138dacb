import pytest
import torch

from models.translators import annotations, pooled_by_hand
from models.variants import CLASSIFIERS, RNN, TEXTS
from saccade.errors import ArgumentError
from saccade.models.rnn_attention import Options

NAMES = ("rnn-attention", "rnn-attention, dot")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_its_equations(name):
    """One text and one word at a time."""
    model = CLASSIFIERS[name].make()
    for row, length in enumerate(TEXTS.lengths):
        features = annotations(model.encoder, model.words.embedding(TEXTS.values[row, :length]))
        torch.testing.assert_close(model.features(TEXTS)[row, :length], features)
        expected = pooled_by_hand(model, features, CLASSIFIERS[name].options.score)
        torch.testing.assert_close(expected, model(TEXTS)[row])


def test_what_is_pooled_at_a_word_knows_all_words_around_it():
    model = CLASSIFIERS["rnn-attention"].make()
    words = model.words.embedding(TEXTS.values[2:]).detach()

    def features(words):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(model.words, "forward", lambda tokens: words)
            return model.features(CLASSIFIERS["rnn-attention"].alone(2))[0]

    influence = torch.autograd.functional.jacobian(features, words)[:, :, 0].abs()
    ahead, back = influence[:, :5].sum((1, 3)) > 0, influence[:, 5:].sum((1, 3)) > 0
    assert torch.equal(ahead, torch.ones(7, 7).tril().bool()) and torch.equal(back, torch.ones(7, 7).triu().bool())


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"hidden_dim": 7}, "--hidden-dim: expected an even number from 2 to 1000000, got 7"),
        ({"hidden_dim": 0}, "--hidden-dim: expected an even number"),
        ({"dropout": -0.1}, "--dropout: expected 0 <= dropout < 1"),
        ({"queries": 0}, "--queries: expected a number from 1"),
    ],
)
def test_options_that_mean_nothing(said, words):
    with pytest.raises(ArgumentError, match=words):
        Options(**{**vars(RNN), **said})
