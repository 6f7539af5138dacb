from unittest.mock import patch
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from saccade.errors import ArgumentError
from saccade.look.curves import Curve, draw

TICKS = [(3.0, "1-5\nn=10"), (8.0, "6-10\nn=2")]


def drawn(path, title="Score by length"):
    lines = [
        Curve("with", [3.0, 8.0], [0.9, 0.8], [0.01, 0.0], [False, True], trend=(0.9, 0.8)),
        Curve("without", [3.0], [0.5], [0.1], [False]),
    ]
    return draw(lines, path, ticks=TICKS, labels=("words", "score"), title=title, note="hollow: few", bounds=(0.0, 1.0))


def test_both_files_are_drawn_and_drawn_again_as_the_same(tmp_path):
    first, again, other = drawn(tmp_path / "a"), drawn(tmp_path / "a"), drawn(tmp_path / "a", "other")
    assert first == again and [path.name for path in first] == ["a.png", "a.svg"]
    assert first[0].read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert [path.name for path in other] == ["a-2.png", "a-2.svg"]


def test_svg_tells_in_words_what_it_shows(tmp_path):
    root = ElementTree.fromstring(drawn(tmp_path / "a")[1].read_text(encoding="utf-8"))
    told = {element.tag.rsplit("}")[-1]: element.text for element in root if element.text}
    assert told["desc"] == "with: 0.9 at 1-5, 0.8 (hollow) at 6-10; without: 0.5 at 1-5; hollow: few"
    line = Curve("with", [3.0], [0.5], [0.1], [False])
    about = {"ticks": TICKS, "labels": ("words", "score"), "title": "t", "note": "hollow: few"}
    root = ElementTree.fromstring(draw([line], tmp_path / "full", **about)[1].read_text(encoding="utf-8"))
    assert [element.text for element in root if element.tag.endswith("desc")] == ["with: 0.5 at 1-5"]


def test_logarithmic_axes_have_plain_numbers(tmp_path):
    """A bar that reaches below zero is cut there, and not above: it would need all the room there is."""
    ticks = [(10.0, "10"), (100.0, "100")]
    line = Curve("n", [10.0, 100.0], [1.0, 10.0], [5.0, 0.1], [False, False], trend=(1.0, 10.0))
    shown = []

    class Kept(Figure):
        def savefig(self, *arguments, **options):
            shown.append(self.axes[0])
            super().savefig(*arguments, **options)

    with patch("matplotlib.figure.Figure", Kept):
        draw([line], tmp_path / "a", ticks=ticks, labels=("n", "ms"), title="t", log=True)
    low, high = shown[0].get_ylim()
    assert 0.05 < low < 0.2 and 10 < high < 50 and shown[0].get_xscale() == "log"
    [bars] = [container.lines[2][0].get_segments() for container in shown[0].containers]
    assert bars[0][:, 1].tolist() == pytest.approx([0.2, 6.0])
    assert {"1", "2", "5", "10"} <= {label.get_text() for label in shown[0].get_yticklabels()}


def test_a_flat_line_is_drawn_on_logarithmic_axes_within_bounds(tmp_path):
    """Matplotlib finds heights that are one but for rounding, and warns."""
    flat = Curve("none", [20, 40, 80, 120], [1e-4] * 4, [0.0] * 4, [True] * 4)
    about = {"ticks": [(20, "20"), (120, "120")], "labels": ("n", "share"), "title": "t", "bounds": (5e-5, 1.0)}
    assert all(path.exists() for path in draw([flat], tmp_path / "a", log=True, **about))


def test_names_of_lines_stand_at_the_right(tmp_path):
    shown = []

    class Kept(Figure):
        def savefig(self, *arguments, **options):
            shown.append((self.axes[0].get_legend().get_window_extent(), self.axes[0].bbox, self.bbox))
            super().savefig(*arguments, **options)

    line = Curve("ntm, location alone", [1, 2], [0.5, 0.5], [0.0, 0.0], [False, False])
    about = {"ticks": [(1, "1")], "labels": ("n", "share"), "title": "t", "bounds": (0.0, 1.0)}
    with patch("matplotlib.figure.Figure", Kept):
        draw([line], tmp_path / "a", beside=True, **about)
    legend, axes, figure = shown[0]
    assert axes.x1 <= legend.x0 and legend.x1 <= figure.x1


@pytest.mark.parametrize("curves", [[], [Curve("a", [], [], [], [])]])
def test_nothing_cannot_be_drawn(curves, tmp_path):
    with pytest.raises(ArgumentError, match="curves: expected one or more"):
        draw(curves, tmp_path / "a", ticks=TICKS, labels=("", ""), title="")
    assert not list(tmp_path.iterdir())
