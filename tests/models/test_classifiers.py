"""What every classifier of sentences is held to, whatever it is made of."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import linear

from models.translators import annotations
from near import assert_near, with_parameters
from saccade import look
from saccade.errors import ArgumentError
from saccade.kernels import team
from saccade.models import bag, classifier, fixed, rnn_attention, self_attention
from saccade.models.bag import Bag
from saccade.models.fixed import Fixed
from saccade.models.rnn_attention import RNNAttention
from saccade.models.self_attention import SelfAttention

TOKENS = torch.tensor([[5, 6, 7, 8, 3, 0, 0], [9, 4, 0, 0, 0, 0, 0], [4, 5, 6, 7, 8, 9, 10]])
LENGTHS = torch.tensor([5, 2, 7])
DROPS = {"dropout": 0.5, "word_dropout": 0.2}
FIXED = fixed.Options(embedding_dim=6, **DROPS)
RNN = rnn_attention.Options(embedding_dim=6, hidden_dim=10, **DROPS)
SELF = self_attention.Options(embedding_dim=6, hidden_dim=12, heads=3, layers=2, feedforward_dim=20, **DROPS)
VARIANTS = {
    "sum": (Bag, bag.Options(embedding_dim=6, **DROPS)),
    "fixed": (Fixed, FIXED),
    "fixed, dot": (Fixed, replace(FIXED, score="dot")),
    "fixed, four queries": (Fixed, replace(FIXED, queries=4, hidden_dim=7)),
    "rnn-attention": (RNNAttention, RNN),
    "rnn-attention, dot": (RNNAttention, replace(RNN, score="dot", queries=2)),
    "self-attention": (SelfAttention, SELF),
    "self-attention, rotary": (SelfAttention, replace(SELF, positions="rotary", queries=3)),
    "self-attention, alibi": (SelfAttention, replace(SELF, positions="alibi", norm="post")),
    "self-attention, a bag": (SelfAttention, replace(SELF, positions="none")),
}


@pytest.fixture(params=VARIANTS)
def variant(request):
    return VARIANTS[request.param]


@pytest.fixture
def model(variant):
    torch.manual_seed(0)
    kind, options = variant
    return kind(13, 3, options).double().eval()


def test_padding_and_batches_change_nothing(model):
    together = model(TOKENS, LENGTHS)
    for row, length in enumerate(LENGTHS):
        alone = model(TOKENS[row : row + 1, :length], LENGTHS[row : row + 1])
        torch.testing.assert_close(together[row], alone[0], rtol=1e-12, atol=1e-12)
    rubbish = TOKENS.masked_fill(TOKENS == 0, 11)
    torch.testing.assert_close(model(rubbish, LENGTHS), together, rtol=0, atol=0)


def test_it_learns_through_every_parameter(model):
    model(TOKENS, LENGTHS).square().sum().backward()
    assert all(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in model.parameters())


def test_dropout_acts_in_training_alone(variant):
    kind, options = variant
    model = kind(13, 3, options)
    once, again = model(TOKENS, LENGTHS), model(TOKENS, LENGTHS)
    assert not torch.equal(once, again)
    model.eval()
    assert torch.equal(model(TOKENS, LENGTHS), model(TOKENS, LENGTHS))


def test_in_float32_it_computes_the_same_with_kernels_and_without(variant, monkeypatch):
    kind, options = variant
    model = kind(13, 3, options).eval()

    def found(*parameters):
        made = with_parameters(model, parameters)
        loss = made(TOKENS, LENGTHS).square().sum()
        return [made(TOKENS, LENGTHS), *torch.autograd.grad(loss, list(made.parameters()))]

    ours = found(*model.parameters())
    monkeypatch.setitem(team._found, "numba", "there is none here")
    assert_near(ours, found, *model.parameters())


def test_weights_are_those_of_the_queries_over_words(model, variant):
    with look.record(model) as records:
        model(TOKENS, LENGTHS)
    weights = model.pooled(records)
    if variant[0] is Bag:
        assert weights is None
        return
    queries = model.pool.queries.shape[0]
    assert weights.shape == (3, queries, 7)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, queries, dtype=torch.double))
    assert bool((weights[:, 0] > 0).eq(TOKENS > 0).all())


def test_a_sum_is_the_sum_of_what_each_word_adds(variant):
    kind, options = VARIANTS["sum"]
    model = kind(13, 3, options).double().eval()
    words = model.words.embedding(TOKENS[2])
    torch.testing.assert_close(model(TOKENS[2:], LENGTHS[2:])[0], model.output(words.sum(0)))
    logits = model(TOKENS[2:], LENGTHS[2:])[0] - model.output.bias
    for label in range(3):
        others = (logits.sum() - logits[label]) / 2
        torch.testing.assert_close(model.shares(TOKENS[2], label).sum(), logits[label] - others)


def by_hand(model, features, queries):
    """Softmax of every query's scores over the features `(length, dim)` of one text, and what it reads."""
    pool = model.pool.attention
    if "additive" in queries:
        keys = torch.tanh(pool.key_projection(features)[None] + model.pool.queries[:, None])
        scores = keys @ pool.score.get().v
    else:
        scores = model.pool.queries @ features.T
    return model.output((scores.softmax(-1) @ features).flatten())


