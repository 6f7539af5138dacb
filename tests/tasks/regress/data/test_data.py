"""Numbers from files, arrays, scikit-learn and Python objects, and their errors in one line."""

import gzip

import numpy as np
import pytest
import torch

from saccade.data.objects import OBJECTS
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError, SaccadeError
from saccade.tasks.regress.data import open_numbers
from saccade.tasks.regress.data.builtin import Maximum, Sine
from saccade.tasks.regress.data.rows import Choice
from tiers import every

ROWS = [(n, n % 7, 3 * n + 1) for n in range(40)]
TEXT = "rooms,age,price\n" + "".join(f"{a},{b},{c}\n" for a, b, c in ROWS)


def written(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def all_rows(data):
    rows = [data.example(split, n) for split in ("train", "validation", "test") for n in range(data.size(split))]
    return sorted((*row.numbers, *row.answers) for row in rows)


def arrow(folder):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    columns = dict(zip(("rooms", "age", "price"), zip(*ROWS, strict=True), strict=True))
    parquet.write_table(pyarrow.table({name: list(values) for name, values in columns.items()}), folder / "a.parquet")
    return str(folder / "a.parquet")


def array(folder):
    np.save(folder / "a.npy", np.array(ROWS, np.float32))
    return str(folder / "a.npy")


def named_array(folder):
    kinds = [("rooms", float), ("age", int), ("price", float)]
    np.save(folder / "a.npy", np.array(ROWS, dtype=kinds))
    return str(folder / "a.npy")


def two_arrays(folder):
    rows = np.array(ROWS, float)
    np.savez(folder / "a.npz", X=rows[:, :2], y=rows[:, 2])
    return str(folder / "a.npz")


def packed(folder):
    (folder / "a.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
    return str(folder / "a.csv.gz")


SOURCES = {
    "csv": lambda folder: written(folder, "a.csv", TEXT),
    "semicolons": lambda folder: written(folder, "a.csv", TEXT.replace(",", ";")),
    "tsv": lambda folder: written(folder, "a.tsv", TEXT.replace(",", "\t")),
    "quoted": lambda folder: written(folder, "a.csv", '"rooms","age","price"\n' + TEXT.partition("\n")[2]),
    "a mark and blank lines": lambda folder: written(folder, "a.csv", "\ufeff" + TEXT.replace("\n", "\r\n") + "\n\n"),
    "gzip": packed,
    "parquet": arrow,
    "array": array,
    "array with names": named_array,
    "X and y": two_arrays,
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_form_has_the_same_rows(kind, tmp_path):
    data = open_numbers(SOURCES[kind](tmp_path))
    assert all_rows(data) == sorted(ROWS) and len(data.features) == 2 and len(data.targets) == 1
    assert "held out from training" in data.note
    assert [data.size(split) for split in ("train", "validation", "test")] == [36, 2, 2]
    assert data.fingerprint == open_numbers(SOURCES[kind](tmp_path)).fingerprint


def test_objects_of_all_kinds_are_the_same_rows():
    rows = np.array(ROWS, float)
    forms = [
        ROWS,
        [((a, b), c) for a, b, c in ROWS],
        [{"rooms": a, "age": b, "price": c} for a, b, c in ROWS],
        rows,
        torch.tensor(rows),
        (rows[:, :2], rows[:, 2]),
        (torch.tensor(rows[:, :2]), torch.tensor(rows[:, 2])),
    ]
    for form in forms:
        assert all_rows(open_numbers(OBJECTS, form)) == sorted(ROWS)

    class Polars:
        def to_dicts(self):
            return forms[2]

    class Pandas:
        columns = ("rooms", "age", "price")

        def to_dict(self, how):
            assert how == "records"
            return forms[2]

    for frame in (Polars(), Pandas(), {"train": Polars()}):
        data = open_numbers(OBJECTS, frame)
        assert all_rows(data) == sorted(ROWS) and data.targets == ("price",)


def test_columns_are_a_table_and_splits_several():
    rooms, age, price = (np.array(column) for column in zip(*ROWS, strict=True))
    columns = {"rooms": rooms, "age": age.tolist(), "price": torch.tensor(price)}
    data = open_numbers(OBJECTS, columns)
    assert all_rows(data) == sorted(ROWS) and (data.features, data.targets) == (("rooms", "age"), ("price",))
    assert all_rows(open_numbers(OBJECTS, {"train": columns})) == sorted(ROWS)
    assert open_numbers(OBJECTS, columns, choice=Choice(target="age")).features == ("rooms", "price")
    chosen = open_numbers(OBJECTS, columns, choice=Choice(target="rooms, age", features="price"))
    assert (chosen.features, chosen.targets) == (("price",), ("rooms", "age"))
    assert all_rows(chosen) == sorted((c, a, b) for a, b, c in ROWS)
    wide = open_numbers(OBJECTS, {"x": np.array(ROWS)[:, :2], "y": price})
    assert all_rows(wide) == sorted(ROWS) and wide.features == ("x1", "x2")
    for wrong, got in (
        ({"x": rooms, "y": price[:3]}, "40 of x, 3 of y"),
        ({"train": {"x": 1.0, "y": price}}, "none of x"),
    ):
        with pytest.raises(ArgumentError, match=f"data: expected columns of as many cells each, got {got}"):
            open_numbers(OBJECTS, wrong)


def test_rows_are_read_by_the_names_of_their_columns(tmp_path):
    rows = [{"rooms": a, "age": b, "price": c} if a % 2 else {"price": c, "age": b, "rooms": a} for a, b, c in ROWS]
    assert all_rows(open_numbers(OBJECTS, rows[1:] + rows[:1])) == sorted(ROWS)
    with pytest.raises(
        ArgumentError, match="data: train, row 2: expected the columns of the first row, got others: without age"
    ):
        open_numbers(OBJECTS, [rows[1], {"rooms": 1, "size": 2, "price": 3}])
    with pytest.raises(
        ArgumentError, match="data: train, row 1: column age: expected a number, got 'old'; correct it, or"
    ):
        open_numbers(OBJECTS, [{"rooms": 1, "age": "old", "price": 3}])
    with pytest.raises(SaccadeError, match="^--target: expected a column of data, got prise; did you mean price?"):
        open_numbers(OBJECTS, rows, choice=Choice(target="prise"))
    sets = [{"a": n, "b": n + 1, "y": n} if n % 2 else {"a": n, "y": n} for n in range(30)]
    assert {len(row) for row in all_rows(open_numbers(OBJECTS, sets, choice=Choice(sets=True)))} == {2, 3}
    with pytest.raises(ArgumentError, match="data: train, row 2: expected a column y, got a"):
        open_numbers(OBJECTS, [sets[0], {"a": 1}], choice=Choice(sets=True))


def test_files_of_folder_have_the_same_columns_in_any_order(tmp_path):
    written(tmp_path, "train.csv", TEXT)
    written(tmp_path, "test.csv", "price,age,rooms\n" + "".join(f"{c},{b},{a}\n" for a, b, c in ROWS[:3]))
    data = open_numbers(str(tmp_path))
    assert [(*row.numbers, *row.answers) for row in (data.example("test", n) for n in range(3))] == ROWS[:3]
    written(tmp_path, "test.csv", "rooms,size,price\n1,2,3\n")
    with pytest.raises(ArgumentError) as error:
        open_numbers(str(tmp_path))
    others = "got others: without age, with size"
    assert str(error.value) == f"row 2 of {tmp_path}/test.csv: expected the columns of the first row, {others}"


def test_an_error_in_parquet_names_file_row_and_column(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    def error_of(columns, choice=None):
        write_table(pyarrow.table(columns), tmp_path / "test.parquet")
        with pytest.raises(SaccadeError) as error:
            open_numbers(str(tmp_path), choice=choice)
        return str(error.value).replace(str(tmp_path), "")

    write_table(pyarrow.table({"x": [1, 2, 3], "y": [1, 2, 3]}), tmp_path / "train.parquet")
    got = error_of({"x": [1.0, None], "y": [2, 3]})
    assert got == "row 2 of /test.parquet: column x: expected a number, got a blank cell; fill it, or take the row out"
    assert error_of({"x": ["a"], "y": [2]}).startswith(
        "row 1 of /test.parquet: column x: expected a number, got 'a'; correct"
    )
    message = "row 1 of /test.parquet: expected the columns of the first row, got others: without y, with z"
    assert error_of({"x": [1], "z": [2]}) == message
    assert error_of({"x": [1]}, Choice(target="z")) == "--target: expected a column of , got z; there is x, y"


def test_splits_are_named_by_files(tmp_path):
    header, *lines = TEXT.splitlines()
    for name, part in (("train", lines[:30]), ("val", lines[30:34]), ("test", lines[34:])):
        written(tmp_path, f"{name}.csv", "\n".join([header, *part]))
    data = open_numbers(str(tmp_path))
    assert [data.size(split) for split in ("train", "validation", "test")] == [30, 4, 6] and not data.note
    with pytest.raises(SaccadeError, match="--test-split: expected the name of a part of"):
        open_numbers(str(tmp_path), names=SplitNames({"test": "last"}))


def test_npz_names_its_splits(tmp_path):
    rows = np.array(ROWS, float)
    parts = {"train": rows[:30], "val": rows[30:34], "test": rows[34:]}
    arrays = {
        f"{name}_{split}": part
        for split, cells in parts.items()
        for name, part in (("X", cells[:, :2]), ("y", cells[:, 2]))
    }
    np.savez(tmp_path / "a.npz", **arrays)
    data = open_numbers(str(tmp_path / "a.npz"))
    assert [data.size(split) for split in ("train", "validation", "test")] == [30, 4, 6]
    np.savez(tmp_path / "both.npz", X=rows[:, :2], y=rows[:, 2], **arrays)
    both = open_numbers(str(tmp_path / "both.npz"))
    assert [both.size(split) for split in ("train", "validation", "test")] == [30, 4, 6]
    assert "both.npz: X and y are left out, as there are X_train, X_val" in both.note and not data.note
    np.savez(tmp_path / "rest.npz", X=rows[:30, :2], y=rows[:30, 2], X_test=rows[30:, :2], y_test=rows[30:, 2])
    assert open_numbers(str(tmp_path / "rest.npz")).size("test") == 10


def test_sets_are_as_long_as_their_cells_say(tmp_path):
    lines = ["a,b,largest", *(f"{n} {n + 1},,{n + 1}" if n % 2 else f"{n},{-n},{n}" for n in range(30))]
    path = written(tmp_path, "a.csv", "\n".join(lines))
    data = open_numbers(path, choice=Choice(sets=True))
    assert data.features == () and all(max(row[:-1]) == row[-1] for row in all_rows(data))
    assert data.example("train", 0).group == "2"
    ragged = open_numbers(OBJECTS, [((*range(n % 4 + 1), n), n) for n in range(30)], choice=Choice(sets=True))
    assert {len(row) for row in all_rows(ragged)} == {3, 4, 5, 6}


def test_a_single_feature_is_measured_by_its_quartiles():
    data = open_numbers(OBJECTS, [(float(x), 2.0 * x) for x in range(100)])
    groups = {data.example("train", n).group for n in range(data.size("train"))}
    assert len(groups) == 4 and all(" to " in group for group in groups)


@pytest.mark.parametrize("name", ["diabetes", "linnerud", "iris"])
def test_data_of_scikit_learn(name):
    several = Choice(target="Weight,Waist,Pulse") if name == "linnerud" else Choice()
    data = open_numbers(f"sklearn:{name}", choice=several)
    assert data.size("train") > 10 and len(data.targets) == (3 if name == "linnerud" else 1)
    assert len(data.example("test", 0).numbers) == len(data.features)


WRONG = {
    "rooms,price\n1,2\n3,\n4,5\n": "row 3 of {0}: column price: expected a number, got a blank cell; fill it",
    "rooms,price\n1,2\nnan,3\n": "row 3 of {0}: column rooms: expected a finite number, got nan; fill it",
    "rooms,price\n1,2\n-inf,3\n": "row 3 of {0}: column rooms: expected a finite number, got -inf",
    "rooms,price\n1,2\n1e999,3\n": "row 3 of {0}: column rooms: expected a finite number, got inf",
    "rooms,price\n1,old\n": "row 2 of {0}: column price: expected a number, got 'old'; correct it, or",
    "city,rooms,price\nBonn,1,2\n": "row 2 of {0}: column city: expected a number, got 'Bonn'; correct it, or",
    "rooms;price\n1;3,14\n": "row 2 of {0}: column price: expected a number, got '3,14'; write decimals with a po",
    "rooms;price\n1;1,234\n": "got '1,234'; write 1234 for thousands, 1.234 for decimals",
    "rooms;price\n1;-1,234,567.5\n": "write thousands without commas: -1234567.5",
    "rooms,price\n1,1_000\n": "row 2 of {0}: column price: expected a number, got '1_000'",
    "rooms,price\n1,\uff11\uff12\n": "row 2 of {0}: column price: expected a number, got '\uff11\uff12'",
    "rooms,price\n1,2\n3,-1e308\n": "row 3 of {0}: column price: expected a number from -1e+150 to 1e+150",
    "rooms,price\n1\n": "row 2 of {0}: column price: expected a number, got a blank cell",
    "1,2\n3,4\n": "row 1 of {0}: expected names of the columns, got '1,2'; add a line of names",
    "price\n1\n2\n": "expected two columns or more, features and a target, got 1 (price)",
    "a,a,b\n1,2,3\n": "row 1 of {0}: expected columns of different names, got a twice",
    "rooms,price\n": "expected rows of train, got none",
    "rooms,price\n1,2\n": "{0}: expected 3 different examples or more, to validate, test and train, got 1",
}


@pytest.mark.parametrize("text", WRONG)
def test_an_error_in_a_table_is_one_line(text, tmp_path):
    path = written(tmp_path, "a.csv", text)
    with pytest.raises(SaccadeError) as error:
        open_numbers(path)
    assert WRONG[text].format(path) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (Choice(target="prise"), "--target: expected a column of .*a.csv, got prise; did you mean price?"),
        (Choice(features="x"), "--features: expected a column of .*a.csv, got x; there is rooms, age, price"),
        (Choice(target="age", features="age"), "--features: expected other columns than --target, got age in both"),
        (Choice(target="age,age"), "--target: expected each column once, got age,age"),
        (
            Choice(target="rooms,age,price"),
            r"--target: expected a column beside the targets, got all of .*a.csv \(rooms, age, price\); leave one",
        ),
    ],
)
def test_columns_that_are_missing(choice, message, tmp_path):
    with pytest.raises(ArgumentError, match=message):
        open_numbers(SOURCES["csv"](tmp_path), choice=choice)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("sinus", "--data: no data set sinus, and no folder or file; did you mean sine?"),
        ("sklearn:california_housing", "--data: expected sklearn: and one of diabetes, .*, got california_housing"),
    ],
)
def test_data_that_are_missing(data, message):
    with pytest.raises(ArgumentError, match=message):
        open_numbers(data)


