"""Saved files hold the numbers that are seen, and tokens are text."""

import csv
import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from look.explorer.books import HOSTILE, TOKENS, book, encoded, hashed, near, numbers, plane, planes
from look.explorer.conftest import HOSTS
from saccade.look._labels import shortened, visible

SVG = "{http://www.w3.org/2000/svg}"


def saved(opened, form):
    with opened.page.expect_download() as download:
        opened.frame.get_by_role("button", name=form, exact=True).click()
    return download.value.path().read_bytes()


VIEWS = {"whole": {}, "zoomed": {"view": [3, 5, 80]}, "difference": {"minus": [0, 2, 1]}}


@pytest.mark.parametrize("view", VIEWS)
def test_csv_and_svg_hold_the_numbers_that_are_seen(show, model, view):
    opened = show(model, hash_=hashed(layer=1, head=2, **VIEWS[view])).ready()
    at, box = opened.geometry(), opened.frame.locator(".matrix canvas").bounding_box()
    room = [(box["height"] - at["above"] - 2) / at["cell"], (box["width"] - at["left"] - 2) / at["cell"]]
    rows = slice(int(at["row"]), min(12, int(np.ceil(at["row"] + room[0] - 1e-6))))
    columns = slice(int(at["column"]), min(12, int(np.ceil(at["column"] + room[1] - 1e-6))))
    expected = plane(model, layer=1, head=2)
    if view == "difference":
        expected = expected - plane(model, layer=2, head=1)
    lines = list(csv.reader(io.StringIO(saved(opened, "CSV").decode(), newline="")))
    assert lines[0] == ["", *TOKENS[columns]] and [line[0] for line in lines[1:]] == TOKENS[rows]
    values = np.array([line[1:] for line in lines[1:]], np.float32)
    assert np.array_equal(values, expected[rows, columns])
    root = ElementTree.fromstring(saved(opened, "SVG"))
    cells = [cell for cell in root.iter(f"{SVG}rect") if "data-value" in cell.attrib]
    assert np.array_equal(np.array([cell.get("data-value") for cell in cells], np.float32), values.ravel())
    names = [text.text for text in root.iter(f"{SVG}text")]
    assert names == [*TOKENS[rows], *TOKENS[columns]]
    [title] = cells[1].iter(f"{SVG}title")
    assert title.text.startswith(f"{TOKENS[rows][0]} → {TOKENS[columns][1]}: ") and near(
        title.text.split(": ")[1], values[0, 1]
    )
    tops = numbers(model, piece="tile", layer=1, head=2, **{k: v for k, v in VIEWS[view].items() if k == "minus"})[0][
        "top"
    ]
    darkest = cells[int(np.abs(values).argmax())].get("fill")
    assert sum(map(int, re.findall(r"\d+", darkest))) < 765 * (1 - 0.5 * np.abs(values).max() / tops)


def test_png_holds_what_is_seen(show, model):
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    opened = show(model, hash_=hashed(theme="light")).ready()
    picture = image.open(io.BytesIO(saved(opened, "PNG"))).convert("RGBA")
    at, box = opened.geometry(), opened.frame.locator(".matrix canvas").bounding_box()
    assert picture.size == (round(box["width"]), round(box["height"]))
    weights = plane(model)
    middle = [[int(at[edge] + (place + 0.5) * at["cell"]) for place in range(12)] for edge in ("above", "left")]
    lightness = np.array(picture).astype(int)[np.ix_(*middle)][..., :3].sum(-1)
    order = weights.ravel().argsort()
    assert (np.diff(lightness.ravel()[order]) <= 0).all(), "a larger number is darker"
    assert picture.getpixel((1, 1))[3] == 255, "a picture has a background"


def test_a_large_svg_is_refused_with_a_way_out(show):
    opened = show(planes(torch.rand(300, 300))).ready()
    opened.frame.get_by_role("button", name="SVG").click()
    error = opened.frame.get_by_role("alert")
    error.wait_for()
    assert error.inner_text() == "SVG: expected at most 40000 cells, got 90000. Zoom in, or save a PNG."


@pytest.mark.parametrize("host", HOSTS)
def test_hostile_tokens_are_text(show, host):
    made = book(encoded(tokens=len(HOSTILE), layers=1), HOSTILE, title="".join(HOSTILE))
    opened = show(made, host).ready()
    scripts = opened.frame.locator("script").count()
    opened.frame.locator(".matrix canvas").focus()
    label = opened.frame.locator(".readout bdi").first
    for token in HOSTILE:
        opened.page.keyboard.press("ArrowDown")
        expected = shortened(visible(token[:160])) or "·"
        opened.until(lambda expected=expected: label.text_content() == expected)
    assert opened.frame.locator("img, iframe").count() == 0 and opened.frame.locator("script").count() == scripts
    assert opened.frame.evaluate("document.title") != "broken"


def test_hostile_tokens_in_files_are_text(show):
    made = book(encoded(tokens=len(HOSTILE), layers=1), HOSTILE)
    opened = show(made).ready()
    root = ElementTree.fromstring(saved(opened, "SVG"))
    assert {element.tag for element in root.iter()} == {f"{SVG}{name}" for name in ("svg", "title", "rect", "text")}
    names = [text.text for text in root.iter(f"{SVG}text")]
    assert names[: len(HOSTILE)] == [shortened(visible(token[:160])) or "·" for token in HOSTILE]
    lines = list(csv.reader(io.StringIO(saved(opened, "CSV").decode(), newline="")))
    read = [token.replace("\ud800", "\ufffd") for token in HOSTILE]
    assert lines[0][1:] == read and [line[0] for line in lines[1:]] == read
