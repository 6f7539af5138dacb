"""Charts: the numbers that are drawn, their words, and the numbers beside them."""

import json

import pytest
import torch

from look.drawn import texts
from saccade.errors import ArgumentError, ShapeError
from saccade.look import Curve, Dots, Fit, Prediction, curves, dots, fit

X = torch.linspace(0, 1, 11, dtype=torch.float64)
LINE = Fit(X, X, X - 1, X + 1, torch.tensor([[0.2, 0.1], [0.7, 0.9]]))
CHOSEN = Prediction(0.5, 0.5, -0.5, 1.5)
ABOUT = {"labels": ("age", "price"), "title": "a line"}
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
    curves([line], tmp_path / "a", ticks=ticks, labels=("n", "ms"), title="t", log="xy")
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
    assert all(path.exists() for path in curves([flat], tmp_path / "a", log="xy", **about))


@pytest.mark.parametrize(("count", "marks"), [(60, 1), (61, 0)])
def test_a_line_of_many_points_has_no_markers(count, marks, tmp_path, figures):
    points = [float(number) for number in range(count)]
    curves([Curve("a", points, points)], tmp_path / "a", labels=("x", "y"), title="t")
    [axes] = figures[0].axes
    drawn = [part for part in axes.collections if len(part.get_offsets()) == count]
    assert len(drawn) == marks and (axes.lines[0].get_marker() == "o") == bool(marks)


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


