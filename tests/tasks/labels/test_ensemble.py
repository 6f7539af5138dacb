import copy

import pytest
import torch

from saccade import look
from saccade.models import bag, rnn_attention, self_attention
from saccade.models.padded import Padded
from saccade.tasks.labels import Ensemble

SOURCE = Padded(torch.tensor([[4, 5, 6, 7], [8, 9, 0, 0], [10, 0, 0, 0]]), torch.tensor([4, 2, 1]))


@pytest.fixture
def members():
    sizes = self_attention.Options(hidden_dim=8, heads=2, layers=1, feedforward_dim=8, queries=3, embedding_dim=6)
    return [
        bag.Bag(11, 3, bag.Options(embedding_dim=6)).eval(),
        rnn_attention.RNNAttention(11, 3, rnn_attention.Options(hidden_dim=8, embedding_dim=6)).eval(),
        self_attention.SelfAttention(11, 3, sizes).eval(),
    ]


@pytest.fixture(autouse=True)
def inference():
    with torch.inference_mode():
        yield


def test_members_of_all_kinds_average_probabilities(members):
    expected = torch.stack([member(SOURCE).softmax(-1) for member in members]).mean(0)
    torch.testing.assert_close(Ensemble(members)(SOURCE).exp(), expected)


def test_a_model_with_itself_is_the_model(members):
    for member in members:
        twice = Ensemble([member, copy.deepcopy(member)])
        torch.testing.assert_close(twice(SOURCE).softmax(-1), member(SOURCE).softmax(-1))


def test_attention_is_of_every_member_that_attends(members):
    ensemble = Ensemble(members)
    with look.record(ensemble) as records:
        ensemble(SOURCE)
    found, own = ensemble.pooled(records, SOURCE), []
    for member in members[1:]:
        with look.record(member) as alone:
            member(SOURCE)
        own.append(member.pooled(alone, SOURCE))
    torch.testing.assert_close(found, torch.cat(own, 1))
    assert found.shape == (3, 4, 4)  # one query and three, of four words
    with look.record(Ensemble(members[:1]), required=False) as none:
        Ensemble(members[:1])(SOURCE)
    assert Ensemble(members[:1]).pooled(none, SOURCE) is None
