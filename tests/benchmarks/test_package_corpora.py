"""Corpora are made of what packages hold, split by split."""

import gzip

import pytest
from babel.messages import Catalog
from babel.messages.mofile import write_mo

from scripts import script


@pytest.fixture(name="script")
def program():
    return script("benchmarks/package_corpora.py")


def test_messages_and_their_translations_are_pairs_once(script, tmp_path):
    programs = {"a": {"_Open file": "Bestand _openen", "Quit": "Stoppen"}, "b": {"Open file": "Open"}}
    for program, messages in programs.items():
        catalog = Catalog(locale="nl")
        for message, translation in {**messages, "%d files left": "nog %d bestanden"}.items():
            catalog.add(message, translation)
        path = tmp_path / f"usr/share/locale/nl/LC_MESSAGES/{program}.mo"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            write_mo(file, catalog)
    assert script.pairs(tmp_path) == [("Open file", "Bestand openen")]


def test_page_of_a_manual_is_its_words_without_its_section(script, tmp_path):
    head = '.TH OPEN 2 "a date"\n.SH NAME\nopen\n.SH SYNOPSIS\nline\n'
    whole = "It \\fIopens\\fR files.\nSee close(2).\n" + "word " * 150
    pages = {"man2/open.2": head + whole, "man2/short.2": head + "few"}
    for name, text in pages.items():
        path = tmp_path / "usr/share/man" / f"{name}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    [(split, section, name, text)] = script.long(tmp_path)
    assert (split, section, name) == ("test", "2", "open.2")
    assert text.startswith("It opens files. word") and "close" not in text
