"""Numbers from files, arrays, scikit-learn and Python objects, and their errors in one line."""

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

ROWS = [(n, n % 7, 3 * n + 1) for n in range(2, 42)]
TEXT = "rooms,age,price\n" + "".join(f"{a},{b},{c}\n" for a, b, c in ROWS)
ARRAY = np.array(ROWS, float)
NAMED = [{"rooms": a, "age": b, "price": c} for a, b, c in ROWS]
COLUMNS = {"rooms": ARRAY[:, 0], "age": ARRAY[:, 1].tolist(), "price": torch.tensor(ARRAY[:, 2])}
SPLITS = ("train", "validation", "test")


def sizes(data):
    return [data.size(split) for split in SPLITS]


def all_rows(data):
    rows = [data.example(split, n) for split in SPLITS for n in range(data.size(split))]
    return sorted((*row.numbers, *row.answers) for row in rows)


def saved(folder, form):
    """The path of rows in a form."""
    path = folder / ("a.csv" if isinstance(form, str) else "a.npz" if isinstance(form, dict) else "a.npy")
    if isinstance(form, str):
        path.write_text(form, encoding="utf-8")
    elif isinstance(form, dict):
        np.savez(path, **form)
    else:
        np.save(path, form)
    return str(path)


class Polars:
    def to_dicts(self):
        return NAMED


class Pandas:
    columns = ("rooms", "age", "price")

    def to_dict(self, how):
        assert how == "records"
        return NAMED


FILES = {
    "csv": TEXT,
    "array": ARRAY.astype(np.float32),
    "array with names": np.array(ROWS, dtype=[("rooms", float), ("age", int), ("price", float)]),
    "X and y": {"X": ARRAY[:, :2], "y": ARRAY[:, 2]},
}
FORMS = {
    "tuples": ROWS,
    "pairs": [((a, b), c) for a, b, c in ROWS],
    "mappings": NAMED,
    "mappings in any order": [NAMED[0], *(dict(reversed(row.items())) for row in NAMED[1:])],
    "array": ARRAY,
    "tensor": torch.tensor(ARRAY),
    "arrays": (ARRAY[:, :2], ARRAY[:, 2]),
    "tensors": (torch.tensor(ARRAY[:, :2]), torch.tensor(ARRAY[:, 2])),
    "columns": COLUMNS,
    "columns of a split": {"train": COLUMNS},
    "a column of rows": {"x": ARRAY[:, :2], "y": ARRAY[:, 2]},
    "polars": Polars(),
    "pandas": Pandas(),
    "a split of polars": {"train": Polars()},
}


@pytest.mark.parametrize("form", FILES)
def test_files_of_any_form_have_the_same_rows(form, tmp_path):
    path = saved(tmp_path, FILES[form])
    data = open_numbers(path)
    assert all_rows(data) == sorted(ROWS) and len(data.features) == 2 and len(data.targets) == 1
    assert "held out from training" in data.note and sizes(data) == [28, 6, 6]
    assert data.fingerprint == open_numbers(path).fingerprint


@every("form", FORMS)
def test_objects_of_any_form_have_the_same_rows(form):
    data = open_numbers(OBJECTS, FORMS[form])
    assert all_rows(data) == sorted(ROWS) and (len(data.features), len(data.targets)) == (2, 1)


def test_options_choose_columns():
    assert open_numbers(OBJECTS, Pandas()).targets == ("price",)
    assert open_numbers(OBJECTS, COLUMNS, choice=Choice(target="age")).features == ("rooms", "price")
    assert open_numbers(OBJECTS, ROWS, choice=Choice(features="y", target="x")).targets == ("x1", "x2")
    chosen = open_numbers(OBJECTS, COLUMNS, choice=Choice(target="rooms, age", features="price"))
    assert (chosen.features, chosen.targets) == (("price",), ("rooms", "age"))
    assert all_rows(chosen) == sorted((c, a, b) for a, b, c in ROWS)


def test_files_of_a_folder_are_splits_with_the_same_columns_in_any_order(tmp_path):
    header, *lines = TEXT.splitlines()
    backwards = [",".join(reversed(line.split(","))) for line in (header, *lines[34:])]
    for name, part in (("train", [header, *lines[:30]]), ("val", [header, *lines[30:34]]), ("test", backwards)):
        (tmp_path / f"{name}.csv").write_text("\n".join(part))
    data = open_numbers(str(tmp_path))
    assert sizes(data) == [30, 4, 6] and not data.note and all_rows(data) == sorted(ROWS)
    with pytest.raises(SaccadeError, match="--test-split: expected the name of a part of"):
        open_numbers(str(tmp_path), names=SplitNames({"test": "last"}))
    (tmp_path / "test.csv").write_text("rooms,size,price\n1,2,3\n")
    with pytest.raises(ArgumentError) as error:
        open_numbers(str(tmp_path))
    others = "got others: without age, with size"
    assert str(error.value) == f"row 2 of {tmp_path}/test.csv: expected the columns of the first row, {others}"


