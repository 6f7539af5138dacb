import pytest

from saccade.tasks.translate.baselines import baselines, by_length, nearest
from saccade.tasks.translate.data.corpus import Pair
from saccade.tasks.translate.metrics import exact_match
from tiers import every

PAIRS = [Pair("a b", "two", ""), Pair("c", "one", ""), Pair("d e", "another two", ""), Pair("a b c d e f", "six", "")]


@every(
    ("source", "words", "characters"),
    [("x y", "two", "two"), ("x", "one", "one"), ("x y z", "two", "two"), ("", "one", "one"), ("x " * 9, "six", "six")],
)
def test_a_source_has_the_target_of_the_first_that_is_as_long_or_nearest(source, words, characters):
    assert by_length(PAIRS, [source], "words") == [words]
    assert by_length(PAIRS, [source], "characters") == [characters]


def test_all_are_measured_as_translations_are():
    references = ["x y", "two", "one"]
    found = baselines(PAIRS, ["x y", "b c", "q"], lambda outputs: exact_match(outputs, references), "exact_match", "de")
    assert found["copy"].metrics == {"exact_match": pytest.approx(1 / 3)}
    assert found["length"].metrics == {"exact_match": pytest.approx(2 / 3)}
    assert found["length"].about == "the target of a source as long, of 4 training pairs"
    assert found["nearest"].metrics == {"exact_match": 0}  # "two", "one", "two"
    assert found["nearest"].advice.startswith("train longer")


def test_the_nearest_source_has_the_most_similar_words_and_pairs_of_words():
    pairs = [Pair("der Hund läuft", "1", ""), Pair("läuft der Hund ?", "2", ""), Pair("eine Katze", "3", "")]
    sources = ["Der Hund läuft schnell", "wo läuft der Hund", "KATZE", "nichts davon", ""]
    assert nearest(pairs, sources, "words") == ["1", "2", "3", "1", "1"]
    assert nearest([Pair("我喜欢猫", "cats", ""), Pair("他喜欢狗", "dogs", "")], ["小狗"], "characters") == ["dogs"]


def test_blank_training_sources_have_no_words():
    assert nearest([Pair(" ", "blank", "")], ["a", ""], "words") == ["blank", "blank"]
