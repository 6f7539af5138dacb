import pytest

from saccade.tasks.translate.baselines import baselines, by_length
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


def test_both_are_measured_as_translations_are():
    references = ["x y", "two", "one"]
    found = baselines(PAIRS, ["x y", "b c", "q"], lambda outputs: exact_match(outputs, references), "exact_match", "de")
    assert found["copy"].metrics == {"exact_match": pytest.approx(1 / 3)}
    assert found["length"].metrics == {"exact_match": pytest.approx(2 / 3)}
    assert found["length"].about == "the target of a source as long, of 4 training pairs"
