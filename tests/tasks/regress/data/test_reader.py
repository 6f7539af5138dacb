"""A column `split` says which split a row is in, wherever rows come from; what is wrong is told alike."""

import numpy as np
import pytest

from saccade.data.objects import OBJECTS
from saccade.data.splits import SplitNames, split_of
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.regress.data import open_numbers
from saccade.tasks.regress.data.reader import Wanted

SPLITS = ("train", "validation", "test")
NAMES = ["x", "z", "y", "split"]
ROWS = [(n, n % 7, 3 * n + 1, ("train", "train", "dev", "Test")[n % 4]) for n in range(40)]


def columns(rows):
    return dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))


def records(rows):
    return [dict(zip(NAMES, row, strict=True)) for row in rows]


def csv(rows, folder):
    (folder / "a.csv").write_text("\n".join(",".join(map(str, row)) for row in (NAMES, *rows)), encoding="utf-8")
    return str(folder / "a.csv"), None


def numpy(rows, folder, text="U9"):
    kinds = [("x", float), ("z", float), ("y", float), ("split", text)]
    np.save(folder / "a.npy", np.array(rows, dtype=kinds))
    return str(folder / "a.npy"), None


def arrow_table(rows):
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow, pyarrow.table(columns(rows))


def parquet(rows, folder, name="a.parquet"):
    _, table = arrow_table(rows)
    from pyarrow.parquet import write_table

    write_table(table, folder / name)
    return str(folder / name), None


