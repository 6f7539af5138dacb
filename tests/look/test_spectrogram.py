import json

import pytest
import torch

from saccade.errors import ArgumentError, ShapeError
from saccade.look import spectrogram

FRAMES = torch.arange(320.0).view(40, 8)


def test_a_picture_tells_when_each_token_was_heard(tmp_path, figures, words):
    weights = torch.eye(4)[[0, 2, 3]]
    paths = spectrogram(
        weights, FRAMES, ["one", "three", "⏎"], (1.9, 0.5), tmp_path / "a", title="one three", scale="share", json=True
    )
    assert words(paths[1]) == ("one three", "one at 0.25 s (1.00); three at 1.25 s (1.00); ⏎ at 1.75 s (1.00)")
    below, above, bar = figures[0].axes
    assert below.images[0].get_array().tolist() == weights.tolist() and below.images[0].get_extent() == [0, 2.0, 3, 0]
    assert above.images[0].get_array().shape == (8, 40) and below.get_xlim() == above.get_xlim() == (0, 1.9)
    assert (above.get_ylabel(), below.get_xlabel(), below.get_ylabel()) == ("frequency →", "seconds", "← written")
    assert bar.get_ylabel() == "share"
    told = json.loads(paths[2].read_text())
    assert told["step_seconds"] == 0.5 and told["values"] == weights.tolist()


def test_a_part_of_a_recording_is_drawn_at_its_time(tmp_path, figures, words):
    paths = spectrogram(torch.eye(4)[[0, 2]], FRAMES, ["one", "⏎"], (1.9, 0.5), tmp_path / "a", start=3.0, json=True)
    assert words(paths[1])[1] == "one at 3.25 s (1.00); ⏎ at 4.25 s (1.00)"
    below, above, _ = figures[0].axes
    assert below.images[0].get_extent() == [3, 5, 2, 0] and above.images[0].get_extent() == [3, 4.9, 0, 8]
    assert below.get_xlim() == (3, 4.9) and json.loads(paths[2].read_text())["start_seconds"] == 3


def test_signed_numbers_have_colours_around_white(tmp_path, figures, words):
    weights = torch.tensor([[0.1, -0.4], [0.3, 0.0]])
    paths = spectrogram(weights, FRAMES, ["one", "⏎"], (1.0, 0.5), tmp_path / "a", signed=True)
    assert words(paths[1])[1] == "one at 0.75 s (-0.40); ⏎ at 0.25 s (0.30)"
    assert figures[0].axes[0].images[0].get_clim() == pytest.approx((-0.4, 0.4))


def test_of_many_tokens_every_nth_is_named(tmp_path, figures):
    spectrogram(torch.ones(120, 5) / 5, FRAMES, ["字"] * 120, (1.0, 0.2), tmp_path / "many")
    below = figures[0].axes[0]
    assert len(below.get_yticklabels()) == 60 and below.get_position().height == pytest.approx(12)


def test_what_is_no_alignment_is_rejected(tmp_path):
    with pytest.raises(ShapeError, match=r"weights: expected shape \(2, steps\)"):
        spectrogram(torch.ones(3, 4), FRAMES, ["a", "b"], (1.0, 0.5), tmp_path / "a")
    for weights, frames in (
        (torch.full((1, 2), -1.0), FRAMES),
        (torch.ones(1, 0), FRAMES),
        (torch.ones(1, 2), FRAMES[:0]),
    ):
        with pytest.raises(ArgumentError, match="(weights|frames): expected"):
            spectrogram(weights, frames, ["a"], (1.0, 0.5), tmp_path / "a")
    assert not list(tmp_path.iterdir())
