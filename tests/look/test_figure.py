"""The figure builder: one style, checks, colour bars, titles, and files that never replace another."""

import json
import logging
import tomllib
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch
from xml.etree import ElementTree

import matplotlib
import pytest
import torch
from matplotlib.font_manager import fontManager

from bench.fake import row
from saccade import look, masks
from saccade.bench._plot import draw as ratios
from saccade.bench.measure import Result
from saccade.errors import ArgumentError, ShapeError
from saccade.look import _figure
from saccade.look._figure import (
    BUNDLED,
    EXTRA,
    Page,
    _own_style,
    checked,
    families,
    full_scale,
    not_drawn,
    numbers,
    ramp,
    rounded,
)

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
FOLDER = Path(__file__).resolve().parents[2] / "fonts"
SAMPLES = {
    "fr": "mercredi 18 juin 2025, août",
    "el": "Τετάρτη 18 Ιουνίου",
    "ru": "среда, 18 июня 2025 г.",
    "he": "יום רביעי, 18 ביוני 2025",
    "ar": "الأربعاء، ١٨ يونيو ٢٠٢٥",
    "fa": "چهارشنبه ۲۸ خرداد",
    "hi": "बुधवार, 18 जून 2025",
    "th": "วันพุธที่ 18 มิถุนายน",
    "ko": "2025년 6월 18일 수요일",
    "ja": "2025年6月18日水曜日",
    "zh": "2025年6月18日星期三",
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
    assert [full_scale(peak, 0.1) for peak in (0.7, 0.45, 0.1, 3.0)] == [1.0, 0.45, 0.4, 3.0]


def test_numbers_are_json():
    told = numbers(["r"], ["c"], torch.tensor([[[1 / 3]]], dtype=torch.float64), step_seconds=0.04)
    assert told["values"].item() == 1 / 3
    assert json.loads(json.dumps(told, default=rounded)) == {
        "rows": ["r"],
        "columns": ["c"],
        "values": [[[0.333333]]],
        "step_seconds": 0.04,
    }
    assert rounded([[-1e-7 / 3, 100 / 3], 0.0], significant=True) == [[-3.33333e-08, 33.333333], 0.0]


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
        page = Page()
        axes = page.colour_bar("share", ramp(), ends, (0, 0), 1.0, across=across)
        assert (axes.get_xlim() if across else axes.get_ylim()) == pytest.approx(ends)
        assert (axes.get_xlabel() if across else axes.get_ylabel()) == "share"
        ticks = (axes.xaxis if across else axes.yaxis).get_ticklocs()
        assert len([tick for tick in ticks if ends[0] - 1e-9 <= tick <= ends[1] * (1 + 1e-5)]) >= 2


def test_a_title_stands_above_everything_and_has_two_lines_at_most():
    with _own_style():
        page = Page()
        page.axes(0, 0, 3, 1)
        page.write(0, -0.5, "a label above the axes")
        figure = page.finished("word " * 60, "a note", "what is not drawn")
        label, title, note, below = figure.texts
        assert label.get_position()[1] < note.get_position()[1] < title.get_position()[1]
        assert below.get_position()[1] < 0 and title.get_text().count("\n") == 1 and title.get_text().endswith("…")


def test_numbers_are_listed_for_a_file_alone(monkeypatch, tmp_path, figures):
    x = torch.linspace(0, 1, 3)
    line, chosen = look.Fit(x, x, x, x, torch.ones(1, 2)), look.Prediction(0.5, 0.5, 0.0, 1.0)
    draw = {
        "_alignment": lambda: look.alignment(torch.eye(2), "ab", "cd", tmp_path / "a"),
        "_blocks": lambda: look.blocks(masks.Causal(), 3, 3, tmp_path / "b"),
        "_charts": lambda: look.fit(line, chosen, tmp_path / "c", labels=("x", "y"), title="t"),
    }
    listed = []
    for module, picture in draw.items():
        monkeypatch.setattr(f"saccade.look.{module}.numbers", lambda *parts, **more: listed.append(parts) or {})
        picture()
    assert not listed


def test_panels_that_are_not_drawn_are_named():
    names = [f"head {number}" for number in range(1, 11)]
    assert not_drawn(names[:8], "maps") == ""
    assert not_drawn(names, "maps") == "8 of 10 maps are drawn, not the last 2: head 9, head 10"


@pytest.mark.parametrize("text", SAMPLES.values(), ids=SAMPLES)
def test_our_fonts_draw_the_languages_of_dates(text, caplog):
    names = families(text)
    covered = [_figure._characters(path) for path, family in ours().items() if family in names]
    assert {ord(character) for character in text if character != " "} <= set().union(*covered)
    assert names[0] == "Saccade Sans" and names[-1] == "DejaVu Sans" and not caplog.records


def ours():
    return {path: family for path, family in _figure._fonts().items() if family.startswith("Saccade")}


def test_the_wheel_has_the_font_of_latin_alone():
    assert sorted(path.name for path in BUNDLED.iterdir()) == ["OFL.txt", "SaccadeSans.ttf"]
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [EXTRA.name]
    for licence in (BUNDLED / "OFL.txt", FOLDER / "OFL.txt"):
        assert "SIL OPEN FONT LICENSE" in licence.read_text()
    assert sum(path.stat().st_size for path in BUNDLED.iterdir()) < 200_000


def test_without_the_extra_fonts_those_of_matplotlib_serve(monkeypatch, caplog):
    kept = {path: family for path, family in _figure._fonts().items() if family in ("Saccade Sans", "DejaVu Sans")}
    monkeypatch.setattr(_figure, "_fonts", lambda: kept)
    assert families("יום 18") == ["Saccade Sans", "DejaVu Sans"] and not caplog.records
    with caplog.at_level(logging.WARNING, "saccade"):
        families("水")
    assert "U+6C34, drawn as boxes: install a Noto font" in caplog.text and "pip install ./fonts" in caplog.text


def test_fonts_that_are_installed_are_found(monkeypatch, tmp_path):
    (tmp_path / "SaccadeSansHebrew.ttf").write_bytes((EXTRA / "SaccadeSansHebrew.ttf").read_bytes())
    monkeypatch.setattr(_figure, "find_spec", lambda name: SimpleNamespace(origin=f"{tmp_path}/__init__.py"))
    fonts = list(_figure._ours.__wrapped__().items())
    assert [family for _, family in fonts] == ["Saccade Sans", "Saccade Sans Hebrew", "DejaVu Sans"]
    assert fonts[1][0] == f"{tmp_path}/SaccadeSansHebrew.ttf"


def test_a_character_that_no_font_has_is_one_warning(caplog):
    private = "\U0010fffd"  # private use: no font has it
    with caplog.at_level(logging.WARNING, "saccade"):
        assert families(f"a{private}") == families(f"b{private}") == ["Saccade Sans", "DejaVu Sans"]
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "no font has U+10FFFD, drawn as boxes"
    ]


