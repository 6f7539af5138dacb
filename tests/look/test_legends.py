"""Matplotlib times its search for a legend's place and warns when a second has gone by, as on a busy machine."""

from itertools import count
from types import SimpleNamespace
from unittest.mock import patch

import pytest
import torch

from bench.fake import row
from saccade.bench._plot import draw as ratios
from saccade.bench.row import Result
from saccade.look.curves import Curve, draw
from saccade.look.dot_plot import Dots
from saccade.look.dot_plot import draw as dots
from saccade.look.fits import Answer, curve, widths
from saccade.look.fits import Curve as Fit

X = torch.linspace(0, 1, 11)


PICTURES = {
    "curves": lambda path: draw(
        [Curve("a", [1, 2], [1, 2], [0, 0], [False, False])], path, ticks=[(1, "1")], labels=("x", "y"), title="t"
    ),
    "dots": lambda path: dots(["a"], [Dots("b", [1.0], [0.1]), Dots("c", [1.0], [0.1])], path, label="x", title="t"),
    "fits": lambda path: curve(
        Fit(X, X, X - 1, X + 1, torch.tensor([[0.2, 0.1]])),
        Answer(0.5, 0.5, 0.0, 1.0),
        path,
        labels=("x", "y"),
        title="",
    ),
    "widths": lambda path: widths(X[1:], X[1:], 0.5, path, label="h", title="t"),
    "ratios": lambda path: ratios(
        [Result(row(size=size), 1.0, 2.0, 2.0) for size in (32, 64)], path, title="t", note="n"
    ),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_slow_machine_draws_legends_without_a_warning(name, tmp_path):
    ticks = count(0, 10)
    with patch("matplotlib.legend.time", SimpleNamespace(perf_counter=lambda: next(ticks))):
        assert PICTURES[name](tmp_path / "a")
    assert name == "dots" or next(ticks) > 0, "no legend looked for its place"
