import pytest
import torch

from look.drawn import texts
from saccade.errors import ArgumentError, ShapeError
from saccade.look import grid

IMAGES = [[torch.eye(3), torch.zeros(3, 3)], [torch.full((2, 5), 0.5), torch.ones(4, 4)]]


def test_images_stand_under_their_names(tmp_path, figures, words):
    _, svg = grid(IMAGES, tmp_path / "a", rows=["one", "two"], columns=["x", "y"], title="t", note="n")
    assert words(svg) == ("t", "2 rows of 2: one, two; columns: x, y")
    assert texts(figures[0]) == ["one", "two", "x", "y", "t", "n"]
    assert [axes.images[0].get_array().tolist() for axes in figures[0].axes] == [
        image.tolist() for row in IMAGES for image in row
    ]


@pytest.mark.parametrize("weights", [False, True])
def test_images_share_a_scale_and_weights_have_one_a_row(weights, tmp_path, figures):
    images = [[torch.eye(3), torch.eye(3) / 2], [torch.eye(3) / 4, torch.eye(3) / 8]]
    grid(images, tmp_path / "a", rows=["one", "two"], title="t", weights=weights)
    ends = [axes.images[0].get_clim() for axes in figures[0].axes]
    assert ends == ([(0, 1), (0, 1), (0, 0.25), (0, 0.25)] if weights else [(0, 1)] * 4)


@pytest.mark.parametrize(
    ("images", "rows", "columns", "error", "said"),
    [
        ([], [], [], ArgumentError, "images: expected one or more, got none"),
        ([[torch.eye(2)], []], ["a", "b"], [], ShapeError, "got rows of 0, 1 with 2 and 0 names"),
        ([[torch.eye(2)]], ["a"], ["x", "y"], ShapeError, "got rows of 1 with 1 and 2 names"),
        ([[torch.ones(3)]], ["a"], [], ShapeError, r"images: expected shape \(height, width\), got \(3,\)"),
        ([[torch.full((2, 2), 1.5)]], ["a"], [], ArgumentError, "images: expected numbers from 0 to 1, got more"),
        ([[torch.full((2, 2), -1.0)]], ["a"], [], ArgumentError, "images: expected finite numbers of at least 0"),
    ],
)
def test_what_cannot_be_drawn_is_rejected(images, rows, columns, error, said, tmp_path):
    with pytest.raises(error, match=said):
        grid(images, tmp_path / "a", rows=rows, columns=columns, title="t")


def test_weights_may_be_above_1(tmp_path, figures):
    assert grid([[torch.full((2, 2), 7.0)]], tmp_path / "a", rows=["a"], title="t", weights=True)