def test_npz_names_its_splits(tmp_path):
    parts = {"train": ARRAY[:30], "val": ARRAY[30:34], "test": ARRAY[34:]}
    arrays = {f"X_{split}": part[:, :2] for split, part in parts.items()}
    arrays |= {f"y_{split}": part[:, 2] for split, part in parts.items()}
    data = open_numbers(saved(tmp_path, arrays))
    assert sizes(data) == [30, 4, 6] and not data.note
    both = open_numbers(saved(tmp_path, {"X": ARRAY[:, :2], "y": ARRAY[:, 2], **arrays}))
    assert sizes(both) == [30, 4, 6] and "a.npz: X and y are left out, as there are X_train, X_val" in both.note
    rest = {"X": ARRAY[:30, :2], "y": ARRAY[:30, 2], "X_test": ARRAY[30:, :2], "y_test": ARRAY[30:, 2]}
    assert open_numbers(saved(tmp_path, rest)).size("test") == 10


def test_sets_have_any_size(tmp_path):
    lines = ["a,b,largest", *(f"{n} {n + 1},,{n + 1}" if n % 2 else f"{n},{-n},{n}" for n in range(30))]
    data = open_numbers(saved(tmp_path, "\n".join(lines)), choice=Choice(sets=True))
    assert data.features == () and all(max(row[:-1]) == row[-1] for row in all_rows(data))
    assert data.example("train", 0).group == "2"
    empty = {"a": [1.0, *range(9)], "b": [float("nan"), *range(9)], "y": range(10)}
    for rows, widths in (
        ([((*range(n % 4 + 1), n), n) for n in range(30)], {3, 4, 5, 6}),
        ([{"a": n, "b": n + 1, "y": n} if n % 2 else {"a": n, "y": n} for n in range(30)], {2, 3}),
        (empty, {2, 3}),
    ):
        assert {len(row) for row in all_rows(open_numbers(OBJECTS, rows, choice=Choice(sets=True)))} == widths


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


ROOMS, PRICE = 'row {row} of {path}, column "rooms": ', 'row {row} of {path}, column "price": '
TABLES = [
    ("rooms,price\n1,2\n3,\n4,5\n", 3, PRICE + "expected a number, got an empty cell; correct it, leave the row out"),
    ("rooms,price\n1\n", 2, PRICE + "expected a number, got an empty cell"),
    ("rooms,price\n1,2\n3,nan\n", 3, PRICE + "expected a finite number, got nan; correct it"),
    ("rooms,price\n1,2\n-inf,3\n", 3, ROOMS + "expected a finite number, got -inf"),
    ("rooms,price\n1,2\n1e999,3\n", 3, ROOMS + "expected a finite number, got inf"),
    ("rooms,price\n1,old\n", 2, PRICE + "expected a number, got 'old'; correct it, leave the row out, or name other"),
    ("rooms;price\n1;3.5\n1;3,14\n", 3, PRICE + "expected a number, got '3,14'; write decimals with a point: 3.14"),
    ("rooms;price\n1;1,234\n", 2, "got 1,234, which is 1234 or 1.234; --decimal . or --decimal , chooses"),
    ("rooms,price\n1,1_000\n", 2, PRICE + "expected a number, got '1_000'"),
    ("rooms,price\n1,\uff11\uff12\n", 2, PRICE + "expected a number, got '\uff11\uff12'"),
    ("rooms,price\n1,2\n3,-1e308\n", 3, PRICE + "expected a number from -1e+150 to 1e+150"),
    ("1,2\n3,4\n", 1, "row 1 of {path}: expected names of the columns, got '1,2'; add a line of names"),
    ("price\n1\n2\n", 1, "expected two columns or more, features and a target, got 1 (price)"),
    ("a,a,b\n1,2,3\n", 1, "row 1 of {path}: expected columns of different names, got a twice"),
    ("rooms,price\n", 1, "expected rows of train, got none"),
    ("rooms,price\n1,2\n", 1, "{path}: expected 3 different examples or more, to validate, test and train, got 1"),
]


@pytest.mark.parametrize(("text", "row", "message"), TABLES)
def test_an_error_in_a_table_is_one_line(text, row, message, tmp_path):
    path = saved(tmp_path, text)
    with pytest.raises(SaccadeError) as error:
        open_numbers(path)
    assert message.format(path=path, row=row) in str(error.value) and "\n" not in str(error.value)


