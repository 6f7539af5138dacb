"""Columns of rows: which are features, which are targets, and which divide the rows or number them."""

import numpy as np
import pytest

from saccade.data.objects import OBJECTS
from saccade.data.splits import SplitNames, split_of
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.regress.data import open_numbers
from saccade.tasks.regress.data.rows import Choice

SPLITS = ("train", "validation", "test")
NAMES = ["x", "z", "y", "split"]
ROWS = [(n, n % 7, 3 * n + 1, ("train", "train", "dev", "Test")[n % 4]) for n in range(40)]


def columns(rows, names=NAMES):
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def records(rows):
    return [dict(zip(NAMES, row, strict=True)) for row in rows]


def csv(rows, folder, names=NAMES):
    (folder / "a.csv").write_text("\n".join(",".join(map(str, row)) for row in (names, *rows)), encoding="utf-8")
    return str(folder / "a.csv"), None


def numpy(rows, folder, text="U9"):
    kinds = [("x", float), ("z", float), ("y", float), ("split", text)]
    np.save(folder / "a.npy", np.array(rows, dtype=kinds))
    return str(folder / "a.npy"), None


def parquet(rows, folder, name="a.parquet", names=NAMES):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(columns(rows, names)), folder / name)
    return str(folder / name), None


FORMS = {
    "csv": csv,
    "numpy": numpy,
    "numpy, bytes": lambda rows, folder: numpy(rows, folder, "S9"),
    "parquet": parquet,
    "records": lambda rows, folder: (OBJECTS, iter(records(rows))),
    "columns": lambda rows, folder: (OBJECTS, {"train": columns(rows)}),
}


def opened(form, rows, folder, **more):
    data, objects = FORMS[form](rows, folder)
    return open_numbers(data, objects, **more)


def read(data):
    """The rows of each split."""
    examples = {split: [data.example(split, index) for index in range(data.size(split))] for split in SPLITS}
    return {split: [(*row.numbers, *row.answers) for row in rows] for split, rows in examples.items()}


@pytest.mark.parametrize("form", FORMS)
def test_the_column_split_divides_rows_of_any_form(form, tmp_path):
    data = opened(form, ROWS, tmp_path)
    assert (data.features, data.targets, data.note) == (("x", "z"), ("y",), "")
    tags = {"train": "train", "validation": "dev", "test": "Test"}
    assert read(data) == {split: [row[:3] for row in ROWS if row[3] == tag] for split, tag in tags.items()}
    sets = opened(form, ROWS, tmp_path, choice=Choice(sets=True))
    assert sets.features == () and [sets.size(split) for split in SPLITS] == [20, 10, 10]
    with pytest.raises(SaccadeError, match="--test-split: expected the name of a part of .*, got later; there is "):
        opened(form, [row for row in ROWS if row[3] != "Test"], tmp_path, names=SplitNames({"test": "later"}))


@pytest.mark.parametrize("form", FORMS)
def test_a_cell_that_names_no_split_is_rejected(form, tmp_path):
    with pytest.raises(ArgumentError) as error:
        opened(form, [*ROWS[:2], (1, 2, 3, "later"), *ROWS[3:]], tmp_path)
    where, _, message = str(error.value).replace(str(tmp_path), "").partition(": column split: ")
    assert message == "expected one of train, training, validation, valid, val, dev, test, testing, got 'later'"
    row = 4 if form == "csv" else 3  # behind the header
    assert f"row {row} of /a" in where or where == f"data: train, row {row}"


@pytest.mark.parametrize("form", [form for form in FORMS if form != "numpy, bytes"])  # which are no numbers
def test_a_target_called_split_divides_nothing(form, tmp_path):
    rows = [(*row[:3], str(n % 2) if form in ("csv", "numpy") else n % 2) for n, row in enumerate(ROWS)]
    data = opened(form, rows, tmp_path, choice=Choice(target="split"))
    assert data.targets == ("split",) and len(data.features) == 3 and "held out" in data.note


