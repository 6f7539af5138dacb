"""Pairs of X and y, and their errors in one line."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from saccade.data.objects import object_tables
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from tiers import every

X = pd.DataFrame({"size": [1.5, 2.5], "city": ["Ulm", "Bonn"]}, index=[7, 9])
Y = pd.Series([3, 4], name="price")
NAMED = [{"size": 1.5, "city": "Ulm", "price": 3}, {"size": 2.5, "city": "Bonn", "price": 4}]
UNNAMED = [{"size": row["size"], "city": row["city"], "y": row["price"]} for row in NAMED]
TEXTS = ["a fine film", "a dull film"]


def rows(objects):
    return list(object_tables(objects, SplitNames())[""].rows)


@every(
    ("objects", "expected"),
    [
        ((X, Y), NAMED),
        ((X, Y.to_frame()), NAMED),
        ((pa.Table.from_pandas(X, preserve_index=False), Y), NAMED),
        ((X, Y.to_numpy()), UNNAMED),
        ((X, [3, 4]), UNNAMED),
        ((X, pa.array([3, 4])), UNNAMED),
        ((pd.Series(TEXTS), Y), [(TEXTS[0], 3), (TEXTS[1], 4)]),
        ((TEXTS, Y), [(TEXTS[0], 3), (TEXTS[1], 4)]),
        ((np.array(TEXTS), np.array([3, 4])), [(TEXTS[0], 3), (TEXTS[1], 4)]),
    ],
)
def test_x_and_y_are_rows(objects, expected):
    assert rows(objects) == expected


def test_splits_may_be_pairs_of_x_and_y():
    tables = object_tables({"train": (X, Y), "test": (X, Y)}, SplitNames())
    assert [list(tables[name].rows) for name in ("train", "test")] == [NAMED, NAMED]


@every(
    ("objects", "message"),
    [
        ((X, Y[:1]), "data: expected as many rows in X and y, got 2 and 1"),
        ((X, X), "data: expected a y of one column, got 2 (size, city); hand over one frame"),
        ((X, X["city"]), "data: expected a y of another name than those of X, got city in both. Rename it"),
        (
            (X,),
            "data: expected rows, or (X, y), got a tuple of DataFrame; {'train': frame, 'test': frame} names",
        ),
        ([X, Y], "data: expected rows, or (X, y), got a list of DataFrame, Series; {'train': frame,"),
        ((X, None), "data: expected rows, or (X, y), got a tuple of DataFrame, NoneType; {'train'"),
    ],
)
def test_other_pairs_are_an_error_of_one_line(objects, message):
    with pytest.raises(ArgumentError) as error:
        rows(objects)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)
