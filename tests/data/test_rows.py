from functools import partial
from operator import itemgetter
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.data import Blank, Column, load, open_rows
from saccade.data.objects import array_of
from saccade.data.rows import HELD, divide, rows_of, text_hash
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from tiers import every

COLUMNS = [Column("source", ("source", "de")), Column("target", ("target", "en"))]
PAIRS = [(f"text {n}", f"answer {n % 3}") for n in range(60)]
TEXT = st.text(st.characters(codec="utf-8"), max_size=5)


def opened(objects):
    return load("objects", COLUMNS, objects=objects, nested="translation")


def all_of(rows):
    return {split: [tuple(row.values()) for row in part] for split, part in rows.splits.items()}


def raw(row, labels):
    return row


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
    "a mapping of columns": {"source": [a for a, _ in PAIRS], "target": [b for _, b in PAIRS]},
    "columns of a split": {"train": {"source": [a for a, _ in PAIRS], "target": [b for _, b in PAIRS]}},
}


@every("form", FORMS)
def test_forms_of_the_same_rows_are_the_same_data(form):
    rows, plain = opened(FORMS[form]), opened(PAIRS)
    assert rows.fingerprint == plain.fingerprint and all_of(rows) == all_of(plain)


def test_a_share_is_held_out_by_what_is_asked_whatever_the_order():
    rows, backwards = all_of(opened(PAIRS)), all_of(opened(PAIRS[::-1]))
    assert {split: len(part) for split, part in rows.items()} == {"train": 42, "validation": 9, "test": 9}
    assert all(sorted(rows[split]) == sorted(backwards[split]) for split in rows)
    twice = all_of(opened([*PAIRS, *((a, f"{b}!") for a, b in PAIRS)]))
    for split, part in twice.items():
        assert {a for a, _ in part} == {a for a, _ in rows[split]} and len(part) == 2 * len(rows[split])


def test_splits_may_be_given_by_any_of_their_names():
    for name in ("validation", "valid", "val", "dev", "VALID"):
        rows = opened({"Train": PAIRS[:40], name: PAIRS[40:50], "test": PAIRS[50:], "more": 3})
        assert [rows.size(split) for split in ("train", "validation", "test")] == [40, 10, 10]
        assert all_of(rows)["validation"][0] == PAIRS[40] and all_of(rows)["train"][39] == PAIRS[39]
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
        return rows_of(rows, raw, lambda row: row[0]).fingerprint

    array = np.arange(6, dtype=np.float32)
    assert of(array) == of(torch.from_numpy(array)) == of(array.copy())
    assert len({of(array), of(array.reshape(2, 3)), of(array.astype(np.float64)), of(array[::-1].copy())}) == 4
    assert of(array.reshape(2, 3).T) == of(np.ascontiguousarray(array.reshape(2, 3).T))


def test_arrays_that_are_the_same_are_in_one_split():
    arrays = [(torch.full((4,), float(n % 20)), str(n)) for n in range(60)]
    rows = rows_of(arrays, raw, lambda row: row[0])
    values = {split: {float(one[0]) for one, _ in part} for split, part in rows.splits.items()}
    assert len(values["train"] | values["validation"] | values["test"]) == 20
    assert not values["train"] & values["test"] and not values["validation"] & values["test"]


