import pytest

from saccade.errors import ArgumentError
from saccade.tasks.memorize.data import open_corpus

PAIRS = [(f"a{n} b", f"b a{n}") for n in range(60)]


def test_files_and_objects_hold_the_same_pairs(tmp_path):
    (tmp_path / "pairs.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in PAIRS))
    filed, objects = open_corpus(str(tmp_path / "pairs.tsv")), open_corpus("objects", objects=PAIRS)
    assert filed.fingerprint == objects.fingerprint and "3 pairs for test" in filed.note
    items = [filed.example(split, n) for split in ("train", "validation", "test") for n in range(filed.size(split))]
    assert sorted((item.text, item.answer) for item in items) == sorted(PAIRS) and {item.group for item in items} == {
        ""
    }


def test_a_third_column_of_a_file_is_an_error(tmp_path):
    lines = [f"{one}\t{other}" for one, other in PAIRS]
    lines[1] += "\t "  # a blank one is none
    (tmp_path / "pairs.tsv").write_text("\n".join(lines))
    assert open_corpus(str(tmp_path / "pairs.tsv")).size("test") == 3
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


def test_columns_have_the_names_that_fit():
    rows = [{"question": one, "answer": other} for one, other in PAIRS]
    assert open_corpus("objects", objects=rows).fingerprint == open_corpus("objects", objects=PAIRS).fingerprint


def test_blank_sides_are_left_out():
    corpus = open_corpus("objects", objects=[("a", " "), ("", "b"), *PAIRS])
    assert corpus.note.startswith("data: train: left out 2 of 62 pairs, which have a blank side; the first is row 1;")


@pytest.mark.parametrize("row", [("a",), (1.5, "b"), 3])
def test_a_row_without_two_sides_is_named(row):
    with pytest.raises(ArgumentError, match="data: train, row 1.*: expected "):
        open_corpus("objects", objects=[row, *PAIRS])
