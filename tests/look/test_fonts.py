"""Every script of the built-in corpus has a font in a checkout; a character without a font is one warning."""

import logging
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from saccade.look import _fonts

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


@pytest.mark.parametrize("text", SAMPLES.values(), ids=SAMPLES)
def test_our_fonts_draw_the_languages_of_dates(text, caplog):
    ours = {family for family in _fonts.families(text) if family.startswith("Saccade")}
    covered = set().union(*(_fonts._characters(path) for path, family in _fonts._ours().items() if family in ours))
    assert {ord(character) for character in text if character != " "} <= covered
    assert not caplog.records


def test_the_wheel_has_the_font_of_latin_alone():
    assert sorted(path.name for path in _fonts.BUNDLED.iterdir()) == ["OFL.txt", "SaccadeSans.ttf"]
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [_fonts.EXTRA.name]
    for licence in (_fonts.BUNDLED / "OFL.txt", FOLDER / "OFL.txt"):
        assert "SIL OPEN FONT LICENSE" in licence.read_text()
    assert sum(path.stat().st_size for path in _fonts.BUNDLED.iterdir()) < 200_000


def test_without_the_extra_fonts_those_of_matplotlib_serve(monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(_fonts, "EXTRA", tmp_path / "nowhere")
    monkeypatch.setattr(_fonts, "_ours", _fonts._ours.__wrapped__)
    monkeypatch.setattr(_fonts, "_of_the_machine", dict)
    assert _fonts.families("יום 18") == ["Saccade Sans", "DejaVu Sans"] and not caplog.records
    with caplog.at_level(logging.WARNING, "saccade"):
        _fonts.families("水")
    assert "U+6C34, drawn as boxes: install a Noto font" in caplog.text and "pip install ./fonts" in caplog.text


def test_fonts_that_are_installed_are_found(monkeypatch, tmp_path):
    (tmp_path / "SaccadeSansHebrew.ttf").write_bytes((_fonts.EXTRA / "SaccadeSansHebrew.ttf").read_bytes())
    monkeypatch.setattr(_fonts, "find_spec", lambda name: SimpleNamespace(origin=f"{tmp_path}/__init__.py"))
    assert list(_fonts._ours.__wrapped__().values()) == ["Saccade Sans", "Saccade Sans Hebrew"]


def test_a_character_that_no_font_has_is_one_warning(caplog):
    private = "\U0010fffd"  # private use: no font has it
    with caplog.at_level(logging.WARNING, "saccade"):
        assert _fonts.families(f"a{private}") == _fonts.families(f"b{private}") == ["Saccade Sans", "DejaVu Sans"]
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "no font has U+10FFFD, drawn as boxes"
    ]


def test_a_font_of_the_machine_serves_where_ours_do_not(monkeypatch, caplog):
    path = _fonts._default_path()
    monkeypatch.setattr(_fonts, "_default_path", lambda: "nowhere.ttf")
    monkeypatch.setattr(_fonts, "_of_the_machine", lambda: {"nowhere.ttf": "Gone", path: "Found"})
    assert _fonts.families("♞") == ["Saccade Sans", "DejaVu Sans", "Found"]
    assert not caplog.records
