"""Phrases of a colour and a shape: what is sent, and the order and agreement of the words in two languages."""

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.transcribe.data import tones
from saccade.tasks.transcribe.data.phrases import COLOURS, SHAPES, Phrases
from tasks.transcribe.data.test_tones import heard

ENGLISH, FRENCH = Phrases(), Phrases("fr")


def test_the_keys_are_the_words_of_the_english_text_in_their_order(monkeypatch):
    monkeypatch.setattr(tones, "NOISE", (30.0, 30.0))
    words = {key: words[0] for key, words in {**COLOURS, **SHAPES}.items()}
    recordings = [ENGLISH.example("test", index) for index in range(40)]
    right = [" ".join(words[key] for key in heard(one.signal).split()) == one.text for one in recordings]
    assert sum(right) >= 37 and sorted(words) == list("0123456789")
    assert {len(one.text.split()) for one in recordings} == {2, 4, 6}


def test_french_has_the_noun_first_and_an_adjective_that_agrees():
    assert FRENCH.words("3729") == "cercle bleu croix verte" and ENGLISH.words("3729") == "blue circle green cross"
    feminine = {noun for _, noun, is_feminine in SHAPES.values() if is_feminine}
    for index in range(30):
        english, french = ENGLISH.text("test", index).split(), FRENCH.text("test", index).split()
        for place in range(0, len(french), 2):
            noun, adjective = french[place : place + 2]
            colour = next(colour for colour in COLOURS.values() if colour[0] == english[place])
            assert adjective == colour[2 if noun in feminine else 1]
            assert noun == next(shape[1] for shape in SHAPES.values() if shape[0] == english[place + 1])


def test_a_text_is_known_without_its_sound_and_other_languages_are_refused(monkeypatch):
    texts = [FRENCH.example("train", index).text for index in range(5)]
    monkeypatch.setattr(tones, "_part", None)
    assert [FRENCH.text("train", index) for index in range(5)] == texts
    assert ENGLISH.fingerprint != FRENCH.fingerprint != tones.Tones().fingerprint
    with pytest.raises(ArgumentError, match="--language: expected en or fr with --data phrases, got ja"):
        Phrases("ja")
