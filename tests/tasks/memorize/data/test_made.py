from collections import Counter

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.memorize.data.made import HELD_OUT, Made
from saccade.tasks.memorize.data.problems import PROBLEMS, Copy
from tiers import every


@every("name", PROBLEMS)
def test_splits_are_as_many_of_each_kind_and_always_same(name):
    data = Made(name, PROBLEMS[name]())
    assert data.size("train") is None and data.size("validation") == data.size("test") == HELD_OUT
    items = [data.example("test", index) for index in range(24)]
    assert items == [Made(name, PROBLEMS[name]()).example("test", index) for index in range(24)]
    counts = Counter(item.group for item in items)
    assert next(iter(counts)) == data.problem.trained
    assert set(counts) == {data.problem.trained, *data.problem.beyond("test")}
    assert all(item.text and item.answer for item in items)


def test_training_is_as_long_as_in_the_paper():
    data = Made("copy", Copy())
    train = [data.example("train", index) for index in range(200)]
    assert {item.group for item in train} == {"1-20"} and max(len(item.text.split()) for item in train) == 20
    longer = {item.text for item in train if len(item.text.split()) > 4}
    assert not longer & {data.example("test", index).text for index in range(HELD_OUT)}


def test_another_longest_is_other_data():
    assert Made("copy", Copy()).fingerprint != Made("copy", Copy(10)).fingerprint
    for split, index in (("test", HELD_OUT), ("validation", -1), ("tset", 0)):
        with pytest.raises(ArgumentError):
            Made("copy", Copy()).example(split, index)
