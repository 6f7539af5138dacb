"""Paths over images: what is drawn, what stands beside it, and what is refused."""

import json
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image

from saccade.errors import ArgumentError, ShapeError
from saccade.look.paths import _draw_classes, _draw_path, path_pictures

IMAGE = torch.full((1, 30, 40), 128, dtype=torch.uint8)
PLACES = torch.tensor([[0.0, 0.0], [0.5, -1.0], [-1.0, 1.0]])
STYLE = {"family": "sans-serif", "color": "black"}
SHARES = torch.tensor([[0.5, 0.5], [0.2, 0.8], [0.1, 0.9]])


def drawn(folder, **more):
    given = {"probabilities": SHARES, "labels": ("cat", "dog"), "title": "dog 0.90", **more}
    return path_pictures(IMAGE, PLACES, [8, 16], folder / "a", **given)


def test_a_picture_an_animation_and_the_numbers_behind_them(tmp_path):
    png, svg, gif, numbers = drawn(tmp_path, json=True)
    assert [path.name for path in (png, svg, gif, numbers)] == ["a.png", "a.svg", "a.gif", "a.json"]
    told = json.loads(numbers.read_text())
    assert told["location"] == PLACES.tolist() and told["sides"] == [8, 16]
    torch.testing.assert_close(torch.tensor(told["values"]), SHARES)
    words = " ".join(ET.parse(svg).getroot().itertext())
    assert "glimpse 2 at x 0.50, y -1.00: dog (0.80)" in words and "dog 0.90" in words
    with Image.open(gif) as animation:
        assert animation.n_frames == 3 and animation.size == (240, 180)
        first = animation.convert("RGB")
        assert first.getpixel((120, 90))[0] > first.getpixel((5, 5))[0]  # the middle is seen, the corner is dark
    before = [path.read_bytes() for path in (png, svg, gif)]
    assert [path.read_bytes() for path in drawn(tmp_path)] == before  # the same picture is the same bytes


def test_what_was_said_on_the_way_stands_over_its_glimpse(tmp_path):
    _, svg, _ = drawn(tmp_path, said={0: "cat", 2: "dog"})
    words = " ".join(ET.parse(svg).getroot().itertext())
    assert "cat (0.50), says cat; glimpse 2 at" in words and "dog (0.90), says dog" in words


def test_a_photograph_is_drawn_no_larger_than_it_can_be_seen(tmp_path):
    image = torch.zeros(1, 10, 2000, dtype=torch.uint8)
    given = {"probabilities": SHARES, "labels": ("cat", "dog")}
    gif, numbers = path_pictures(image, PLACES, [1], tmp_path / "a", json=True, **given)[2:]
    with Image.open(gif) as animation:
        assert animation.size == (960, 5)
    assert json.loads(numbers.read_text())["sides"] == [1]


def test_what_stands_beside_an_image_does_not_cover_it():
    figure = Figure(figsize=(4, 3))
    axes = figure.add_axes((0.2, 0.2, 0.6, 0.4))
    _draw_classes(axes, torch.full((1, 3), 1 / 3), ("a", "b", "c"), {}, STYLE)
    names = [text.get_window_extent() for text in axes.texts]
    assert all(above.y0 > below.y1 for above, below in pairwise(names))
    assert axes.xaxis.label.get_window_extent().x0 >= axes.get_window_extent().x0 - 1


def test_numbers_of_glimpses_stay_on_the_image():
    axes = Figure().add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 28), ylim=(28, 0))
    _draw_path(axes, [[(0.0, 0.0, 100.0)]] * 6, STYLE)  # a tile larger than the image, whose middle is outside
    (told,) = axes.texts
    assert told.get_position() == (28, 28) and told.get_text() == "1, 2, …, 6"


@pytest.mark.parametrize(
    ("image", "places", "shares", "error"),
    [
        (IMAGE.float(), PLACES, SHARES, ShapeError),
        (IMAGE.expand(2, 30, 40), PLACES, SHARES, ShapeError),
        (IMAGE, PLACES[:, :1], SHARES, ShapeError),
        (IMAGE, PLACES, SHARES[:2], ShapeError),
        (IMAGE, PLACES[:0], SHARES[:0], ArgumentError),
        (IMAGE, torch.zeros(101, 2), torch.zeros(101, 2), ArgumentError),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, image, places, shares, error):
    with pytest.raises(error, match="expected"):
        path_pictures(image, places, [8], tmp_path / "a", probabilities=shares, labels=("cat", "dog"))
    assert not list(tmp_path.iterdir())
