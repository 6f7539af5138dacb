import pytest
import torch
from PIL import Image

from saccade.errors import ArgumentError, ShapeError
from saccade.look.spectrogram import draw


def test_a_picture_says_when_each_token_was_heard(tmp_path):
    weights = torch.eye(4)[[0, 2, 3]]
    png, svg = draw(weights, torch.randn(40, 8), ["one", "three", "⏎"], (2.0, 0.5), tmp_path / "a", title="one three")
    assert png.read_bytes()[:4] == b"\x89PNG"
    text = svg.read_text()
    assert "<title>one three</title>" in text
    assert "one at 0.25 s (1.00); three at 1.25 s (1.00); " in text


def test_the_same_picture_is_the_same_files(tmp_path):
    for _ in range(2):
        draw(torch.ones(2, 3) / 3, torch.zeros(9, 2), ["a", "b"], (0.1, 0.05), tmp_path / "same")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("count", [1, 80])
def test_any_number_of_tokens_can_be_drawn(tmp_path, count):
    weights = torch.ones(count, 5) / 5
    png, _ = draw(weights, torch.randn(3, 1), ["字"] * count, (1.0, 0.2), tmp_path / "many")
    with Image.open(png) as image:
        assert max(image.size) < 3000


def test_what_is_no_alignment_is_refused(tmp_path):
    frames = torch.zeros(5, 2)
    with pytest.raises(ShapeError, match=r"weights: expected shape \(2, steps\)"):
        draw(torch.ones(3, 4), frames, ["a", "b"], (1.0, 0.5), tmp_path / "a")
    for weights, its in (
        (torch.full((1, 2), -1.0), frames),
        (torch.ones(1, 0), frames),
        (torch.ones(1, 2), frames[:0]),
    ):
        with pytest.raises(ArgumentError, match="weights: expected"):
            draw(weights, its, ["a"], (1.0, 0.5), tmp_path / "a")
    assert not list(tmp_path.iterdir())
