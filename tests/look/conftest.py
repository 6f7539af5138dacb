"""Fixtures of the tests of pictures."""

from xml.etree import ElementTree

import pytest


@pytest.fixture
def figures(monkeypatch):
    """The figures that are drawn, which are not rendered: the tests compare what is in them."""
    kept = []

    def saved(figure, form):
        if form == "png":
            kept.append(figure)
        return b'<svg width="1"></svg>'

    monkeypatch.setattr("saccade.look._figure._saved", saved)
    return kept


@pytest.fixture
def words():
    """Reads the title and the description of an SVG."""

    def read(path):
        root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        named = {element.tag.rsplit("}")[-1]: element.text for element in root if element.text}
        return named["title"], named["desc"]

    return read
