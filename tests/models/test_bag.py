import pytest
import torch

from models.variants import CLASSES, CLASSIFIERS, TEXTS
from saccade.errors import ArgumentError
from saccade.models.bag import Bag, Options
from saccade.models.padded import Padded

TEXT = TEXTS.values[2]


@pytest.fixture
def model():
    return CLASSIFIERS["sum"].make()


def logits(model, words):
    return model(Padded(torch.tensor([words]), torch.tensor([len(words)])))[0]


def test_it_is_its_equation(model):
    for row, length in enumerate(TEXTS.lengths):
        vectors = model.words.embedding.weight[TEXTS.values[row, :length]]
        expected = model.output.weight @ vectors.sum(0) + model.output.bias
        torch.testing.assert_close(model(TEXTS)[row], expected)


def test_every_word_adds_the_same_wherever_it_stands(model):
    """Logits of a text are those of its words, whose bias is counted once."""
    bias = model.output.bias
    added = sum(logits(model, [word]) - bias for word in TEXT.tolist())
    torch.testing.assert_close(logits(model, TEXT.tolist()), added + bias)
    without = [logits(model, rest) for rest in ([5, 6, 4], [4, 5, 6], [6, 5, 4])]
    assert all(torch.allclose(one, without[0], rtol=1e-12) for one in without)


def test_a_word_twice_counts_twice(model):
    once, twice = (logits(model, words) - model.output.bias for words in ([7], [7, 7]))
    torch.testing.assert_close(twice, 2 * once)


@pytest.fixture(params=["sum", "sum, pairs", "sum, mean"])
def of_runs(request):
    return CLASSIFIERS[request.param].make()


def test_runs_of_words_are_its_equation():
    model = CLASSIFIERS["sum, mean"].make()  # up to three words
    for row, length in enumerate(TEXTS.lengths):
        tokens = TEXTS.values[row, :length]
        vectors = list(model.words.embedding.weight[tokens])
        for n in (2, 3):
            for place in range(length - n + 1):
                number = int(tokens[place])
                for token in tokens[place + 1 : place + n].tolist():
                    number = (number * 116_049_371 + token) % (2**31 - 1)
                vectors.append(model.runs.weight[number % 7])
        expected = model.output(torch.stack(vectors).mean(0))
        torch.testing.assert_close(model(TEXTS)[row], expected)


def test_pairs_of_words_tell_orders_apart():
    model = CLASSIFIERS["sum, pairs"].make()
    assert not torch.allclose(logits(model, [5, 6, 4]), logits(model, [4, 5, 6]))
    bias = model.output.bias
    once, often = (logits(model, [7] * count) - bias for count in (1, 25))  # 25 words and 24 pairs
    pair = model.output.weight @ model.runs.weight[(7 * 116_049_371 + 7) % (2**31 - 1) % 11]
    torch.testing.assert_close(often, (25 * once + 24 * pair) / 7)


def test_without_runs_of_words_nothing_is_added_to_what_is_saved():
    assert list(CLASSIFIERS["sum"].make().state_dict()) == ["words.embedding.weight", "output.weight", "output.bias"]


@pytest.mark.parametrize(("option", "wrong"), [("ngrams", 0), ("ngrams", 11), ("buckets", 0), ("reduction", "max")])
def test_what_means_nothing_is_refused(option, wrong):
    with pytest.raises(ArgumentError, match=f"--{option}: expected .*, got {wrong}"):
        Options(**{option: wrong})


@pytest.mark.parametrize("label", range(CLASSES))
def test_shares_add_up_to_the_logit_over_the_mean_of_the_others(of_runs, label):
    model = of_runs
    found = logits(model, TEXT.tolist()) - model.output.bias
    others = (found.sum() - found[label]) / (CLASSES - 1)
    torch.testing.assert_close(model.shares(TEXT, label).sum(), found[label] - others)


def test_a_share_is_of_its_word_alone(model):
    shares = model.shares(TEXT, 1)
    for place, word in enumerate(TEXT.tolist()):
        torch.testing.assert_close(model.shares(torch.tensor([word]), 1)[0], shares[place])
    torch.testing.assert_close(model.shares(TEXT.flip(0), 1), shares.flip(0))


def test_two_classes_share_what_one_gains_and_the_other_loses():
    torch.manual_seed(0)
    model = Bag(13, 2, Options(embedding_dim=6)).double().eval()
    torch.testing.assert_close(model.shares(TEXT, 0), -model.shares(TEXT, 1))


def test_its_gradients_are_right(model):
    vectors = model.words.embedding.weight[TEXTS.values].detach().requires_grad_()

    def found(vectors):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(model.words, "forward", lambda tokens: vectors)
            return model(TEXTS)

    assert torch.autograd.gradcheck(found, (vectors,))
