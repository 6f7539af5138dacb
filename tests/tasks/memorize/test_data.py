import pytest

from saccade.data import Names
from saccade.errors import ArgumentError
from saccade.tasks.memorize.data import open_corpus

PAIRS = [(f"a{n} b", f"b a{n}") for n in range(60)]


def test_files_objects_and_columns_hold_the_same_pairs(tmp_path):
    lines = [f"{one}\t{other}" for one, other in PAIRS]
    lines[1] += "\t "  # a blank third column is none
    (tmp_path / "pairs.tsv").write_text("\n".join(lines))
    filed, objects = open_corpus(str(tmp_path / "pairs.tsv")), open_corpus("objects", objects=PAIRS)
    named = open_corpus("objects", objects=[{"question": one, "answer": other} for one, other in PAIRS])
    assert filed.fingerprint == objects.fingerprint == named.fingerprint and "9 pairs for test" in filed.note
    items = [filed.example(split, n) for split in ("train", "validation", "test") for n in range(filed.size(split))]
    assert sorted(tuple(item) for item in items) == sorted((*pair, "") for pair in PAIRS)
    lines[4] += "\tmore\tand more"
    (tmp_path / "pairs.tsv").write_text("\n".join(lines))
    with pytest.raises(ArgumentError, match="^row 5 of .*pairs.tsv: .*, got 4 columns; cut -f 1-2 keeps the first 2"):
        open_corpus(str(tmp_path / "pairs.tsv"))


def test_a_folder_with_nothing_to_read_is_explained(tmp_path):
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    with pytest.raises(ArgumentError) as error:
        open_corpus(str(tmp_path))
    expected = "bAbI's files (qa1_..._train.txt) or tables such as train.tsv (.csv, .jsonl, .parquet)"
    assert str(error.value) == f"--data: expected in the folder {tmp_path} {expected}, got pairs.tsv"


def test_blank_sides_are_left_out():
    corpus = open_corpus("objects", objects=[("a", " "), ("", "b"), *PAIRS])
    assert corpus.note.startswith("data: train: left out 2 of 62 pairs, which have a blank side; the first is row 1;")


@pytest.mark.parametrize("row", [("a",), (1.5, "b"), 3])
def test_a_row_without_two_sides_is_named(row):
    with pytest.raises(ArgumentError, match="data: train, row 1.*: expected "):
        open_corpus("objects", objects=[row, *PAIRS])


def test_options_of_other_data_are_refused():
    with pytest.raises(ArgumentError, match="--longest: expected only with built-in data"):
        open_corpus("objects", 3, PAIRS)
    with pytest.raises(ArgumentError, match="--longest: expected a number from 1 to 1666, got 2000"):
        open_corpus("copy", 2000)


def test_stories_have_no_columns_to_name(tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"qa1_a_{split}.txt").write_text(
            "".join(f"1 Mary moved {n} times.\n2 Where is Mary?\thall\t1\n" for n in range(3))
        )
    open_corpus(str(tmp_path), names=Names())
    with pytest.raises(ArgumentError, match="^--input-column: expected none for .*, whose columns are fixed; leave x"):
        open_corpus(str(tmp_path), names=Names(columns={"input": "x"}))
