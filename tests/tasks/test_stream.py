import sys
from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import ArgumentError
from saccade.tasks.stream import stream
from saccade.train.task import Unreadable


def read(line, number):
    if line.startswith("bad"):
        raise ArgumentError(f"line {number}: {line}")
    return number, line


def answer(inputs):
    return ["" if isinstance(one, Unreadable) else one[1].upper() for one in inputs]


def answered(lines, ahead=3):
    """The answers, and the error at the end, if any."""
    found = []
    try:
        found.extend(stream(read, answer, iter(lines), ahead))
    except ArgumentError as error:
        return found, str(error)
    return found, None


@given(st.lists(st.sampled_from(["a", "b", "", "bad"]), max_size=12), st.integers(1, 14))
def test_one_answer_a_line_and_unreadable_ones_are_counted(lines, ahead):
    found, error = answered(lines, ahead)
    failed = lines.count("bad")
    if lines == ["bad"]:
        assert (found, error) == ([], "line 1: bad")  # where it is the only one, the error is what is wrong with it
        return
    assert found == ["" if line == "bad" else line.upper() for line in lines]
    expected = f"{failed} of {len(lines)} inputs could not be read, as said above; their answers are blank"
    assert error == (expected if failed else None)


def test_what_cannot_be_read_is_said_where_it_stands(capsys):
    assert answered(["a", "bad one", "b", "bad two"])[0] == ["A", "", "B", ""]
    assert capsys.readouterr().err == "line 2: bad one\nline 4: bad two\n"
    assert answered(["bad one", "b"])[0] == ["", "B"]
    assert capsys.readouterr().err == "line 1: bad one\n"


def test_equal_notes_are_one_with_a_number_unless_lines_are_typed(capsys):
    answered(["bad"] * 60 + ["a", "bad one"] + ["bad"] * 40, ahead=7)
    noted = capsys.readouterr().err.splitlines()
    assert noted == ["line 1: bad", "line 62: bad one", "line 102: bad (98 more like this)"]
    with pytest.raises(ArgumentError, match="4 of 4 inputs could not be read"):
        list(stream(read, answer, ["bad"] * 4, 1, typed=True))
    assert capsys.readouterr().err.splitlines() == [f"line {number}: bad" for number in range(1, 5)]


@pytest.mark.parametrize("ahead", [1, 2, 64])
def test_lines_are_read_as_they_are_answered(ahead):
    taken = []
    lines = (taken.append(number) or str(number) for number in count())
    for number, _ in enumerate(islice(stream(read, answer, lines, ahead), 200), 1):
        assert number <= len(taken) <= number + ahead


def test_typed_lines_are_answered_one_by_one():
    taken = []
    for number, _ in enumerate(stream(read, answer, (taken.append(line) or line for line in "abc"), 1), 1):
        assert len(taken) == number


def test_any_number_of_lines_takes_constant_memory():
    size, blocks, written = 50_000, 0, 0
    for _ in stream(read, answer, ("18" for _ in range(size)), 16):
        written += 1
        if written == 1000:
            blocks = sys.getallocatedblocks()
    assert written == size
    assert sys.getallocatedblocks() - blocks < 5_000  # a list that grows would hold a block a line


def test_lines_are_numbered_from_one_whatever_lies_between():
    seen = []

    def noted(line, number):
        seen.append(number)
        return read(line, number)

    list(stream(noted, answer, ["a", "", "b", "c"], 2))
    assert seen == [1, 2, 3, 4]


def test_other_errors_are_not_taken_for_unreadable_lines():
    def broken(line, number):
        raise ZeroDivisionError(line)

    with pytest.raises(ZeroDivisionError, match="a"):
        list(stream(broken, answer, ["a", "b"]))


def test_no_lines_have_no_answers():
    assert answered([]) == ([], None)


def test_a_typed_bad_line_is_reported_before_the_second(capsys):
    said = []

    def lines():
        yield "bad one"
        said.append(capsys.readouterr().err)
        yield "b"

    found = stream(read, answer, lines(), 1, typed=True)
    assert [next(found), next(found)] == ["", "B"] and said == ["line 1: bad one\n"]
    with pytest.raises(ArgumentError, match="1 of 2 inputs could not be read, as said above"):
        next(found)
    with pytest.raises(ArgumentError, match="1 of 1 inputs could not be read, as said above"):
        list(stream(read, answer, ["bad one"], 1, typed=True))
