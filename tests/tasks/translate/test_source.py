import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.tasks.text.bpe import BytePairs
from saccade.tasks.text.tokenizer import Characters
from saccade.tasks.translate.source import encode_sources

LETTERS = Characters("abc ")
PAIRS = BytePairs.learn(["ein Mann fährt Fahrrad", "der Mann sieht ein Fahrrad"] * 5, 400)


@pytest.mark.parametrize(("text", "ids", "whole"), [("abc", 3, True), ("abcabc", 5, False), ("  abc \n", 3, True)])
def test_a_text_is_cut_to_what_a_model_takes(text, ids, whole):
    [source] = encode_sources([text], LETTERS, 5)
    assert (len(source.ids), source.whole, source.text) == (ids, whole, text)
    assert source.pieces(LETTERS) == list(text.strip()[:5])


@pytest.mark.parametrize(("text", "blank"), [("", True), (" \u3000\t", True), ("\ufeff", False), ("a", False)])
def test_a_text_without_letters_is_blank(text, blank):
    [source] = encode_sources([text], LETTERS, 5)
    assert source.blank == blank


def test_lines_are_numbered_from_the_first():
    assert [source.number for source in encode_sources(["a", "", "b"], LETTERS, 5, first=7)] == [7, 8, 9]
    assert encode_sources([], LETTERS, 5) == []


def test_of_text_of_any_length_only_the_front_is_looked_at():
    [source] = encode_sources(["a" * 10**6], LETTERS, 5)
    assert source.ids == [4] * 5 and not source.whole and len(source.part) == 64 * 5 and len(source.text) == 10**6
    [narrow] = encode_sources(["ab" + " " * 10**4 + "c"], LETTERS, 5)
    assert not narrow.whole  # what lies beyond is not known, so that it may be some


@given(st.lists(st.text(max_size=20), max_size=5), st.integers(1, 9))
def test_many_are_each_as_alone(texts, most):
    together = encode_sources(texts, PAIRS, most)
    assert together == [encode_sources([text], PAIRS, most, number)[0] for number, text in enumerate(texts, 1)]
    for source in together:
        assert len(source.ids) <= most and len(source.pieces(PAIRS)) == len(source.ids)
        assert source.whole == (PAIRS.encode(source.text.strip())[:most] == PAIRS.encode(source.text.strip()))
