"""Logits of logistic regression on TF-IDF: the formula, padding, dropout, and the share of each word."""

import torch

from models.variants import CLASSES, TEXTS
from saccade.models.bag import Bag, Options
from saccade.models.fixed import Fixed
from saccade.models.padded import Padded
from saccade.models.word_prior import Coefficients, WordPrior

SIZE = 1 + int(TEXTS.values.max())


def coefficients():
    drawn = torch.Generator().manual_seed(3)
    frequency = torch.rand(SIZE, generator=drawn)
    frequency[:4] = 0
    return Coefficients(
        frequency, torch.randn(SIZE, CLASSES, generator=drawn), torch.randn(CLASSES, generator=drawn), torch.tensor(0.7)
    )


def by_hand(ids, numbers):
    """The formula of one text in float64."""
    counts = torch.bincount(torch.tensor(ids), minlength=SIZE).double()
    x = counts * numbers.frequency.double()
    return x / x.norm().clamp(min=1e-12) @ numbers.weight.double() + numbers.bias.double()


def texts():
    return [row[:length].tolist() for row, length in zip(TEXTS.values, TEXTS.lengths.tolist(), strict=True)]


def test_logits_are_those_of_the_formula():
    logits = WordPrior(coefficients())(TEXTS)
    expected = torch.stack([by_hand(ids, coefficients()) for ids in texts()])
    torch.testing.assert_close(logits.double(), expected, rtol=1e-5, atol=1e-6)
    spoilt = TEXTS.values.masked_fill(~TEXTS.within, 5)
    assert torch.equal(WordPrior(coefficients())(Padded(spoilt, TEXTS.lengths)), logits)


def test_a_text_of_unread_words_has_the_bias():
    logits = WordPrior(coefficients())(Padded(torch.tensor([[3, 3]]), torch.tensor([2])))
    assert torch.equal(logits[0], coefficients().bias)


def test_parts_of_words_add_up():
    prior = WordPrior(coefficients())
    for row, ids in enumerate(texts()):
        total = prior.contributions(torch.tensor(ids)).sum(0) + prior.bias
        torch.testing.assert_close(total, prior(TEXTS)[row], rtol=1e-5, atol=1e-5)


def test_logits_of_a_model_are_bounded():
    bounded = WordPrior(coefficients()).bounded(torch.tensor([-90.0, 0.0, 0.01, 90.0]))
    torch.testing.assert_close(bounded, torch.tensor([-0.7, 0.0, 0.01, 0.7]), rtol=1e-3, atol=1e-6)


def test_a_share_of_training_texts_has_no_prior():
    prior, many = WordPrior(coefficients(), 0.5), Padded(torch.full((400, 1), 5), torch.ones(400, dtype=torch.long))
    torch.manual_seed(1)
    dropped = (prior.train()(many) == 0).all(1)
    assert 150 < int(dropped.sum()) < 250
    assert not (prior.eval()(many) == 0).all(1).any()


def test_a_model_starts_from_the_prior_and_learns_beside_it():
    for model in (Fixed(SIZE, CLASSES), Bag(SIZE, CLASSES, Options(ngrams=2))):
        model.start_from(coefficients())
        model.eval()
        torch.testing.assert_close(model(TEXTS), WordPrior(coefficients())(TEXTS))
        torch.nn.functional.cross_entropy(model(TEXTS), torch.tensor([2, 0, 1])).backward()
        assert bool(model.output.weight.grad.any())
        assert not any("prior" in name for name in model.state_dict())


def test_shares_of_a_sum_count_the_prior():
    model = Bag(SIZE, CLASSES).eval()
    model.start_from(coefficients())
    torch.nn.init.normal_(model.output.weight)
    ids = torch.tensor(texts()[0])
    logits = model(Padded(ids[None], torch.tensor([len(ids)])))[0] - model.prior.bias
    own = model._sum(Padded(ids[None], torch.tensor([len(ids)])))[0]
    logits = logits - model.prior.bounded(own) * (1 - (own - model.output.bias) / own)  # less what is no word's
    others = (logits.sum() - logits[1]) / (CLASSES - 1)
    torch.testing.assert_close(model.shares(ids, 1).sum(), logits[1] - others, rtol=1e-4, atol=1e-5)
