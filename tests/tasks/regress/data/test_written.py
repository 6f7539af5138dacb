"""Numbers and dates as people write them, from the cells of a column to predictions."""

import datetime

import numpy as np
import pandas as pd
import pytest

from saccade import runs
from saccade.data.columns import CellError
from saccade.data.objects import OBJECTS
from saccade.errors import ArgumentError
from saccade.tasks.regress.data import open_numbers
from saccade.tasks.regress.data.rows import Choice, ChoiceError
from saccade.tasks.regress.data.written import Written, find_written
from tiers import every

SHORT = {"max_steps": 2, "warmup_steps": 1, "checkpoint_steps": 2, "validation_steps": 2, "threads": 1, "device": "cpu"}


@every(
    ("cells", "values", "note"),
    [
        (["3,14", "-2,5", "7"], ["3.14", "-2.5", "7"], "decimal commas"),
        (["119,746.50", "950"], ["119746.50", "950"], "commas between thousands"),
        (["1,200", "950"], ["1200", "950"], "commas between thousands; --decimal , reads 1,200 as 1.200"),
        (["1.200,50", "1.234.567"], ["1200.50", "1234567"], "decimal commas, points between thousands"),
        (["1 200 €", "1\u202f950 €"], ["1200", "1950"], "spaces between thousands, numbers in €"),
        (["$1,200.5", "-$3", "$-4"], ["1200.5", "-3", "-4"], "commas between thousands, numbers in $"),
        (["1’200.50", "USD 7"], ["1200.50", "7"], "apostrophes between thousands, numbers in USD"),
        (["62%", "7.5 %"], ["62", "7.5"], "percent, 62% is 62"),
        (["\u22123.5", "4"], ["-3.5", "4"], ""),
        (["0,125", "3,142"], ["0.125", "3.142"], "decimal commas"),
        (["31.12.2020", "1.2.2020"], ["2020-12-31", "2020-02-01"], "dates with the day first"),
        (["31/12/20", "01/02/69"], ["2020-12-31", "1969-02-01"], "dates with the day first"),
        (["12/31/2020", "1/2/2020"], ["2020-12-31", "2020-01-02"], "dates with the month first"),
        (["2020/12/31", "2020/1/2"], ["2020-12-31", "2020-01-02"], "dates with the year first"),
        (["31.12.2020 9:30", "1.2.2020"], ["2020-12-31T09:30:00", "2020-02-01"], "dates with the day first"),
    ],
)
def test_columns_are_read_as_they_are_written(cells, values, note):
    written, notes = find_written({"x": cells})
    assert [written["x"].read(cell) for cell in cells] == values
    assert notes == ([f"column x: {note}"] if note else [])


@every(
    "cells",
    [
        ["3.14", "1e5", "7"],
        ["1.200", "2.300"],
        ["2020-12-31", "2020-01-01"],
        ["Bonn", "Ulm"],
        ["1,2,3", "4,5,6"],
        ["12:30", "9:15"],
        ["3,14", "old", "new"],
        ["32.13.2020", "45.1.2020"],
        ["Q1", "Q2"],
        [],
    ],
)
def test_other_columns_stay(cells):
    assert find_written({"x": cells}) == ({}, [])


@every(
    ("cells", "message"),
    [
        (["1,200", "3,142"], "expected numbers of one meaning, got 1,200, which is 1200 or 1.200; --decimal . or"),
        (["1,200", "3.142"], "expected numbers of one meaning, got 1,200"),
        (["5 €", "$5"], r"expected numbers of one unit, got 5 € and \$5; convert them; leave it out by --features"),
        (["62%", "0.62"], "expected numbers of one unit, got 62% and 0.62"),
        (["05/06/2020", "03/03/2020"], "got 05/06/2020, which is 2020-06-05 or 2020-05-06; write them as 2020-06-05"),
    ],
)
def test_two_meanings_are_an_error(cells, message):
    with pytest.raises(CellError, match=message):
        find_written({"x": cells})


def test_other_columns_and_the_option_decide_unclear_ones():
    commas, points = ["1,200", "3,142"], ["1.200", "950"]
    assert find_written({"x": commas, "y": ["0,5"]})[0]["x"].read("1,200") == "1.200"
    assert find_written({"x": commas, "y": ["0.5"]})[0]["x"].read("1,200") == "1200"
    assert find_written({"x": points, "y": ["0,5"]})[0]["x"].read("1.200") == "1200"
    assert find_written({"x": commas}, ",")[0]["x"].read("1,200") == "1.200"
    assert find_written({"x": commas}, ".")[0]["x"].read("1,200") == "1200"