@every(
    ("rows", "sets", "message"),
    [
        ([(1, 2), (2, "old")], False, "data: train, row 2: expected a number, got 'old'"),
        ([(1, 2), (3, float("nan"))], False, r"data: train, row 2: expected a number, got an empty cell \(nan\)"),
        ([(1, 2), (2, None)], False, "data: train, row 2: expected a number, got an empty cell;"),
        ([((1, 2), 2), ((1, 2, 3), 3)], False, "row 2: expected 2 numbers, as in row 1, got 3; sets=True if"),
        ([((1, 2), 2), ((1, 2), (2, 3))], False, "row 2: expected 1 number, as in row 1, got 2$"),
        ([{"a": 1}], False, "expected two columns or more"),
        ([NAMED[0], {"rooms": 1, "age": 2}], False, "row 2: expected the columns of the first row, .*: without price"),
        ([{"a": 1, "y": 2}, {"a": 1}], True, "data: train, row 2: expected a column y, got a"),
        ([((1.0,), 1.0), ((), 2.0)], True, "data: train, row 2: expected a set of one number or more, got none"),
        ([{"a": 1, "b": 2, "y": 2}, {"a": "", "b": None, "y": 3}], True, "row 2: expected a set of one number or more"),
        ({"x": range(4), "y": range(3)}, False, "data: expected columns of as many cells each, got 4 of x, 3 of y"),
        ({"train": {"x": 1.0, "y": [1]}}, False, "data: expected columns of as many cells each, got none of x"),
    ],
)
def test_an_error_in_objects_is_one_line(rows, sets, message):
    with pytest.raises(SaccadeError, match=message) as error:
        open_numbers(OBJECTS, rows, choice=Choice(sets=sets))
    assert "\n" not in str(error.value)


@every(
    ("choice", "message"),
    [
        (Choice(target="prise"), "--target: expected a column of data, got prise; did you mean price?"),
        (Choice(features="x"), "--features: expected a column of data, got x; there is rooms, age, price"),
        (Choice(target="age", features="age"), "--features: expected other columns than --target, got age in both"),
        (Choice(target="age,age"), "--target: expected each column once, got age,age"),
        (Choice(target="rooms,age,price"), r"--target: .* beside the targets, got all of data \(rooms, age, price\);"),
    ],
)
def test_columns_that_are_missing(choice, message):
    with pytest.raises(ArgumentError, match=f"^{message}"):
        open_numbers(OBJECTS, NAMED, choice=choice)


def test_data_that_are_missing(tmp_path):
    saved(tmp_path, TEXT)
    for data, message in (
        ("sinus", "--data: no data set sinus, and no folder or file; did you mean sine?"),
        ("sklearn:california_housing", "--data: expected sklearn: and one of diabetes, .*, got california_housing"),
        (str(tmp_path), r"--data: expected in the folder .* train.csv .*, got a.csv$"),
    ):
        with pytest.raises(ArgumentError, match=message):
            open_numbers(data)


@pytest.mark.parametrize("data", ["sine", "maximum"])
def test_built_in_data_know_their_columns(data):
    for flag, value in (("target", "y"), ("features", "x"), ("sets", True)):
        with pytest.raises(ArgumentError, match=f"--{flag}: expected none for {data}, whose columns are fixed"):
            open_numbers(data, choice=Choice(**{flag: value}))


ARRAYS = [
    np.zeros(5),
    np.array([["a", "b"]]),
    {"a": np.zeros((2, 2)), "b": np.zeros(2)},
    {"X": np.zeros((3, 2)), "y": np.zeros(2)},
    {"X": np.float64(3), "y": np.ones(4)},
    {"X": np.ones((4, 2)), "y": np.float64(3)},
]


def test_bad_arrays_are_rejected_and_never_unpickled(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([object()], dtype=object), allow_pickle=True)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "objects.npy").read_bytes()[:40])
    (tmp_path / "noise.npz").write_bytes(b"PK\x03\x04 no archive")
    damaged = [str(tmp_path / name) for name in ("objects.npy", "cut.npy", "noise.npz")]
    for path in (*damaged, *(saved(tmp_path, array) for array in ARRAYS)):
        with pytest.raises(ArgumentError, match=r"np[yz]: expected ") as error:
            open_numbers(path)
        assert "\n" not in str(error.value), path


def test_too_many_rows_are_rejected(tmp_path, monkeypatch):
    np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.float32, (10_000_001, 10)).flush()  # a sparse file
    with pytest.raises(ArgumentError, match=r"a.npy: expected at most 100,000,000 numbers, got 10,000,001 rows of 10;"):
        open_numbers(str(tmp_path / "a.npy"))
    monkeypatch.setattr("saccade.tasks.regress.data.rows._LARGEST", 39)
    with pytest.raises(ArgumentError, match="row 41 of .*a.csv: expected at most 39 rows, got more; train on fewer"):
        open_numbers(saved(tmp_path, TEXT))


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
