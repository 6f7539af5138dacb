from xml.etree import ElementTree

import pytest

from saccade.errors import ArgumentError
from saccade.look.curves import Curve, draw

TICKS = [(3.0, "1-5\nn=10"), (8.0, "6-10\nn=2")]


def drawn(path, title="Score by length"):
    lines = [
        Curve("with", [3.0, 8.0], [0.9, 0.8], [0.01, 0.0], [False, True], trend=(0.9, 0.8)),
        Curve("without", [3.0], [0.5], [0.1], [False]),
    ]
    return draw(lines, path, ticks=TICKS, labels=("words", "score"), title=title, note="claim", bounds=(0.0, 1.0))


def test_both_files_are_drawn_and_drawn_again_as_the_same(tmp_path):
    first, again, other = drawn(tmp_path / "a"), drawn(tmp_path / "a"), drawn(tmp_path / "a", "other")
    assert first == again and [path.name for path in first] == ["a.png", "a.svg"]
    assert first[0].read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert [path.name for path in other] == ["a-2.png", "a-2.svg"]


def test_svg_tells_in_words_what_it_shows(tmp_path):
    root = ElementTree.fromstring(drawn(tmp_path / "a")[1].read_text(encoding="utf-8"))
    told = {element.tag.rsplit("}")[-1]: element.text for element in root if element.text}
    assert told["desc"] == "with: 0.9 at 1-5, 0.8 at 6-10; without: 0.5 at 1-5"


@pytest.mark.parametrize("curves", [[], [Curve("a", [], [], [], [])]])
def test_nothing_cannot_be_drawn(curves, tmp_path):
    with pytest.raises(ArgumentError, match="curves: expected one or more"):
        draw(curves, tmp_path / "a", ticks=TICKS, labels=("", ""), title="")
    assert not list(tmp_path.iterdir())