def test_a_folder_without_tables_names_expected_files(tmp_path):
    written(tmp_path, "houses.csv", TEXT)
    with pytest.raises(ArgumentError, match=r"--data: expected in the folder .* train.csv .*, got houses.csv$"):
        open_numbers(str(tmp_path))


@pytest.mark.parametrize("data", ["sine", "maximum"])
def test_built_in_data_know_their_columns(data):
    for choice, flag in (
        (Choice(target="y"), "target"),
        (Choice(features="x"), "features"),
        (Choice(sets=True), "sets"),
    ):
        with pytest.raises(ArgumentError, match=f"--{flag}: expected none for {data}, whose columns are known"):
            open_numbers(data, choice=choice)


def test_an_empty_set_is_rejected(tmp_path):
    path = written(tmp_path, "a.csv", "a,b,largest\n1,2,2\n,,3\n")
    with pytest.raises(ArgumentError, match="row 3 of .*: expected a set of one number or more, got none"):
        open_numbers(path, choice=Choice(sets=True))
    with pytest.raises(ArgumentError, match="data: train, row 2: expected a set of one number or more, got none"):
        open_numbers(OBJECTS, [((1.0,), 1.0), ((), 2.0)], choice=Choice(sets=True))


@every(
    ("rows", "message"),
    [
        ([(1, 2), (2, "old")], "data: train, row 2: expected a number, got 'old'"),
        ([(1, 2), (float("nan"), 3)], "data: train, row 2: expected a finite number, got nan"),
        ([((1, 2), 2), ((1, 2, 3), 3)], "data: train, row 2: expected 2 numbers, as in row 1, got 3; sets=True if"),
        ([(1, 2), (2, None)], "data: train, row 2: expected a number, got a blank cell"),
        ([{"a": 1}], "expected two columns or more"),
    ],
)
def test_an_error_in_objects_is_one_line(rows, message):
    with pytest.raises(SaccadeError, match=message) as error:
        open_numbers(OBJECTS, rows)
    assert "\n" not in str(error.value)


