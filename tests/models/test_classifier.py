"""What every classifier of texts is held to, whatever it is made of; and what it is made of."""

import copy

import pytest
import torch
from torch.nn.functional import linear

from models.laws import parameters_that_learn, the_same_plainly, the_same_state
from models.variants import CLASSES, CLASSIFIER_CASES, CLASSIFIERS, TEXTS
from saccade import look
from saccade.errors import ArgumentError
from saccade.models.bag import Bag
from saccade.models.classifier import Options, Pool, Pooled, Words
from saccade.models.fixed import Fixed
from saccade.models.padded import Padded
from tiers import every

CLOSE = {"rtol": 1e-12, "atol": 1e-12}
LABELS = torch.tensor([2, 0, 1])
LONG = Padded(torch.arange(3, 13).repeat(2, 30), torch.tensor([300, 7]))


@pytest.fixture(params=CLASSIFIER_CASES)
def variant(request):
    return CLASSIFIERS[request.param]


@pytest.fixture
def model(variant):
    return variant.make()


def loss(model, source):
    return torch.nn.functional.cross_entropy(model(source), LABELS)


def attention_of(model, source):
    with look.record(model, required=False) as records:
        logits = model(source)
    return logits, model.pooled(records, source)


def test_a_text_is_the_same_alone_as_in_a_batch(model, variant):
    together = model(TEXTS)
    assert together.shape == (3, CLASSES)
    for row in range(3):
        torch.testing.assert_close(model(variant.alone(row))[0], together[row], **CLOSE)


def test_what_padding_holds_changes_nothing(model, variant):
    parameters = list(model.parameters())
    expected, found = (loss(model, source) for source in (TEXTS, variant.spoilt()))
    assert torch.equal(found, expected)
    pairs = zip(torch.autograd.grad(found, parameters), torch.autograd.grad(expected, parameters), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


def test_more_padding_changes_nothing(model):
    values, lengths = TEXTS
    wider = Padded(torch.cat([values, torch.zeros_like(values[:, :4])], 1), lengths)
    torch.testing.assert_close(model(wider), model(TEXTS), **CLOSE)


def test_texts_in_another_order_are_in_another_order(model):
    order = torch.tensor([2, 0, 1])
    torch.testing.assert_close(model(Padded(*(part[order] for part in TEXTS))), model(TEXTS)[order], **CLOSE)


def test_a_text_of_one_word_is_that_word(model, variant):
    """What is pooled over one position is that position."""
    one = Padded(torch.tensor([[7]]), torch.tensor([1]))
    logits, weights = attention_of(model, one)
    assert bool(logits.isfinite().all())
    if weights is not None:
        assert torch.equal(weights, torch.ones_like(weights))
    if isinstance(model, Pooled):
        found = model.features(one)[:, 0].repeat(1, weights.shape[1])
        torch.testing.assert_close(logits, model.output(found), **CLOSE)


def test_a_long_text_beside_a_short_one_is_read_whole(model):
    logits, weights = attention_of(model, LONG)
    short = Padded(LONG.values[1:, :7], LONG.lengths[1:])
    torch.testing.assert_close(logits[1], model(short)[0], **CLOSE)
    if weights is not None:
        assert bool((weights[0] > 0).all()) and not weights[1, :, 7:].any()


def test_its_gradient_reaches_every_parameter(model):
    parameters_that_learn(model, loss(model, TEXTS))


def test_its_cost_is_the_cross_entropy(model):
    expected = torch.nn.functional.cross_entropy(model(TEXTS), LABELS, label_smoothing=0.1)
    assert torch.equal(model.cost(TEXTS, LABELS, 0.1), expected)


def test_vectors_learn_of_the_words_that_were_read_alone(model):
    loss(model, TEXTS).backward()
    learned = model.words.embedding.weight.grad.abs().sum(1) > 0
    read = {int(token) for token in TEXTS.values[TEXTS.within]}
    assert {place for place, moved in enumerate(learned.tolist()) if moved} == read


def test_a_state_dict_makes_it_again(model, variant):
    other = variant.make(seed=1)
    assert not torch.equal(other(TEXTS), model(TEXTS))
    the_same_state(model, other)
    assert torch.equal(other(TEXTS), model(TEXTS))
    assert torch.equal(copy.deepcopy(model)(TEXTS), model(TEXTS))


def test_a_step_of_training_lowers_the_loss(variant):
    model = variant.make(dropout=0.0, word_dropout=0.0).train()
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    before = loss(model, TEXTS)
    before.backward()
    optimizer.step()
    assert loss(model, TEXTS) < before


def test_dropout_acts_in_training_alone(variant):
    model = variant.make().train()
    assert not torch.equal(model(TEXTS), model(TEXTS))
    model.eval()
    assert torch.equal(model(TEXTS), model(TEXTS))


def test_a_seed_repeats_what_training_draws(variant):
    model, found = variant.make().train(), []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        found.append(model(TEXTS))
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])


