"""Large sheets: elements and requests are counted, not seconds."""

import json

import pytest
import torch

from look.explorer.books import book, calls, near, plane, weighted
from saccade.look._explorer.sheets import Book, Sheet


def large(tokens, layers, heads):
    """A book whose matrices are made when they are requested."""
    names = [str(at) for at in range(tokens)]
    measures = {"entropy": torch.rand(1, layers, heads)}

    def matrix(place):
        return torch.rand(tokens, tokens, generator=torch.Generator().manual_seed(place.head))

    lines = {"entropy": lambda place: torch.rand(tokens)}
    layers = [f"layer {at}" for at in range(layers)]
    return Book("Large", [Sheet("attention", "", names, names, matrix, layers, heads, 1, measures, lines)])


@pytest.mark.slow
def test_a_model_of_a_thousand_heads_has_a_bounded_page(show):
    opened = show(large(1024, 32, 32), "server").ready()
    assert opened.frame.evaluate("document.querySelectorAll('*').length") < 8000
    tiles = [request for request in opened.asked if request["piece"] == "tile"]
    assert 1 <= len(tiles) <= 4 and len(opened.asked) <= 6
    opened.point(500, 500)
    opened.until("document.querySelector('.readout output')?.textContent.startsWith('0.')")
    assert opened.frame.evaluate("document.querySelectorAll('*').length") < 8000


@pytest.mark.slow
def test_sixteen_million_weights_come_by_tiles(show):
    made = large(4096, 1, 1)
    opened = show(made, "server").ready()
    assert len([request for request in opened.asked if request["piece"] == "tile"]) == 4
    assert opened.frame.evaluate("document.querySelectorAll('*').length") < 2000
    opened.frame.locator(".matrix canvas").focus()
    for _ in range(12):
        opened.page.keyboard.press("+")
    opened.ready()
    tiles = [json.dumps(request) for request in opened.asked if request["piece"] == "tile"]
    assert len(tiles) == len(set(tiles)), "no tile twice"
    assert len(tiles) <= 4 + 12 * 9, "at most nine tiles a step"
    at = opened.geometry()
    row, column = int(at["row"] + 2), int(at["column"] + 2)
    opened.point(row, column)
    assert near(opened.readout(str(row), str(column)), plane(made)[row, column])


def test_one_head_has_no_grid(show):
    opened = show(book(calls(weighted(5, 7), kind="cross"))).ready()
    assert opened.frame.locator("table, select[name=layer], select[name=head], select[name=minus]").count() == 0