def test_a_font_of_the_machine_serves_where_ours_do_not(monkeypatch, caplog):
    fonts = {path: "Found" if family == "DejaVu Sans" else family for path, family in _figure._fonts().items()}
    monkeypatch.setattr(_figure, "_fonts", lambda: {"nowhere.ttf": "Gone", **fonts})
    assert families("♞") == ["Saccade Sans", "Found", "DejaVu Sans"] and not caplog.records


def test_a_font_that_is_added_later_is_found(monkeypatch):
    latin = {path: family for path, family in _figure._ours().items() if family in ("Saccade Sans", "DejaVu Sans")}
    monkeypatch.setattr(_figure, "_ours", lambda: latin)
    monkeypatch.setattr(fontManager, "ttflist", [])
    assert families("水") == ["Saccade Sans", "DejaVu Sans"]
    fontManager.addfont(EXTRA / "SaccadeSansCJK.otf")
    assert families("水") == ["Saccade Sans", "DejaVu Sans", "Saccade Sans CJK"]


def test_every_text_of_a_figure_chooses_its_fonts():
    with _own_style():
        page = Page()
        axes = page.axes(0, 0, 1, 1)
        axes.set_yticks([0, 1], ["יום", "b"])
        figure = page.finished("水")
        names = {tuple(text.get_fontfamily()) for text in (figure.texts[0], *axes.get_yticklabels())}
    assert names == {("Saccade Sans", "Saccade Sans CJK", "Saccade Sans Hebrew", "DejaVu Sans")}
