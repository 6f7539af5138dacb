import copy
import pickle

import pytest
import torch
from torch import nn

from saccade.errors import ArgumentError
from saccade.kernels.cells import linear_cell
from saccade.models import words
from saccade.models.recurrent import Decoder
from saccade.models.words import ProjectedWords, embeddings, logits_or_loss


def made():
    torch.manual_seed(0)
    embedding, linear = nn.Embedding(7, 4), nn.Linear(4, 6)
    return ProjectedWords(), embedding, linear.eval(), torch.tensor([3, 0, 6, 3])


def ask(known, embedding, linear, token):
    with torch.no_grad():
        return known.project(embedding, linear, token, embedding(token))


def test_a_table_is_made_once_it_pays_and_gives_the_same():
    known, embedding, linear, token = made()
    for times in range(1, 5):
        torch.testing.assert_close(ask(known, embedding, linear, token), linear(embedding(token)))
        assert (known.table is not None) == (times > 2)  # 4 words each time, of 7


def test_numbers_that_change_are_not_remembered():
    known, embedding, linear, token = made()
    for change in (
        lambda: linear.load_state_dict(nn.Linear(4, 6).state_dict()),
        lambda: torch.optim.SGD([embedding.weight], 1.0).step(),
        lambda: embedding.weight.detach().mul_(2),
        lambda: setattr(linear.weight, "data", torch.randn(6, 4)),
        lambda: linear.weight.data.mul_(2),
        lambda: setattr(linear, "bias", nn.Parameter(torch.randn(6))),
    ):
        for _ in range(3):
            ask(known, embedding, linear, token)
        assert known.table is not None
        embedding.weight.grad = torch.randn(7, 4)
        change()
        torch.testing.assert_close(ask(known, embedding, linear, token), linear(embedding(token)))


def test_another_map_or_embedding_has_another_table():
    known, embedding, linear, token = made()
    others = nn.Embedding(7, 4), nn.Linear(4, 6)
    for one, other in ((embedding, linear), (others[0], linear), (embedding, others[1]), (embedding, linear)):
        for _ in range(3):
            torch.testing.assert_close(ask(known, one, other, token), other(one(token)))
        assert known.table is not None


def test_where_something_learns_or_is_hooked_there_is_no_table():
    known, embedding, linear, token = made()
    for _ in range(5):
        assert known.project(embedding, linear, token, embedding(token)).requires_grad
    assert known.table is None
    handle = linear.register_forward_hook(lambda module, inputs, output: 2 * output)
    for _ in range(5):
        torch.testing.assert_close(ask(known, embedding, linear, token), linear(embedding(token)))
    handle.remove()
    assert known.table is None


def test_a_map_without_a_bias_is_called_as_it_is():
    known, embedding, _, token = made()
    linear = nn.Linear(4, 6, bias=False)
    for _ in range(5):
        assert torch.equal(ask(known, embedding, linear, token), linear(embedding(token)))
    assert torch.equal(linear_cell(linear)(embedding(token)), linear(embedding(token)))


def test_a_table_that_would_be_large_is_not_made(monkeypatch):
    monkeypatch.setattr(words, "_LARGEST", 4 * 7 * 6 - 1)
    known, embedding, linear, token = made()
    for _ in range(5):
        ask(known, embedding, linear, token)
    assert known.table is None


def test_under_inference_mode_too():
    known, embedding, linear, token = made()
    for _ in range(4):
        with torch.inference_mode():
            found = known.project(embedding, linear, token, embedding(token))
    assert known.table is not None
    torch.testing.assert_close(found.clone(), linear(embedding(token)))
    torch.testing.assert_close(ask(known, embedding, linear, token), linear(embedding(token)))


def test_numbers_whose_changes_nobody_counts_have_no_table():
    with torch.inference_mode():
        known, embedding, linear, token = made()
        for _ in range(4):
            ask(known, embedding, linear, token)
    assert known.table is None


def test_no_words_are_no_question():
    known, embedding, linear, token = made()
    for _ in range(3):
        ask(known, embedding, linear, token)
    assert ask(known, embedding, linear, token[:0]).shape == (0, 6)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda known: pickle.loads(pickle.dumps(known))])
def test_a_copy_begins_without_a_table(again):
    known, embedding, linear, token = made()
    for _ in range(3):
        ask(known, embedding, linear, token)
    assert again(known).table is None and known.table is not None


def test_a_decoders_table_is_no_part_of_its_state():
    torch.manual_seed(0)
    decoder = Decoder(nn.Embedding(7, 4), context_dim=3, hidden_dim=6).eval()
    names, token = list(decoder.state_dict()), torch.tensor([3, 0, 6, 3])
    hidden, context = torch.zeros(4, 6), torch.ones(4, 3)
    with torch.no_grad():
        expected = decoder.step(token, hidden, lambda query: context)[0].dense()
        for _ in range(4):
            found = decoder.step(token, hidden, lambda query: context)[0].dense()
    assert decoder._words.table.shape == (7, 18)
    torch.testing.assert_close(found, expected)
    assert list(decoder.state_dict()) == names
    other = copy.deepcopy(decoder)
    assert other._words.table is None and decoder._words.table is not None


def test_words_that_are_dropped_in_part_are_not_looked_up():
    torch.manual_seed(0)
    decoder = Decoder(nn.Embedding(7, 4), context_dim=3, hidden_dim=6, dropout=0.5)
    with torch.no_grad():
        for _ in range(20):
            decoder.step(torch.tensor([3, 0, 6, 3]), torch.zeros(4, 6), lambda query: torch.ones(4, 3))
    assert decoder._words.table is None


def test_joint_vocabularies_are_of_one_size():
    with pytest.raises(ArgumentError, match=r"joint: .*13 and 11"):
        embeddings(13, 11, 6, joint=True)


def test_embeddings_are_of_their_size_and_padding_is_zero():
    torch.manual_seed(0)
    source, target = embeddings(500, 300, 64, joint=False)
    assert source.weight.shape == (500, 64) and target.weight.shape == (300, 64)
    for embedding in (source, target):
        assert not embedding.weight[0].any() and embedding.padding_idx == 0
        assert float(embedding.weight[1:].detach().std()) == pytest.approx(64**-0.5, rel=0.05)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_of_the_wanted_tokens_alone(smoothing):
    torch.manual_seed(0)
    features, weight, bias = (torch.randn(*shape).double() for shape in ((2, 3, 5), (7, 5), (7,)))
    wanted = torch.tensor([[4, 2, 0], [6, 0, 0]])
    logits = logits_or_loss(features, (weight, bias))
    expected = nn.functional.cross_entropy(logits[wanted != 0], wanted[wanted != 0], label_smoothing=smoothing)
    features[wanted == 0] = torch.nan
    torch.testing.assert_close(logits_or_loss(features, (weight, bias), wanted, smoothing), expected)
