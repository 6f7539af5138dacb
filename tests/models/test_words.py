import pytest
import torch
from torch import nn

from saccade.errors import ArgumentError
from saccade.models import words
from saccade.models.cells import linear_cell
from saccade.models.words import embeddings, projected


def made():
    torch.manual_seed(0)
    embedding, linear = nn.Embedding(7, 4), nn.Linear(4, 6)
    return embedding, linear.eval(), torch.tensor([3, 0, 6, 3])


def ask(embedding, linear, token):
    with torch.no_grad():
        return projected(embedding, linear, token, embedding(token))


def table(linear):
    found = words._known.get(linear)
    return None if found is None else found.table


def test_a_table_is_made_once_it_pays_and_gives_the_same():
    embedding, linear, token = made()
    for times in range(1, 5):
        torch.testing.assert_close(ask(embedding, linear, token), linear(embedding(token)))
        assert (table(linear) is not None) == (times > 2)  # 4 words each time, of 7


def test_numbers_that_change_are_not_remembered():
    embedding, linear, token = made()
    for change in (
        lambda: linear.load_state_dict(nn.Linear(4, 6).state_dict()),
        lambda: torch.optim.SGD([embedding.weight], 1.0).step(),
        lambda: embedding.weight.detach().mul_(2),
        lambda: setattr(linear.weight, "data", torch.randn(6, 4)),
        lambda: linear.weight.data.mul_(2),
        lambda: setattr(linear, "bias", nn.Parameter(torch.randn(6))),
    ):
        for _ in range(3):
            ask(embedding, linear, token)
        assert table(linear) is not None
        embedding.weight.grad = torch.randn(7, 4)
        change()
        torch.testing.assert_close(ask(embedding, linear, token), linear(embedding(token)))


def test_where_something_learns_or_is_hooked_there_is_no_table():
    embedding, linear, token = made()
    for _ in range(5):
        assert projected(embedding, linear, token, embedding(token)).requires_grad
    assert table(linear) is None
    handle = linear.register_forward_hook(lambda module, inputs, output: 2 * output)
    for _ in range(5):
        torch.testing.assert_close(ask(embedding, linear, token), linear(embedding(token)))
    handle.remove()
    assert table(linear) is None


def test_a_map_without_a_bias_is_called_as_it_is():
    embedding, _, token = made()
    linear = nn.Linear(4, 6, bias=False)
    for _ in range(5):
        assert torch.equal(ask(embedding, linear, token), linear(embedding(token)))
    assert torch.equal(linear_cell(linear)(embedding(token)), linear(embedding(token)))


def test_a_table_that_would_be_large_is_not_made(monkeypatch):
    monkeypatch.setattr(words, "_LARGEST", 4 * 7 * 6 - 1)
    embedding, linear, token = made()
    for _ in range(5):
        ask(embedding, linear, token)
    assert table(linear) is None


def test_under_inference_mode_too():
    embedding, linear, token = made()
    for _ in range(4):
        with torch.inference_mode():
            found = projected(embedding, linear, token, embedding(token))
    assert table(linear) is not None
    torch.testing.assert_close(found.clone(), linear(embedding(token)))
    torch.testing.assert_close(ask(embedding, linear, token), linear(embedding(token)))


def test_a_table_goes_with_its_map():
    embedding, linear, token = made()
    for _ in range(3):
        ask(embedding, linear, token)
    before = len(words._known)
    del linear
    assert len(words._known) == before - 1


def test_joint_vocabularies_are_of_one_size():
    with pytest.raises(ArgumentError, match=r"joint: .*13 and 11"):
        embeddings(13, 11, 6, joint=True)