def test_bad_arrays_are_rejected_and_never_unpickled(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([object()], dtype=object), allow_pickle=True)
    np.save(tmp_path / "flat.npy", np.zeros(5))
    np.save(tmp_path / "texts.npy", np.array([["a", "b"]]))
    np.savez(tmp_path / "other.npz", a=np.zeros((2, 2)), b=np.zeros(2))
    np.savez(tmp_path / "lengths.npz", X=np.zeros((3, 2)), y=np.zeros(2))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "flat.npy").read_bytes()[:40])
    (tmp_path / "noise.npz").write_bytes(b"PK\x03\x04 no archive")
    for name in ("objects.npy", "flat.npy", "texts.npy", "other.npz", "lengths.npz", "cut.npy", "noise.npz"):
        with pytest.raises(ArgumentError, match=name) as error:
            open_numbers(str(tmp_path / name))
        assert "\n" not in str(error.value), name


def test_a_too_large_array_is_rejected_by_its_header(tmp_path):
    np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.float32, (10_000_001, 10)).flush()  # a sparse file
    with pytest.raises(ArgumentError, match=r"a.npy: expected at most 100,000,000 numbers, got 10,000,001 rows of 10;"):
        open_numbers(str(tmp_path / "a.npy"))


def test_a_too_large_table_is_rejected_before_its_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("saccade.tasks.regress.data._MOST", 39)
    for path in (written(tmp_path, "a.csv", TEXT), arrow(tmp_path)):
        with pytest.raises(ArgumentError, match="expected at most 39 rows, got 40; train on fewer"):
            open_numbers(path)