def test_numbers_are_written_as_they_are_read():
    for text in ("1.234", "-2.5", "3", "1e-07", "2020-12-31", "old"):
        assert all(written.read(written.write(text)) == text for written in (Written(","), Written(".", "$")))


def prices(count=40):
    """Rows as text, and their values."""
    values = [(n % 7 + 0.25, 20 + n, datetime.date(2020, n % 12 + 1, n % 28 + 1), 1000.5 + n) for n in range(count)]
    texts = [
        {
            "size": f"{size}".replace(".", ","),
            "share": f"{share} %",
            "sold": f"{sold:%d.%m.%Y}",
            "price": f"{price:.2f} €".replace(".", ","),
        }
        for size, share, sold, price in values
    ]
    return texts, values


def csv(path, rows):
    lines = [";".join(row.values()) for row in rows]
    path.write_text("\n".join([";".join(rows[0]), *lines]), encoding="utf-8")
    return path


@pytest.mark.parametrize("frame", [False, True])
def test_a_table_of_people_has_its_values(frame, tmp_path):
    texts, values = prices()
    data = open_numbers(OBJECTS, pd.DataFrame(texts)) if frame else open_numbers(str(csv(tmp_path / "a.csv", texts)))
    read = {(*row.numbers, *row.answers) for s in ("train", "validation", "test") for row in all_of(data, s)}
    epoch = datetime.date(1970, 1, 1)
    assert read == {(size, share, (sold - epoch).days, price) for size, share, sold, price in values}
    assert "column size: decimal commas" in data.note and "column price: decimal commas, numbers in €" in data.note


def all_of(data, split):
    return [data.example(split, index) for index in range(data.size(split))]


def test_predictions_read_new_rows_as_training_did(tmp_path, capsys):
    texts, _ = prices()
    run = runs.train("regress", data=csv(tmp_path / "a.csv", texts), run=tmp_path / "run", model="mlp", **SHORT)
    run = runs.load(run.folder)
    new = [{name: row[name] for name in ("size", "share", "sold")} for row in texts[:3]]
    frame = pd.DataFrame({"size": [0.25, 1.25, 2.25], "share": [20, 21, 22], "sold": [row["sold"] for row in new]})
    frame["sold"] = pd.to_datetime(frame["sold"], dayfirst=True)
    expected = [answer.mean for answer in run.predict(frame)]
    assert len(np.unique(expected)) == 3
    for inputs in (csv(tmp_path / "new.csv", new), new, [";".join(row.values()) for row in new]):
        assert [answer.mean for answer in run.predict(inputs)] == expected
    shown = [run.task.codec.show(example, "").text for example in all_of(run.task.data, "test")]
    cells = [run.task.codec.read(text, 1).numbers for text in shown]
    assert cells == [example.numbers for example in all_of(run.task.data, "test")]
    other = csv(tmp_path / "other.csv", [{"id": "7", **new[0]}, {"id": "8", **new[1], "share": "5 €"}])
    with pytest.raises(ArgumentError, match="1 of 2 inputs could not be read"):
        run.predict(other)
    notes = capsys.readouterr().err
    assert "other.csv: reading size, share, sold; other columns are not read: id" in notes
    assert "line 3, column \"share\": expected a number, got '5 €'" in notes  # as in training
    with pytest.raises(ArgumentError, match="line 1, column \"share\": expected a number, got '5 €'"):
        run.predict("1,5;5 €;2020-01-01")


@every(
    ("data", "choice", "message"),
    [
        (
            [(1, 2), (2, 3), (3, 4)],
            Choice(decimal=","),
            "--decimal: expected none for data, whose numbers",
        ),
        (
            [{"x": 1.5, "y": 2}] * 4,
            Choice(decimal=","),
            "--decimal: expected none for data, whose numbers",
        ),
        (
            [{"x": "1,5", "y": 2}],
            Choice(decimal=",", sets=True),
            "--decimal: expected none beside --sets, got ,",
        ),
    ],
)
def test_a_mark_of_decimals_without_effect_is_refused(data, choice, message):
    with pytest.raises((ArgumentError, ChoiceError), match=message):
        open_numbers(OBJECTS, data, choice=choice)


def test_a_mark_of_decimals_is_refused_for_built_in_data():
    with pytest.raises(ArgumentError, match="--decimal: expected none for sine, whose columns are fixed; leave , out"):
        open_numbers("sine", choice=Choice(decimal=","))
