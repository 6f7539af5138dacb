from unittest.mock import patch
from xml.etree import ElementTree

import pytest
import torch
from matplotlib.figure import Figure

from saccade.errors import ArgumentError, ShapeError
from saccade.look.grid import grid

IMAGES = [[torch.eye(3), torch.zeros(3, 3)], [torch.full((2, 5), 0.5), torch.ones(4, 4)]]


def test_both_files_are_drawn_and_the_svg_says_what_it_shows(tmp_path):
    paths = grid(IMAGES, tmp_path / "a", rows=["one", "two"], columns=["x", "y"], title="t", note="n")
    assert [path.name for path in paths] == ["a.png", "a.svg"]
    root = ElementTree.fromstring(paths[1].read_text(encoding="utf-8"))
    told = {element.tag.rsplit("}")[-1]: element.text for element in root if element.text}
    assert told["title"] == "t" and told["desc"] == "2 rows of 2: one, two; columns: x, y"
    assert grid(IMAGES, tmp_path / "a", rows=["one", "two"], columns=["x", "y"], title="t", note="n") == paths


@pytest.mark.parametrize("weights", [False, True])
def test_images_share_a_scale_and_weights_have_one_a_row(weights, tmp_path):
    images = [[torch.eye(3), torch.eye(3) / 2], [torch.eye(3) / 4, torch.eye(3) / 8]]
    shown = []

    class Kept(Figure):
        def savefig(self, *arguments, **options):
            shown.extend(axes.images[0].get_clim() for axes in self.axes)
            super().savefig(*arguments, **options)

    with patch("matplotlib.figure.Figure", Kept):
        grid(images, tmp_path / "a", rows=["one", "two"], title="t", weights=weights)
    assert shown[:4] == ([(0, 1), (0, 1), (0, 0.25), (0, 0.25)] if weights else [(0, 1)] * 4)


@pytest.mark.parametrize(
    ("images", "rows", "columns", "error", "said"),
    [
        ([], [], [], ArgumentError, "images: expected one or more, got none"),
        ([[torch.eye(2)], []], ["a", "b"], [], ShapeError, "got rows of 0, 1 with 2 and 0 names"),
        ([[torch.eye(2)]], ["a", "b"], [], ShapeError, "got rows of 1 with 2 and 0 names"),
        ([[torch.eye(2)]], ["a"], ["x", "y"], ShapeError, "got rows of 1 with 1 and 2 names"),
        ([[torch.ones(3)]], ["a"], [], ShapeError, r"expected matrices of a number or more, got shape \(3,\)"),
        ([[torch.full((2, 2), 1.5)]], ["a"], [], ArgumentError, "expected finite numbers from 0 to 1, got others"),
    ],
)
def test_what_cannot_be_drawn_is_refused(images, rows, columns, error, said, tmp_path):
    with pytest.raises(error, match=said):
        grid(images, tmp_path / "a", rows=rows, columns=columns, title="t")


def test_weights_may_be_above_1_but_not_below_0(tmp_path):
    grid([[torch.full((2, 2), 7.0)]], tmp_path / "a", rows=["a"], title="t", weights=True)
    with pytest.raises(ArgumentError, match="expected finite numbers from 0, got others"):
        grid([[torch.full((2, 2), -1.0)]], tmp_path / "b", rows=["a"], title="t", weights=True)
