import json
from xml.etree import ElementTree

import pytest
import torch

from saccade.errors import ArgumentError, ShapeError
from saccade.look import highlights

WORDS = ["the", "film", "was", "not", "good"]
WEIGHTS = torch.tensor([[0.05, 0.05, 0.1, 0.6, 0.2]])


def spans(page):
    """The words of a page with their colours, then those of the legend."""
    return [line for line in page.read_text().replace("<span", "\n<span").splitlines() if "<span" in line]


def lightness(span):
    return sum(int(span.split("background:#")[1][place : place + 2], 16) for place in (0, 2, 4)) / 765


def test_png_svg_and_page_of_the_same_text(tmp_path):
    paths = highlights(WEIGHTS, WORDS, tmp_path / "a", title="negative 0.98")
    assert [path.name for path in paths] == ["a.png", "a.svg", "a.html"]
    told = [element.text for element in ElementTree.fromstring(paths[1].read_text()) if element.text]
    words = "the 0.05, film 0.05, was 0.10, not 0.60, good 0.20"
    assert told[:2] == ["negative 0.98", f"{words}; 0.2 if all words were alike"]
    page = paths[2].read_text(encoding="utf-8")
    assert all(f">{word}</span>" in page for word in WORDS) and "http" not in page and "<script" not in page
    again = highlights(WEIGHTS, WORDS, tmp_path / "a", title="negative 0.98")
    assert again == paths and len(list(tmp_path.iterdir())) == 3  # the same bytes


def test_support_and_opposition_have_two_colours(tmp_path):
    _, _, page = highlights(torch.tensor([[2.0, -2.0]]), ["good", "bad"], tmp_path / "a")
    good, bad = spans(page)[:2]
    assert "#0a0b33" in good and "#361302" in bad


@pytest.mark.parametrize("count", [4, pytest.param(400, marks=pytest.mark.slow)])
def test_an_even_share_is_pale_at_any_length(tmp_path, count):
    _, svg, page = highlights(torch.full((1, count), 1 / count), ["word"] * count, tmp_path / "a")
    assert all(lightness(span) > 0.7 for span in spans(page)[:count])
    assert f"{1 / count:.2g} if all words were alike" in svg.read_text() and "if all words" in page.read_text()
    weights = torch.full((1, count), 0.5 / (count - 1))
    weights[0, 0] = 0.5
    _, _, page = highlights(weights, ["word"] * count, tmp_path / "b")
    assert lightness(spans(page)[0]) + 0.15 < lightness(spans(page)[1])


def test_numbers_that_are_no_shares_have_no_even_one(tmp_path):
    for number, values in enumerate(([[2.0, -1.0]], [[0.2, 0.2]], [[0.5, 0.5], [0.1, 0.2]])):
        _, svg, _ = highlights(torch.tensor(values), ["a", "b"], tmp_path / str(number))
        assert "alike" not in svg.read_text()


def test_the_numbers_behind_it_and_the_names_of_rows(tmp_path):
    names = ["query 1", "query 2"]
    weights = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
    paths = highlights(weights, ["a", "b"], tmp_path / "a", title="t", names=names, json=True)
    told = {"title": "t", "rows": names, "columns": ["a", "b"], "values": weights.tolist()}
    assert json.loads(paths[-1].read_text()) == {**told, "darkest": 1.0, "even_share": 0.5}
    assert "query 2: a 0.50, b 0.50" in paths[1].read_text() and "query 1" in paths[2].read_text()
    with pytest.raises(ShapeError, match="names: expected 2, one a row, got 1"):
        highlights(weights, ["a", "b"], tmp_path / "b", names=names[:1])


@pytest.mark.slow
def test_every_row_is_drawn_and_long_texts_have_lines(tmp_path):
    few = highlights(torch.rand(1, 5), WORDS, tmp_path / "few")[0]
    many = highlights(torch.rand(3, 100), WORDS * 20, tmp_path / "many")[0]
    heights = [int.from_bytes(path.read_bytes()[20:24], "big") for path in (few, many)]  # where a PNG says it
    assert heights[1] > 4 * heights[0]


@pytest.mark.parametrize(
    "words",
    [["x" * 5000], ['<b>&"'], ["$x$"], ["\x00\u202b"], ["שלום", "עולם"], ["مرحبا"], ["好"], ["💥"] * 3, ["\ufffd"]],
)
def test_strange_words_are_drawn(tmp_path, words):
    paths = highlights(torch.rand(1, len(words)), words, tmp_path / "a", title="t")
    assert all(path.stat().st_size > 300 for path in paths)
    assert "<b>&" not in paths[2].read_text(encoding="utf-8")


def test_what_cannot_be_drawn_is_rejected(tmp_path):
    with pytest.raises(ShapeError, match=r"values: expected shape \(rows, 5\)"):
        highlights(torch.rand(1, 4), WORDS, tmp_path / "a")
    with pytest.raises(ArgumentError, match="values: expected one number or more"):
        highlights(torch.rand(1, 0), [], tmp_path / "a")
    with pytest.raises(ArgumentError, match="finite"):
        highlights(torch.tensor([[float("nan")]]), ["a"], tmp_path / "a")