@every(
    ("objects", "message"),
    [
        (None, "expected the Python objects that this run was trained on, got none. Hand them over again as data="),
        ([], "data: expected rows of train, got none"),
        ({}, "data: expected rows of train, got none"),
        ({"test": PAIRS}, "data: expected rows of train, got test; a mapping is of splits, each a list of rows"),
        ({"source": ["a"], "target": ["b"]}, "data: expected 3 different examples or more"),
        ({"source": ["a"], "target": ["b", "c"]}, "data: expected columns of as many cells each, got 1 of source, 2"),
        ({"train": []}, "data: expected rows of train, got none"),
        ({"train": PAIRS, "test": []}, "data: expected rows of test, got none"),
        (3, "data: expected rows, got int"),
        ({"train": None}, "data: expected rows of train, got none"),
        (["ab", "cd"], "data: train, row 1: expected source and target, got 'ab'"),
        ([("a",)], r"data: train, row 1: expected source and target, got \('a',\)"),
        ([("a", "b", "c")], "data: train, row 1: expected source and target"),
        ([("a", "b"), ("a", None)], "data: train, row 2: expected a text, got an empty cell"),
        ([("a", "b"), ("a", 1.5)], "data: train, row 2: expected a text, got float"),
        ([("a", True)], "data: train, row 1: expected a text, got bool"),
        ([{"de": "a"}], "data: train, row 1: "),
        (
            Table([{"source": "a", "target": 7}], target=SimpleNamespace(names=["no", "yes"])),
            'data: train, row 1, column "target": expected a label from 0 to 1, got 7',
        ),
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


def test_what_is_not_there_is_refused():
    rows = opened(PAIRS)
    with pytest.raises(ArgumentError, match="index: expected 0 <= index < 9 in test, got 9"):
        rows.row("test", 9)
    with pytest.raises(ArgumentError, match="split: expected one of train, validation, test, got 'dev'"):
        rows.size("dev")


def test_blank_rows_are_counted_and_others_keep_places():
    out = Blank(lambda row: not all(row), "pairs, which have a blank side", ("train", "test"))
    given = {"train": [("", "b"), *PAIRS[:4], ("a", "")], "validation": [("a", "")], "test": [*PAIRS[4:6], ("", "")]}
    rows = rows_of(given, raw, min, blank=out)
    assert rows.splits == {"train": PAIRS[:4], "validation": [("a", "")], "test": PAIRS[4:6]}
    said = "data: train: left out 2 of 6 pairs, which have a blank side; the first is row 1"
    assert rows.note == f"{said}; data: test: left out 1 of 3 pairs, which have a blank side; the first is row 3"
    assert [rows.where("train", n) for n in range(4)] == [f"data: train, row {n}" for n in range(2, 6)]
    assert rows.where("validation", 0) == "data: validation, row 1"
    held = rows_of({"training": [("", "b"), *PAIRS]}, raw, min, SplitNames({"train": "training"}), out)
    for split in ("train", "validation", "test"):
        places = [f"data: training, row {PAIRS.index(row) + 2}" for row in held.splits[split]]
        assert [held.where(split, n) for n in range(held.size(split))] == places
    with pytest.raises(ArgumentError, match="data: train: left out 1 of 1 pairs, .*: an empty corpus"):
        rows_of([("", "")], raw, min, blank=out)


def numbered(names):
    return [{"a": str(n), "Split": names[n % len(names)]} for n in range(12)]


def read_a(row, labels):
    return (row["a"],)


def test_a_column_says_the_split_of_each_row():
    rows = numbered(("train", "train", "dev", "Test"))
    divided = rows_of(rows, read_a, min)
    for split, own in (("train", (0, 1)), ("validation", (2,)), ("test", (3,))):
        assert [int(a) for (a,) in divided.splits[split]] == [n for n in range(12) if n % 4 in own]
    assert divided.where("test", 1) == "data: train, row 8"
    assert sum(map(len, rows_of(rows, read_a, min, divided=False).splits.values())) == 12
    with pytest.raises(ArgumentError, match="row 1, column .split.: expected one of train, .* got 'odd'"):
        rows_of(numbered(["odd"]), read_a, min)
    with pytest.raises(ArgumentError, match="test, row 1, column .split.: expected test"):
        rows_of({"train": rows[:2], "test": rows[:1]}, read_a, min)
    with pytest.raises(ArgumentError, match="row 2: expected the columns of the first row, got others: without split"):
        rows_of([rows[0], {"a": "1"}], read_a, min)


def test_an_option_names_a_split_of_the_column():
    names = SplitNames({"test": "late"})
    divided = rows_of(numbered(("late", "train", "train")), read_a, min, names)
    assert [int(a) for (a,) in divided.splits["test"]] == list(range(0, 12, 3))
    for others, split in ((numbered(["train"]), "test"), ({"train": [{"a": "b"}]}, "test"), ([{"a": "b"}], "train")):
        with pytest.raises(ArgumentError, match=f"--{split}-split: expected the name of a part of data, got late"):
            rows_of(others, read_a, min, SplitNames({split: "late"}))


@pytest.mark.parametrize("held_out", [("validation", "test"), ("validation",), ("test",)])
def test_equal_texts_are_in_one_split_whatever_their_order(held_out):
    texts = [f"text {number % 90}" for number in range(270)]
    hashes = np.array([text_hash(text) for text in texts], np.uint64)
    parts = divide(hashes, "x", "texts", held_out)
    assert list(parts) == [*held_out, "train"] and sum(parts.values()).tolist() == [1] * 270
    named = {
        split: {text for text, there in zip(texts, inside, strict=True) if there} for split, inside in parts.items()
    }
    assert [len(named[split]) for split in held_out] == [13] * len(held_out)
    backwards = divide(hashes[::-1], "x", "texts", held_out)
    assert all((backwards[split] == parts[split][::-1]).all() for split in parts)


def test_too_few_texts_are_an_error():
    with pytest.raises(ArgumentError, match="x: expected 2 different texts or more, to test and train, got 1"):
        divide(np.array([3, 3], np.uint64), "x", "texts", ("test",))
    assert (divide(np.arange(30_000).astype(np.uint64), "x", "texts")["test"]).sum() == 1000

    hashes = np.arange(60, dtype=np.uint64)
    much, half = SplitNames(held_out=0.0), SplitNames(held_out=0.25)
    for held, names, sizes in (
        (HELD, None, [9, 9, 42]),
        (HELD, much, [3, 3, 54]),
        ((20, 2), much, [2, 2, 56]),
        (HELD, half, [15, 15, 30]),
    ):
        parts = divide(hashes, "x", "texts", held=held, names=names)
        assert [int(parts[split].sum()) for split in ("validation", "test", "train")] == sizes


@every("missing", [("validation", "test"), ("test",)])
def test_folds_test_each_example_once(missing):
    hashes = np.array([text_hash(f"text {number % 61}") for number in range(122)], np.uint64)
    folds = [divide(hashes, "x", "texts", missing, names=SplitNames(fold=(number, 4))) for number in range(4)]
    assert sum(fold["test"].astype(int) for fold in folds).tolist() == [1] * 122
    for fold in folds:
        assert sum(part.astype(int) for part in fold.values()).tolist() == [1] * 122
        assert all(len(set(hashes[part]) & set(hashes[~part])) == 0 for part in fold.values())
        assert fold["test"].sum() in (30, 32) and fold["train"].any()
        assert ("validation" in fold) == ("validation" in missing)
    if "validation" in missing:
        assert [int(fold["validation"].sum()) for fold in folds] == [18] * 4


def test_folds_need_enough_examples_and_no_test_split():
    fold = SplitNames(fold=(0, 5))
    with pytest.raises(ArgumentError, match="--folds: expected at most 4 for 9 different texts, got 5"):
        divide(np.arange(9, dtype=np.uint64), "x", "texts", names=fold)
    splits = {"train": PAIRS[:40], "test": PAIRS[40:]}
    with pytest.raises(ArgumentError, match="--folds: expected none for data, which has a test split"):
        rows_of(splits, raw, itemgetter(0), fold)
    with pytest.raises(ArgumentError, match="--held-out: expected none for data, which has all splits"):
        rows_of({**splits, "dev": PAIRS[:3]}, raw, itemgetter(0), SplitNames(held_out=0.2))
    assert "fold 1 of 5: held out" in rows_of(PAIRS, raw, itemgetter(0), fold).note


def test_data_are_built_in_or_opened_or_refused(tmp_path):
    (tmp_path / "train.tsv").write_text("de\ten\nein\tone\nzwei\ttwo\ndrei\tthree\n", encoding="utf-8")
    open_data = partial(open_rows, builtin={"dates": lambda: "dates"}, columns=COLUMNS, dataset=lambda rows: rows)
    assert open_data("dates") == "dates"
    assert open_data(str(tmp_path)).size("train") == 3 - 2
    with pytest.raises(ArgumentError, match="--test-split: expected none"):
        open_data("dates", names=SplitNames({"test": "tst"}))
    with pytest.raises(ArgumentError, match=r"no data set date, and no folder or file; did you mean dates\?"):
        open_data("date")
    with pytest.raises(ArgumentError, match="expected in the folder .* pairs.tsv, got an empty folder"):
        (tmp_path / "empty").mkdir()
        open_data(str(tmp_path / "empty"), holds="pairs.tsv")
