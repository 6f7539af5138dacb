import json

import pytest
import torch

from saccade.errors import ArgumentError, ShapeError
from saccade.look import Fit, Prediction, fit

X = torch.linspace(0, 1, 11, dtype=torch.float64)
LINE = Fit(X, X, X - 1, X + 1, torch.tensor([[0.2, 0.1], [0.7, 0.9]]))
CHOSEN = Prediction(0.5, 0.5, -0.5, 1.5)
ABOUT = {"labels": ("age", "price"), "title": "a line"}


@pytest.mark.parametrize("below", [{}, {"weights": torch.tensor([0.3, 0.7])}, {"slope": torch.ones(11)}])
def test_a_curve_is_drawn_with_its_weights_or_slope_below(below, tmp_path, figures, words):
    paths = fit(LINE, CHOSEN, tmp_path / "a", **ABOUT, **below, json=True)
    told = json.loads(paths[2].read_text(encoding="utf-8"))
    assert told["rows"] == ["answer", "lower", "upper"] and len(told["values"]) == 3
    assert told["points"] == [[0.2, 0.1], [0.7, 0.9]] and (told["weights"] is None) == ("weights" not in below)
    title, said = words(paths[1])
    assert title == "a line" and said.startswith("0.5 is answered by 0.5, from -0.5 to 1.5")
    assert ("the largest weight, 0.7, has the point at 0.7" in said) == ("weights" in below)
    assert [axes.get_ylabel() for axes in figures[0].axes[1:]] == [
        {"weights": "weight"}.get(name, name) for name in below
    ]


def test_small_numbers_keep_their_digits_in_the_file(tmp_path, figures):
    small = Fit(X * 1e-7, X * 1e-9, X - 1, X + 1, torch.tensor([[2e-8, 3e-9]]))
    told = json.loads(fit(small, CHOSEN, tmp_path / "a", **ABOUT, json=True)[2].read_text(encoding="utf-8"))
    assert told["x"] == pytest.approx((X * 1e-7).tolist(), rel=1e-5) and told["x"][1] == 1e-8
    assert told["values"][0] == pytest.approx((X * 1e-9).tolist(), rel=1e-5)
    assert told["points"][0] == pytest.approx([2e-8, 3e-9], rel=1e-5)


def test_a_fit_without_known_points_is_drawn(tmp_path, figures):
    assert fit(Fit(X, X, X, X, torch.zeros(0, 2)), CHOSEN, tmp_path / "a", **ABOUT, slope=torch.ones(11))


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"weights": torch.ones(3)}, ShapeError),
        ({"slope": torch.ones(3)}, ShapeError),
        ({"weights": torch.tensor([0.5, torch.nan])}, ArgumentError),
    ],
)
def test_what_does_not_fit_a_curve_is_rejected(changed, error, tmp_path):
    with pytest.raises(error, match=f"^{next(iter(changed))}: expected (shape|finite numbers)"):
        fit(LINE, CHOSEN, tmp_path / "a", **ABOUT, **changed)
    assert not list(tmp_path.iterdir())
