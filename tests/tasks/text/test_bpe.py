import json
import unicodedata
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from saccade.errors import ArgumentError
from saccade.tasks.text import bpe
from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.tokenizer import SPECIAL, from_json

TEXTS = ["ein Mann fährt Fahrrad.", "a man rides a bike.", "ein Fahrrad, ein Mann", "क्षण भर में"] * 5
PAIRS = BytePairs.learn(TEXTS, 400)
#: Characters that have been in Unicode long enough for all to compose them alike.
OLD = st.characters(codec="utf-8", exclude_categories=["Cn"]).filter(
    lambda c: unicodedata.ucd_3_2_0.category(c) != "Cn"
)


@given(st.text(OLD))
@example(" a")
@example("")
@example("  \t\n\x85\u2028 ")
@example(" padding</s><pad>")
@example("e\u0301 \ufffd💥")
def test_every_text_comes_back_composed(text):
    ids = PAIRS.encode(text)
    assert PAIRS.decode(ids) == unicodedata.normalize("NFC", text)
    assert all(SPECIAL <= number < len(PAIRS) for number in ids)
    assert PAIRS.encode_batch([text, "x"])[0] == ids and len(PAIRS.pieces(text)) == len(ids)


def test_a_word_is_the_same_wherever_it_stands():
    first, inside = PAIRS.encode("Mann fährt"), PAIRS.encode("ein Mann")
    assert first[0] == inside[-1] and len(inside) == 2


def test_pieces_are_the_text_and_parts_of_characters_say_so():
    assert PAIRS.pieces("ein Mann fährt") == ["ein", " Mann", " fährt"]
    assert PAIRS.pieces("💥") == ["", *(rf"\x{byte:x}" for byte in "💥".encode())]
    assert PAIRS.piece(PAIRS.encode("Mann")[0]) == " Mann" and PAIRS.piece(2) == ""


def test_marks_stay_with_their_letters():
    assert PAIRS.pieces("क्षण भर") == ["क्षण", " भर"]


def test_learning_is_deterministic_and_bounded():
    again = BytePairs.learn(TEXTS, 400)
    assert again.to_json() == PAIRS.to_json()
    assert len(BytePairs.learn(TEXTS, 270)) == 270 and 270 < len(PAIRS) <= 400


def test_json_brings_it_back():
    again = from_json(json.loads(json.dumps(PAIRS.to_json())))
    assert again.encode(TEXTS[0]) == PAIRS.encode(TEXTS[0]) and len(again) == len(PAIRS)


def test_what_is_half_a_character_is_written_as_none():
    """Bytes of a command that are no UTF-8 come as half surrogate pairs."""
    assert PAIRS.encode("ein \udcff Mann") == PAIRS.encode("ein \ufffd Mann")
    assert PAIRS.encode_batch(["\ud800", "a"]) == [PAIRS.encode("\ufffd"), PAIRS.encode("a")]
    assert len(PAIRS.pieces("\udcff")) == len(PAIRS.encode("\udcff"))


def test_special_ids_are_no_text():
    assert PAIRS.decode([1, *PAIRS.encode("Mann"), 2, 0, 3]) == "Mann"


@pytest.mark.parametrize("content", [{}, {"tokenizer": 3}, {"tokenizer": {"model": None}}])
def test_what_is_no_tokenizer_is_refused(content):
    with pytest.raises(ArgumentError, match=r"tokenizer\.json: expected a tokenizer of byte pairs"):
        from_json({"kind": "bpe", **content})


def test_other_special_ids_are_refused():
    content = PAIRS.to_json()
    content["tokenizer"]["model"]["vocab"] = {
        {" begin": " end", " end": " begin"}.get(name, name): number
        for name, number in content["tokenizer"]["model"]["vocab"].items()
    }
    with pytest.raises(ArgumentError, match="expected the ids from 0 on to be padding, begin, end, unknown"):
        from_json(content)


def test_a_lack_of_memory_is_no_fault_of_the_tokenizer(monkeypatch):
    def from_str(text):
        raise MemoryError

    monkeypatch.setattr(bpe, "_library", lambda: SimpleNamespace(Tokenizer=SimpleNamespace(from_str=from_str)))
    with pytest.raises(MemoryError):
        from_json(PAIRS.to_json())
