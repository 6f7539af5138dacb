from collections import Counter

import pytest

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
