from xml.etree import ElementTree

import pytest

from saccade.errors import ArgumentError
from saccade.look.dot_plot import Dots, draw


def drawn(path, title="Score", **options):
    series = [Dots("before", [0.5, None], [0.1, 0.0]), Dots("after", [0.25, 0.75], [0.0, 0.1])]
    return draw(["one", "other"], series, path, label="score", title=title, **options)


def test_both_files_are_drawn_and_drawn_again_as_the_same(tmp_path):
    first, again, other = drawn(tmp_path / "a"), drawn(tmp_path / "a"), drawn(tmp_path / "a", "other", log=True)
    assert first == again and [path.name for path in first] == ["a.png", "a.svg"]
    assert first[0].read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert [path.name for path in other] == ["a-2.png", "a-2.svg"]


def test_svg_tells_in_words_what_it_shows(tmp_path):
    root = ElementTree.fromstring(drawn(tmp_path / "a")[1].read_text(encoding="utf-8"))
    told = {element.tag.rsplit("}")[-1]: element.text for element in root if element.text}
    assert told["desc"] == "one: before 0.5, after 0.25; other: after 0.75"


@pytest.mark.parametrize(("rows", "series"), [([], []), (["a"], []), (["a"], [Dots("x", [None], [0.0])])])
def test_nothing_cannot_be_drawn(rows, series, tmp_path):
    with pytest.raises(ArgumentError, match="series: expected one or more"):
        draw(rows, series, tmp_path / "a", label="", title="")
    assert not list(tmp_path.iterdir())
