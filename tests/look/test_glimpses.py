"""Paths of an eye: the places, what it saw there, and what it made of that."""

import json
from itertools import pairwise

import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image

from look.drawn import texts
from saccade.errors import ArgumentError, ShapeError
from saccade.look import glimpses
from saccade.look._glimpses import _draw_classes, _draw_path

IMAGE = torch.full((1, 30, 40), 128, dtype=torch.uint8)
PLACES = torch.tensor([[0.0, 0.0], [0.5, -1.0], [-1.0, 1.0]])
SHARES = torch.tensor([[0.5, 0.5], [0.2, 0.8], [0.1, 0.9]])


def drawn(folder, image=IMAGE, places=PLACES, shares=SHARES, sides=(8, 16), **more):
    about = {"probabilities": shares, "labels": ("cat", "dog"), "title": "dog 0.90", **more}
    return glimpses(image, places, sides, folder / "a", **about)


def test_a_picture_an_animation_and_the_numbers_behind_them(tmp_path, figures, words):
    png, svg, gif, numbers = drawn(tmp_path, json=True)
    assert [path.name for path in (png, svg, gif, numbers)] == ["a.png", "a.svg", "a.gif", "a.json"]
    told = json.loads(numbers.read_text())
    assert told["location"] == PLACES.tolist() and told["sides"] == [8, 16]
    torch.testing.assert_close(torch.tensor(told["values"]), SHARES)
    title, said = words(svg)
    assert title == "dog 0.90" and "glimpse 2 at x 0.50, y -1.00: dog (0.80)" in said
    assert len(figures[0].axes) == 2 + 3 * 2  # the image, the chart, and two scales of three glimpses
    with Image.open(gif) as animation:
        assert animation.n_frames == 3 and animation.size == (240, 180)
        first = animation.convert("RGB")
        assert first.getpixel((120, 90))[0] > first.getpixel((5, 5))[0]  # the middle is seen, the corner is dark


def test_what_was_said_on_the_way_stands_over_its_glimpse(tmp_path, figures, words):
    _, svg, _ = drawn(tmp_path, said={0: "cat", 2: "dog"})
    said = words(svg)[1]
    assert "cat (0.50), says cat; glimpse 2 at" in said and "dog (0.90), says dog" in said
    assert {"1: cat", "2", "3: dog"} <= set(texts(figures[0]))


def test_the_patches_of_eight_glimpses_are_drawn(tmp_path, figures):
    places = torch.linspace(-1, 1, 24).view(12, 2)
    drawn(tmp_path, places=places, shares=torch.full((12, 2), 0.5), sides=[8])
    assert len(figures[0].axes) == 2 + 8 and figures[0].axes[-1].get_xlim() == (0.5, 12.5)
    assert "8 of 12 glimpses' patches are drawn, not the last 4: 9, 10, 11, 12" in texts(figures[0])


def test_a_photograph_is_drawn_no_larger_than_it_can_be_seen(tmp_path, figures):
    gif, numbers = drawn(tmp_path, torch.zeros(1, 10, 2000, dtype=torch.uint8), sides=[1], json=True)[2:]
    with Image.open(gif) as animation:
        assert animation.size == (960, 5)
    assert json.loads(numbers.read_text())["sides"] == [1]


def test_names_of_classes_do_not_cover_each_other():
    figure = Figure(figsize=(4, 3))
    axes = figure.add_axes((0.2, 0.2, 0.6, 0.4))
    _draw_classes(axes, torch.full((1, 3), 1 / 3), ("a", "b", "c"), {})
    names = [text.get_window_extent() for text in axes.texts]
    assert all(above.y0 > below.y1 - 1 for above, below in pairwise(names))


def test_numbers_of_glimpses_stay_on_the_image():
    axes = Figure().add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 28), ylim=(28, 0))
    _draw_path(axes, [[(0.0, 0.0, 100.0)]] * 6)  # a tile larger than the image, whose middle is outside
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
def test_what_does_not_fit_is_rejected(tmp_path, image, places, shares, error):
    with pytest.raises(error, match="expected"):
        drawn(tmp_path, image, places, shares)
    assert not list(tmp_path.iterdir())
