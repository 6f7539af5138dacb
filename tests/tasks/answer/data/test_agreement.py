"""How right an answer is, against all sets of nine people."""

import itertools

import pytest

from saccade.tasks.answer.data.agreement import agreement
from tiers import every


@every("said", range(11))
def test_of_ten_people_it_is_the_mean_over_all_nine(said):
    answers = ["red"] * said + ["blue"] * (10 - said)
    nine = [min(1.0, sum(one == "red" for one in chosen) / 3) for chosen in itertools.combinations(answers, 9)]
    assert agreement("red", answers) == pytest.approx(sum(nine) / 10)


def test_of_few_people_one_who_says_it_is_enough():
    assert [agreement("red", answers) for answers in (["red"], ["blue"], ["red", "blue"], ["red"] * 3)] == [1, 0, 1, 1]
    assert agreement("green", ["red", "blue", "red"]) == 0