def test_all_records_have_the_column_split_or_none():
    first, second = records(ROWS[:2])
    bare = {name: second[name] for name in NAMES[:3]}
    for rows, how in (([first, bare], "without"), ([bare, first], "with")):
        for sets in (False, True):
            with pytest.raises(ArgumentError) as error:
                open_numbers(OBJECTS, rows, choice=Choice(sets=sets))
            message = f"data: train, row 2: expected the columns of the first row, got others: {how} split"
            assert str(error.value) == message


def test_the_column_split_agrees_with_the_split_of_a_file(tmp_path):
    train, test = ([row for row in ROWS if row[3] == name] for name in ("train", "Test"))
    for rows in (test, [*test, train[0]]):
        for name, part in (("train", train), ("test", rows)):
            parquet(part, tmp_path, f"{name}.parquet")
        if rows is test:
            assert open_numbers(str(tmp_path)).size("test") == 10
            continue
        with pytest.raises(ArgumentError, match="column split: expected test, as these rows are called, got 'train'"):
            open_numbers(str(tmp_path))


def test_a_cell_names_a_split():
    assert split_of(b" val ", SplitNames()) == "validation" and split_of("VAL", SplitNames(), "dev") == "dev"
    for cell in (None, 3, float("nan"), b"\xff"):
        with pytest.raises(ValueError, match="^column split: expected one of train, .*, got '"):
            split_of(cell, SplitNames())


SHUFFLED = [(index, *row[:3]) for index, row in zip(np.random.default_rng(1).permutation(90), ROWS, strict=False)]


@pytest.mark.parametrize("kind", ["pandas", "R", "parquet", "frame", "shuffled"])
def test_an_unnamed_index_is_left_out_with_a_note(kind, tmp_path):
    rows = SHUFFLED if kind == "shuffled" else [(n + (kind == "R"), *row[:3]) for n, row in enumerate(ROWS)]
    name = {"parquet": "__index_level_0__", "frame": "Unnamed: 0", "R": '""'}.get(kind, "")
    names, choice = (
        [name, *NAMES[:3]],
        Choice(features=f"{'__index_level_0__' if kind == 'parquet' else 'Unnamed: 0'},x"),
    )
    if kind == "frame":
        data, objects = OBJECTS, columns(rows, names)
    else:
        data, objects = (parquet if kind == "parquet" else csv)(rows, tmp_path, names=names)
    plain = open_numbers(data, objects)
    assert plain.features == ("x", "z") and sum(map(len, read(plain).values())) == len(ROWS)
    unnamed = choice.features.partition(",")[0]
    assert f'left out the column {unnamed}, an unnamed index of the rows; --features "{unnamed},x,z" uses' in plain.note
    assert open_numbers(data, objects, choice=choice).features == (unnamed, "x")
    assert all(
        len(row) == 3 for rows in read(open_numbers(data, objects, choice=Choice(sets=True))).values() for row in rows
    )


def test_an_unnamed_column_of_other_numbers_is_a_feature(tmp_path):
    for cell in (lambda n: n % 9, lambda n: n / 2):
        data, _ = csv([(cell(n), *row[:3]) for n, row in enumerate(ROWS)], tmp_path, names=["", *NAMES[:3]])
        assert open_numbers(data).features == ("column 1", "x", "z")


def test_pandas_writes_an_index_that_is_left_out(tmp_path):
    frame = pytest.importorskip("pandas").DataFrame(columns(ROWS)).drop(columns="split")
    for part, name in ((frame[:30], "train"), (frame[30:], "test")):
        part.to_csv(tmp_path / f"{name}.csv")
    data = open_numbers(str(tmp_path))
    assert data.features == ("x", "z") and data.size("test") == 10 and "Unnamed: 0" in data.note


def test_an_index_and_one_column_are_too_few(tmp_path):
    data, _ = csv([(n, n * n) for n in range(9)], tmp_path, names=["", "y"])
    with pytest.raises(ArgumentError, match=r"expected two columns or more, .*, got 1 \(Unnamed: 0, y\)"):
        open_numbers(data)
