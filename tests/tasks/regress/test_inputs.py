from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.inputs import input_lines
from saccade.tasks.regress.data.encoding import ColumnCode, Encoding
from saccade.tasks.regress.inputs import MOST, lines_of, read_cells, read_numbers
from tiers import every


@every("line", ["1 2 3", "1,2,3", " 1 , 2;3 ", "1\t2\u30003", "1e0 2.0 +3"])
def test_numbers_have_commas_or_blanks_between(line):
    assert read_numbers(line, 1, ("a", "b", "c")) == read_numbers(line, 1, ()) == (1.0, 2.0, 3.0)


@every(
    ("line", "features", "message"),
    [
        ("", (), "line 7: expected a set of numbers, got none"),
        (" ", ("x", "y"), r"line 7: expected 2 numbers \(x, y\), got none"),
        ("1", ("x", "y"), r"line 7: expected 2 numbers \(x, y\), got 1"),
        ("1 2 3", ("x", "y"), r"line 7: expected 2 numbers \(x, y\), got 3"),
        ("1,,2", (), "line 7: expected a number, got an empty cell"),
        ("1 x", (), "line 7: expected a number, got 'x'"),
        ("nan", (), "line 7: expected a finite number, got nan"),
        ("1e999", ("x",), "line 7: expected a finite number, got inf"),
        ("1 " * (MOST + 1), (), "line 7: expected at most 10,000 numbers, got 10,001"),
    ],
)
def test_what_is_no_question(line, features, message):
    with pytest.raises(ArgumentError, match=message):
        read_numbers(line, 7, features)


def lines(inputs, features):
    """Inputs from Python as lines of the task."""
    return list(input_lines(SimpleNamespace(inputs="lines", lines=partial(lines_of, features=features)), inputs))


class Frame:
    columns = ("age", "rooms")

    def to_dict(self, how):
        assert how == "records"
        return [{"age": 2.5, "rooms": 1, "city": "Bonn"}]


ONE_ROW = {
    "a text": "1,2.5",
    "texts": ["1,2.5"],
    "a list": [[1, 2.5]],
    "tuples": [(1, np.float32(2.5))],
    "an array": np.array([[1, 2.5]]),
    "rows of arrays": [np.array([1, 2.5])],
    "a tensor": torch.tensor([[1, 2.5]]),
    "columns": {"age": np.array([2.5]), "rooms": [1]},
    "rows by name": [{"rooms": 1, "age": 2.5, "city": "Bonn"}],
    "one row by name": {"rooms": 1, "age": 2.5},
    "a frame": Frame(),
    "a generator": (row for row in [[1, 2.5]]),
}


@every("kind", ONE_ROW)
def test_a_row_from_python_is_a_line(kind):
    assert lines(ONE_ROW[kind], ("rooms", "age")) == ["1,2.5"]


def test_single_numbers_are_features_and_lists_are_sets():
    for numbers in ([1, 2.5], np.array([1, 2.5]), torch.tensor([1, 2.5]), {"x": [1, 2.5]}):
        assert lines(numbers, ("x",)) == ["1", "2.5"]
    assert lines(3, ("x",)) == lines(np.array(3.0), ("x",)) == ["3"]
    assert lines({"x": np.array([[1, 2.5]])}, ("x1", "x2")) == ["1,2.5"]
    assert lines([[3, 1], (2,)], ()) == ["3,1", "2"] and lines(np.zeros((0, 2)), ("x", "y")) == []


@every(
    ("inputs", "features", "message"),
    [
        (None, ("x",), "inputs: expected texts, rows of numbers, or columns by their names, got NoneType"),
        (object(), ("x",), "inputs: expected texts, rows of numbers, or columns by their names, got object"),
        ([None], ("x",), "inputs: row 1: expected a number, got an empty cell"),
        ([1, 2], ("x", "y"), r"inputs: row 1: expected a row of 2 numbers \(x, y\), got 1 alone; a single one is \[\["),
        ([1, 2], (), r"inputs: row 1: expected a set, got 1 alone; a single one is \[\[...\]\]"),
        (b"12", ("x",), "inputs: row 1: expected a number, got bytes"),
        ([[1, 2], [1, "old"]], ("x", "y"), "inputs: row 2: expected a number, got 'old'"),
        ([[1, float("nan")]], ("x", "y"), r"inputs: row 1: expected a number, got an empty cell \(nan\)"),
        ({"x": [1, None]}, ("x",), 'inputs: row 2, column "x": expected a number, got an empty cell'),
        ({"x": [1], "z": [2]}, ("x", "y"), "inputs: row 1: expected columns x, y, got x, z: without y"),
        ({"x": [1], "y": [2, 3]}, ("x", "y"), "inputs: expected columns of as many cells each, got 1 of x, 2 of y"),
        ([{"x": 1}], (), "inputs: row 1: expected the numbers of a set, got columns by their names; pass a list"),
    ],
)
def test_what_is_no_question_from_python(inputs, features, message):
    with pytest.raises(ArgumentError, match=message) as error:
        lines(inputs, features)
    assert "\n" not in str(error.value)


def test_a_single_cell_may_contain_other_marks():
    encoding = Encoding((ColumnCode("kind", "category", None, ("a;b", "c, d")),))
    [first, second] = lines_of([["a;b"], ["c, d"]], encoding.features, encoding)
    assert read_cells(first, 1, encoding).numbers == (1.0, 0.0)
    assert read_cells(second, 2, encoding).numbers == (0.0, 1.0)


CELLS = Encoding((ColumnCode("area", "number"), ColumnCode("city", "category", None, ("Bonn", "Ulm"))))


@every(
    ("line", "message"),
    [
        ("1e400,Bonn", 'line 7, column "area": expected a finite number, got inf'),
        ("1e308,Bonn", r'line 7, column "area": expected a number from -1e\+150 to 1e\+150'),
        ("1,Bo\nnn", "line 7: expected a line of CSV, got an error: new-line character"),
        ("1," + "x" * 200_000, "line 7: expected a line of CSV, got an error: field larger"),
        ("1", r"line 7: expected 2 cells \(area, city\), got 1"),
        ("", r"line 7: expected 2 cells \(area, city\), got none"),
    ],
)
def test_cells_that_cannot_be_read(line, message):
    with pytest.raises(ArgumentError, match=message) as error:
        read_cells(line, 7, CELLS)
    assert "\n" not in str(error.value)


@every(
    ("row", "message"),
    [
        (None, r"inputs: row 1: expected 2 cells \(area, city\), got 1"),
        ([], r"inputs: row 1: expected 2 cells \(area, city\), got none"),
        ([[1, 2], "Bonn"], r"inputs: row 1: expected 2 cells \(area, city\), got 3"),
        ([1e308, "Bonn"], r'inputs: row 1, column "area": expected a number from'),
    ],
)
def test_rows_of_cells_that_cannot_be_read(row, message):
    with pytest.raises(ArgumentError, match=message):
        list(lines_of([row], ("area", "city = Bonn", "city = Ulm"), CELLS))
