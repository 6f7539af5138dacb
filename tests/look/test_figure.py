"""The figure builder: one style, checks, colour bars, titles, and files that never replace another."""

import json
from itertools import count
from types import SimpleNamespace
from unittest.mock import patch
from xml.etree import ElementTree

import matplotlib
import pytest
import torch

from bench.fake import row
from saccade import look, masks
from saccade.bench._plot import draw as ratios
from saccade.bench.measure import Result
from saccade.errors import ArgumentError, ShapeError
from saccade.look._figure import Page, _own_style, checked, full_scale, not_drawn, numbers, ramp, shortened

X = torch.linspace(0.1, 1, 11)
LINES = [look.Curve("a_b", [1, 2], [1.0, 2.0], [0, 0], [False, True])]
ODD = "\x00\x0b\ud800\ufffe"  # what XML forbids, half a pair of surrogates among it
IMAGE = torch.zeros(1, 8, 8, dtype=torch.uint8)
PICTURES = {
    "alignment": lambda path: look.alignment(torch.eye(2), ["a", "b"], ["x", "_$"], path, title="a_b"),
    "bars": lambda path: look.dots(["a_b"], [look.Dots("s", [1.0])], path, label="x", title="t", note="n", bars=True),
    "blocks": lambda path: look.blocks(masks.Causal(), 64, 64, path, title="a_b"),
    "curves": lambda path: look.curves(LINES, path, ticks=[(1, "1")], labels=("x", "y"), title="%"),
    "dots": lambda path: look.dots(["a_b"], [look.Dots("s", [1.0], [0.1])] * 2, path, label="x", title="t"),
    "fit": lambda path: look.fit(
        look.Fit(X, X, X - 1, X + 1, torch.tensor([[0.2, 0.1]])),
        look.Prediction(0.5, 0.5, 0.0, 1.0),
        path,
        labels=("x", "y"),
        title="t",
    ),
    "glimpses": lambda path: look.glimpses(
        IMAGE, torch.zeros(1, 2), [4], path, probabilities=torch.ones(1, 1), labels=["cat"]
    ),
    "grid": lambda path: look.grid([[torch.eye(2)]], path, rows=["a_b"], title="t"),
    "highlights": lambda path: look.highlights(torch.tensor([[0.1, 0.9]]), ["not", "goo_d"], path, title="50%"),
    "overlays": lambda path: look.overlays(
        torch.zeros(1, 4, 4),
        torch.eye(2)[None],
        path,
        captions=["a_b"],
        question=["wh_at"],
        answers=[("$", 0.5)],
    ),
    "spectrogram": lambda path: look.spectrogram(torch.eye(2), torch.eye(4), ["o_ne", "two"], (0.04, 0.02), path),
    "traces": lambda path: look.traces([look.Band("a_b", torch.eye(2))], path, title="t"),
    "ratios": lambda path: ratios([Result(row(size=size), 1.0, 2.0, 2.0) for size in (32, 64)], path, title="t"),
}
THEIRS = {
    "text.usetex": True,
    "font.size": 30.0,
    "axes.facecolor": "red",
    "savefig.facecolor": "green",
    "svg.fonttype": "none",
    "image.interpolation": "bicubic",
    "lines.linestyle": "--",
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_users_matplotlibrc_changes_no_picture(name, tmp_path, monkeypatch):
    """Nor a slow machine: matplotlib times its search for a legend's place, and warns when a second has gone by."""
    plain = PICTURES[name](tmp_path / "a")
    assert plain[0].read_bytes().startswith(b"\x89PNG\r\n\x1a\n") and b'<svg role="img"' in plain[1].read_bytes()
    for key, value in THEIRS.items():
        monkeypatch.setitem(matplotlib.rcParams, key, value)
    ticks = count(0, 10)
    with patch("matplotlib.legend.time", SimpleNamespace(perf_counter=lambda: next(ticks))):
        assert PICTURES[name](tmp_path / "a") == plain  # the same bytes
    assert all(matplotlib.rcParams[key] == value for key, value in THEIRS.items())  # which stays the user's


def test_a_picture_replaces_no_other(tmp_path, figures):
    (tmp_path / "a.png").write_text("mine")
    assert [path.name for path in PICTURES["alignment"](tmp_path / "a")] == ["a-2.png", "a-2.svg"]
    assert (tmp_path / "a.png").read_text() == "mine"


WORDED = {
    "alignment": lambda path: look.alignment(torch.ones(1, 1), [ODD], ["y" + ODD], path, title="t" + ODD, json=True),
    "overlays": lambda path: look.overlays(
        IMAGE,
        torch.zeros(0, 1, 1),
        path,
        captions=[],
        question=["what" + ODD],
        answers=[("red" + ODD, 0.5)],
        json=True,
    ),
    "glimpses": lambda path: look.glimpses(
        IMAGE,
        torch.zeros(1, 2),
        [4],
        path,
        probabilities=torch.ones(1, 1),
        labels=["cat" + ODD],
        said={0: "cat" + ODD},
        json=True,
    ),
}


@pytest.mark.parametrize("name", WORDED)
def test_any_text_makes_xml_and_json_that_can_be_read(name, tmp_path):
    for path in WORDED[name](tmp_path / "a"):
        if path.suffix == ".svg":
            [told] = [part.text for part in ElementTree.parse(path).iter() if part.tag.endswith("}desc")]
            assert told and not set(told) & set(ODD)
        elif path.suffix == ".json":
            assert any(ODD in text for part in ("rows", "columns") for text in json.loads(path.read_text())[part])


def test_an_even_share_is_never_dark():
    for size in (5, 14, 400):
        assert full_scale(1 / size, 1 / size) >= 3.9 / size
    assert full_scale(0.0, 0.5) == 1.0 and full_scale(1.0, 1.0) == 1.0
    assert full_scale(1.0, 1.0, float("inf")) == 4.0  # in times of an even share


def test_numbers_are_json():
    told = numbers("t", ["r"], ["c"], torch.tensor([[[1 / 3]]], dtype=torch.float64), step_seconds=0.04)
    assert json.loads(json.dumps(told)) == told
    assert told == {"title": "t", "rows": ["r"], "columns": ["c"], "values": [[[0.333333]]], "step_seconds": 0.04}


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (torch.ones(3, 2), ShapeError, r"w: expected shape \(2, columns\), got \(3, 2\)"),
        (torch.ones(2), ShapeError, r"got \(2,\)"),
        (torch.ones(2, 0), ArgumentError, r"w: expected one number or more, got shape \(2, 0\)"),
        (torch.full((2, 1), torch.nan), ArgumentError, "w: expected finite numbers of at least 0, got others"),
        (torch.full((2, 1), -1.0), ArgumentError, "w: expected finite numbers of at least 0, got others"),
    ],
)
def test_numbers_that_cannot_be_drawn_are_rejected(values, error, message):
    with pytest.raises(error, match=message):
        checked("w", values, (2, "columns"), least=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64])
