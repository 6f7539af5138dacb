"""Charts: the numbers that are drawn, their words, and the numbers beside them."""

import json
from itertools import pairwise

import pytest
import torch

from look.drawn import texts
from saccade.errors import ArgumentError, ShapeError
from saccade.look import Curve, Dots, Point, bars, curves, dots, scatter
from saccade.look._charts import _label_places

TICKS = [(3.0, "1-5\nn=10"), (8.0, "6-10\nn=2")]


def test_lines_are_described_at_their_ticks(tmp_path, figures, words):
    lines = [
        Curve("with", [3.0, 8.0], [0.9, 0.8], [0.01, 0.0], [False, True], trend=(0.9, 0.8)),
        Curve("without", [3.0], [0.5], [0.1], [False]),
    ]
    about = {"ticks": TICKS, "labels": ("words", "score"), "title": "t", "note": "hollow: few", "bounds": (0.0, 1.0)}
    _, svg = curves(lines, tmp_path / "a", **about)
    assert words(svg) == ("t", "with: 0.9 at 1-5, 0.8 (hollow) at 6-10; without: 0.5 at 1-5; hollow: few")
    [axes] = figures[0].axes
    assert axes.get_ylim() == (0.0, 1.0) and {"words", "score", "with", "without", "t"} <= set(texts(figures[0]))
    _, svg = curves(lines[1:], tmp_path / "full", **about)
    assert words(svg)[1] == "without: 0.5 at 1-5"


def test_logarithmic_axes_have_plain_numbers(tmp_path, figures):
    """A bar that reaches below zero is cut there, and not above: it would need all the room there is."""
    ticks = [(10.0, "10"), (100.0, "100")]
    line = Curve("n", [10.0, 100.0], [1.0, 10.0], [5.0, 0.1], [False, False], trend=(1.0, 10.0))
    curves([line], tmp_path / "a", ticks=ticks, labels=("n", "ms"), title="t", log=True)
    [axes] = figures[0].axes
    low, high = axes.get_ylim()
    assert 0.05 < low < 0.2 and 10 < high < 50 and axes.get_xscale() == "log"
    [drawn] = [container.lines[2][0].get_segments() for container in axes.containers]
    assert drawn[0][:, 1].tolist() == pytest.approx([0.2, 6.0])
    assert {"1", "2", "5", "10"} <= {label.get_text() for label in axes.get_yticklabels()}


def test_a_flat_line_is_drawn_on_logarithmic_axes_within_bounds(tmp_path):
    """Matplotlib finds heights that are one but for rounding, and warns."""
    flat = Curve("none", [20, 40, 80, 120], [1e-4] * 4, [0.0] * 4, [True] * 4)
    about = {"ticks": [(20, "20"), (120, "120")], "labels": ("n", "share"), "title": "t", "bounds": (5e-5, 1.0)}
    assert all(path.exists() for path in curves([flat], tmp_path / "a", log=True, **about))


def test_names_of_lines_stand_at_the_right(tmp_path, figures):
    line = Curve("ntm, location alone", [1, 2], [0.5, 0.5], [0.0, 0.0], [False, False])
    about = {"ticks": [(1, "1")], "labels": ("n", "share"), "title": "t", "bounds": (0.0, 1.0)}
    curves([line], tmp_path / "a", beside=True, **about)
    [axes] = figures[0].axes
    assert axes.bbox.x1 <= axes.get_legend().get_window_extent().x0


@pytest.mark.parametrize("lines", [[], [Curve("a", [], [], [], [])]])
def test_no_lines_are_rejected(lines, tmp_path):
    with pytest.raises(ArgumentError, match="lines: expected one or more"):
        curves(lines, tmp_path / "a", ticks=TICKS, labels=("", ""), title="")


def test_dots_stand_in_their_rows(tmp_path, figures, words):
    series = [Dots("before", [0.5, None], [0.1, 0.0]), Dots("after", [0.25, 0.75], [0.0, 0.1])]
    _, svg = dots(["one", "other"], series, tmp_path / "a", label="score", title="Score", log=True)
    assert words(svg)[1] == "one: before 0.5, after 0.25; other: after 0.75"
    [axes] = figures[0].axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["before", "after"]
    assert axes.get_ylim() == (1.5, -0.5) and axes.get_xscale() == "log"
    assert [container.lines[0].get_xdata().tolist() for container in axes.containers] == [[0.5], [0.25, 0.75]]


@pytest.mark.parametrize(("rows", "series"), [([], []), (["a"], []), (["a"], [Dots("x", [None], [0.0])])])
def test_no_dots_are_rejected(rows, series, tmp_path):
    with pytest.raises(ArgumentError, match="series: expected one or more"):
        dots(rows, series, tmp_path / "a", label="", title="")


def test_bars_have_the_names_and_the_numbers_of_things(tmp_path, figures, words):
    values, about = torch.tensor([0.25, -0.5, 0.125]), {"label": "weight", "title": "a set", "note": "below"}
    paths = bars(["a", "a long name " * 9, "c"], values, tmp_path / "a", **about, json=True)
    told = json.loads(paths[2].read_text(encoding="utf-8"))
    assert told["values"] == [[0.25, -0.5, 0.125]] and told["rows"] == ["weight"] and len(told["columns"]) == 3
    assert words(paths[1])[1].startswith("weight: a 0.25; a long name")
    assert [patch.get_width() for patch in figures[0].axes[0].patches] == values.tolist()


@pytest.mark.parametrize(
    ("names", "values", "error"),
    [
        (["a"], torch.ones(2), ShapeError),
        ([], torch.ones(0), ArgumentError),
        (["a"], torch.tensor([torch.nan]), ArgumentError),
        (["a"] * 101, torch.ones(101), ArgumentError),
    ],
)
def test_what_is_no_bar_is_rejected(names, values, error, tmp_path):
    with pytest.raises(error, match="^(values|names): expected"):
        bars(names, values, tmp_path / "a", label="", title="")
    assert not list(tmp_path.iterdir())


def test_words_are_described_by_their_places(tmp_path, figures, words):
    points = [Point("good", 0.5, 1.0), Point("not", 2.0, 0.0)]
    _, svg = scatter(points, tmp_path / "p", labels=("query", "sentiment"), title="Words", marked={"not"})
    assert words(svg) == ("Words", "good: 0.5, 1; not: 2, 0")
    with pytest.raises(ArgumentError, match="points: expected one or more, got none"):
        scatter([], tmp_path / "p", labels=("x", "y"), title="t")


def test_no_word_stands_on_another():
    points = [Point(f"word{place}", 0.001 * place, 0.0) for place in range(12)] + [Point("far", 9.0, 9.0)]
    written = _label_places(points)
    heights = sorted(y for (_, y), point in zip(written, points, strict=True) if point.name != "far")
    assert all(high - low > 0.2 for low, high in pairwise(heights))
    assert written[-1][1] == 9.0  # it has room
