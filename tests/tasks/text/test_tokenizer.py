import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import ArgumentError
from saccade.tasks.text.tokenizer import UNKNOWN, Characters, SpacedWords, from_json


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_known_texts_come_back_composed(texts):
    tokenizer = from_json(Characters.learn(texts).to_json())
    for text in texts:
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == unicodedata.normalize("NFC", text) == "".join(tokenizer.pieces(text))
        assert len(ids) == len(tokenizer.pieces(text)) and all(4 <= number < len(tokenizer) for number in ids)


def test_letters_and_accents_apart_are_the_letters_together():
    tokenizer = Characters.learn(["15. März"])
    assert tokenizer.encode("Ma\N{COMBINING DIAERESIS}rz") == tokenizer.encode("März")


def test_unknown_characters_are_said_to_be_unknown():
    tokenizer = Characters("ab")
    assert tokenizer.encode("a💥") == [4, UNKNOWN]
    assert tokenizer.decode([0, 1, 4, 2, UNKNOWN]) == "a\N{REPLACEMENT CHARACTER}"


def test_a_kind_that_is_not_known_is_named():
    with pytest.raises(ArgumentError, match="kind 'syllables'"):
        from_json({"kind": "syllables"})


@given(st.lists(st.text(alphabet="ab 3\t", min_size=1), min_size=1, max_size=5))
def test_words_stand_as_they_stood_between_single_spaces(texts):
    tokenizer = from_json(SpacedWords.learn(texts).to_json())
    for text in texts:
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == " ".join(text.split()) and tokenizer.pieces(text) == text.split()
        assert all(4 <= number < len(tokenizer) for number in ids)


@pytest.mark.parametrize("words", [3, "ab", ["a", "a"], ["a", 3]])
def test_words_that_are_none_or_there_twice_are_refused(words):
    with pytest.raises(ArgumentError, match="expected words, each of them once"):
        from_json({"kind": "spaced words", "words": words})


@pytest.mark.parametrize("characters", [3, ["a", "b"], "aa"])
def test_characters_that_are_none_or_there_twice_are_refused(characters):
    with pytest.raises(ArgumentError, match="expected characters, each of them once"):
        from_json({"kind": "characters", "characters": characters})


def test_the_most_frequent_characters_are_kept():
    assert Characters.learn(["abcab", "a"], 6).units == ("a", "b")
    assert len(Characters.learn(["abcab"], 260)) == 7


def test_many_texts_at_once_are_each_alone():
    tokenizer = Characters("ab")
    assert tokenizer.encode_batch(["ab", "", "c"]) == [[4, 5], [], [UNKNOWN]]
    assert [tokenizer.piece(number) for number in (0, UNKNOWN, 4)] == ["", "\N{REPLACEMENT CHARACTER}", "a"]
