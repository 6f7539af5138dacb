import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.tasks.groups import by_group
from saccade.tasks.translate.metrics import exact_match

ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1)


def test_groups_are_scored_alone_and_in_order():
    outputs, references = ["a", "b", "c", "d"], ["a", "B", "c", "d"]
    assert by_group(exact_match, outputs, references, ["y", "x", "y", "x"]) == {"x": 0.5, "y": 1.0}
    found = by_group(exact_match, outputs, references, ["101-110", "11-20", "1-10", "1-10"])
    assert list(found.items()) == [("1-10", 1.0), ("11-20", 0.0), ("101-110", 1.0)]
    assert by_group(exact_match, [], [], []) == {}


@given(ROWS)
def test_they_add_up_to_the_whole(rows):
    outputs, references, groups = zip(*rows, strict=True)
    found = by_group(exact_match, outputs, references, groups)
    whole = sum(found[group] * groups.count(group) for group in set(groups)) / len(rows)
    assert whole == pytest.approx(exact_match(outputs, references)) and list(found) == sorted(set(groups))


@given(ROWS)
def test_each_is_a_corpus_of_its_own_in_its_own_order(rows):
    outputs, references, groups = zip(*rows, strict=True)
    seen = {}

    def score(own, true):
        seen[len(seen)] = list(zip(own, true, strict=True))
        return 0.0

    by_group(score, outputs, references, groups)
    expected = [[row[:2] for row in rows if row[2] == group] for group in sorted(set(groups))]
    assert [seen[number] for number in range(len(seen))] == expected
