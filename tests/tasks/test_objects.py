from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.objects import LeftOut, array_of, pair_reader, rows_of
from tiers import every

READ = pair_reader(("source", "de"), ("target", "en"), nested="translation")
PAIRS = [(f"text {n}", f"answer {n % 3}") for n in range(60)]
TEXT = st.text(st.characters(codec="utf-8"), max_size=5)


def opened(objects, read=READ, key=lambda row: row[0]):
    return rows_of(objects, read, key)


def all_of(rows):
    return {split: [rows.example(split, n) for n in range(rows.size(split))] for split in rows.splits}


class Table(list):
    """Rows as a data set of `datasets` hands them over, with a description of their columns."""

    def __init__(self, rows, **features):
        super().__init__(rows)
        self.features = features


FORMS = {
    "lists": [list(pair) for pair in PAIRS],
    "an iterator": iter(PAIRS),
    "columns": [{"source": a, "target": b} for a, b in PAIRS],
    "other names, others beside them": [{"en": b, "de": a, "id": 7} for a, b in PAIRS],
    "nested": [{"translation": {"de": a, "en": b}} for a, b in PAIRS],
    "numbers for labels": Table(
        [{"source": a, "target": int(b[-1])} for a, b in PAIRS],
        target=SimpleNamespace(names=["answer 0", "answer 1", "answer 2"]),
    ),
    "spaces around": [(f" {a}\n", f"\t{b} ") for a, b in PAIRS],
}


@every("form", FORMS)
def test_forms_of_the_same_rows_are_the_same_data(form):
    rows, plain = opened(FORMS[form]), opened(PAIRS)
    assert rows.fingerprint == plain.fingerprint and all_of(rows) == all_of(plain)


def test_a_twentieth_is_held_out_by_what_is_asked_whatever_the_order():
    rows, backwards = all_of(opened(PAIRS)), all_of(opened(PAIRS[::-1]))
    assert {split: len(part) for split, part in rows.items()} == {"train": 54, "validation": 3, "test": 3}
    assert all(sorted(rows[split]) == sorted(backwards[split]) for split in rows)
    twice = all_of(opened([*PAIRS, *((a, f"{b}!") for a, b in PAIRS)]))
    for split, part in twice.items():
        assert {a for a, _ in part} == {a for a, _ in rows[split]} and len(part) == 2 * len(rows[split])


def test_splits_may_be_given_by_any_of_their_names():
    for name in ("validation", "valid", "val", "dev"):
        rows = opened({"train": PAIRS[:40], name: PAIRS[40:50], "test": PAIRS[50:], "more": 3})
        assert [rows.size(split) for split in ("train", "validation", "test")] == [40, 10, 10]
        assert rows.example("validation", 0) == PAIRS[40] and rows.example("train", 39) == PAIRS[39]
    held = opened({"train": PAIRS, "dev": PAIRS[:2]})
    assert held.size("validation") == 2 and held.size("train") + held.size("test") == 60


@given(st.lists(st.tuples(TEXT, TEXT), min_size=3, max_size=8, unique_by=lambda row: row[0].strip()), st.data())
def test_a_fingerprint_is_of_the_contents(pairs, data):
    splits = {"train": pairs[2:], "validation": pairs[:1], "test": pairs[1:2]}
    first = opened(splits).fingerprint
    assert first == opened({split: [list(row) for row in rows] for split, rows in splits.items()}).fingerprint
    place, other = data.draw(st.integers(0, len(pairs) - 3)), data.draw(TEXT)
    changed = [*pairs[2:]]
    changed[place] = (changed[place][0], other)
    same = other.strip() == pairs[2:][place][1].strip()
    assert (opened({**splits, "train": changed}).fingerprint == first) == same


def test_text_that_moves_from_one_column_to_the_next_is_other_data():
    def of(*pair):
        return opened({"train": [pair], "validation": PAIRS[:1], "test": PAIRS[:1]}).fingerprint

    assert len({of("ab", "c"), of("a", "bc"), of("abc", ""), of("c", "ab")}) == 4


def test_arrays_are_known_by_their_contents_kind_and_shape():
    def of(array):
        rows = {split: [(array, "a")] for split in ("train", "validation", "test")}
        return rows_of(rows, lambda row, features: row, lambda row: row[0]).fingerprint

    array = np.arange(6, dtype=np.float32)
    assert of(array) == of(torch.from_numpy(array)) == of(array.copy())
    assert len({of(array), of(array.reshape(2, 3)), of(array.astype(np.float64)), of(array[::-1].copy())}) == 4
    assert of(array.reshape(2, 3).T) == of(np.ascontiguousarray(array.reshape(2, 3).T))


def test_arrays_that_are_the_same_are_in_one_split():
    arrays = [(torch.full((4,), float(n % 20)), str(n)) for n in range(60)]
    rows = rows_of(arrays, lambda row, features: row, lambda row: row[0])
    values = {split: {float(one[0]) for one, _ in part} for split, part in all_of(rows).items()}
    assert len(values["train"] | values["validation"] | values["test"]) == 20
    assert not values["train"] & values["test"] and not values["validation"] & values["test"]


