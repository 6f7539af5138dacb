import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.tasks.transcribe.alignment_metrics import AlignmentMetrics, alignment_metrics, mean_metrics, sounding


def test_a_moving_path_is_healthy_and_a_stuck_one_is_not():
    steady = torch.eye(10)[[0, 2, 4, 6, 9, 3]]
    assert alignment_metrics(steady) == AlignmentMetrics(1.0, 1.0)
    assert alignment_metrics(torch.eye(10)[[3, 3, 3, 9]]) == AlignmentMetrics(1.0, 0.0)
    jumping = alignment_metrics(torch.eye(10)[[9, 0, 9, 0, 9, 4]])
    assert jumping.monotonicity == 0.5 and jumping.coverage == 1.0


def test_going_back_by_less_than_half_a_step_is_none():
    a, b = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.9, 0.1, 0.0])  # centres 0.5 and 0.1
    assert alignment_metrics(torch.stack([a, b, a])).monotonicity == 1.0
    assert alignment_metrics(torch.stack([torch.tensor([0.0, 1.0, 0.0]), b, b])).monotonicity == 0.0


def test_one_token_and_one_step_are_no_problem():
    assert alignment_metrics(torch.ones(1, 1)) == AlignmentMetrics(None, None)
    assert str(AlignmentMetrics(0.954, 0.5)) == "monotonic 0.95, covers 0.50 of the audio"
    assert str(AlignmentMetrics(None, None)) == "a single token"
    assert alignment_metrics(torch.ones(3, 1)) == AlignmentMetrics(1.0, 0.0)
    assert mean_metrics([AlignmentMetrics(1.0, 0.5), AlignmentMetrics(0.0, 0.0)]) == AlignmentMetrics(0.5, 0.25)


def test_a_single_token_has_no_order_but_lies_on_sound():
    sound = torch.tensor([True, True, False, False, False])
    for place, share in ((0, 1.0), (4, 0.0)):
        found = alignment_metrics(torch.eye(5)[[place, 2]], sound)
        assert found == AlignmentMetrics(None, None, share, 0.4)
        assert str(found) == f"{share:.0%} on sound, 40% if spread evenly"
    means = mean_metrics([found, AlignmentMetrics(1.0, 0.5, 1.0, 0.6)])
    assert means == AlignmentMetrics(1.0, 0.5, 0.5, 0.5)  # of each over those that have it
    assert mean_metrics([AlignmentMetrics(None, None)]) == AlignmentMetrics(None, None)


def test_sound_is_where_a_recording_is_louder_than_its_mean():
    loudness = torch.tensor([0.0, 0.0, 0.0, 9.0, 9.0, 9.0, 9.0, 1.0, 9.0])
    assert sounding(loudness, 2).tolist() == [False, False, True, False, True]  # the last of an odd frame
    assert not sounding(torch.zeros(5), 4).any()  # silence has no sound


@given(st.integers(1, 6), st.integers(1, 7), st.integers(0, 99))
def test_shares_are_shares_and_reading_backwards_turns_the_order(tokens, steps, seed):
    draws = torch.Generator().manual_seed(seed)
    weights = torch.rand(tokens + 1, steps, generator=draws).softmax(-1)
    found, mirrored = alignment_metrics(weights), alignment_metrics(weights.flip(1))
    assert all(share is None or 0 <= share <= 1 for share in (*found, *mirrored))
    assert (found.coverage is None) == (tokens == 1) == (found.monotonicity is None)
    if found.coverage is not None:
        assert found.coverage == pytest.approx(mirrored.coverage, abs=1e-6)  # it spans as much of the audio either way
    changed = weights.clone()
    changed[-1] = torch.eye(steps)[0]
    assert alignment_metrics(changed) == found  # the end is heard nowhere