@pytest.mark.parametrize(
    ("line", "error", "name"),
    [
        (Curve("a", [1, 2], [1.0, torch.nan]), ArgumentError, "y"),
        (Curve("a", [1, torch.inf], [1.0, 2.0]), ArgumentError, "x"),
        (Curve("a", [1, 2], [1.0]), ShapeError, "y"),
        (Curve("a", [1, 2], [1.0, 2.0], [0.1]), ShapeError, "errors"),
        (Curve("a", [1, 2], [1.0, 2.0], [0.1, -0.1]), ArgumentError, "errors"),
        (Curve("a", [1, 2], [1.0, 2.0], hollow=[True]), ShapeError, "hollow"),
    ],
)
def test_lines_of_other_numbers_are_rejected(line, error, name, tmp_path):
    with pytest.raises(error, match=f"^{name}: expected "):
        curves([line], tmp_path / "a", labels=("", ""), title="", json=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("series", [Dots("x", [1.0]), Dots("x", [1.0, 2.0], [0.1])])
def test_dots_that_are_not_one_a_row_are_rejected(series, tmp_path):
    with pytest.raises(ShapeError, match=r"^(values|errors): expected .*2"):
        dots(["a", "b"], [series], tmp_path / "a", label="", title="")


def test_dots_stand_in_their_rows(tmp_path, figures, words):
    series = [Dots("before", [0.5, None], [0.1, 0.0]), Dots("after", [0.25, 0.75], [0.0, 0.1])]
    _, svg = dots(["one", "other"], series, tmp_path / "a", label="score", title="Score", log=True)
    assert words(svg)[1] == "one: before 0.5, after 0.25; other: after 0.75"
    [axes] = figures[0].axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["before", "after"]
    assert axes.get_ylim() == (1.5, -0.5) and axes.get_xscale() == "log"
    assert [container.lines[0].get_xdata().tolist() for container in axes.containers] == [
        pytest.approx([0.5, torch.nan], nan_ok=True),
        [0.25, 0.75],
    ]


@pytest.mark.parametrize(
    ("rows", "series"),
    [
        ([], []),
        (["a"] * 101, [Dots("x", [1.0] * 101)]),
        (["a"], []),
        (["a"], [Dots("x", [None])]),
        (["a"], [Dots("x", [torch.nan])]),
    ],
)
def test_what_is_no_dot_is_rejected(rows, series, tmp_path):
    with pytest.raises(ArgumentError, match="rows: expected 1 to 100|series: expected one or more, with finite"):
        dots(rows, series, tmp_path / "a", label="", title="")


def test_bars_have_the_names_and_the_numbers_of_things(tmp_path, figures, words):
    about = {"label": "weight", "title": "a set", "note": "below", "bars": True, "json": True}
    paths = dots(["a", "b", "c"], [Dots("weight", [0.25, -0.5, 0.125])], tmp_path / "a", **about)
    told = json.loads(paths[2].read_text(encoding="utf-8"))
    assert told["values"] == [[0.25, -0.5, 0.125]] and told["rows"] == ["weight"] and told["columns"] == ["a", "b", "c"]
    assert words(paths[1])[1] == "a: weight 0.25; b: weight -0.5; c: weight 0.125"
    bars = figures[0].axes[0].patches
    assert [bar.get_width() for bar in bars] == [0.25, -0.5, 0.125] and bars[0].get_fc() == bars[2].get_fc() != bars[
        1
    ].get_fc()


def test_a_place_is_marked_on_an_axis_of_numbers(tmp_path, figures, words):
    line = Curve("error", [0.1, 1.0, 10.0], [2e-9, 1.0, 3.0])
    about = {"labels": ("h", "error"), "title": "t", "log": "x", "bounds": (0.0, None), "mark": (1.2, "taken: 1.2")}
    paths = curves([line], tmp_path / "a", **about, json=True)
    assert words(paths[1])[1] == "error: 2e-09 at 0.1, 1 at 1, 3 at 10; taken: 1.2"
    told = json.loads(paths[2].read_text())
    assert told["values"] == [line.y] and told["x"] == [line.x] and told["mark"] == [1.2, "taken: 1.2"]
    [axes] = figures[0].axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear") and axes.get_ylim()[0] == 0
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["error", "taken: 1.2"]


@pytest.mark.parametrize("below", [{}, {"weights": torch.tensor([0.3, 0.7])}, {"slope": torch.ones(11)}])
def test_a_curve_is_drawn_with_its_weights_or_slope_below(below, tmp_path, figures, words):
    paths = fit(LINE, CHOSEN, tmp_path / "a", **ABOUT, **below, json=True)
    told = json.loads(paths[2].read_text(encoding="utf-8"))
    assert told["rows"] == ["answer", "lower", "upper"] and len(told["values"]) == 3
    assert told["points"] == [[0.2, 0.1], [0.7, 0.9]] and (told["weights"] is None) == ("weights" not in below)
    title, said = words(paths[1])
    assert title == "a line" and said.startswith("0.5 is answered by 0.5, from -0.5 to 1.5")
    assert ("the largest weight, 0.7, has the point at 0.7" in said) == ("weights" in below)
    assert [axes.get_ylabel() for axes in figures[0].axes[1:]] == [
        {"weights": "weight"}.get(name, name) for name in below
    ]


def test_small_numbers_keep_their_digits_in_the_file(tmp_path, figures):
    small = Fit(X * 1e-7, X * 1e-9, X - 1, X + 1, torch.tensor([[2e-8, 3e-9]]))
    told = json.loads(fit(small, CHOSEN, tmp_path / "a", **ABOUT, json=True)[2].read_text(encoding="utf-8"))
    assert told["x"] == pytest.approx((X * 1e-7).tolist(), rel=1e-5) and told["x"][1] == 1e-8
    assert told["values"][0] == pytest.approx((X * 1e-9).tolist(), rel=1e-5)
    assert told["points"][0] == pytest.approx([2e-8, 3e-9], rel=1e-5)


def test_a_fit_without_known_points_is_drawn(tmp_path, figures):
    assert fit(Fit(X, X, X, X, torch.zeros(0, 2)), CHOSEN, tmp_path / "a", **ABOUT, slope=torch.ones(11))


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"weights": torch.ones(3)}, ShapeError),
        ({"slope": torch.ones(3)}, ShapeError),
        ({"weights": torch.tensor([0.5, torch.nan])}, ArgumentError),
    ],
)
def test_what_does_not_fit_a_curve_is_rejected(changed, error, tmp_path):
    with pytest.raises(error, match=f"^{next(iter(changed))}: expected (shape|finite numbers)"):
        fit(LINE, CHOSEN, tmp_path / "a", **ABOUT, **changed)
    assert not list(tmp_path.iterdir())
