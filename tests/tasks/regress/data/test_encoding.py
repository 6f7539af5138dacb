"""Blanks, categories and dates of tables as numbers, from files and objects to predictions."""

import json
import math
from datetime import date, datetime

import numpy as np
import pytest

from saccade import runs
from saccade.data.objects import OBJECTS
from saccade.errors import ArgumentError
from saccade.tasks.regress.data import open_numbers
from saccade.tasks.regress.data.encoding import Encoding, cell_of, fit_encoding
from saccade.tasks.regress.data.rows import Choice
from tiers import every

CITIES = ("Bonn", "Ulm", "Old Town, by the sea")
SHORT = {"max_steps": 2, "warmup_steps": 1, "checkpoint_steps": 2, "validation_steps": 2, "threads": 1, "device": "cpu"}


def houses(count=60):
    return [
        {
            "city": CITIES[n % 3],
            "sold": f"2020-0{n % 9 + 1}-10",
            "area": "" if n % 10 == 4 else 50 + n,
            "price": 100.0 * (n % 3) + n,
        }
        for n in range(count)
    ]


def write(path, rows):
    names = list(rows[0])
    lines = [",".join(f'"{row[name]}"' for name in names) for row in rows]
    path.write_text("\n".join([",".join(names), *lines]), encoding="utf-8")
    return str(path)


def test_columns_are_read_by_their_kind_and_noted():
    data = open_numbers(OBJECTS, houses())
    assert data.features == (*(f"city = {city}" for city in sorted(CITIES)), "sold", "area") and data.targets == (
        "price",
    )
    train = [data.rows.row("train", index) for index in range(data.size("train"))]
    areas = [row["numbers"][2] for row in train if row["numbers"][2] == row["numbers"][2]]
    for index, row in enumerate(train):
        city, sold, area = row["numbers"]
        expected = [float(city == name) for name in sorted(CITIES)]
        days = (date.fromisoformat(sold) - date(1970, 1, 1)).days
        filled = np.median(areas) if math.isnan(area) else area
        assert data.example("train", index).numbers == (*expected, days, filled)
    assert "column city: 3 categories (Bonn, Old Town, by the sea, Ulm), a feature of 0 or 1 each" in data.note
    assert "column sold: dates, as days since 1970" in data.note
    assert f"column area: {len(train) - len(areas)} blanks, filled with the median" in data.note


def test_codes_follow_from_training_alone():
    splits = {"train": houses(30), "validation": houses(6), "test": [{**row, "city": "Rome"} for row in houses(6)]}
    splits["test"][0]["area"] = 1e6
    data = open_numbers(OBJECTS, splits)
    assert sum(data.example("test", 1).numbers[:3]) == 0 and "Rome" not in " ".join(data.features)
    assert data.encoding.columns[2].median < 100


def test_a_table_of_numbers_is_read_as_before():
    data = open_numbers(OBJECTS, [{"a": 2 * n, "b": str(n * n), "y": n} for n in range(30)])
    assert data.encoding is None and data.note.startswith("held out") and data.example("train", 0).cells == ()


@every(
    ("rows", "message"),
    [
        (
            [{"name": f"house {n}", "y": n} for n in range(30)],
            'column "name": expected a number, or a category that several rows have, .*; leave it out by',
        ),
        (
            [{"x": "old" if n == 7 else n, "y": n} for n in range(30)],
            "data: train, row 8, column \"x\": expected a number, got 'old'; correct it",
        ),
        (
            [{"x": "10.05.2020" if n == 7 else f"2020-01-{n + 1:02}", "y": n} for n in range(30)],
            "row 8, column \"x\": expected a date such as 2020-05-10, got '10.05.2020'",
        ),
        (
            [{"x": 2020 if n == 7 else f"2020-01-{n + 1:02}", "y": n} for n in range(30)],
            "row 8, column \"x\": expected a date such as 2020-05-10, got '2020'",
        ),
        (
            [{"x": "2020-05-10" if n == 7 else n, "y": n} for n in range(30)],
            "row 8, column \"x\": expected a number, got '2020-05-10'; correct it",
        ),
        (
            [{"x": None, "z": n, "y": n} for n in range(30)],
            'column "x": expected numbers or categories, got 22 blank cells; leave it out by --features="-x"',
        ),
        (
            [{"x": "inf" if n == 7 else n, "y": n} for n in range(30)],
            'row 8, column "x": expected a finite number, got inf',
        ),
        ([{"x": {"a": 1}, "y": n} for n in range(30)], 'row 1, column "x": expected a number, got dict'),
    ],
)
def test_cells_that_cannot_be_meant_are_refused(rows, message):
    with pytest.raises(ArgumentError, match=message) as error:
        open_numbers(OBJECTS, rows)
    assert "\n" not in str(error.value)


