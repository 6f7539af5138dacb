import pytest
import torch

from models.translators import pooled_by_hand
from models.variants import CLASSIFIERS, FIXED, TEXTS
from saccade import look
from saccade.errors import ArgumentError
from saccade.models.fixed import Fixed, Options
from saccade.models.padded import Padded

NAMES = ("fixed", "fixed, dot", "fixed, four queries")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_its_equations(name):
    model = CLASSIFIERS[name].make()
    for row, length in enumerate(TEXTS.lengths):
        features = model.words.embedding(TEXTS.values[row, :length])
        expected = pooled_by_hand(model, features, CLASSIFIERS[name].options.score)
        torch.testing.assert_close(expected, model(TEXTS)[row])


@pytest.mark.parametrize("name", NAMES)
def test_ratios_of_words_are_the_same_in_all_texts(name):
    """The ratio of two weights is of the two words, whatever stands around them."""
    model = CLASSIFIERS[name].make()

    def ratio(words):
        source = Padded(torch.tensor([words]), torch.tensor([len(words)]))
        with look.record(model) as records:
            model(source)
        weights = model.pooled(records, source)[0]
        return weights[:, words.index(5)] / weights[:, words.index(8)]

    expected = ratio([5, 8])
    for words in ([8, 5], [4, 5, 9, 10, 8], [8, 7, 7, 7, 5]):
        torch.testing.assert_close(ratio(words), expected)


def test_features_are_the_words_vectors_themselves():
    model = CLASSIFIERS["fixed"].make()
    assert torch.equal(model.features(TEXTS), model.words.embedding(TEXTS.values))


@pytest.mark.parametrize(("hidden", "width"), [(None, 6), (7, 7)])
def test_additive_scores_are_as_wide_as_is_said(hidden, width):
    model = Fixed(13, 3, Options(embedding_dim=6, hidden_dim=hidden))
    assert model.pool.queries.shape == (1, width)


def test_products_need_no_projection():
    model = Fixed(13, 3, Options(embedding_dim=6, score="dot"))
    names = {name for name, _ in model.named_parameters()}
    assert names == {"words.embedding.weight", "pool.queries", "output.weight", "output.bias"}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"score": "cosine"}, "--score: expected additive or dot, got cosine"),
        ({"queries": 0}, "--queries: expected a number from 1"),
        ({"hidden_dim": 0}, "--hidden-dim: expected a number from 1 to 1000000, got 0"),
        ({"dropout": 1.0}, "--dropout: expected 0 <= dropout < 1"),
    ],
)
def test_options_that_mean_nothing(said, words):
    with pytest.raises(ArgumentError, match=words):
        Options(**{**vars(FIXED), **said})


def test_each_query_may_have_an_mlp():
    options = Options(embedding_dim=6, queries=2, own_projections=True)
    model = Fixed(13, 3, options).double().eval()
    words = torch.tensor([4, 5, 6])
    features, outputs = model.words(words[None])[0], []
    for pool in model.pool.pools:
        hidden = torch.tanh(pool.attention.key_projection(features) + pool.queries[0])
        outputs.append((hidden @ pool.attention.score.get().v).softmax(0) @ features)
    expected = model.output(torch.cat(outputs))
    torch.testing.assert_close(model(Padded(words[None], torch.tensor([3])))[0], expected)
    for wrong in ({"queries": 1}, {"queries": 2, "score": "dot"}):
        with pytest.raises(ArgumentError, match="--own-projections: expected only with --score additive and"):
            Options(own_projections=True, **wrong)
