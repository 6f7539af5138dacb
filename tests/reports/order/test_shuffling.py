from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.reports.order.shuffling import shuffled
from saccade.tasks.translate.data.corpus import Pair


def turned(texts, rule="words"):
    return [pair.source for pair in shuffled([Pair(text, "t", "g") for text in texts], rule)]


@given(st.lists(st.sampled_from(["ein", "zwei", "drei"]), max_size=6))
def test_the_words_are_the_same_in_another_order_wherever_there_is_one(words):
    [found] = turned([" ".join(words)])
    assert Counter(found.split()) == Counter(words)
    assert (found.split() != words) is (len(set(words)) > 1)


@pytest.mark.parametrize(
    ("text", "rule", "pieces"),
    [
        ("2019年2月15日", "either", ["2019", "年", "2", "月", "15", "日"]),
        ("15.03.1999", "either", ["15", ".", "03", ".", "1999"]),
        ("15. März 1999", "either", None),
        ("私はCDを買う", "characters", ["私", "は", "CD", "を", "買", "う"]),
    ],
)
def test_without_spaces_characters_move_but_not_numbers(text, rule, pieces):
    [found] = turned([text], rule)
    if pieces is None:
        assert sorted(found.split()) == sorted(text.split())
    else:
        assert found != text and sorted(found) == sorted(text) and all(piece in found for piece in pieces)


def test_all_orders_but_the_first_come_evenly():
    counts = Counter(turned(["a b c"] * 2000))
    assert len(counts) == 5 and "a b c" not in counts and min(counts.values()) > 300


def test_same_pairs_come_out_the_same_and_references_stay():
    pairs = [Pair("a b c d", "x y", "g")] * 3
    assert shuffled(pairs, "words") == shuffled(pairs, "words")
    assert {(pair.target, pair.group) for pair in shuffled(pairs, "words")} == {("x y", "g")}


def test_a_single_word_of_a_spaced_language_stays():
    assert turned(["Hallo", "", "ja ja"]) == ["Hallo", "", "ja ja"]


def test_the_white_space_stays_where_it_is():
    [found] = turned(["18\u00a0juin  2025"])
    assert sorted(found) == sorted("18\u00a0juin  2025") and found.index("\u00a0") < found.index("  ")
