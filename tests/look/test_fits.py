import json
from xml.etree import ElementTree

import pytest
import torch

from saccade.errors import ArgumentError, ShapeError
from saccade.look.fits import Answer, Curve, curve, widths

X = torch.linspace(0, 1, 11, dtype=torch.float64)
LINE = Curve(X, X, X - 1, X + 1, torch.tensor([[0.2, 0.1], [0.7, 0.9]]))
ASKED = Answer(0.5, 0.5, -0.5, 1.5)
TOLD = {"labels": ("age", "price"), "title": "a line"}


def story(path):
    return next(element.text for element in ElementTree.parse(path).iter() if element.tag.endswith("desc"))


@pytest.mark.parametrize("below", [{}, {"weights": torch.tensor([0.3, 0.7])}, {"slope": torch.ones(11)}])
def test_a_curve_is_drawn_with_what_weighed_below_it(below, tmp_path):
    paths = curve(LINE, ASKED, tmp_path / "a", **TOLD, **below, json=True)
    assert [path.name for path in paths] == ["a.png", "a.svg", "a.json"]
    told = json.loads(paths[2].read_text(encoding="utf-8"))
    assert told["rows"] == ["answer", "lower", "upper"] and len(told["values"]) == 3 == len(told["rows"])
    assert told["points"] == [[0.2, 0.1], [0.7, 0.9]] and (told["weights"] is None) == ("weights" not in below)
    said = story(paths[1])
    assert "0.5 is answered by 0.5, from -0.5 to 1.5" in said
    assert ("the largest weight, 0.7, has the point at 0.7" in said) == ("weights" in below)


def test_the_same_curve_is_the_same_files(tmp_path):
    paths = curve(LINE, ASKED, tmp_path / "a", **TOLD, json=True)
    before = paths[0].read_bytes()
    assert curve(LINE, ASKED, tmp_path / "a", **TOLD, json=True) == paths and paths[0].read_bytes() == before


def test_small_numbers_keep_their_digits_in_the_file(tmp_path):
    small = Curve(X * 1e-7, X * 1e-9, X - 1, X + 1, torch.tensor([[2e-8, 3e-9]]))
    told = json.loads(curve(small, ASKED, tmp_path / "a", **TOLD, json=True)[2].read_text(encoding="utf-8"))
    assert told["x"] == pytest.approx((X * 1e-7).tolist(), rel=1e-5) and told["x"][1] == 1e-8
    assert told["values"][0] == pytest.approx((X * 1e-9).tolist(), rel=1e-5) and told["points"] == [[2e-8, 3e-9]]


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"weights": torch.ones(3)}, ShapeError),
        ({"slope": torch.ones(3)}, ShapeError),
        ({"weights": torch.tensor([0.5, torch.nan])}, ArgumentError),
    ],
)
def test_what_does_not_fit_a_curve_is_refused(changed, error, tmp_path):
    with pytest.raises(error, match=f"^{next(iter(changed))}: expected shape|^found: expected finite numbers"):
        curve(LINE, ASKED, tmp_path / "a", **TOLD, **changed)
    assert not list(tmp_path.iterdir())


def test_bandwidths_are_drawn_with_the_one_that_is_taken(tmp_path):
    tried = torch.logspace(-1, 1, 5)
    paths = widths(tried, (tried - 1).square(), 1.2, tmp_path / "b", label="bandwidth", title="widths", json=True)
    assert "least at 1 (0), taken is 1.2" in story(paths[1])
    assert json.loads(paths[2].read_text(encoding="utf-8"))["chosen"] == 1.2
    with pytest.raises(ShapeError, match="errors: expected shape"):
        widths(tried, tried[:2], 1.0, tmp_path / "c", label="h", title="")
    with pytest.raises(ArgumentError, match="tried: expected bandwidths above 0"):
        widths(tried - 1, tried, 1.0, tmp_path / "c", label="h", title="")
