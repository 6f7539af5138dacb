"""Columns of rows: which are features, which are targets, and which divide the rows or number them."""

import numpy as np
import pytest

from saccade.data.objects import OBJECTS
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.regress.data import open_numbers
from saccade.tasks.regress.data.rows import Choice, ChoiceError, Reader
from tiers import every

SPLITS = ("train", "validation", "test")
NAMES = ["x", "z", "y", "split"]
ROWS = [(2 * n, n % 7, 3 * n + 1, ("train", "train", "dev", "Test")[n % 4]) for n in range(40)]


def columns(rows, folder=None, names=NAMES):
    return OBJECTS, dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def csv(rows, folder, names=NAMES):
    (folder / "a.csv").write_text("\n".join(",".join(map(str, row)) for row in (names, *rows)), encoding="utf-8")
    return str(folder / "a.csv"), None


def numpy(rows, folder, text="U9"):
    kinds = [("x", float), ("z", float), ("y", float), ("split", text)]
    np.save(folder / "a.npy", np.array(rows, dtype=kinds))
    return str(folder / "a.npy"), None


def parquet(rows, folder, name="a.parquet", names=NAMES):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(columns(rows, names=names)[1]), folder / name)
    return str(folder / name), None


FORMS = {
    "csv": csv,
    "numpy": numpy,
    "numpy, bytes": lambda rows, folder: numpy(rows, folder, "S9"),
    "parquet": parquet,
    "records": lambda rows, folder: (OBJECTS, (dict(zip(NAMES, row, strict=True)) for row in rows)),
    "columns": lambda rows, folder: (OBJECTS, {"train": columns(rows)[1]}),
}


def read(data):
    """The rows of each split."""
    examples = {split: [data.example(split, index) for index in range(data.size(split))] for split in SPLITS}
    return {split: [(*row.numbers, *row.answers) for row in rows] for split, rows in examples.items()}


@pytest.mark.parametrize("form", FORMS)
def test_the_column_split_divides_rows_of_any_form(form, tmp_path):
    def opened(rows, **more):
        return open_numbers(*FORMS[form](rows, tmp_path), **more)

    data = opened(ROWS)
    assert (data.features, data.targets, data.note) == (("x", "z"), ("y",), "")
    tags = {"train": "train", "validation": "dev", "test": "Test"}
    assert read(data) == {split: [row[:3] for row in ROWS if row[3] == tag] for split, tag in tags.items()}
    sets = opened(ROWS, choice=Choice(sets=True))
    assert sets.features == () and [sets.size(split) for split in SPLITS] == [20, 10, 10]
    if form != "numpy, bytes":  # which are no numbers
        rows = [(*row[:3], str(n % 2) if form in ("csv", "numpy") else n % 2) for n, row in enumerate(ROWS)]
        data = opened(rows, choice=Choice(target="split"))
        assert data.targets == ("split",) and len(data.features) == 3 and "held out" in data.note
    with pytest.raises(SaccadeError, match="--test-split: expected the name of a part of .*, got later; there is "):
        opened([row for row in ROWS if row[3] != "Test"], names=SplitNames({"test": "later"}))
    with pytest.raises(ArgumentError) as error:
        opened([*ROWS[:2], (1, 2, 3, "later"), *ROWS[3:]])
    where, _, message = str(error.value).replace(str(tmp_path), "").partition(', column "split": ')
    assert message == "expected one of train, training, validation, valid, val, dev, test, testing, got 'later'"
    row = 4 if form == "csv" else 3  # behind the header
    assert f"row {row} of /a" in where or where == f"data: train, row {row}"


def test_the_column_split_agrees_with_the_split_of_a_file(tmp_path):
    train, test = ([row for row in ROWS if row[3] == name] for name in ("train", "Test"))
    for name, part in (("train", train), ("test", test)):
        parquet(part, tmp_path, f"{name}.parquet")
    assert open_numbers(str(tmp_path)).size("test") == 10
    parquet([*test, train[0]], tmp_path, "test.parquet")
    with pytest.raises(ArgumentError, match="row 11 of .*: expected test, as these rows are called, got 'train'"):
        open_numbers(str(tmp_path))


INDEXED = [(n, *row[:3]) for n, row in enumerate(ROWS)]
SHUFFLED = [(n, *row[:3]) for n, row in zip(np.random.default_rng(1).permutation(90), ROWS, strict=False)]


@every(
    ("write", "index", "rows"),
    [
        (csv, "", INDEXED),
        (csv, '""', [(n + 1, *row) for n, *row in INDEXED]),
        (csv, "", SHUFFLED),
        (parquet, "__index_level_0__", INDEXED),
        (columns, "Unnamed: 0", INDEXED),
    ],
)
def test_an_unnamed_index_is_left_out_with_a_note(tmp_path, write, index, rows):
    data = write(rows, tmp_path, names=[index, *NAMES[:3]])
    plain, unnamed = open_numbers(*data), index.strip('"') or "Unnamed: 0"
    assert plain.features == ("x", "z") and sum(map(len, read(plain).values())) == len(ROWS)
    assert f'left out the column {unnamed}, an unnamed index of the rows; --features "{unnamed},x,z" uses' in plain.note
    chosen, sets = (
        open_numbers(*data, choice=choice) for choice in (Choice(features=f"{unnamed},x"), Choice(sets=True))
    )
    assert chosen.features == (unnamed, "x")
    assert all(len(row) == 3 for rows in read(sets).values() for row in rows)


def test_an_unnamed_column_of_other_numbers_is_a_feature(tmp_path):
    for cell in (lambda n: n % 9, lambda n: n / 2):
        data = csv([(cell(n), *row[:3]) for n, row in enumerate(ROWS)], tmp_path, names=["", *NAMES[:3]])
        assert open_numbers(*data).features == ("column 1", "x", "z")
    data = csv([(n, n * n) for n in range(9)], tmp_path, names=["", "y"])
    with pytest.raises(ArgumentError, match=r"expected two columns or more, .*, got 1 \(Unnamed: 0, y\)"):
        open_numbers(*data)


def test_a_table_with_very_many_columns_is_refused():
    reader = Reader(Choice(None, None, False), "wide.csv")
    with pytest.raises(
        ChoiceError, match="wide.csv: expected at most 5,000 columns of features, got 5,001; choose some"
    ):
        reader.read({f"c{number}": 1.0 for number in range(5_002)}, None)