def test_medians_of_small_numbers_are_exact():
    encoding, _ = fit_encoding(["x"], [*((n * 1e-12,) for n in range(1, 10)), (math.nan,)], lambda _, error: error)
    assert encoding.columns[0].median == 5e-12


def test_columns_are_left_out_by_name(tmp_path):
    rows = [{"name": f"house {n}", "id": n, "rooms": n % 5, "price": n} for n in range(30)]
    data = open_numbers(write(tmp_path / "a.csv", rows), choice=Choice(features="-name, -id"))
    assert (data.features, data.targets) == (("rooms",), ("price",))
    with pytest.raises(ArgumentError, match="--features: expected a column of data, got nam; did you mean name"):
        open_numbers(OBJECTS, rows, choice=Choice(features="-nam"))


def test_many_categories_keep_the_most_frequent():
    rows = [{"zip": f"z{min(n % 150, 120)}", "y": n} for n in range(900)]
    data = open_numbers(OBJECTS, {"train": rows, "validation": rows[:9], "test": rows[:9]})
    assert len(data.features) == 100 and "zip = z120" in data.features and "21 rarer ones taken as none" in data.note


@every(
    ("value", "cell"),
    [
        (" red  wine ", "red wine"),
        ("1e3", 1000.0),
        (np.int64(3), 3.0),
        (True, 1.0),
        (datetime(2020, 5, 10, 12), "2020-05-10T12:00:00"),
        (np.datetime64("2020-05-10T12:00"), "2020-05-10T12:00:00"),
    ],
)
def test_cells_of_python(value, cell):
    assert cell_of(value) == cell


@pytest.mark.parametrize("model", ["nadaraya-watson", "mlp", "set-transformer"])
def test_a_run_answers_cells_and_explains_columns(tmp_path, model, caplog):
    path = write(tmp_path / "houses.csv", houses())
    run = runs.train("regress", data=path, model=model, run=tmp_path / "run", **SHORT)
    again = runs.load(tmp_path / "run")
    assert isinstance(again.task.codec.encoding, Encoding) and again.task.codec == run.task.codec
    by_line = again.predict('"Old Town, by the sea",2020-05-10,')[0]
    row = {"area": None, "sold": date(2020, 5, 10), "city": "Old Town, by the sea", "garden": 3}
    assert by_line.mean == again.predict([row])[0].mean == again.predict([[row["city"], row["sold"], math.nan]])[0].mean
    [aligned] = again.align([row])
    assert aligned["cells"] == ["Old Town, by the sea", "2020-05-10", ""]
    with caplog.at_level("INFO"):
        [unknown] = again.predict("Rome,2020-05-10,70")
    assert unknown.mean and "line 1: column city: 'Rome': not among the categories of training" in caplog.text
    with pytest.raises(ArgumentError, match=r"line 1: expected 3 cells \(city, sold, area\), got 2"):
        again.predict("Bonn,70")
    with pytest.raises(ArgumentError, match="line 1, column \"area\": expected a number, got 'large'"):
        again.predict("Bonn,2020-05-10,large")
    again.draw([row], tmp_path / "pictures", json=True)
    [numbers] = [path for path in (tmp_path / "pictures").glob("*.json") if "bandwidth" not in path.name]
    drawn = json.loads(numbers.read_text(encoding="utf-8"))
    if model == "nadaraya-watson":
        assert all(" at " in name and "2020-0" in name for name in drawn["columns"])
    else:
        assert drawn["columns"] == [
            "city: Old Town, by the sea",
            "sold: 2020-05-10",
            f"area: {by_line.asked.numbers[-1]:.4g}",
        ]
        assert drawn["rows"] == ["effect" if model == "mlp" else "weight"]


@pytest.mark.parametrize(("cell", "blank", "filled"), [(2.0, False, None), (2.0, True, 3.0), (math.nan, False, 3.0)])
def test_blanks_are_filled_unless_all_tables_have_numbers_alone(cell, blank, filled):
    rows = [(1.0, 5.0), (3.0, cell), (9.0, 7.0)]
    encoding, notes = fit_encoding(["x", "y"], rows, lambda _, error: error, blank=blank)
    assert encoding.columns[0].median == filled
    assert ("blanks of validation and test" in "".join(notes)) == blank
    if filled is not None:
        assert encoding.encode((math.nan, 5.0)) == (3.0, 5.0)  # a column whose training rows have no blanks, too
