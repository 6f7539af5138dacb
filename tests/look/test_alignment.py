"""Alignments: the matrix as it is, named on both sides, with how sharp it is."""

import json
from unittest.mock import patch

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from look.drawn import texts
from saccade import errors
from saccade.look import alignment


def weights(rows, columns):
    return torch.full((rows, columns), 1 / columns)


@pytest.mark.parametrize(
    ("source", "target"),
    [("18 juin⏎", "2025-06-18"), ("יום רביעי⏎", "2025"), ("बुधवार, 18 जून⏎", "2025"), ("2025年6月18日", "⏎")],
)
def test_any_script_is_drawn_without_a_warning(source, target, tmp_path, caplog):
    png, svg = alignment(weights(len(target), len(source)), list(source), list(target), tmp_path / "a")
    assert png.stat().st_size > 1000 and "<svg" in svg.read_text(encoding="utf-8") and not caplog.records


def test_svg_describes_every_row(tmp_path, figures, words):
    matrix = torch.tensor([[0.1, 0.9], [0.75, 0.25]])
    _, svg = alignment(matrix, ["<le>", "chat"], ["cat", "&"], tmp_path / "a", title="A < B")
    title = "A < B: sharp, largest weight of a row 0.82 on average (even: 0.50)"
    assert words(svg) == (title, "cat attends to chat (0.90); & attends to <le> (0.75)")
    _, svg = alignment(matrix, ["<le>", "chat"], ["cat", "&"], tmp_path / "b", verb="is moved most by")
    assert words(svg)[1] == "cat is moved most by chat (0.90); & is moved most by <le> (0.75)"


@pytest.mark.parametrize(("largest", "word"), [(0.5, "sharp"), (0.3, "spread"), (0.15, "nearly even")])
def test_the_title_tells_how_sharp_rows_are(largest, word, tmp_path, figures, words):
    matrix = torch.full((1, 10), (1 - largest) / 9)
    matrix[0, 4] = largest
    _, svg = alignment(matrix, list("abcdefghij"), ["x"], tmp_path / "a")
    assert words(svg)[0] == f"Attention: {word}, largest weight of a row {largest:.2f} on average (even: 0.10)"


def test_rows_are_targets_and_columns_sources(tmp_path, figures):
    matrix = torch.tensor([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]])
    alignment(matrix, list("abc"), list("xy"), tmp_path / "a", axes=("expert →", "token ↓"), scale="share")
    [figure] = figures
    axes, bar = figure.axes
    places = {text.get_text(): text.get_position() for text in figure.texts}
    assert [places[name][0] / 0.27 for name in "abc"] == pytest.approx([0.5, 1.5, 2.5])
    assert [(1 - places[name][1]) / 0.27 for name in "xy"] == pytest.approx([0.5, 1.5])
    assert axes.get_ylim() == (2, 0) and axes.get_xlim() == (0, 3)
    assert axes.collections[0].get_array().tolist() == matrix.tolist()
    assert "expert →\ntoken ↓" in places and bar.get_ylabel() == "share"


def test_signed_numbers_have_colours_around_white(tmp_path, figures, words):
    matrix = torch.tensor([[0.5, -0.25], [0.0, -2.0]])
    _, svg, numbers = alignment(matrix, ["le", "chat"], ["the", "cat"], tmp_path / "a", signed=True, json=True)
    assert words(svg) == ("Attention: from -2 to 0.5", "the attends to le (0.50); cat attends to chat (-2.00)")
    [cells], bar = figures[0].axes[0].collections, figures[0].axes[1]
    assert cells.get_clim() == (-2, 2) == bar.get_ylim() and json.loads(numbers.read_text())["darkest"] == 2
    against, nothing, favour = cells.cmap([0.25, 0.5, 0.75])[:, [0, 2]]  # red and blue
    assert against[0] > against[1] and favour[1] > favour[0] and nothing.tolist() == pytest.approx([1, 1], abs=0.02)
    with pytest.raises(errors.ArgumentError, match="weights: expected finite numbers of at least 0"):
        alignment(matrix, ["le", "chat"], ["the", "cat"], tmp_path / "b")


def test_a_label_of_several_tokens_stands_over_their_middle(tmp_path, figures):
    alignment(weights(1, 3), list("जून"), ["6"], tmp_path / "a")
    places = {text.get_text(): text.get_position()[0] / 0.27 for text in figures[0].texts}
    assert places["जू"] == pytest.approx(1.0) and places["न"] == pytest.approx(2.5)
    assert "read →\nwritten ↓" in places


@pytest.mark.slow
def test_size_follows_the_tokens_within_bounds(tmp_path):
    def size(rows, columns):
        png, svg = alignment(weights(rows, columns), ["a"] * columns, ["b"] * rows, tmp_path / f"{rows}")
        assert svg.stat().st_size < 5e6
        with Image.open(png) as picture:
            return max(picture.size)

    assert 200 < size(5, 5) < 1000 and 2000 < size(80, 80) < 3000 and size(40, 3000) < 14_000


def test_long_labels_are_cut(tmp_path, figures):
    _, svg = alignment(weights(1, 2), ["a" * 40, "b" * 41], ["y" * 9000], tmp_path / "a")
    assert {"a" * 40, "b" * 39 + "…", "y" * 39 + "…"} <= set(texts(figures[0]))
    assert "y" * 9000 in svg.read_text()


def test_equal_weights_are_pale_and_the_largest_is_darkest(tmp_path, figures):
    paths = alignment(torch.full((2, 10), 0.1), list("abcdefghij"), ["x", "y"], tmp_path / "a", title="t", json=True)
    told = json.loads(paths[-1].read_text())
    assert (told["rows"], told["columns"]) == (["x", "y"], list("abcdefghij"))
    assert told["values"] == [[0.1] * 10] * 2 and told["darkest"] == 0.4
    matrix = torch.full((2, 20), 0.03)
    matrix[0, 7] = 0.43
    alignment(matrix, list("abcdefghijklmnopqrst"), ["x", "y"], tmp_path / "b")
    limits = [figure.axes[0].collections[0].get_clim() for figure in figures]
    assert limits == [(0.0, pytest.approx(0.4)), (0.0, pytest.approx(0.43))]


def test_weights_of_another_shape_are_rejected(tmp_path):
    for shape in ((2, 2), (1, 2, 3)):
        with pytest.raises(errors.ShapeError, match=r"weights: expected shape \(2, 3\), got "):
            alignment(torch.ones(shape), list("abc"), list("xy"), tmp_path / "a")
    with pytest.raises(errors.ArgumentError, match="weights: expected one number or more"):
        alignment(torch.ones(2, 0), [], ["x", "y"], tmp_path / "a")
    assert not list(tmp_path.iterdir())


@given(source=st.lists(st.text(max_size=4), min_size=1, max_size=6), title=st.none() | st.text(max_size=9))
def test_any_text_is_drawn(source, title, tmp_path_factory):
    folder = tmp_path_factory.mktemp("any")
    with patch("saccade.look._figure._saved", return_value=b'<svg width="1"></svg>'):
        assert len(alignment(weights(2, len(source)), source, ["$x$", "_"], folder / "a", title=title)) == 2
