import pytest

from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.memorize.data import open_corpus
from saccade.tasks.memorize.data.pairs import Filed, Objects
from saccade.tasks.text.pairs import open_pairs

PAIRS = [(f"a{n} b", f"b a{n}") for n in range(60)]


def test_files_and_objects_hold_the_same_pairs(tmp_path):
    (tmp_path / "pairs.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in PAIRS))
    filed, objects = Filed(open_pairs(tmp_path / "pairs.tsv")), Objects(PAIRS, SplitNames())
    for data in (filed, objects):
        found = [data.example(split, n) for split in ("train", "validation", "test") for n in range(data.size(split))]
        assert sorted((item.text, item.answer) for item in found) == sorted(PAIRS)
        assert {item.group for item in found} == {""} and data.fingerprint and "held out" in data.note


def test_a_third_column_of_a_file_is_refused_by_its_line(tmp_path):
    lines = [f"{one}\t{other}" for one, other in PAIRS]
    lines[1] += "\t "  # a blank one is none
    (tmp_path / "pairs.tsv").write_text("\n".join(lines))
    assert open_corpus(str(tmp_path / "pairs.tsv")).size("test") == 3
    lines[4] += "\tmore\tand more"
    (tmp_path / "pairs.tsv").write_text("\n".join(lines))
    with pytest.raises(ArgumentError) as error:
        open_corpus(str(tmp_path / "pairs.tsv"))
    expected = "expected a source, a tab and a target, got 4 columns; cut -f 1,2 keeps the first two"
    assert str(error.value) == f"{tmp_path}/pairs.tsv: line 5: {expected}"


def test_a_folder_with_nothing_to_read_is_explained(tmp_path):
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    with pytest.raises(ArgumentError) as error:
        open_corpus(str(tmp_path))
    expected = "bAbI's files (qa1_..._train.txt) or tables (.parquet, .arrow); of a file of pairs give its own path"
    assert str(error.value) == f"--data: the folder {tmp_path} has none of what is expected: {expected}"


def test_columns_have_the_names_that_fit():
    rows = [{"question": one, "answer": other} for one, other in PAIRS]
    assert Objects(rows, SplitNames()).fingerprint == Objects(PAIRS, SplitNames()).fingerprint


@pytest.mark.parametrize("row", [("a", " "), ("", "b"), ("a",), (1.5, "b")])
def test_a_row_without_two_sides_is_named(row):
    with pytest.raises(ArgumentError, match="data: train, row 1: expected "):
        Objects([row, *PAIRS], SplitNames())
