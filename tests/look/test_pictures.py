"""Pictures: right files, right sizes, the same bytes each time, readable by machines as well."""

import json
import struct
from xml.etree import ElementTree

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade import errors
from saccade.look.labels import labels
from saccade.look.pictures import _figure, _names, alignment

DATES = [
    "mercredi 18 juin 2025",
    "2019年2月15日",
    "יום רביעי, 18 ביוני 2025",
    "الأربعاء، ١٨ يونيو ٢٠٢٥",
    "बुधवार, 18 जून 2025",
    "วันพุธที่ 18 มิถุนายน",
    "2025년 6월 18일 수요일",
]


def weights(rows, columns):
    return torch.softmax(torch.randn(rows, columns, generator=torch.Generator().manual_seed(0)), -1)


def texts(svg):
    return {element.tag.rsplit("}")[-1]: element.text for element in ElementTree.fromstring(svg) if element.text}


def png_size(path):
    return struct.unpack(">II", path.read_bytes()[16:24])


@pytest.mark.parametrize("source", [*DATES[:1], *(pytest.param(date, marks=pytest.mark.slow) for date in DATES[1:])])
def test_both_files_are_drawn_and_drawn_again_as_the_same(source, tmp_path, caplog):
    target = "2025-06-18"
    first = alignment(weights(10, len(source)), list(source), list(target), tmp_path / "a")
    again = alignment(weights(10, len(source)), list(source), list(target), tmp_path / "a")
    assert first == again and [path.suffix for path in first] == [".png", ".svg"]
    assert first[0].read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert "<svg" in first[1].read_text(encoding="utf-8")
    assert not caplog.records


def test_svg_tells_in_words_what_it_shows(tmp_path):
    matrix = torch.tensor([[0.1, 0.9], [0.75, 0.25]])
    _, svg = alignment(matrix, ["<le>", "chat"], ["cat", "&"], tmp_path / "a", title="A < B")
    told = texts(svg.read_text(encoding="utf-8"))
    assert told["title"] == "A < B"
    assert told["desc"] == "cat attends to chat (0.90); & attends to <le> (0.75)"
    _, svg = alignment(matrix, ["<le>", "chat"], ["cat", "&"], tmp_path / "b", verb="is moved most by")
    told = texts(svg.read_text(encoding="utf-8"))
    assert told["desc"] == "cat is moved most by chat (0.90); & is moved most by <le> (0.75)"


def test_rows_are_targets_and_columns_sources():
    matrix = torch.tensor([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]], dtype=torch.float64)
    figure = _figure(matrix, labels("abc"), labels("xy"), ("abc", "xy"), "")
    axes = figure.axes[0]
    places = {text.get_text(): text.get_position() for text in axes.texts}
    assert places["a"][0] == 0.5 and places["c"][0] == 2.5 and places["x"][1] == 0.5 and places["y"][1] == 1.5
    assert axes.get_ylim() == (2, 0) and axes.get_xlim() == (0, 3)
    assert axes.collections[0].get_array().tolist() == matrix.tolist()


def test_a_label_of_several_tokens_stands_over_their_middle():
    figure = _figure(torch.full((1, 3), 1 / 3, dtype=torch.float64), labels("जून"), labels("6"), ("जून", "6"), "")
    places = {text.get_text(): text.get_position()[0] for text in figure.axes[0].texts}
    assert places["जू"] == 1.0 and places["न"] == 2.5


@pytest.mark.slow
def test_size_follows_the_tokens_within_bounds(tmp_path):
    (small, _), (usual, _) = (alignment(weights(n, n), ["a"] * n, ["b"] * n, tmp_path / str(n)) for n in (5, 80))
    assert 200 < max(png_size(small)) < 500 and 2000 < max(png_size(usual)) < 3000


def test_long_labels_are_cut(tmp_path):
    found = alignment(torch.ones(1, 1), ["x" * 9_000], ["y" * 9_000], tmp_path / "a")
    assert max(png_size(found[0])) < 3_000 and "y" * 9_000 in found[1].read_text()
    figure = _figure(torch.ones(2, 2), *[_names(["a" * 40, "b" * 41])] * 2, ("", ""), "")
    assert {text.get_text() for text in figure.axes[0].texts} == {"a" * 40, "b" * 39 + "…"}


@pytest.mark.slow
def test_a_picture_of_many_tokens_is_bounded(tmp_path):
    png, svg = alignment(weights(40, 3000), ["a"] * 3000, ["b"] * 40, tmp_path / "a")
    assert max(png_size(png)) < 14_000 and svg.stat().st_size < 5e6


def test_weights_of_any_dtype_and_with_gradients_are_drawn(tmp_path):
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        matrix = weights(2, 3).to(dtype).requires_grad_()
        assert len(alignment(matrix, list("abc"), list("xy"), tmp_path / str(dtype))) == 2


def test_equal_weights_are_pale_with_their_numbers(tmp_path):
    paths = alignment(torch.full((2, 10), 0.1), list("abcdefghij"), ["x", "y"], tmp_path / "a", title="t", json=True)
    told = json.loads(paths[-1].read_text())
    assert (told["rows"], told["columns"], told["title"]) == (["x", "y"], list("abcdefghij"), "t")
    assert told["values"] == [[0.1] * 10] * 2 and told["darkest"] == 0.4
    figure = _figure(torch.full((2, 10), 0.1), labels("abcdefghij"), labels("xy"), ("", ""), "")
    assert figure.axes[0].collections[0].get_clim() == (0.0, pytest.approx(0.4))


def test_the_largest_weight_is_the_darkest():
    matrix = torch.full((2, 20), 0.03)
    matrix[0, 7] = 0.43
    figure = _figure(matrix, labels("abcdefghijklmnopqrst"), labels("xy"), ("", ""), "")
    assert figure.axes[0].collections[0].get_clim() == (0.0, pytest.approx(0.43))


def test_the_picture_of_another_is_never_overwritten(tmp_path):
    first = alignment(weights(2, 2), ["a", "b"], ["x", "y"], tmp_path / "a")
    kept = [path.read_bytes() for path in first]
    other = alignment(weights(2, 2).flip(0), ["a", "b"], ["x", "y"], tmp_path / "a")
    assert [path.name for path in other] == ["a-2.png", "a-2.svg"] and [path.read_bytes() for path in first] == kept


@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        (torch.ones(2, 2), errors.ShapeError, r"weights: expected shape \(2, 3\).*got \(2, 2\); pick one"),
        (torch.ones(1, 2, 3), errors.ShapeError, r"got \(1, 2, 3\)"),
        (torch.full((2, 3), torch.nan), errors.ArgumentError, "weights: expected finite"),
        (torch.full((2, 3), -1.0), errors.ArgumentError, "at least 0"),
    ],
)
def test_what_is_no_alignment_is_refused(matrix, error, message, tmp_path):
    with pytest.raises(error, match=message):
        alignment(matrix, list("abc"), list("xy"), tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_nothing_to_draw_is_refused(tmp_path):
    with pytest.raises(errors.ArgumentError, match="a token or more each, got 0 and 2"):
        alignment(torch.ones(2, 0), [], ["x", "y"], tmp_path / "a")


@given(source=st.lists(st.text(max_size=4), min_size=1, max_size=6), title=st.none() | st.text(max_size=9))
def test_any_text_is_drawn(source, title, tmp_path_factory):
    paths = alignment(weights(2, len(source)), source, ["$x$", "_"], tmp_path_factory.mktemp("any") / "a", title=title)
    ElementTree.fromstring(paths[1].read_bytes())
