"""Pieces equal slices of the numbers, and no request does harm."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from look.explorer.books import numbers, opened, planes
from saccade.errors import ArgumentError
from saccade.look._explorer.sheets import TILE, Book, MatrixIndex, Sheet, reduced

LINES = {"entropy": lambda values: values.sum(1), "received": lambda values: values.sum(0)}


def coarse(values):
    """Half the size by Python's own arithmetic: of each 2 × 2 cells the number of the largest magnitude."""
    rows, columns = -(-values.shape[0] // 2), -(-values.shape[1] // 2)
    half = np.zeros((rows, columns), np.float32)
    for row in range(rows):
        for column in range(columns):
            cells = values[2 * row : 2 * row + 2, 2 * column : 2 * column + 2].ravel()
            half[row, column] = max(cells.tolist(), key=lambda value: (abs(value), value))
    return half


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (256, 256), (257, 1), (300, 521)])
def test_tiles_of_level_0_are_the_matrix(shape):
    matrix = torch.randn(shape)
    book = planes(matrix)
    tiles = [-(-size // TILE) for size in shape]
    parts = [
        [numbers(book, piece="tile", level=0, row=r, column=c)[1] for c in range(tiles[1])] for r in range(tiles[0])
    ]
    assert np.array_equal(np.block(parts), matrix.numpy())
    assert all(max(part.shape) <= TILE for row in parts for part in row)


def test_rows_columns_and_lines_are_slices_of_each_layer():
    first, second = torch.rand(3, 7), torch.rand(3, 7)
    book = planes(first, second, lines=LINES)
    for layer, matrix in enumerate((first, second)):
        for row in range(3):
            assert np.array_equal(numbers(book, piece="row", layer=layer, at=row)[1], matrix[row])
        for column in range(7):
            assert np.array_equal(numbers(book, piece="column", layer=layer, at=column)[1], matrix[:, column])
        for name, read in LINES.items():
            assert np.array_equal(numbers(book, piece="line", layer=layer, name=name)[1], read(matrix))


def test_a_difference_subtracts_the_other_head_and_is_signed():
    first, second = torch.rand(3, 7), torch.rand(3, 7)
    about, values = numbers(planes(first, second), piece="tile", minus=[0, 1, 0])
    assert np.array_equal(values, first.numpy() - second.numpy())
    assert about["low"] == -1.0 and about["top"] == pytest.approx(scale(first - second))


def scale(values):
    peak = float(values.abs().max())
    return 1.0 if 0.5 < peak <= 1 else peak


def test_a_difference_of_a_smaller_batch_takes_its_last_example():
    large, small = torch.rand(4, 2, 3), torch.rand(2, 2, 3)
    sheets = [
        Sheet("attention", "", "ab", "cde", lambda place: large[place.example], examples=4),
        Sheet("attention", "", "ab", "cde", lambda place: small[place.example], examples=2),
    ]
    values = numbers(Book("", sheets), piece="tile", example=3, minus=[1, 0, 0])[1]
    assert np.array_equal(values, (large[3] - small[1]).numpy())


@pytest.mark.parametrize(("low", "top"), [(0.0, 1.0), (0.0, 0.3), (-0.2, 0.1), (-3.0, 2.0), (0.0, 0.0), (0.0, 0.001)])
def test_the_ends_of_the_colours_hold_every_number(low, top):
    matrix = torch.full((5, 11), (low + top) / 2)
    matrix[1, 2], matrix[3, 4] = low, top
    about, _ = numbers(planes(matrix), piece="tile")
    assert about["top"] >= float(matrix.abs().max())
    assert about["low"] == (-1.0 if low < 0 else 0.0)


@given(st.data())
def test_reduced_copies_keep_the_number_of_the_largest_magnitude(data):
    shape = data.draw(st.sampled_from([(257, 3), (2, 263), (258, 259), (1, 515)]))
    values = torch.randn(shape, generator=torch.Generator().manual_seed(data.draw(st.integers(0, 99))))
    levels = reduced(values)
    expected = values.numpy()
    for level in levels[1:]:
        expected = coarse(expected)
        assert np.array_equal(level.numpy(), expected)
    assert max(levels[-1].shape) <= TILE and (len(levels) == 1 or max(levels[-2].shape) > TILE)


def test_tiles_of_a_reduced_level_are_the_reduced_copy():
    matrix = torch.randn(600, 700)
    book = planes(matrix)
    expected = coarse(matrix.numpy())
    parts = [[numbers(book, piece="tile", level=1, row=r, column=c)[1] for c in range(2)] for r in range(2)]
    assert np.array_equal(np.block(parts), expected)
    assert numbers(book, piece="tile", level=2)[1].shape == (150, 175)


def test_at_most_four_matrices_are_in_memory():
    read = []
    sheet = Sheet("attention", "", "ab", "cde", lambda place: read.append(place.layer) or torch.rand(2, 3), range(9))
    book = Book("", [sheet])
    for layer in [*range(9), 8, 7, 6, 5]:
        numbers(book, piece="tile", layer=layer)
    assert read == list(range(9))
    numbers(book, piece="tile", layer=0)
    assert read[-1] == 0 and book._matrix.cache_info().currsize == 4


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_stay_json(value):
    matrix = torch.rand(3, 5)
    matrix[1, 2] = value
    about, values = opened(planes(matrix).message({"piece": "tile"}))
    assert np.array_equal(values.reshape(3, 5), matrix.numpy(), equal_nan=True)
    assert 0 < about["top"] < float("inf")
    json.dumps(about, allow_nan=False)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_an_empty_matrix_has_an_empty_row_or_an_error(shape):
    about, values = opened(planes(torch.zeros(shape)).message({"piece": "tile"}))
    assert "error" in about and not len(values)


HOSTILE = [
    {},
    {"piece": "tile", "sheet": 1},
    {"piece": "tile", "layer": -1},
    {"piece": "tile", "layer": 10**30},
    {"piece": "tile", "layer": "0"},
    {"piece": "tile", "head": True},
    {"piece": "tile", "head": 0.5},
    {"piece": "tile", "head": float("nan")},
    {"piece": "tile", "example": None},
    {"piece": "tile", "example": [0]},
    {"piece": "tile", "level": 1},
    {"piece": "tile", "row": 1},
    {"piece": "tile", "column": {"x": 1}},
    {"piece": "row", "at": 3},
    {"piece": "column", "at": 7},
    {"piece": "line"},
    {"piece": "line", "name": "missing"},
    {"piece": "line", "name": ["entropy"]},
    {"piece": "line", "name": {"a": 1}},
    {"piece": ["tile"]},
    {"piece": "everything"},
    {"piece": "tile", "minus": 3},
    {"piece": "tile", "minus": [0, 0]},
    {"piece": "tile", "minus": [0, 9, 0]},
    {"piece": "tile", "minus": ["0", 0, 0]},
    {"piece": "tile", "minus": [1, 0, 0]},
    {"piece": "tile", "minus": "000"},
    [],
    None,
    "tile",
    7,
]


@pytest.mark.parametrize("request_", HOSTILE, ids=str)
def test_a_hostile_request_is_answered_with_one_line(request_):
    about, values = opened(planes(torch.rand(3, 7), lines=LINES).message(request_))
    assert set(about) == {"error"} and "expected" in about["error"]
    assert not len(values) and len(about["error"]) < 300 and "\n" not in about["error"]


def test_a_difference_of_other_shapes_is_refused():
    sheets = [Sheet("attention", "", "ab", columns, lambda place: torch.rand(2, 3)) for columns in ("cde", "cdef")]
    with pytest.raises(ArgumentError, match=r"minus: expected a matrix of 2 × 3, got another"):
        Book("", sheets).piece({"piece": "tile", "minus": [1, 0, 0]})


def test_a_sheet_of_lines_alone_has_lines_and_no_tiles():
    line = torch.rand(2)
    book = Book("", [Sheet("attention", "", "ab", "", None, lines={"entropy": lambda place: line})])
    assert np.array_equal(numbers(book, piece="line", name="entropy")[1], line)
    with pytest.raises(ArgumentError, match="piece: expected line"):
        book.piece({"piece": "tile"})


def test_a_book_without_sheets_is_refused():
    with pytest.raises(ArgumentError, match="sheets: expected one or more, got none"):
        Book("", [])


def test_messages_are_pieces_and_aligned():
    matrix = torch.rand(3, 7)
    about, values = opened(planes(matrix).message({"piece": "row", "at": 2}))
    assert about["shape"] == [7] and np.array_equal(values, matrix[2])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_numbers_of_other_dtypes_are_sent_as_float32(dtype):
    matrix = torch.rand(3, 5).to(dtype)
    values = numbers(planes(matrix), piece="tile")[1]
    assert values.dtype == np.float32 and np.array_equal(values, matrix.float())


def test_the_manifest_is_json_with_six_digits():
    measure = torch.tensor([[[1 / 3, float("nan")]]])
    sheet = Sheet("attention", "", "ab", "cde", lambda place: torch.rand(2, 3), heads=2, measures={"entropy": measure})
    book = Book("A title", [sheet])
    described = json.loads(json.dumps(book.manifest(), allow_nan=False))
    assert described["format"] == 1 and described["tile"] == TILE and described["title"] == "A title"
    assert described["sheets"][0]["measures"] == {"entropy": [[[0.333333, None]]]}
    assert book.sheets[0].matrix(MatrixIndex()).shape == (2, 3)