@every(
    ("objects", "message"),
    [
        (None, "expected the Python objects that this run was trained on, got none; hand them over again as data="),
        ([], "data: expected rows of train, got none"),
        ({}, "data: expected rows of train, got none"),
        ({"test": PAIRS, "Train": PAIRS}, "data: expected rows of train, got test, Train; a mapping is of splits"),
        ({"source": ["a"], "target": ["b"]}, "got source, target; a mapping is of splits, each a list of rows"),
        ({"train": []}, "data: expected rows of train, got none"),
        ({"train": PAIRS, "test": []}, "data: expected rows of test, got none"),
        (3, "data: train, row 1: "),
        ({"train": None}, "data: expected rows of train, got train"),
        (["ab", "cd"], "data: train, row 1: expected de and en|expected .* and .*, got 'ab'"),
        ([("a",)], r"data: train, row 1: expected de and en, got \('a',\)"),
        ([("a", "b", "c")], "data: train, row 1: expected de and en"),
        ([("a", "b"), ("a", None)], "data: train, row 2: expected a text, got NoneType"),
        ([("a", "b"), ("a", 1.5)], "data: train, row 2: expected a text, got float"),
        ([("a", True)], "data: train, row 1: expected a text, got bool"),
        ([{"de": "a"}], "data: train, row 1: "),
        ([{"translation": "ab"}], "data: train, row 1: "),
        ([("a", "b"), ("c", "d")], "data: expected 3 different examples or more, to validate, test and train, got 2"),
        ([("a", "b")] * 9, "data: expected 3 different examples or more"),
        ([("\ud800", "b"), ("c", "d"), ("e", "f")], "data: train, row 1: "),
    ],
)
def test_what_is_no_data_is_one_line(objects, message):
    with pytest.raises(ArgumentError, match=message) as error:
        opened(objects)
    assert "\n" not in str(error.value)


def test_arrays_come_from_tensors_and_lists():
    values = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    for form in (values, values.clone().requires_grad_(), values.numpy(), values.tolist(), list(values)):
        assert np.array_equal(array_of(form), values.numpy())
    negated = torch.tensor([1 + 2j]).conj().imag
    assert array_of(negated).tolist() == [-2.0]
    with pytest.raises(ValueError, match="requires grad"):
        array_of(list(values.clone().requires_grad_()))


def test_a_number_that_no_label_has_is_named():
    table = Table([{"source": "a", "target": 7}] * 3, target=SimpleNamespace(names=["no", "yes"]))
    with pytest.raises(ArgumentError, match="data: train, row 1: "):
        opened(table)


def test_what_is_not_there_is_refused():
    rows = opened(PAIRS)
    with pytest.raises(ArgumentError, match="index: expected 0 <= index < 3 in test, got 3"):
        rows.example("test", 3)
    with pytest.raises(ArgumentError, match="split: expected one of train, validation, test, got 'dev'"):
        rows.size("dev")


def test_left_out_rows_are_counted_and_others_keep_places():
    out = LeftOut(lambda row: not all(row), "pairs, which have a blank side", ("train", "test"))
    given = {"train": [("", "b"), *PAIRS[:4], ("a", "")], "validation": [("a", "")], "test": [*PAIRS[4:6], ("", "")]}
    rows = rows_of(given, READ, lambda row: row[0], left_out=out)
    assert all_of(rows) == {"train": PAIRS[:4], "validation": [("a", "")], "test": PAIRS[4:6]}
    said = "data: train: left out 2 of 6 pairs, which have a blank side; the first is row 1"
    assert rows.note == f"{said}; data: test: left out 1 of 3 pairs, which have a blank side; the first is row 3"
    assert [rows.place("train", n) for n in range(4)] == [f"data: train, row {n}" for n in range(2, 6)]
    assert rows.place("validation", 0) == "data: validation, row 1"
    held = rows_of({"training": [("", "b"), *PAIRS]}, READ, lambda row: row[0], SplitNames({"train": "training"}), out)
    for split in ("train", "validation", "test"):
        wanted = [f"data: train, row {PAIRS.index(row) + 2}" for row in held.splits[split]]
        assert [held.place(split, n) for n in range(held.size(split))] == wanted


def test_a_column_says_the_split_of_each_row():
    names = ("train", "train", "dev", "Test")
    rows = [{"a": str(n), "b": "x", "split": names[n % 4]} for n in range(12)]
    read = pair_reader(("a",), ("b",))
    found = rows_of(rows, read, min)
    for split, own in (("train", (0, 1)), ("validation", (2,)), ("test", (3,))):
        assert [int(a) for a, _ in found.splits[split]] == [n for n in range(12) if n % 4 in own]
    assert found.place("test", 1) == "data: train, row 8"
    with pytest.raises(ArgumentError, match="row 1: column split: expected one of train, .* got 'odd'"):
        rows_of([{"a": "1", "b": "x", "split": "odd"}], read, min)
    with pytest.raises(ArgumentError, match="test, row 1: column split: expected test"):
        rows_of({"train": rows[:2], "test": rows[:1]}, read, min)


def test_an_option_names_a_split_of_the_column():
    read, names = pair_reader(("a",), ("b",)), SplitNames({"test": "late"})
    rows = [{"a": str(n), "b": "x", "split": "late" if n % 3 == 0 else "train"} for n in range(60)]
    found = rows_of(rows, read, min, names)
    assert sorted(int(a) for a, _ in found.splits["test"]) == list(range(0, 60, 3))
    for others in ([row for row in rows if row["split"] == "train"], {"train": [("a", "b")]}):
        with pytest.raises(ArgumentError, match="--test-split: expected the name of a part of data, got late"):
            rows_of(others, read, min, names)
