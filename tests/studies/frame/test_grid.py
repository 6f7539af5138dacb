import pytest
import torch

from look.drawn import texts
from saccade.errors import ArgumentError
from studies.frame.grid import grid
from study_rows import described


@pytest.fixture
def figures(monkeypatch):
    kept = []
    saved = b'<svg xmlns="http://www.w3.org/2000/svg" width="1"></svg>'
    monkeypatch.setattr("saccade.look._figure._saved", lambda figure, form: kept.append(figure) or saved)
    return kept


def test_images_stand_under_their_names(tmp_path, figures):
    images = [[torch.eye(3), torch.zeros(3, 3)], [torch.full((2, 5), 0.5), torch.ones(4, 4)]]
    _, svg = grid(images, tmp_path / "a", rows=["one", "two"], columns=["x", "y"], title="t", note="n")
    assert described(svg) == {"title": "t", "desc": "2 rows of 2: one, two; columns: x, y"}
    assert texts(figures[0]) == ["one", "two", "x", "y", "t", "n"]
    assert [axes.images[0].get_array().tolist() for axes in figures[0].axes] == [
        image.tolist() for row in images for image in row
    ]


@pytest.mark.parametrize("weights", [False, True])
def test_images_share_a_scale_and_weights_have_one_a_row(weights, tmp_path, figures):
    images = [[torch.eye(3), torch.eye(3) / 2], [torch.eye(3) / 4, torch.eye(3) / 8]]
    grid(images, tmp_path / "a", rows=["one", "two"], title="t", weights=weights)
    ends = [axes.images[0].get_clim() for axes in figures[0].axes]
    assert ends == ([(0, 1), (0, 1), (0, 0.25), (0, 0.25)] if weights else [(0, 1)] * 4)


def test_images_above_1_are_rejected_unless_weights(tmp_path, figures):
    images = [[torch.full((2, 2), 7.0)]]
    with pytest.raises(ArgumentError, match="images: expected numbers from 0 to 1, got more"):
        grid(images, tmp_path / "a", rows=["a"], title="t")
    assert grid(images, tmp_path / "a", rows=["a"], title="t", weights=True)
