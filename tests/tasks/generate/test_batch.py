import torch

from saccade.models.padded import Padded
from saccade.tasks.generate.batch import Batch, target_ids


def test_targets_have_ends_and_padding():
    assert target_ids([[9], [4, 5, 6], []]).tolist() == [[1, 9, 2, 0, 0], [1, 4, 5, 6, 2], [1, 2, 0, 0, 0]]


def test_both_sides_move_to_a_device():
    batch = Batch(Padded(torch.ones(1, 2), torch.tensor([2])), target_ids([[9]])).to(torch.device("meta"))
    assert batch.source.values.is_meta and batch.target.is_meta
