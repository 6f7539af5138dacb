from collections import Counter

import pytest

from saccade.errors import ArgumentError
from saccade.tasks.translate.data.dates import Dates
from saccade.tasks.translate.data.several import SeveralDates


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_rows_have_their_dates_and_all_numbers_occur(split):
    rows = [SeveralDates().example(split, index) for index in range(300)]
    assert all(row.source.count("; ") == row.target.count(" ") == int(row.group) - 1 for row in rows)
    assert min(Counter(row.group for row in rows).values()) >= 60
    assert rows[:9] == [SeveralDates().example(split, index) for index in range(9)]


def test_no_date_of_the_test_is_trained_on():
    def dates(split, count):
        return {date for index in range(count) for date in SeveralDates().example(split, index).target.split(" ")}

    assert not dates("train", 3000) & dates("test", 300)


def test_what_there_is_not_is_refused():
    assert SeveralDates().size("test") == Dates().size("test") and SeveralDates().size("train") is None
    with pytest.raises(ArgumentError, match="split: expected one of"):
        SeveralDates().example("tset", 0)
    with pytest.raises(ArgumentError, match="index: expected 0 <= index < 2000 in test, got 2000"):
        SeveralDates().example("test", 2000)