@pytest.mark.parametrize("name", ["fixed", "fixed, dot", "fixed, four queries"])
def test_fixed_attention_is_its_equations(name):
    kind, options = VARIANTS[name]
    model = kind(13, 3, options).double().eval()
    for row, length in enumerate(LENGTHS):
        features = model.words.embedding(TOKENS[row, :length])
        torch.testing.assert_close(by_hand(model, features, options.score), model(TOKENS, LENGTHS)[row])


def test_recurrent_attention_is_its_equations():
    kind, options = VARIANTS["rnn-attention"]
    model = kind(13, 3, options).double().eval()
    for row, length in enumerate(LENGTHS):
        features = annotations(model.encoder, model.words.embedding(TOKENS[row, :length]))
        torch.testing.assert_close(by_hand(model, features, options.score), model(TOKENS, LENGTHS)[row])


def test_only_what_reads_words_in_order_tells_orders_apart(model, variant):
    kind, options = variant
    turned = model(TOKENS[2:].flip(1), LENGTHS[2:])
    blind = kind in (Bag, Fixed) or getattr(options, "positions", "") in ("none", "alibi")
    # without positions, or with their distances alone, a text read backwards is the same text
    assert torch.allclose(turned, model(TOKENS[2:], LENGTHS[2:]), rtol=1e-10) == blind


def test_dropped_words_are_unknown_ones():
    torch.manual_seed(0)
    words = classifier.Words(9, classifier.Options(embedding_dim=4, dropout=0.0, word_dropout=0.5))
    tokens = torch.full((20, 30), 7)
    tokens[:, 20:] = 0
    found, vectors = words(tokens), words.embedding.weight
    unknown = (found == vectors[3]).all(-1)
    assert bool((unknown | (found == vectors[tokens]).all(-1)).all()) and not unknown[:, 20:].any()
    assert 0.4 < unknown[:, :20].float().mean() < 0.6
    torch.testing.assert_close(words.eval()(tokens), linear(torch.nn.functional.one_hot(tokens, 9).float(), vectors.T))


@pytest.mark.parametrize(
    ("kind", "said", "words"),
    [
        (bag.Options, {"embedding_dim": 0}, "--embedding-dim: expected a number from 1"),
        (bag.Options, {"word_dropout": 1.0}, "--word-dropout: expected 0 <= word dropout < 1"),
        (fixed.Options, {"score": "cosine"}, "--score: expected additive or dot, got cosine"),
        (fixed.Options, {"queries": 0}, "--queries: expected a number from 1"),
        (fixed.Options, {"hidden_dim": 0}, "--hidden-dim: expected a number from 1"),
        (rnn_attention.Options, {"hidden_dim": 7}, "--hidden-dim: expected an even number"),
        (rnn_attention.Options, {"dropout": -0.1}, "--dropout: expected 0 <= dropout < 1"),
        (self_attention.Options, {"queries": 0}, "--queries: expected a number from 1"),
        (self_attention.Options, {"heads": 7}, "--hidden-dim: expected a multiple of --heads = 7"),
    ],
)
def test_options_that_mean_nothing(kind, said, words):
    with pytest.raises(ArgumentError, match=words):
        kind(**said)
