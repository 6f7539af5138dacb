"""A map over an image: which part of it a number covers."""

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from saccade.look.panels import draw_panel, show_pixels


def pixels_of(draw):
    figure = Figure(figsize=(1, 1), dpi=80)
    draw(figure.add_axes((0, 0, 1, 1)))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(int)


@pytest.mark.parametrize("side", [4, 200])
def test_an_image_fills_its_axes(side):
    image = torch.zeros(side, side, 3, dtype=torch.double)
    image[: side // 2, :, 0] = 1.0
    shown = pixels_of(lambda axes: show_pixels(axes, image))
    assert (shown[5:35, 5:-5] == [255, 0, 0]).all() and (shown[45:-5, 5:-5] == 0).all()


def test_a_number_covers_its_part_and_the_largest_is_the_brightest():
    image, values = torch.full((8, 8, 3), 0.5, dtype=torch.double), torch.zeros(4, 2, dtype=torch.double)
    values[2, 1] = 1.0
    shown = pixels_of(lambda axes: draw_panel(axes, image, values, 1.0, None)).sum(-1)
    assert shown[42:58, 42:-5].min() > shown[5:38].max() + 100
    framed = pixels_of(lambda axes: draw_panel(axes, image, values, 1.0, (0.0, 0.0, 0.5, 0.25))).sum(-1)
    assert (framed != shown)[:25, :45].any() and (framed == shown)[25:].all()
