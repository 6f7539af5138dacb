"""Labels keep marks on their letters, and lose no token."""

from hypothesis import given
from hypothesis import strategies as st

from saccade.look._labels import labels, right_to_left, sentence, shortened
from tiers import every


@every(
    ("text", "expected"),
    [
        ("18 juin", ["1", "8", "␣", "j", "u", "i", "n"]),
        ("2019年", ["2", "0", "1", "9", "年"]),
        ("बुधवार", ["बु", "ध", "वा", "र"]),
        ("क्षत्रिय", ["क्ष", "त्रि", "य"]),
        ("ที่น้ำ", ["ที่", "น้ำ"]),
        ("e\u0301t", ["e\u0301", "t"]),
        ("שָׁלוֹם", ["שָׁ", "ל", "וֹ", "ם"]),
        ("\u1112\u1161\u11ab", ["\u1112\u1161\u11ab"]),
        ("👍🏽!", ["👍🏽", "!"]),
        ("👩\u200d🔬", ["👩\u200d🔬"]),
        ("a\u202bb\x00", ["a", "·", "b", "·"]),
        ("அன்பு", ["அ", "ன்", "பு"]),
        ("\u0301a", ["\u0301", "a"]),
    ],
)
def test_characters_are_grouped_as_they_are_written(text, expected):
    assert [label.text for label in labels(list(text))] == expected


def test_longer_tokens_are_labels_of_their_own():
    assert [label.text for label in labels(["Le", " chat", "\t", "dort", ""])] == ["Le", "␣chat", "␣", "dort", ""]


@given(st.lists(st.text(max_size=3), max_size=12))
def test_labels_cover_every_token_once(tokens):
    found = labels(tokens)
    assert [index for label in found for index in range(label.start, label.stop)] == list(range(len(tokens)))


@given(st.text(max_size=20))
def test_nothing_unprintable_is_drawn(text):
    drawn = "".join(label.text for label in labels(list(text))) + sentence(list(text))
    assert all(character.isprintable() or character in "\u200c\u200d" for character in drawn)


def test_only_characters_make_a_sentence():
    assert sentence(list("ab c")) == "ab c"
    assert sentence(["ab", "c"]) == sentence([]) == ""


def test_direction_is_that_of_the_first_letter():
    assert right_to_left("١٨ يونيو abc") and not right_to_left("abc ביוני") and not right_to_left("123")


def test_long_texts_are_cut():
    assert shortened("x" * 41) == "x" * 39 + "…" and shortened("x" * 40) == "x" * 40