def test_float32_is_the_same_with_kernels_and_plainly(variant):
    model, _ = variant.in_float32()

    def call(model):
        return model(TEXTS), model(TEXTS).square().sum()

    the_same_plainly(model, call, call)


def test_weights_are_those_of_the_queries_over_words(model, variant):
    logits, weights = attention_of(model, TEXTS)
    torch.testing.assert_close(logits, model(TEXTS), **CLOSE)
    if variant.kind is Bag:
        assert weights is None
        return
    queries = model.pool.queries.shape[0]
    assert weights.shape == (3, queries, 7)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, queries, dtype=torch.double))
    assert bool((weights[:, 0] > 0).eq(TEXTS.within).all())


def test_logits_are_of_the_weighted_features(model, variant):
    logits, weights = attention_of(model, TEXTS)
    if isinstance(model, Pooled):
        found = weights @ model.features(TEXTS).masked_fill(~TEXTS.within[..., None], 0)
        torch.testing.assert_close(logits, model.output(found.flatten(1)), **CLOSE)


def test_shares_are_of_a_sum_over_words_alone(model, variant):
    assert (model.shares(TEXTS.values[2], 1) is None) == (variant.kind is not Bag)


def test_only_what_reads_words_in_order_tells_orders_apart(model, variant):
    turned = model(Padded(TEXTS.values[2:].flip(1), TEXTS.lengths[2:]))
    bag = variant.kind is Fixed or getattr(variant.options, "ngrams", 2) == 1
    blind = bag or getattr(variant.options, "positions", "") in ("none", "alibi")
    # without positions, or with their distances alone, a text read backwards is the same text
    assert torch.allclose(turned, model(variant.alone(2)), rtol=1e-10) == blind


def test_dropped_words_are_unknown_ones():
    torch.manual_seed(0)
    words = Words(9, Options(embedding_dim=4, dropout=0.0, word_dropout=0.5))
    tokens = torch.full((20, 30), 7)
    tokens[:, 20:] = 0
    found, vectors = words(tokens), words.embedding.weight
    unknown = (found == vectors[3]).all(-1)
    assert bool((unknown | (found == vectors[tokens]).all(-1)).all()) and not unknown[:, 20:].any()
    assert 0.4 < unknown[:, :20].float().mean() < 0.6
    torch.testing.assert_close(words.eval()(tokens), linear(torch.nn.functional.one_hot(tokens, 9).float(), vectors.T))


def test_features_of_words_are_dropped_for_a_whole_text():
    torch.manual_seed(0)
    words = Words(9, Options(embedding_dim=50, dropout=0.5, word_dropout=0.0))
    found = words(torch.full((4, 6), 7))
    assert torch.equal(found, found[:, :1].expand_as(found))
    kept = found[:, 0] != 0
    assert 0.3 < kept.float().mean() < 0.7 and not torch.equal(kept[0], kept[1])
    torch.testing.assert_close(found[:, 0][kept], (2 * words.embedding.weight[7]).expand(4, 50)[kept])


def test_padding_is_a_vector_of_zeros_that_does_not_learn():
    words = Words(9, Options(embedding_dim=4)).eval()
    tokens = torch.tensor([[5, 0]])
    assert not words(tokens)[0, 1].any()
    words(tokens).sum().backward()
    assert not words.embedding.weight.grad[0].any() and bool(words.embedding.weight.grad[5].all())


def test_vectors_are_as_wide_as_is_said():
    assert Options().dim == 100 and Options(embedding_dim=7).dim == 7
    assert Words(9, Options()).embedding.weight.shape == (9, 100)


@every(
    ("kind", "said", "words"),
    [
        (Options, {"embedding_dim": 0}, "--embedding-dim: expected a number from 1"),
        (Options, {"embedding_dim": 10**7}, "--embedding-dim: expected a number from 1 to 1000000"),
        (Options, {"dropout": 1.0}, "--dropout: expected 0 <= dropout < 1, got 1.0"),
        (Options, {"dropout": -0.1}, "--dropout: expected 0 <= dropout < 1"),
        (Options, {"dropout": float("nan")}, "--dropout: expected 0 <= dropout < 1"),
        (Options, {"word_dropout": 1.0}, "--word-dropout: expected 0 <= word dropout < 1"),
        (Pool, {"score": "cosine"}, "--score: expected additive or dot, got cosine"),
        (Pool, {"queries": 0}, "--queries: expected a number from 1"),
        (Pool, {"queries": 10_001}, "--queries: expected a number from 1 to 10000, got 10001"),
    ],
)
def test_options_that_mean_nothing(kind, said, words):
    with pytest.raises(ArgumentError, match=words):
        kind(**said)
