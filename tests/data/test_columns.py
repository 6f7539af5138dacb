import numpy as np
import pytest

from saccade.data.columns import Column, file_name, label, read_columns

COLUMNS = [Column("text", ("text", "sentence")), Column("label", ("label",), label)]


@pytest.mark.parametrize(
    "row",
    [
        ("a", "yes"),
        ["a", "yes"],
        {"text": " a ", "label": "yes"},
        {"Sentence": "a", "LABEL": "yes", "id": 3},
        {"text": "a", "label": 1},
        {"text": "a", "sentence": "b", "label": "yes"},
        {"text": "a", "label": np.int64(1)},
    ],
)
def test_forms_of_a_row_have_the_same_values(row):
    assert read_columns(COLUMNS, row, {"label": ["no", "yes"]}) == {"text": "a", "label": "yes"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"review": "a", "label": "b"}, "expected a column text or sentence, got review, label"),
        (
            {"text": "a", "label": " "},
            "column .label.: expected a label, got an empty cell; fill it, or leave the row out",
        ),
        ({"text": 1.5, "label": "b"}, "expected a text, got float"),
        ({"text": None, "label": "b"}, "column .text.: expected a text, got an empty cell"),
        (("a", "b", "c"), r"expected text and label, got \('a', 'b', 'c'\)"),
        ("ab", "expected text and label, got 'ab'"),
        (3, "expected text and label, got 3"),
        (("\ud800", "a"), "surrogates not allowed"),
        ({"text": "a", "label": -1}, "column .label.: expected a label from 0 to 1, got -1"),
        ({"text": "a", "label": 2}, "column .label.: expected a label from 0 to 1, got 2"),
    ],
)
def test_a_row_that_is_none_is_one_line(row, message):
    with pytest.raises(ValueError, match=message) as error:
        read_columns(COLUMNS, row, {"label": ["no", "yes"]})
    assert "\n" not in str(error.value)


def test_the_name_of_a_file_keeps_its_spelling():
    assert file_name("a/../cafe\u0301.jpg") == "cafe\u0301.jpg" and file_name("  ") == ""
    with pytest.raises(ValueError, match="expected the name of a file, got int"):
        file_name(3)


def test_columns_that_are_not_needed_may_be_missing():
    columns = [*COLUMNS, Column("note", ("note",), lambda cell: cell, needed=False)]
    for row in (("a", "b"), {"text": "a", "label": "b"}):
        assert read_columns(columns, row, {}) == {"text": "a", "label": "b", "note": None}
    assert read_columns(columns, {"text": "a", "label": "b", "note": "c"}, {})["note"] == "c"
