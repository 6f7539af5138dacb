import pytest

from saccade.errors import ArgumentError
from saccade.tasks.regress.question import MOST, read_numbers


@pytest.mark.parametrize("line", ["1 2 3", "1,2,3", " 1 , 2;3 ", "1\t2\u30003", "1e0 2.0 +3"])
def test_numbers_have_commas_or_blanks_between(line):
    assert read_numbers(line, 1, ("a", "b", "c")) == read_numbers(line, 1, ()) == (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("line", "features", "message"),
    [
        ("", (), "line 7: expected a set of numbers, got none"),
        (" ", ("x", "y"), r"line 7: expected 2 numbers \(x, y\), got none"),
        ("1", ("x", "y"), r"line 7: expected 2 numbers \(x, y\), got 1"),
        ("1 2 3", ("x", "y"), r"line 7: expected 2 numbers \(x, y\), got 3"),
        ("1,,2", (), "line 7: expected a number, got ''"),
        ("1 x", (), "line 7: expected a number, got 'x'"),
        ("nan", (), "line 7: expected a finite number, got nan"),
        ("1e999", ("x",), "line 7: expected a finite number, got 1e999"),
        ("1 " * (MOST + 1), (), "line 7: expected at most 10,000 numbers, got 10,001"),
    ],
)
def test_what_is_no_question(line, features, message):
    with pytest.raises(ArgumentError, match=message):
        read_numbers(line, 7, features)
