from types import SimpleNamespace

import torch
from torch import nn

from saccade.models.padded import Padded
from saccade.tasks.labels.ranks import Batch
from saccade.tasks.predictor import Predictor


class Longest(Predictor):
    predicted = 6
    loss = baselines = answer = None


class Codec:
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
