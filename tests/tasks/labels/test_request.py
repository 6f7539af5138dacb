import pytest

from saccade.errors import ArgumentError
from saccade.tasks.labels.request import Request, check_count
from saccade.tasks.request import NoOptions


@pytest.mark.parametrize("count", [0, -1])
def test_fewer_than_one_class_is_no_answer(count):
    with pytest.raises(ArgumentError, match=f"^--nbest: expected a number from 1 on, got {count}$"):
        Request(nbest=count)


def test_more_classes_than_there_are_cannot_be_answered():
    check_count(Request(nbest=2), 2)
    with pytest.raises(ArgumentError, match="^--nbest: expected at most 2, as many labels as there are, got 3$"):
        check_count(Request(nbest=3), 2)


def test_there_is_one_way_to_be_measured():
    assert Request().nbest == 1 and isinstance(Request(), NoOptions)