def test_a_sine_has_its_noise():
    for growing, noise in ((False, 0.3), (True, 0.05 + 0.1 * 3.15)):
        data = Sine(growing=growing)
        rows = torch.tensor([(*row.numbers, *row.answers) for row in (data.example("test", n) for n in range(2000))])
        rest = rows[:, 1] - rows[:, 0].sin()
        assert float(rest.std()) == pytest.approx(noise, rel=0.15) and abs(float(rest.mean())) < 0.05
        far, near = rest[rows[:, 0] > 4].std(), rest[rows[:, 0] < 2].std()
        assert (float(far) > 2 * float(near)) == growing


def test_sets_have_their_maximum_and_all_sizes():
    data = Maximum()
    rows = [data.example("train", index) for index in range(3000)]
    assert all(row.answers == (max(row.numbers),) and row.group == str(len(row.numbers)) for row in rows)
    assert {len(row.numbers) for row in rows} == set(range(1, 11)) and data.size("train") is None
    assert data.example("train", 5) != data.example("test", 5)


@pytest.mark.parametrize(("x", "y"), [(np.float64(3), np.ones(4)), (np.ones((4, 2)), np.float64(3))])
def test_a_number_is_no_column_of_an_npz(x, y, tmp_path):
    np.savez(tmp_path / "a.npz", X=x, y=y)
    with pytest.raises(ArgumentError, match=r"expected X \(rows, features\) and y \(rows,\), got shapes"):
        open_numbers(str(tmp_path / "a.npz"))
