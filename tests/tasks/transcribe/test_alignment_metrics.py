import torch

from saccade.tasks.transcribe.alignment_metrics import Health, health, overall


def test_a_path_that_moves_on_is_healthy_and_one_that_stands_or_jumps_is_not():
    steady = torch.eye(10)[[0, 2, 4, 6, 9, 3]]
    assert health(steady) == Health(1.0, 1.0)
    assert health(torch.eye(10)[[3, 3, 3, 9]]) == Health(1.0, 0.0)
    jumping = health(torch.eye(10)[[9, 0, 9, 0, 9, 4]])
    assert jumping.monotonicity == 0.5 and jumping.coverage == 1.0


def test_going_back_by_less_than_half_a_step_is_none():
    a, b = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.9, 0.1, 0.0])  # centres 0.5 and 0.1
    assert health(torch.stack([a, b, a])).monotonicity == 1.0
    assert health(torch.stack([torch.tensor([0.0, 1.0, 0.0]), b, b])).monotonicity == 0.0


def test_one_token_and_one_step_are_no_problem():
    assert health(torch.ones(1, 1)) == health(torch.ones(2, 1)) == Health(1.0, 0.0)
    assert overall([Health(1.0, 0.5), Health(0.0, 0.0)]) == Health(0.5, 0.25)
