from types import SimpleNamespace

import torch
from torch import nn

from near import assert_near
from saccade import look
from saccade.models.padded import Padded
from saccade.nn import MultiheadAttention
from saccade.tasks.labels.ranks import Batch
from saccade.tasks.predictor import Predictor
from saccade.train.task import Unreadable


class Longest(Predictor):
    predicted = 6
    baselines = None

    def reply(self, item, prediction, weights):
        return item, prediction, weights


class Codec:
    options = SimpleNamespace(label_smoothing=0.25)

    def __init__(self):
        self.sizes = []

    def collate(self, samples):
        self.sizes.append([sample.size for sample in samples])
        lengths = torch.tensor([sample.size for sample in samples])
        return Batch(Padded(torch.zeros(len(samples), 9), lengths), torch.zeros(len(samples)))


class Model(nn.Module):
    """Give most weight to the class with the number of the length."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(10))

    def forward(self, source):
        return self.weight[source.lengths]


def test_predictions_are_in_order_from_batches_of_like_sizes():
    codec = Codec()
    samples = [SimpleNamespace(size=size) for size in (9, 2, 2, 3)]
    assert Longest(codec).predict(Model(), samples, None) == [9, 2, 2, 3]
    assert codec.sizes == [[2, 2], [3], [9]]


def test_every_request_is_accepted_by_default():
    assert Longest(Codec()).check(Model(), object()) is None


def test_the_loss_is_the_cross_entropy_of_labels():
    torch.manual_seed(0)
    model, labels = nn.Linear(5, 3), torch.tensor([2, 0])
    batch = Batch(torch.randn(2, 5), labels)
    loss = Longest(Codec()).loss(model, batch)

    def plain(x, weight, bias):
        log_probs = (x @ weight.mT + bias).log_softmax(-1)
        return -(0.75 * log_probs[torch.arange(2), labels].mean() + 0.25 * log_probs.mean())

    assert_near(loss.total, plain, batch.source, model.weight, model.bias)
    assert loss.count == 2


def test_every_input_has_a_reply_and_blank_ones_no_prediction():
    inputs = [SimpleNamespace(size=3), SimpleNamespace(size=0), Unreadable("?"), SimpleNamespace(size=2)]
    predictor = Longest(Codec())
    assert predictor.answer(Model(), [*inputs, inputs[0]], None) == [
        (inputs[0], 3, None),
        (inputs[1], None, None),
        (inputs[2], None, None),
        (inputs[3], 2, None),
        (inputs[0], 3, None),
    ]


class Attends(nn.Module):
    """Attend by two heads of two layers."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(MultiheadAttention(4, 2) for _ in range(2))
        self.moved = nn.Parameter(torch.randn(9, 4))

    def forward(self, source):
        features = source.values[..., None] + self.moved
        for layer in self.layers:
            features = layer(features, features, features)
        return features[..., 0]


def test_weights_are_the_mean_of_heads_and_members_in_the_last_attention():
    torch.manual_seed(0)
    predictor, item, members = Longest(Codec()), SimpleNamespace(size=9), [Attends().eval() for _ in range(2)]
    alone = [predictor.weights(member, item) for member in members]
    for member, weights in zip(members, alone, strict=True):
        with look.record(member, detach=True) as records:
            member(predictor.codec.collate([item]).source)
        assert weights.equal(records[-1][1].weights[0].mean(0))
    both = nn.Module()
    both.members = nn.ModuleList(members)
    assert predictor.weights(both, item).equal(torch.stack(alone).mean(0))
    assert predictor.weights(Model(), item) is None
    assert predictor.answer(members[0], [item], None, "json")[0][2].equal(alone[0])
