"""The bar that says what colours mean runs from one end to the other, without a step or a block of another colour."""

import io
import math

import numpy as np
import pytest
import torch
from PIL import Image

from saccade.look import highlights, overlays, pictures
from saccade.look.drawing import full_scale, own_filters
from saccade.look.labels import labels

VALUES = {
    "weights": torch.rand(6, 6, generator=torch.Generator().manual_seed(0)).double(),
    "below a half": torch.full((6, 6), 0.137).double(),
    "no round number": torch.full((6, 6), 0.3 * (1 - 1e-9)).double(),
    "tiny": torch.linspace(0, 1e-6, 36).reshape(6, 6).double(),
    "large": torch.linspace(0, 37.3, 36).reshape(6, 6).double(),
    "zeros": torch.zeros(6, 6).double(),
}


def alignment(values):
    return pictures._figure(values, labels(["a"] * 6), labels(["b"] * 6), ("a", "b"), "")


def overlay(values):
    top = full_scale(float(values.max()), 1 / 36, math.inf)
    return overlays._figure(torch.rand(20, 50, 3).double(), values[None], ["x"], [None], "", top)


def bar(figure):
    """The lightness of the middle of the bar, from its top to its bottom, without its frame."""
    from matplotlib.transforms import Bbox

    place, size = figure.axes[-1].get_position(), figure.get_size_inches()
    figure.axes[-1].spines[:].set(visible=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches=Bbox(place.get_points() * size), pad_inches=0)
    pixels = np.asarray(Image.open(buffer).convert("L")).astype(int)
    return pixels[2:-2, pixels.shape[1] // 2]


@pytest.mark.parametrize("kind", [alignment, overlay])
@pytest.mark.parametrize("name", VALUES)
def test_a_bar_runs_from_end_to_end(kind, name):
    with own_filters():
        lightness = bar(kind(VALUES[name]))
    if kind is overlay:  # whose colours are the lightest where numbers are the largest
        lightness = lightness[::-1]
    assert lightness[0] < 25 and lightness[-1] > 225 and len(lightness) > 50
    steps = np.diff(lightness)
    assert (steps >= 0).all() and steps.max() < 12


@pytest.mark.parametrize("low", [0.0, -0.4])
def test_the_bar_of_a_text_runs_from_end_to_end(low):
    from matplotlib.figure import Figure

    axes = Figure().add_axes((0, 0, 1, 1))
    highlights._legend(axes, 0.0, highlights._Scale(0.4, low, None), {})
    *colours, frame = axes.patches
    share = np.array([patch.get_facecolor()[:3] for patch in colours]) @ (0.299, 0.587, 0.114)
    middle = 0 if low == 0 else 32
    assert not frame.fill and (np.diff(share[middle:]) <= 0).all() and (np.diff(share[:middle]) >= 0).all()
    assert share[-1] < 0.1 and share[middle] > 0.97