def arrow(rows, folder):
    pyarrow, table = arrow_table(rows)
    with pyarrow.OSFile(str(folder / "a.arrow"), "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return str(folder / "a.arrow"), None


def parquet_parts(rows, folder):
    parquet(rows[:15], folder, "part-00000.parquet")
    parquet(rows[15:], folder, "part-00001.parquet")
    return str(folder), None


class Polars:
    def __init__(self, rows):
        self.rows = rows

    def to_dicts(self):
        return records(self.rows)


class Pandas(Polars):
    to_dicts = property()  # it has none
    columns = NAMES

    def to_dict(self, how):
        assert how == "records"
        return records(self.rows)


FORMS = {
    "csv": csv,
    "numpy": numpy,
    "numpy, bytes": lambda rows, folder: numpy(rows, folder, "S9"),
    "parquet": parquet,
    "arrow": arrow,
    "parquet in parts": parquet_parts,
    "what polars has": lambda rows, folder: (OBJECTS, Polars(rows)),
    "what pandas has": lambda rows, folder: (OBJECTS, Pandas(rows)),
    "records": lambda rows, folder: (OBJECTS, records(rows)),
    "a generator": lambda rows, folder: (OBJECTS, iter(records(rows))),
    "columns": lambda rows, folder: (OBJECTS, columns(rows)),
    "columns of train": lambda rows, folder: (OBJECTS, {"train": columns(rows)}),
}


def opened(form, rows, folder, **more):
    data, objects = FORMS[form](rows, folder)
    return open_numbers(data, objects, **more)


def read(data):
    """The rows of each split."""
    found = {split: [data.example(split, place) for place in range(data.size(split))] for split in SPLITS}
    return {split: [(*row.numbers, *row.answers) for row in rows] for split, rows in found.items()}


@pytest.mark.parametrize("form", FORMS)
def test_the_column_split_is_read_of_every_form(form, tmp_path):
    data = opened(form, ROWS, tmp_path)
    assert (data.features, data.targets, data.note) == (("x", "z"), ("y",), "")
    wanted = {"train": ("train",), "validation": ("dev",), "test": ("Test",)}
    assert read(data) == {split: [row[:3] for row in ROWS if row[3] in names] for split, names in wanted.items()}
    chosen = opened(form, ROWS, tmp_path, wanted=Wanted(target="z", features="x"))
    assert chosen.features == ("x",) and chosen.size("validation") == 10


@pytest.mark.parametrize("form", FORMS)
def test_splits_have_the_names_that_options_give(form, tmp_path):
    rows = [(*row[:3], {"train": "train", "dev": "early", "Test": "late"}[row[3]]) for row in ROWS]
    names = SplitNames({"validation": "early", "test": "late"})
    assert {split: len(own) for split, own in read(opened(form, rows, tmp_path, names=names)).items()} == {
        "train": 20,
        "validation": 10,
        "test": 10,
    }
    without = [row for row in ROWS if row[3] != "Test"]
    with pytest.raises(SaccadeError, match="--test-split: expected the name of a part of .*, got later; there is "):
        opened(form, without, tmp_path, names=SplitNames({"test": "later"}))


def test_a_training_split_of_another_name():
    rows = [{**row, "split": "dev" if row["split"] == "dev" else "learn"} for row in records(ROWS)]
    data = open_numbers(OBJECTS, rows, names=SplitNames({"train": "learn"}))
    assert data.size("validation") == 10 and "held out from training" in data.note and data.size("train") < 30


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cell", ["later", " "])
def test_what_is_no_split_is_told_alike(form, cell, tmp_path):
    with pytest.raises(ArgumentError) as error:
        opened(form, [*ROWS[:2], (1, 2, 3, cell), *ROWS[3:]], tmp_path)
    place, _, told = str(error.value).replace(str(tmp_path), "").partition(": column split: ")
    assert told == f"expected one of train, training, validation, valid, val, dev, test, testing, got {cell!r}"
    row = 4 if form == "csv" else 3  # behind the header
    assert f"row {row} of /a" in place or f"row {row} of /part" in place or place == f"data: train, row {row}"


@pytest.mark.parametrize("form", [form for form in FORMS if form != "numpy, bytes"])  # which are no numbers
def test_a_column_of_features_or_targets_says_no_split(form, tmp_path):
    rows = [(*row[:3], n % 2) for n, row in enumerate(ROWS)]
    if form.startswith(("numpy", "csv")):
        rows = [(*row[:3], str(row[3])) for row in rows]
    data = opened(form, rows, tmp_path, wanted=Wanted(target="split"))
    assert data.targets == ("split",) and len(data.features) == 3 and "held out" in data.note


def test_records_have_the_column_all_or_none():
    first, second = records(ROWS[:2])
    bare = {name: second[name] for name in NAMES[:3]}
    for rows, how in (([first, bare], "without"), ([bare, first], "with")):
        for sets in (False, True):
            with pytest.raises(ArgumentError) as error:
                open_numbers(OBJECTS, rows, wanted=Wanted(sets=sets))
            wanted = f"data: train, row 2: expected the columns of the first row, got others: {how} split"
            assert str(error.value) == wanted


def test_sets_are_divided_by_the_column(tmp_path):
    for number, form in enumerate(FORMS):
        (tmp_path / f"{number}").mkdir()
        data = opened(form, ROWS, tmp_path / f"{number}", wanted=Wanted(sets=True))
        assert data.features == () and [data.size(split) for split in SPLITS] == [20, 10, 10], form


def test_beside_other_splits_column_says_what_the_part_says(tmp_path):
    train, test = ([row for row in ROWS if row[3] == name] for name in ("train", "Test"))
    told = "column split: expected test, as these rows are called, got 'train'; correct it, or take the column out"

    def csvs(train, test):
        for name, rows in (("train", train), ("test", test)):
            (tmp_path / "csv").mkdir(exist_ok=True)
            csv(rows, tmp_path / "csv")
            (tmp_path / "csv/a.csv").rename(tmp_path / f"csv/{name}.csv")
        return open_numbers(str(tmp_path / "csv"))

    def parquets(train, test):
        (tmp_path / "parquet").mkdir(exist_ok=True)
        for name, rows in (("train", train), ("test", test)):
            parquet(rows, tmp_path / "parquet", f"{name}.parquet")
        return open_numbers(str(tmp_path / "parquet"))

    def mapping(train, test):
        return open_numbers(OBJECTS, {"test": records(test), "train": Polars(train)})

    for several in (csvs, parquets, mapping):
        assert several(train, test).size("test") == 10 and several(train, test).size("train") < 20
        with pytest.raises(ArgumentError, match=told):
            several(train, [*test, train[0]])


def test_a_single_file_to_train_on_is_divided_as_a_table_is(tmp_path):
    csv(ROWS, tmp_path)
    (tmp_path / "a.csv").rename(tmp_path / "train.csv")
    assert [open_numbers(str(tmp_path)).size(split) for split in SPLITS] == [20, 10, 10]


def test_a_cell_names_a_split():
    assert split_of(b" val ", SplitNames()) == "validation" and split_of("VAL", SplitNames(), "dev") == "dev"
    for cell in (None, 3, float("nan"), b"\xff"):
        with pytest.raises(ValueError, match="^column split: expected one of train, .*, got '"):
            split_of(cell, SplitNames())