def test_numbers_of_any_type_are_drawn(dtype):
    values = torch.ones(2, 3).to(dtype)
    values = values.requires_grad_() if dtype.is_floating_point else values
    assert torch.equal(checked("w", values, (2, 3)), torch.ones(2, 3, dtype=torch.float64))


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("ends", [(0.0, 0.43), (0.0, 1.0), (-1.57, 1.57), (0.0, 7e-4)])
def test_a_colour_bar_is_named_and_ends_at_its_ends(ends, across):
    with _own_style():
        page = Page([])
        axes = page.colour_bar("share", ramp(), ends, 0, 0, 1.0, across=across)
        assert (axes.get_xlim() if across else axes.get_ylim()) == pytest.approx(ends)
        assert (axes.get_xlabel() if across else axes.get_ylabel()) == "share"
        ticks = (axes.xaxis if across else axes.yaxis).get_ticklocs()
        assert len(ticks) >= 2 and min(ticks) >= ends[0] - 1e-9 and max(ticks) <= ends[1] * (1 + 1e-5)


def test_a_title_stands_above_everything_and_has_two_lines_at_most():
    with _own_style():
        page = Page(["t"])
        page.axes(0, 0, 3, 1)
        page.write(0, -0.5, "a label above the axes")
        figure = page.finished("word " * 60, "a note", "what is not drawn")
        label, title, note, below = figure.texts
        assert label.get_position()[1] < note.get_position()[1] < title.get_position()[1]
        assert below.get_position()[1] < 0 and title.get_text().count("\n") == 1 and title.get_text().endswith("…")


def test_panels_that_are_not_drawn_are_named():
    names = [f"head {number}" for number in range(1, 11)]
    assert not_drawn(names[:8], "maps") == ""
    assert not_drawn(names, "maps") == "8 of 10 maps are drawn, not the last 2: head 9, head 10"
    assert shortened("x" * 41) == "x" * 39 + "…"
