import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import ArgumentError
from saccade.tasks.text.tokenizer import UNKNOWN, from_json
from saccade.tasks.text.words import Words
from tiers import every


@every(
    ("text", "pieces"),
    [
        ("It isn't good; it's bad!", ["It", "is", "n't", "good", ";", "it", "'s", "bad", "!"]),
        ("it is n't 's good", ["it", "is", "n't", "'s", "good"]),
        ("CAN’T we’ll", ["CA", "N’T", "we", "’ll"]),
        ("l'homme re-imagining 1930s", ["l", "'", "homme", "re", "-", "imagining", "1930s"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("好电影 good", ["好", "电", "影", "good"]),
        ("naïve cafe\u0301", ["naïve", "café"]),
        ("💥👍", ["💥", "👍"]),
        (" \t\u3000", []),
    ],
)
def test_texts_are_cut_into_words_and_marks(text, pieces):
    assert Words([]).pieces(text) == pieces


@given(st.text(max_size=40))
def test_every_text_has_words_and_loses_nothing_visible(text):
    pieces = Words([]).pieces(text)
    assert bool(pieces) == bool(text.strip())
    assert "".join(pieces) == "".join(unicodedata.normalize("NFC", text).split())


def test_the_frequent_words_are_known_whatever_their_case():
    words = Words.learn(["The the THE cat", "a cat", "a dog", "one"], 100, 2)
    assert words.words == ["the", "a", "cat"]
    assert words.encode("A Dog, the CAT") == [5, UNKNOWN, UNKNOWN, 4, 6]
    assert words.encode_batch(["cat", ""]) == [[6], []] and len(words) == 7
    assert Words.learn(["b a a"], 5, 1).words == ["a"]  # 4 special ids and one word
    assert words.decode([4, 3, 6, 0]) == "the \ufffd cat"


def test_what_is_written_is_read_again():
    words = Words.learn(["good ’n bad İ"], 100, 1)
    again = from_json(json.loads(json.dumps(words.to_json())))
    assert again.words == words.words and again.encode("İ good") == words.encode("İ good")
    assert UNKNOWN not in again.encode("good bad İ")


@pytest.mark.parametrize("words", ["ab", [1], ["a", "a"], None])
def test_what_is_no_list_of_words_is_refused(words):
    with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected"):
        Words.from_json({"words": words})
