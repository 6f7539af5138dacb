"""Every script of the built-in corpus has a font that comes with the library; what none has is said in one line."""

import logging

import pytest

from saccade.look import typefaces

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
def test_shipped_fonts_draw_the_languages_of_dates(text, caplog):
    ours = {family for family in typefaces.families(text) if family.startswith("Saccade")}
    covered = set().union(*(typefaces._characters(p) for p, family in typefaces._shipped().items() if family in ours))
    assert {ord(character) for character in text if character != " "} <= covered
    assert not caplog.records


def test_the_fonts_stay_small_and_carry_their_licence():
    files = list(typefaces.SHIPPED.iterdir())
    assert sum(file.stat().st_size for file in files) < 4 * 2**20
    assert "SIL OPEN FONT LICENSE" in (typefaces.SHIPPED / "OFL.txt").read_text()


def test_a_character_that_no_font_has_is_said_once(caplog):
    private = "\U0010fffd"  # private use: no font has it
    with caplog.at_level(logging.WARNING, "saccade"):
        assert typefaces.families(f"a{private}") == typefaces.families(f"b{private}") == ["Saccade Sans", "DejaVu Sans"]
    assert [record.getMessage() for record in caplog.records] == [
        "no font at hand draws U+10FFFD: drawn as a box (a Noto font for its script helps)"
    ]


def test_a_font_of_the_machine_serves_where_ours_do_not(monkeypatch, caplog):
    path = typefaces._default_path()
    monkeypatch.setattr(typefaces, "_default_path", lambda: "nowhere.ttf")
    monkeypatch.setattr(typefaces, "_of_the_machine", lambda: {"nowhere.ttf": "Gone", path: "Found"})
    assert typefaces.families("♞") == ["Saccade Sans", "DejaVu Sans", "Found"]
    assert not caplog.records
